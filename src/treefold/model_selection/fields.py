"""Where the trees of some splits grow: the rows of one table, or what a pipeline made of them.

A *batch* holds splits that are read together. A bare tree has one batch: all splits are rows of one
table. A pipeline has one batch per split (`pipelines`). A *field* is a batch whose data have been
encoded, with one estimator's idea of the columns.
"""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from treefold import _native
from treefold.estimator import BaseDecisionTree
from treefold.exceptions import CardinalityWarning
from treefold.ingest import read_training
from treefold.model_selection.candidates import freeze
from treefold.model_selection.ground import Ground, open_ground
from treefold.model_selection.splits import Split
from treefold.schema import Schema
from treefold.table import Table

__all__ = ["Batch", "Data", "Field", "SharedBatch", "Side", "refuse_other_params", "rows_only"]

Side = Literal["test", "train"]


class Data:
    """What the caller passed: X, y and what `fit` is given besides."""

    def __init__(self, X: Any, y: Any, fit_params: Mapping[str, Any], n_threads: int) -> None:
        self.X, self.y = X, y
        self.fit_params = fit_params
        self.n_threads = n_threads

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(_num_samples(self.X))

    @property
    def is_table(self) -> bool:
        """Whether X is encoded already, so that scikit-learn cannot take rows of it."""
        return isinstance(self.X, Table)

    def take(self, rows: NDArray[Any]) -> tuple[Any, Any]:
        """Take some rows of X and y, as scikit-learn takes them."""
        return None if self.is_table else _safe_indexing(self.X, rows), self.take_y(rows)

    def take_y(self, rows: NDArray[Any]) -> Any:
        """Take some rows of y."""
        return None if self.y is None else _safe_indexing(self.y, rows)

    def cut(self, params: Mapping[str, Any], rows: NDArray[Any]) -> dict[str, Any]:
        """Cut parameters that have one value per row to some rows."""
        return dict(_check_method_params(self.X, params=dict(params), indices=rows))


class Field(Protocol):
    """Encoded data from which the members of some splits grow."""

    ground: Ground
    classes: NDArray[Any] | None  # of all rows of all splits; None for regression
    seconds: float  # that reading took, and that no tree has been charged with yet

    def train_rows(self, split: Split | None) -> NDArray[np.uint32]:
        """Number the training rows within the ground; None asks for all rows."""

    def left_out_rows(self, split: Split | None) -> NDArray[np.uint32] | None:
        """Number all other rows of the ground, if they are known anyway."""

    def asked_rows(self, split: Split) -> NDArray[np.uint32] | None:
        """Number the test rows within the ground, if they are there."""

    def find_leaves(self, tree: _native.Tree, split: Split, side: Side) -> NDArray[np.int64]:
        """Find the leaf of each test row, or of each training row."""

    def read_truth(self, split: Split, side: Side) -> NDArray[Any]:
        """Read their targets: numbers of classes, or numbers."""

    def spread(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the values of nodes a column for each of all classes."""

    def list_classes(self, present: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Number the classes that a training set has among all; None if it has all."""

    def own_schema(self, split: Split | None) -> Schema:
        """Tell what a fit on the training rows alone would know of the columns."""

    def complete(self, tree: BaseDecisionTree) -> Any:
        """Make of a fitted tree what the caller would have fitted."""


class Batch(Protocol):
    """Splits that are read together."""

    numbers: Sequence[int]  # of the splits
    holds_all_rows: bool  # so that a tree of all rows can grow with those of the splits

    def open(self, estimator: BaseDecisionTree) -> Field:
        """Encode the data as this estimator would; raises what its `fit` would raise."""


class SharedBatch:
    """All splits of a bare tree."""

    holds_all_rows = True

    def __init__(self, data: Data, numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self._data = data
        self._grounds: dict[Hashable, Ground] = {}

    def without_splits(self) -> "SharedBatch":
        """Give the same data with no split to be evaluated."""
        empty = SharedBatch(self._data, ())
        empty._grounds = self._grounds
        return empty

    def open(self, estimator: BaseDecisionTree) -> "SharedField":
        """Encode X, unless that has been done."""
        data = self._data
        refuse_other_params(data.fit_params)
        key = freeze(estimator.categorical_features)
        is_new = key not in self._grounds
        if is_new:
            weights = data.fit_params.get("sample_weight")
            self._grounds[key] = open_ground(estimator, data.X, data.y, weights, data.n_threads)
        ground = self._grounds[key]
        return SharedField(data, ground, estimator, ground.seconds if is_new else 0.0)


class SharedField:
    """The rows of one table."""

    def __init__(
        self, data: Data, ground: Ground, estimator: BaseDecisionTree, seconds: float
    ) -> None:
        self.ground = ground
        self.classes = ground.target.classes
        self.seconds = seconds
        self._data = data
        self._estimator = estimator

    def train_rows(self, split: Split | None) -> NDArray[np.uint32]:
        """Number the training rows within the ground; None asks for all rows."""
        if split is None:
            return np.arange(self.ground.n_rows, dtype=np.uint32)
        return split.train_rows()

    def left_out_rows(self, split: Split | None) -> NDArray[np.uint32] | None:
        """Number all other rows of the ground, if they are known anyway."""
        return np.empty(0, dtype=np.uint32) if split is None else split.left_out_rows()

    def asked_rows(self, split: Split) -> NDArray[np.uint32] | None:
        """Number the test rows within the ground."""
        return split.test.astype(np.uint32)

    def find_leaves(self, tree: _native.Tree, split: Split, side: Side) -> NDArray[np.int64]:
        """Find the leaf of each test row, or of each training row."""
        return self.ground.find_leaves(tree, split.rows(side), self._data.n_threads)

    def read_truth(self, split: Split, side: Side) -> NDArray[Any]:
        """Read their targets: numbers of classes, or numbers."""
        truth: NDArray[Any] = self.ground.target.values[split.rows(side)]
        return truth

    def spread(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the values as they are: the trees know all classes."""
        return value

    def list_classes(self, present: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Number the classes that a training set has among all; None if it has all."""
        if self.classes is None or present is None or len(present) == len(self.classes):
            return None
        return present

    def own_schema(self, split: Split | None) -> Schema:
        """Tell what a fit on the training rows alone would know of the columns."""
        X, shared = self._data.X, self.ground.table.schema
        is_plain = sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind not in "OUS")
        if split is None or self._data.is_table or (is_plain and not shared.categories):
            return shared
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CardinalityWarning)  # all rows were warned of
            X_train = _safe_indexing(X, split.train)
            own = read_training(X_train, self._estimator.categorical_features)
        for column in own.label_dtypes:  # numbers: encoding would have found their labels
            codes = self.ground.table._native.codes(column)[split.train]
            labels = shared.categories[column]
            own.schema.categories[column] = tuple(
                labels[code] for code in np.unique(codes) if code < len(labels)
            )
        return own.schema

    def complete(self, tree: BaseDecisionTree) -> Any:
        """Give the tree as it is."""
        return tree


def refuse_other_params(params: Mapping[str, Any]) -> None:
    """Refuse what `fit` would refuse."""
    if not params.keys() <= {"sample_weight"}:
        raise TypeError(f"fit() takes sample_weight only, not {sorted(params)}.")


def rows_only(X: Any) -> Any:
    """Stand in for a Table where only its number of rows matters."""
    return np.empty((X.n_rows, 0)) if isinstance(X, Table) else X
