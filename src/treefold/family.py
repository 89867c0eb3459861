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
from treefold.data.target import Target
from treefold.progress import Progress

__all__ = ["Family", "Member", "Sharing", "ask_family", "choose_sharing", "grow_family"]

Sharing = Literal["auto", "folds", "overlap", "none"]
_FEW_CODES, _SOME_ROWS, _MANY_ROWS = 32, 1024, 4096  # many: if each thread sets up its own part
_MANY_BINARY, _MOST_BINARY = 64, 0.9  # columns, and their share
_FEW_MEMBERS, _MOST_MEMBERS = 6, 64
_SOME_MEMBERS, _MANY_MEMBERS = 9, 16  # per thread
_SEEN_PER_MEMBER = 2  # rows


@dataclass(frozen=True, slots=True)
class Member:
    """One tree: the rows that it trains on and how it grows."""

    rows: NDArray[np.uint32] | None  # ascending, without repeats; None: all that are not left out
    rules: _native.Rules
    weights: NDArray[np.float64] | None = None  # of all rows of the table; None: the target's
    # Rows of the table, or of the questions, that want an answer: what they do not reach is not
    # grown, unless the whole tree is wanted too. None: the whole tree.
    asked: NDArray[np.uint32] | None = None
    is_whole: bool = False
    # Instead of rows: those that do not train, which are fewer. Members that share what they add up
    # are then told apart without a list of the others.
    left_out: NDArray[np.uint32] | None = None

    def count_rows(self, n_table_rows: int) -> int:
        """Count the rows that train."""
        if self.rows is not None:
            return len(self.rows)
        return n_table_rows - (0 if self.left_out is None else len(self.left_out))


@dataclass(frozen=True, slots=True)
class Family:
    """The grown trees, in the order of the members."""

    trees: list[_native.Tree]
    leaves: list[NDArray[np.int64]]  # of the rows that ask each tree
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
    mode = choose_sharing(table, target, members, n_threads) if sharing == "auto" else sharing
    if target.n_classes == 0:
        mode = "none"  # sums of numbers are not shared: it was no faster for any table
    report, n_rows = None, 0
    if progress is not None:
        n_rows = sum(member.count_rows(table.n_rows) for member in members)
        report = progress.watch(work_per_row * n_rows, n_rows)
    trees, leaves, work = _native.grow_family(
        table,
        target.values,
        target.n_classes,
        target.weights,
        _list_fields(members),
        mode,
        n_threads,
        report,
    )
    if progress is not None:
        progress.advance(work_per_row * n_rows)
    seconds = time.perf_counter() - start
    return Family(trees, leaves, _divide_time(seconds, trees), {"mode": mode, **work})


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
    return [
        (each.rows, each.left_out, each.weights, each.rules, each.asked, each.is_whole)
        for each in members
    ]


def choose_sharing(
    table: _native.Table, target: Target, members: Sequence[Member], n_threads: int = 1
) -> Sharing:
    """Share where it pays: among many members, among some in tables of few codes, and among few in
    wide ones that are mostly binary.

    Elsewhere the trees of the members part early, or a node has little that a member does not have
    to look at for itself, and one after another is as fast
    (`benchmarks/papers/cross_validation.py`). Members are divided among the threads. Where rows
    train more different sets of members than there are members, as in repeated folds, keeping track
    of them costs more than is saved.
    """
    n_members = len(members)
    are_some = n_members >= _SOME_MEMBERS * n_threads
    are_enough = are_some or (n_members >= _FEW_MEMBERS and n_threads == 1)
    if not are_enough or n_members > _MOST_MEMBERS:  # what is quick comes first
        return "none"
    are_many = n_members >= _MANY_MEMBERS * n_threads
    has_rows = table.n_rows >= (_SOME_ROWS if n_threads == 1 else _MANY_ROWS)
    are_few_values = are_some and _has_few_values(table)
    pays = are_many or (has_rows and (are_few_values or _is_mostly_binary(table)))
    can_share = pays and _can_share(table, target, members) and _are_alike(members, table)
    return "folds" if can_share else "none"


def _are_alike(members: Sequence[Member], table: _native.Table) -> bool:
    rows = [(member.rows, member.left_out) for member in members]
    n_members = len(members)
    return _native.count_strata(rows, table.n_rows, _SEEN_PER_MEMBER * n_members) <= n_members


def _has_few_values(table: _native.Table) -> bool:
    return bool((table.n_codes <= _FEW_CODES).all())


def _is_mostly_binary(table: _native.Table) -> bool:
    """Histograms of such columns are small against the rows, and groups hand them on (Internet
    Ads: five folds 1.2 times as fast, ten 1.4 times).
    """
    n_binary = int((table.n_codes <= 2).sum())
    return table.n_columns >= _MANY_BINARY and n_binary >= _MOST_BINARY * table.n_columns


def _can_share(table: _native.Table, target: Target, members: Sequence[Member]) -> bool:
    """Whether members can be searched together: every row counts once, and the core says so."""
    return (
        target.n_classes > 0
        and target.weights is None
        and all(
            member.weights is None and _native.can_search_together(table, member.rules)
            for member in members
        )
    )


def _divide_time(seconds: float, trees: list[_native.Tree]) -> NDArray[np.float64]:
    """Each member's share of the time, by what its tree would take alone: its rows times depth."""
    shares = [tree.samples_of_all_nodes for tree in trees]
    per_sample = seconds / max(sum(shares), 1)
    return np.array([per_sample * share for share in shares])
