"""Encoded rows from which the trees of some splits grow, and what a training set makes of them.

All splits of a bare tree are rows of one table. A pipeline has one table per split (`pipelines`),
which holds its training rows only: what differs there are the methods under "Splits".

A training set takes its rules from its own rows: shares of rows, balanced class weights and total
weight are those of a fit on these rows alone.
"""

import copy
import time
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from treefold import _native
from treefold.data.ingest import read_training
from treefold.data.schema import Schema
from treefold.data.table import Table, encode
from treefold.data.target import Target, select_rows
from treefold.estimators.base import BaseDecisionTree
from treefold.evaluation.splits import Split
from treefold.exceptions import CardinalityWarning
from treefold.family import Member
from treefold.rules import make_rules

__all__ = ["Dataset", "Side", "Training", "open_dataset", "read_target", "refuse_other_params"]

Side = Literal["test", "train"]


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


class Dataset:
    """An encoded table with its target."""

    def __init__(self, table: Table, target: Target, n_threads: int, seconds: float) -> None:
        self.table = table
        self.target = target  # without class weights
        self.n_threads = n_threads
        self._seconds = seconds  # of reading, that no tree has been charged with yet

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self.table.n_rows

    def charge(self) -> float:
        """Give the seconds that reading took, to the first who asks."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds

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

    def make_member(
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

    def find_leaves(self, tree: _native.Tree, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Find the leaf of each of some rows of the table."""
        source = _native.Source(len(rows), self.table.n_columns)
        source.add_table(self.table._native, np.ascontiguousarray(rows, dtype=np.uint32))
        return tree.apply(source, self.n_threads)

    # Splits: rows are those that the caller numbers ----------------------------------------------

    @property
    def classes(self) -> NDArray[Any] | None:
        """Labels of the classes of all rows of all splits; None for regression."""
        return self.target.classes

    def find_side(self, tree: _native.Tree, split: Split, side: Side) -> NDArray[np.int64]:
        """Find the leaf of each test row, or of each training row."""
        return self.find_leaves(tree, split.rows(side))

    def list_train(self, split: Split | None) -> NDArray[np.uint32]:
        """Number the training rows within the table; None asks for all rows."""
        return np.arange(self.n_rows, dtype=np.uint32) if split is None else split.train_rows()

    def list_left_out(self, split: Split | None) -> NDArray[np.uint32] | None:
        """Number all other rows of the table, if they are known anyway."""
        return np.empty(0, dtype=np.uint32) if split is None else split.left_out_rows()

    def list_asked(self, split: Split) -> NDArray[np.uint32] | None:
        """Number the test rows within the table, if they are there."""
        return split.test.astype(np.uint32)

    def read_truth(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Read the targets of rows: numbers of classes, or numbers."""
        truth: NDArray[Any] = self.target.values[rows]
        return truth

    def spread(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the values of nodes a column for each of all classes."""
        return value

    def list_classes(self, present: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Number the classes that a training set has among all; None if it has all."""
        if self.classes is None or present is None or len(present) == len(self.classes):
            return None
        return present

    def read_schema(self, X: Any, estimator: BaseDecisionTree, split: Split | None) -> Schema:
        """Tell what a fit on the training rows alone, which are taken of X, would know."""
        shared = self.table.schema
        is_plain = sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind not in "OUS")
        if split is None or isinstance(X, Table) or (is_plain and not shared.categories):
            return shared
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CardinalityWarning)  # all rows were warned of
            X_train = _safe_indexing(X, split.train)
            own = read_training(X_train, estimator.categorical_features)
        for column in own.label_dtypes:  # numbers: encoding would have found their labels
            codes = self.table._native.codes(column)[split.train]
            labels = shared.categories[column]
            own.schema.categories[column] = tuple(
                labels[code] for code in np.unique(codes) if code < len(labels)
            )
        return own.schema

    def complete(self, tree: BaseDecisionTree) -> Any:
        """Make of a fitted tree what the caller would have fitted."""
        return tree


def open_dataset(
    estimator: BaseDecisionTree, X: Any, y: Any, sample_weight: Any, n_threads: int
) -> Dataset:
    """Encode the data as this estimator would; raises what its `fit` would raise."""
    start = time.perf_counter()
    table = encode(X, estimator.categorical_features, n_threads)
    target = read_target(estimator, y, sample_weight, table.n_rows)
    return Dataset(table, target, n_threads, time.perf_counter() - start)


def read_target(estimator: BaseDecisionTree, y: Any, sample_weight: Any, n_rows: int) -> Target:
    """Read the targets of all rows; weights of classes depend on the rows of each training set."""
    reader = copy.copy(estimator)
    if hasattr(reader, "class_weight"):
        reader.class_weight = None
    return reader._read_target(y, sample_weight, n_rows)


def refuse_other_params(params: Any) -> None:
    """Refuse what `fit` would refuse."""
    if not params.keys() <= {"sample_weight"}:
        raise TypeError(f"fit() takes sample_weight only, not {sorted(params)}.")
