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
    mode = _choose_sharing(members) if sharing == "auto" else sharing
    trees, work = _native.grow_family(
        table,
        target.values,
        target.n_classes,
        target.weights,
        [(member.rows, member.weights, member.rules, member.asked) for member in members],
        mode,
        n_threads,
    )
    seconds = time.perf_counter() - start
    return Family(trees, _divide_time(seconds, trees), {"mode": mode, **work})


def _choose_sharing(members: Sequence[Member]) -> str:
    """Share where it pays: a row then counts the same for all members."""
    has_own_weights = any(member.weights is not None for member in members)
    return "none" if has_own_weights or len(members) < 2 else "folds"


def _divide_time(seconds: float, trees: list[_native.Tree]) -> NDArray[np.float64]:
    """Each member's share of the time, by what its tree would take alone: its rows times depth."""
    shares = np.array([tree.n_node_samples.sum() for tree in trees], dtype=np.float64)
    return seconds * shares / max(shares.sum(), 1.0)
