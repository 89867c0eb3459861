"""Bags: training sets drawn with replacement, and the trees that grow on them.

A draw is a function of its key (`docs/split_contract.md`), so that a bag is the same whoever asks
for it, and when. A row that is drawn twice counts twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.estimator import BaseDecisionTree
from treefold.family import Member, ask_family, grow_family
from treefold.rules import make_rules
from treefold.table import Table
from treefold.target import Target, select_rows

__all__ = ["Bags", "Work", "draw_counts"]

_MOST_TREES, _MOST_ROWS = 8, 2**22  # that grow in one call, and are in memory at one time
_NODE_WORDS = 4  # as the paper counts: column, condition, two children


def draw_counts(seed: int, tree: int, n_rows: int) -> NDArray[np.uint32]:
    """Draw n rows of n with replacement: how often each is drawn."""
    return _native.draw_bag(seed, tree, n_rows)


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
    rows: NDArray[Any] | None = None  # that train, in the order in which they are drawn; None: all

    def weigh(self, number: int) -> NDArray[np.float64]:
        """How much each row of the table counts in a bag."""
        own, rows = self.target.weights, self.rows
        if own is not None:
            rows = np.flatnonzero(own > 0) if rows is None else rows[own[rows] > 0]
        n_rows = self.table.n_rows if rows is None else len(rows)
        drawn = draw_counts(self.seed, number, n_rows) if self.bootstrap else np.ones(n_rows)
        if rows is None:
            return drawn.astype(np.float64)
        weights = np.zeros(self.table.n_rows)
        weights[rows] = drawn
        return weights if own is None else weights * own

    def make_member(self, number: int, asked: NDArray[np.uint32] | None = None) -> Member:
        """Make the member of a bag; its rules are those of a fit with the bag's weights."""
        weights = self.weigh(number)
        rows = np.flatnonzero(weights != 0).astype(np.uint32)
        class_weight = getattr(self.tree, "class_weight", None)
        target = select_rows(replace(self.target, weights=weights), rows, class_weight)
        rules = make_rules(self.tree, target, self.table.n_columns)
        rules.seed, rules.tree = self.seed, number
        assert target.weights is not None
        if class_weight is not None:
            weights[rows] = target.weights  # a class of weight zero: its rows do not exist
        return Member(rows, rules, weights, asked)

    def grow(self, n_threads: int, work: Work) -> Iterator[_native.Tree]:
        """Grow whole trees, bag by bag."""
        for members in self._group(self.make_member(number) for number in range(self.n_bags)):
            family = grow_family(
                self.table._native, self.target, members, sharing="none", n_threads=n_threads
            )
            n_nodes = sum(tree.node_count for tree in family.trees)
            work.add_growth(family.work, model_words=_NODE_WORDS * n_nodes)
            yield from family.trees

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

        for members in self._group(make_members()):
            answers, done = ask_family(
                self.table._native,
                self.target,
                members,
                n_threads=n_threads,
                questions=questions,
            )
            work.add_growth(done)
            yield from answers

    def _group(self, members: Iterable[Member]) -> Iterator[Sequence[Member]]:
        """Take as many at a time as one call may have."""
        most = max(1, min(_MOST_TREES, _MOST_ROWS // self.table.n_rows))
        waiting = iter(members)
        while some := list(islice(waiting, most)):
            yield some
