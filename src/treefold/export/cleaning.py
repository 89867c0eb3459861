"""Text that comes from data, made fit to be shown: nothing invisible, no endless names."""

import unicodedata
from typing import Any

__all__ = ["clean", "is_storable", "reveal", "shorten"]

_LONGEST = 300  # characters of anything that is shown
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # some scripts cannot be written without them


def clean(value: Any, most: int = _LONGEST) -> str:
    """Write a value on one line; what cannot be seen, such as marks of direction, by its code."""
    return reveal(shorten(str(value), most))


def reveal(text: str) -> str:
    """Write what cannot be seen by its code."""
    if text.isprintable():
        return text
    return "".join(letter if _is_visible(letter) else f"\\u{ord(letter):04x}" for letter in text)


def is_storable(text: str) -> bool:
    """Whether UTF-8 has a form for a text: not if a lone surrogate, half a character, is in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shorten(text: str, most: int) -> str:
    """Leave out the middle of a text that is too long: names begin it, numbers end it."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 1]}…{text[len(text) - end :]}"


def _is_visible(letter: str) -> bool:
    return letter in _JOINERS or unicodedata.category(letter) not in _INVISIBLE
