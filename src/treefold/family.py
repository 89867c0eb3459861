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
from treefold.progress import Progress
from treefold.target import Target

__all__ = ["Family", "Member", "Sharing", "ask_family", "grow_family"]

Sharing = Literal["auto", "folds", "overlap", "none"]
_FEW_CODES = 32
_MANY_MEMBERS = 64


@dataclass(frozen=True, slots=True)
class Member:
    """One tree: the rows that it trains on (ascending, without repeats) and how it grows."""

    rows: NDArray[np.uint32]
    rules: _native.Rules
    weights: NDArray[np.float64] | None = None  # of all rows of the table; None: the target's
    # Rows of the table, or of the questions, that want an answer; None: the whole tree.
    asked: NDArray[np.uint32] | None = None


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
    progress: Progress | None = None,
    work_per_row: float = 1.0,
) -> Family:
    """Grow one tree per member from one table; the bar advances with the rows that reach a leaf."""
    start = time.perf_counter()
    mode = _choose_sharing(table, members) if sharing == "auto" else sharing
    n_rows = sum(len(member.rows) for member in members)
    bar = Progress("", 0, verbose=0) if progress is None else progress
    trees, work = _native.grow_family(
        table,
        target.values,
        target.n_classes,
        target.weights,
        _list_fields(members),
        mode,
        n_threads,
        bar.watch(work_per_row * n_rows, n_rows),
    )
    bar.advance(work_per_row * n_rows)
    seconds = time.perf_counter() - start
    return Family(trees, _divide_time(seconds, trees), {"mode": mode, **work})


def ask_family(
    table: _native.Table,
    target: Target,
    members: Sequence[Member],
    *,
    n_threads: int = 1,
    questions: _native.Source | None = None,
) -> tuple[list[NDArray[np.float64]], dict[str, Any]]:
    """Let each member answer the rows that ask it: class shares or a number, one line per row.

    Only what they reach is grown, and nothing of it is kept. Rows are those of the questions, or of
    the table if there are none.
    """
    answers, work = _native.answer_family(
        table,
        target.values,
        target.n_classes,
        target.weights,
        _list_fields(members),
        n_threads,
        questions,
    )
    return [each.reshape(-1, max(1, target.n_classes)) for each in answers], work


def _list_fields(members: Sequence[Member]) -> list[Any]:
    return [(member.rows, member.weights, member.rules, member.asked) for member in members]


def _choose_sharing(table: _native.Table, members: Sequence[Member]) -> str:
    """Share where it pays: where all columns have few codes and members are folds of one table.

    Elsewhere the trees of the members part early, and one after another is as fast
    (`benchmarks/papers/cross_validation.py`).
    """
    has_own_weights = any(member.weights is not None for member in members)
    has_demand = any(member.asked is not None for member in members)
    has_few_codes = bool((table.n_codes <= _FEW_CODES).all())
    is_folds = 3 <= len(members) <= _MANY_MEMBERS and not has_own_weights and not has_demand
    return "folds" if is_folds and has_few_codes else "none"


def _divide_time(seconds: float, trees: list[_native.Tree]) -> NDArray[np.float64]:
    """Each member's share of the time, by what its tree would take alone: its rows times depth."""
    shares = np.array([tree.n_node_samples.sum() for tree in trees], dtype=np.float64)
    share_of_each: NDArray[np.float64] = shares / max(shares.sum(), 1.0)
    return seconds * share_of_each
