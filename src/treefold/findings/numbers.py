"""Numbers as people read them."""

__all__ = ["count", "show_number", "show_score"]


def show_number(value: float) -> str:
    """Write a number with as many digits as people read."""
    return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:.6g}"


def show_score(value: float) -> str:
    """Write a score with four digits, and without a minus before zero."""
    return f"{round(value, 4) + 0.0:.4f}"


def count(number: int, noun: str, nouns: str = "") -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"
