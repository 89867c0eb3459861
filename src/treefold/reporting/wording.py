"""Small words that several sections need; escaping is the template's business (`page`)."""

from treefold.export.cleaning import clean
from treefold.findings.numbers import count

__all__ = ["UNKNOWN", "clean", "count", "percent"]

UNKNOWN = "\u2013"  # in the place of a number


def percent(share: float | None, digits: int = 1) -> str:
    """Write a share."""
    return UNKNOWN if share is None else f"{share:.{digits}%}"
