"""The trees that somebody wants, grown together: members in, one tree per member out.

A member is a training set (rows of one encoded table) with its rules. How much the members share
is an argument; the trees are the same, bit for bit, whatever it says.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.target import Target

__all__ = ["Family", "Member", "Sharing", "grow_family"]

Sharing = Literal["auto", "folds", "overlap", "none"]


@dataclass(frozen=True, slots=True)
class Member:
    """One tree: the rows that it trains on (ascending, without repeats) and how it grows."""

    rows: NDArray[np.uint32]
    rules: _native.Rules
    weights: NDArray[np.float64] | None = None  # of all rows of the table; None: the target's
    asked: NDArray[np.uint32] | None = None  # rows that want an answer; None: the whole tree


@dataclass(frozen=True, slots=True)
class Family:
    """The grown trees, in the order of the members."""

    trees: list[_native.Tree]
    seconds: NDArray[np.float64]  # each member's share of the wall time, which they sum to
    work: dict[str, Any] = field(default_factory=dict)


def grow_family(
    table: _native.Table,
    target: Target,
    members: Sequence[Member],
    *,
    sharing: Sharing = "auto",
    n_threads: int = 1,
) -> Family:
    """Grow one tree per member from one table."""
    start = time.perf_counter()
    trees = []
    marks = [start]
    for member in members:
        weights = _weights_of(target, member, table.n_rows)
        trees.append(
            _native.grow(
                table,
                target.values,
                target.n_classes,
                weights,
                member.rules,
                n_threads,
                member.asked,
            )
        )
        marks.append(time.perf_counter())
    return Family(trees, np.diff(np.array(marks)), {"mode": "none"})


def _weights_of(target: Target, member: Member, n_rows: int) -> NDArray[np.float64] | None:
    """Weights by which only the member's rows exist."""
    weights = target.weights if member.weights is None else member.weights
    if len(member.rows) == n_rows:
        return weights
    own = np.zeros(n_rows)
    own[member.rows] = 1.0 if weights is None else weights[member.rows]
    return own
