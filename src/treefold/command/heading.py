"""Whether the first line of a CSV file holds names: it may be data, or a comment."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pyarrow import compute, types

__all__ = ["doubt_names", "skip_comments", "suspect_comment"]

_SIGNS = ("#", "%", "//")
_BOM = b"\xef\xbb\xbf"


def suspect_comment(line: str) -> str:
    """Say which option skips a first line that looks like a comment; nothing if it does not."""
    sign = next((sign for sign in _SIGNS if line.lstrip("\ufeff").startswith(sign)), None)
    if sign is None:
        return ""
    return f"Its first line begins with {sign}; if such lines are comments: --comment '{sign}'"


def skip_comments(parts: Iterator[bytes], sign: str) -> Iterator[bytes]:
    """Leave out the lines of UTF-8 text that begin with a sign."""
    begin, rest, is_first = sign.encode(), b"", True
    for part in parts:
        lines = (rest + (part.removeprefix(_BOM) if is_first else part)).split(b"\n")
        rest, is_first = lines.pop(), False
        yield b"".join(line + b"\n" for line in lines if not line.startswith(begin))
    if not rest.startswith(begin):
        yield rest


def doubt_names(table: Any) -> str | None:
    """Say so if names look like data: numbers above numbers, or values of their own columns."""
    names = table.column_names
    numbers = [_read_number(name) for name in names]
    if _count_up(numbers):
        return None
    kinds = [types.is_integer(one.type) or types.is_floating(one.type) for one in table.schema]
    is_number = [kind and number is not None for kind, number in zip(kinds, numbers, strict=True)]
    is_value = [
        types.is_string(column.type) and compute.index(column, name).as_py() >= 0
        for name, column in zip(names, table.columns, strict=True)
    ]
    has_fraction = any(number is not None and number % 1 for number in numbers)
    if not (has_fraction or any(is_value) or all(is_number)):
        return None
    if 2 * (sum(is_number) + sum(is_value)) < len(names):
        return None
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (
        f"The first line looks like data, not like names ({shown}). If it is: --no-header, which "
        "calls the columns column_1, column_2 and so on."
    )


def _read_number(name: str) -> float | None:
    try:
        return float(name)
    except ValueError:
        return None


def _count_up(numbers: list[float | None]) -> bool:
    """Whether names count, as 0, 1, 2 or 1990, 1991: so they are names."""
    known = [number for number in numbers if number is not None]
    return len(known) > 1 and all(after - before == 1 for before, after in pairwise(known))
