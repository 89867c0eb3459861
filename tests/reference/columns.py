"""Columns as codes: the one sort. What a node does with codes is in `splits`.

Glossary
    value    what the user gave: a float, a category number, or NaN
    code     the rank of a value among the distinct values of its column; a category's own number
    MISSING  the code of NaN: apart from the order, never a rank
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan

MISSING = -1


@dataclass(frozen=True)
class Column:
    values: tuple[float, ...]  # of each code, ascending
    codes: tuple[int, ...]  # of each row
    n_categories: int = 0  # 0: numeric

    @property
    def is_categorical(self) -> bool:
        return self.n_categories > 0


def encode_numbers(values: Iterable[float]) -> Column:
    """Rank-encode in float64 order. -0.0 equals 0.0, so they share a code."""
    numbers = [float(value) + 0.0 for value in values]  # -0.0 + 0.0 is 0.0
    distinct = sorted({number for number in numbers if not isnan(number)})
    code_of = {value: code for code, value in enumerate(distinct)}
    codes = tuple(MISSING if isnan(number) else code_of[number] for number in numbers)
    return Column(tuple(distinct), codes)


def encode_categories(values: Iterable[float], n_categories: int) -> Column:
    """Categories arrive as their numbers; they have no order to find."""
    codes = tuple(MISSING if isnan(value) else int(value) for value in values)
    return Column(tuple(map(float, range(n_categories))), codes, n_categories)


def encode_sparse(n_rows: int, rows: Sequence[int], values: Sequence[float]) -> Column:
    """A row that is not stored holds 0.0; a stored zero is no different."""
    dense = [0.0] * n_rows
    for row, value in zip(rows, values, strict=True):
        dense[row] = value
    return encode_numbers(dense)
