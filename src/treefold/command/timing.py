"""Whether the rows of a file follow in time, by a date or by year, month, day and so on."""

import shlex
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import types

from treefold.command.mistakes import UserError
from treefold.command.target import decode

__all__ = ["find_time", "rank_times", "word_time"]

_FEW_ROWS = 20
_FEW_TIMES = 10  # too few to call rows that are sorted by them a course of time
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_FEWEST_PARTS = 2  # the year alone sorts many a table

Ints = NDArray[np.int64]


def find_time(table: Any, apart: Collection[str]) -> list[str]:
    """Name the columns by which the rows of a file stand in order; none if they do not."""
    if table.num_rows < _FEW_ROWS:
        return []
    names = [name for name in table.column_names if name not in apart]
    dates = [name for name in names if _is_date(table[name].type)]
    for name in dates:
        if _are_in_order(table, [name]):
            return [name]
    called = {name.lower(): name for name in names if types.is_integer(table[name].type)}
    parts = []
    for part in _PARTS:
        if part not in called:
            break
        parts.append(called[part])
    return parts if len(parts) >= _FEWEST_PARTS and _are_in_order(table, parts) else []


def word_time(names: list[str], change: str) -> str:
    """Say that rows follow in time, what that does to the score, and which option respects it."""
    listed = ", ".join(f"'{name}'" for name in names)
    return (
        f"The rows follow in time (by {listed}), and shuffled folds also learn from later rows"
        f"{change}. If the tree is to predict what comes later: "
        f"--time {shlex.quote(','.join(names))}"
    )


def _is_date(kind: Any) -> bool:
    return bool(types.is_date(kind) or types.is_timestamp(kind))


def _are_in_order(table: Any, names: list[str]) -> bool:
    if any(table[name].null_count for name in names):
        return False
    ranks = rank_times(table, names)
    steps = np.diff(ranks)
    return int(ranks.max()) + 1 >= _FEW_TIMES and bool((steps >= 0).all() or (steps <= 0).all())


def rank_times(table: Any, names: list[str]) -> Ints:
    """Number the rows in the order of time, equal times alike; the first column decides first."""
    ranks = np.zeros(table.num_rows, dtype=np.int64)
    for name in names:
        own = np.unique(_read_times(table[name], name), return_inverse=True)[1]
        ranks = np.unique(ranks * (int(own.max()) + 1) + own, return_inverse=True)[1]
    return ranks


def _read_times(column: Any, name: str) -> NDArray[Any]:
    """Read what has an order in time: dates, or numbers."""
    column = decode(column)
    kind = column.type
    if types.is_decimal(kind):
        column = column.cast("float64")
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (is_number or _is_date(kind)):
        first = next((value.as_py() for value in column if value.is_valid), None)
        raise UserError(
            f"--time: '{name}' holds {kind} values (first: {first!r}), which have no order in "
            "time. Write dates as YYYY-MM-DD, or give a column of numbers."
        )
    times = np.asarray(column.to_numpy())
    n_missing = int(np.isnan(times).sum()) if times.dtype.kind == "f" else column.null_count
    if n_missing:
        raise UserError(f"--time: '{name}' has {n_missing:,} missing values.")
    return times
