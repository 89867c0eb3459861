"""Bags: training sets that are drawn, and the trees that grow on them.

A draw is a function of its key (`docs/split_contract.md`), so that a bag is the same whoever asks
for it, and when. A row that is drawn twice counts twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.data.table import Table
from treefold.data.target import Target, select_rows
from treefold.estimators.base import BaseDecisionTree
from treefold.exceptions import ParameterError
from treefold.family import Member, ask_family, grow_family
from treefold.rules import make_rules

__all__ = ["Bags", "Work", "draw_counts", "draw_rows"]

_MOST_TREES, _MOST_ROWS = 8, 2**22  # that grow in one call, and are in memory at one time
_NODE_WORDS = 4  # as the paper counts: column, condition, two children


def draw_counts(
    seed: int, tree: int, n_rows: int, n_drawn: int | None = None
) -> NDArray[np.integer[Any]]:
    """Draw rows with replacement, as many as there are or another number: how often each is."""
    if n_drawn is None:  # the core draws as many as there are, and the same
        return _native.draw_bag(seed, tree, n_rows)
    draws, n = _list_draws(seed, tree, n_drawn), np.uint64(n_rows)
    low = (draws & np.uint64(2**32 - 1)) * n >> np.uint64(32)
    rows = ((draws >> np.uint64(32)) * n + low) >> np.uint64(32)  # floor(draw * n / 2^64)
    return np.bincount(rows.astype(np.int64), minlength=n_rows)


def draw_rows(seed: int, tree: int, n_rows: int, n_drawn: int) -> NDArray[np.int64]:
    """Draw rows without replacement: those of the lowest draws, which all differ."""
    return np.sort(np.argpartition(_list_draws(seed, tree, n_rows), n_drawn - 1)[:n_drawn])


def _list_draws(seed: int, tree: int, n_draws: int) -> NDArray[np.uint64]:
    root = _mix(_mix(np.array([seed], dtype=np.uint64)) ^ np.uint64(tree))
    return _mix(_mix(root + np.uint64(3)) ^ _mix(np.arange(1, n_draws + 1, dtype=np.uint64)))


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Work:
    """What growing has cost; an object, so that asking an estimator does not change it."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add_growth(self, work: dict[str, Any], model_words: int = 0) -> None:
        """Add what the core has counted, and what is kept of it."""
        for name in ("nodes_grown", "rows_scanned", "split_evaluations"):
            self._add_to(name, work[name])
        for name in ("stack_words", "peak_bytes"):
            self._raise_to(name, work[name])
        self._add_to("model_words", model_words)

    def _add_to(self, name: str, count: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + int(count)

    def _raise_to(self, name: str, count: int) -> None:
        self.counts[name] = max(self.counts.get(name, 0), int(count))


@dataclass(frozen=True)
class Bags:
    """The training sets of an ensemble, or of one tree, and how trees grow on them."""

    table: Table
    target: Target  # of all rows of the table, without class weights
    tree: BaseDecisionTree  # the parameters of every tree
    seed: int
    n_bags: int = 1
    bootstrap: bool = False
    max_samples: float | None = None
    rows: NDArray[Any] | None = None  # that train, in the order in which they are drawn; None: all

    def weigh(self, number: int) -> NDArray[np.float64]:
        """How much each row of the table counts in a bag."""
        own, rows = self.target.weights, self.rows
        if own is not None:
            rows = np.flatnonzero(own > 0) if rows is None else rows[own[rows] > 0]
        drawn = self._draw(number, self.table.n_rows if rows is None else len(rows))
        if rows is None:
            return drawn.astype(np.float64)
        weights = np.zeros(self.table.n_rows)
        weights[rows] = drawn
        return weights if own is None else weights * own

    def _draw(self, number: int, n_rows: int) -> NDArray[Any]:
        """How often each row that counts is in a bag."""
        n_drawn = self._count_drawn(n_rows)
        if self.bootstrap:
            return draw_counts(self.seed, number, n_rows, None if n_drawn == n_rows else n_drawn)
        if n_drawn == n_rows:
            return np.ones(n_rows)
        drawn = np.zeros(n_rows)
        drawn[draw_rows(self.seed, number, n_rows, n_drawn)] = 1.0
        return drawn

    def _count_drawn(self, n_rows: int) -> int:
        size = self.max_samples
        if size is None:
            return n_rows
        n_drawn = int(size) if isinstance(size, Integral) else max(1, int(size * n_rows))
        if n_drawn > n_rows and not self.bootstrap:
            raise ParameterError(
                f"max_samples={size} asks for more than the {n_rows} rows that there are, which "
                "cannot be drawn without replacement. Give at most as many, or bootstrap=True."
            )
        return n_drawn

    def make_member(self, number: int, asks_left_out: bool = False) -> Member:
        """Make the member of a bag; its rules are those of a fit with the bag's weights."""
        weights = self.weigh(number)
        asked = np.flatnonzero(weights == 0).astype(np.uint32) if asks_left_out else None
        rows = np.flatnonzero(weights != 0).astype(np.uint32)
        class_weight = getattr(self.tree, "class_weight", None)
        target = select_rows(replace(self.target, weights=weights), rows, class_weight)
        rules = make_rules(self.tree, target, self.table.n_columns)
        rules.seed, rules.tree = self.seed, number
        assert target.weights is not None
        if class_weight is not None:
            weights[rows] = target.weights  # a class of weight zero: its rows do not exist
        return Member(rows, rules, weights, asked)

    def grow(
        self, n_threads: int, work: Work, first: int = 0, asks_left_out: bool = False
    ) -> Iterator[tuple[_native.Tree, NDArray[np.float64], NDArray[np.uint32] | None]]:
        """Grow whole trees, bag by bag, from one on: each with its answers for the rows that are
        not in its bag, and these rows, if they are asked for."""
        for members in self._group(
            replace(self.make_member(number, asks_left_out), is_whole=True)
            for number in range(first, self.n_bags)
        ):
            family = grow_family(
                self.table._native, self.target, members, sharing="none", n_threads=n_threads
            )
            n_nodes = sum(tree.node_count for tree in family.trees)
            work.add_growth(family.work, model_words=_NODE_WORDS * n_nodes)
            for tree, leaves, member in zip(family.trees, family.leaves, members, strict=True):
                yield tree, tree.value.take(leaves, axis=0), member.asked

    def ask(
        self,
        batches: Sequence[NDArray[np.uint32]],
        n_threads: int,
        work: Work,
        questions: _native.Source | None = None,
    ) -> Iterator[NDArray[np.float64]]:
        """Answer each batch of rows, bag by bag, and grow only what it reaches.

        Rows are those of the questions, or of the table if there are none.
        """

        def make_members() -> Iterator[Member]:
            for number in range(self.n_bags):
                whole = self.make_member(number)
                yield from (replace(whole, asked=batch) for batch in batches)

        for answers, _ in self._answer(make_members(), n_threads, work, questions):
            yield answers

    def ask_left_out(
        self, n_threads: int, work: Work
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.uint32]]]:
        """Answer, bag by bag, the rows of the table that are not in it: answers, rows."""
        members = (self.make_member(number, asks_left_out=True) for number in range(self.n_bags))
        return self._answer(members, n_threads, work)

    def _answer(
        self,
        members: Iterable[Member],
        n_threads: int,
        work: Work,
        questions: _native.Source | None = None,
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.uint32]]]:
        for some in self._group(members):
            answers, done = ask_family(
                self.table._native, self.target, some, n_threads=n_threads, questions=questions
            )
            work.add_growth(done)
            for values, member in zip(answers, some, strict=True):
                assert member.asked is not None
                yield values, member.asked

    def _group(self, members: Iterable[Member]) -> Iterator[Sequence[Member]]:
        """Take as many at a time as one call may have."""
        most = max(1, min(_MOST_TREES, _MOST_ROWS // self.table.n_rows))
        waiting = iter(members)
        while some := list(islice(waiting, most)):
            yield some
