"""Computing decision trees with a single sort (Mirmira and Subramonian).

Each column is sorted once. Where a split sends rows left and right, every other column is brought
back into sorted order by one scan, not by another sort.

    Y[i]   the i-th entry of a column in sorted order: (from, goal, y)
           from: the row it came from; y: its position code, 1 for the smallest distinct value
    T[p]   "to": where row p stands in Y.       Invariant: T[Y[i].from] == i

The paper's example has slips (`tests/test_reference.py` names them all); the rule used here is
`T[p] < n_left` with positions from 0, where the paper prints `q <= i_L`.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Entry(NamedTuple):
    from_row: int
    goal: int
    y: int


Order = list[Entry]


def position_codes(values: Sequence[float]) -> list[int]:
    code_of = {value: code for code, value in enumerate(sorted(set(values)), start=1)}
    return [code_of[value] for value in values]


def sort_once(values: Sequence[float], goals: Sequence[int]) -> Order:
    codes = position_codes(values)
    rows = sorted(range(len(values)), key=lambda row: codes[row])
    return [Entry(row, goals[row], codes[row]) for row in rows]


def to_positions(order: Order) -> list[int]:
    to = [0] * len(order)
    for position, entry in enumerate(order):
        to[entry.from_row] = position
    return to


def part_order(order: Order, to_chosen: Sequence[int], start: int, middle: int, end: int) -> Order:
    """Bring order[start:end] back into sorted order on both sides of a split, by one scan.

    The split sends the rows that stand in [start, middle) of the chosen column's order left.
    """
    segment = order[start:end]
    left = [entry for entry in segment if to_chosen[entry.from_row] < middle]
    right = [entry for entry in segment if to_chosen[entry.from_row] >= middle]
    return [*order[:start], *left, *right, *order[end:]]
