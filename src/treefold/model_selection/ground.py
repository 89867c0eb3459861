"""The data of all splits, encoded once, and what each training set makes of it.

A training set takes its rules from its own rows: shares of rows, balanced class weights and total
weight are those of a fit on these rows alone.
"""

import copy
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from treefold import _native
from treefold.estimator import BaseDecisionTree
from treefold.family import Member
from treefold.rules import make_rules
from treefold.table import Table, encode
from treefold.target import Target, select_rows

__all__ = ["Ground", "Training", "open_ground", "read_target"]


@dataclass(frozen=True, slots=True)
class Training:
    """The rows of one tree, and the rules that follow from them."""

    rows: NDArray[np.uint32]
    target: Target  # of these rows
    rules: _native.Rules
    left_out: NDArray[np.uint32] | None = None  # all other rows, if they are known

    @property
    def present(self) -> NDArray[np.int64] | None:
        """Numbers of the classes that the rows have; None for regression."""
        if self.target.classes is None:
            return None
        counts = np.bincount(self.target.values, minlength=self.target.n_classes)
        return np.flatnonzero(counts)

    @property
    def classes(self) -> NDArray[Any] | None:
        """Labels of the classes that the rows have; None for regression."""
        return None if self.target.classes is None else self.target.classes[self.present]


@dataclass(frozen=True, slots=True)
class Ground:
    """An encoded table with its target, from which all members grow."""

    table: Table
    target: Target  # of all rows, without class weights
    seconds: float  # that encoding took

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def train(
        self,
        estimator: BaseDecisionTree,
        rows: NDArray[np.uint32],
        left_out: NDArray[np.uint32] | None = None,
    ) -> Training:
        """Make the rules of a fit on these rows; raises what that fit would raise."""
        target = select_rows(self.target, rows, getattr(estimator, "class_weight", None))
        if isinstance(estimator.random_state, np.random.RandomState):
            estimator = clone(estimator)  # each fit draws from the state as it was given
        rules = make_rules(estimator, target, self.table.n_columns)
        return Training(rows, target, rules, left_out)

    def member(
        self,
        training: Training,
        asked: NDArray[np.uint32] | None = None,
        is_whole: bool = False,
    ) -> Member:
        """Make the member of a family that grows on these rows, with those that ask it."""
        own, given = training.target.weights, self.target.weights
        if own is None or (given is not None and np.array_equal(own, given[training.rows])):
            rows = training.rows if training.left_out is None else None
            return Member(rows, training.rules, None, asked, is_whole, training.left_out)
        weights = np.zeros(self.n_rows)  # a class of weight zero: its rows do not exist
        weights[training.rows] = own
        return Member(training.rows, training.rules, weights, asked, is_whole)

    def find_leaves(
        self, tree: _native.Tree, rows: NDArray[Any], n_threads: int
    ) -> NDArray[np.int64]:
        """Find the leaf of each of some rows."""
        source = _native.Source(len(rows), self.table.n_columns)
        source.add_table(self.table._native, np.ascontiguousarray(rows, dtype=np.uint32))
        return tree.apply(source, n_threads)


def open_ground(
    estimator: BaseDecisionTree, X: Any, y: Any, sample_weight: Any, n_threads: int
) -> Ground:
    """Encode the data of all splits."""
    start = time.perf_counter()
    table = encode(X, estimator.categorical_features, n_threads)
    target = read_target(estimator, y, sample_weight, table.n_rows)
    return Ground(table, target, time.perf_counter() - start)


def read_target(estimator: BaseDecisionTree, y: Any, sample_weight: Any, n_rows: int) -> Target:
    """Read the targets of all rows; weights of classes depend on the rows of each training set."""
    reader = copy.copy(estimator)
    if hasattr(reader, "class_weight"):
        reader.class_weight = None
    return reader._read_target(y, sample_weight, n_rows)
