"""The read-only tree: scikit-learn's array names over the core's memory.

Nodes are numbered in preorder, so a parent always comes before its children, and every walk here is
a loop over arrays: trees may be as deep as they have rows.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treefold import _native
from treefold.data.schema import Schema
from treefold.data.states import schema_from_state, schema_to_state, take, take_array, take_count
from treefold.data.table import named_columns, open_rows
from treefold.exceptions import InputError, ModelFileError
from treefold.model.cuts import show_date, show_number
from treefold.model.interop import refuse_special
from treefold.threads import effective_n_jobs

__all__ = ["Tree", "check_same_tree"]

_LARGEST = float(np.finfo(np.float64).max)
_FORMAT = 3  # of the state
_TIMES = ("date", "duration")
_MOST_DAYS = 2.0**63  # dates are counted by whole numbers of 64 bits


class Tree:
    """A fitted tree, one array per field. Estimators have it as `tree_`.

    The arrays are read-only views of the core's memory, in preorder, under the names and with the
    meanings that scikit-learn gives them: `children_left`, `children_right`, `feature`,
    `threshold`, `impurity`, `n_node_samples`, `weighted_n_node_samples`, `value` and
    `missing_go_to_left`. Whole numbers have 32 bits (scikit-learn: 64), half the memory.
    Leaves have -1 as children and -2 as feature and threshold. A categorical split has threshold
    NaN, and its left categories are `categories_left(node)`; a split of present from missing values
    has threshold +inf.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1]).tree_
    >>> tree.threshold
    array([ 0.5, -2. , -2. ])
    >>> tree
    Tree(node_count=3, n_leaves=2, max_depth=1)
    """

    def __init__(
        self,
        native: _native.Tree,
        schema: Schema,
        missing_columns: NDArray[np.int64],
    ) -> None:
        self._native = native
        self.schema = schema
        self._missing_columns = missing_columns  # those that had missing values at fit
        self._is_plain: bool | None = None  # True: all splits are of numbers; None: not known
        self._cuts: dict[int, NDArray[np.float64]] = {}  # of columns, rising, as they are asked for

    node_count = property(lambda self: self._native.node_count, doc="Number of nodes.")
    capacity = property(lambda self: self._native.node_count, doc="Number of nodes.")
    n_features = property(lambda self: self._native.n_features, doc="Number of columns.")
    n_leaves = property(lambda self: self._native.n_leaves, doc="Number of leaves.")
    max_depth = property(lambda self: self._native.max_depth, doc="Depth of the deepest leaf.")

    children_left = property(lambda self: self._native.children_left, doc="-1 in leaves.")
    children_right = property(lambda self: self._native.children_right, doc="-1 in leaves.")
    feature = property(lambda self: self._native.feature, doc="Column; -2 in leaves.")
    n_node_samples = property(lambda self: self._native.n_node_samples, doc="Rows in each node.")
    threshold = property(
        lambda self: self._native.threshold, doc="Left if at most this; NaN if categorical."
    )
    impurity = property(lambda self: self._native.impurity, doc="Impurity of each node.")
    weighted_n_node_samples = property(
        lambda self: self._native.weighted_n_node_samples, doc="Weight in each node."
    )
    missing_go_to_left = property(
        lambda self: self._native.missing_go_to_left, doc="Where missing values go."
    )

    @property
    def n_outputs(self) -> int:
        """Number of targets: one. Code for scikit-learn's trees asks for it before it shows one.

        So a tree whose splits it would take for splits of numbers says here what to use instead.
        """
        if self._is_plain is None:
            refuse_special(
                self, "use treefold.plot_tree, treefold.export_text, treefold.export_dot."
            )
            self._is_plain = True
        return 1

    @property
    def value(self) -> NDArray[np.float64]:
        """Class fractions or mean of each node, of shape (node_count, 1, n_classes or 1)."""
        value = self._native.value
        return value.reshape(len(value), 1, -1)

    @property
    def n_classes(self) -> NDArray[np.intp]:
        """Number of classes of the one target; 1 for regression."""
        return np.array([self.max_n_classes], dtype=np.intp)

    @property
    def max_n_classes(self) -> int:
        """Number of classes; 1 for regression."""
        return max(1, self._native.n_classes)

    def __repr__(self) -> str:
        return (
            f"Tree(node_count={self.node_count}, n_leaves={self.n_leaves}, "
            f"max_depth={self.max_depth})"
        )

    def had_missing(self, column: int) -> bool:
        """Whether a column had missing values at fit.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1]).tree_
        >>> tree.had_missing(0)
        False
        """
        place = int(np.searchsorted(self._missing_columns, column))
        return place < len(self._missing_columns) and self._missing_columns[place] == column

    def is_categorical(self, node: int) -> bool:
        """Whether a node splits by categories.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1]).tree_
        >>> tree.is_categorical(0)
        False
        """
        return bool(np.isnan(self.threshold[node]))

    def categories_left(self, node: int) -> tuple[Any, ...]:
        """Labels that go left in a node that splits by categories.

        Those that the node did not see go with its rare ones, or as missing values do where it had
        none, and are listed accordingly.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> X = [["red"], ["blue"], ["green"]] * 2
        >>> model = DecisionTreeClassifier(categorical_features=[0]).fit(X, [1, 0, 1, 1, 0, 1])
        >>> model.tree_.categories_left(0)
        ('blue',)
        """
        if not self.is_categorical(node):
            raise ValueError(f"Node {node} does not split by categories.")
        begin = self._native.category_begin
        words = np.ascontiguousarray(self._native.category_words[begin[node] : begin[node + 1]])
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        labels = self.schema.categories[int(self.feature[node])]
        return tuple(label for label, bit in zip(labels, bits, strict=False) if bit)

    def show_threshold(self, node: int, decimals: int, threshold: float | None = None) -> str:
        """Write a node's threshold, or another: a number, or a date where the column holds dates.

        It has `decimals` digits after the point, and more where it would else be another number
        than the few digits that it has, zero, or another threshold of the same column.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1]).tree_
        >>> tree.show_threshold(0, 2)
        '0.50'
        """
        threshold = float(self.threshold[node] if threshold is None else threshold)
        return self._show_cut(int(self.feature[node]), threshold, decimals)

    def _show_cut(self, column: int, threshold: float, decimals: int = 0) -> str:
        """Write a threshold of a column."""
        if self.schema.families.get(column) == "date":
            return show_date(threshold, decimals)
        if column not in self._cuts:
            self._cuts[column] = np.unique(self.threshold[self.feature == column])
        return show_number(threshold, decimals, self._cuts[column])

    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]:
        """Add up the decrease of impurity that each column brought.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[0.0, 7.0], [1.0, 7.0]], [0, 1]).tree_
        >>> tree.compute_feature_importances()
        array([1., 0.])
        """
        importances = self._native.feature_importances()
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(importances.sum())
        if not math.isfinite(total) or self.impurity.max() == _LARGEST:  # squares of huge targets
            return self._add_up_huge_decreases(normalize)
        return importances / total if normalize and total > 0 else importances

    def _add_up_huge_decreases(self, normalize: bool) -> NDArray[np.float64]:
        """Add up `W_L*W_R/W * (m_L - m_R)^2`, of means that are scaled to be at most one."""
        split = np.flatnonzero(self.feature >= 0)
        left, right = self.children_left[split], self.children_right[split]
        scale = float(np.abs(self._native.value).max())
        means = self._native.value.ravel() / scale
        shares = self.weighted_n_node_samples / self.weighted_n_node_samples[0]
        decreases = shares[left] * shares[right] / shares[split] * (means[left] - means[right]) ** 2
        importances = np.zeros(self.schema.n_columns)
        np.add.at(importances, self.feature[split], decreases)
        total = float(importances.sum())
        if normalize and total > 0:
            return importances / total
        with np.errstate(over="ignore"):  # the largest number, as for the impurity of a node
            importances = np.minimum(importances * scale * scale, _LARGEST)
        return importances

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the leaf of every row.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1]).tree_
        >>> tree.apply([[0.0], [9.0]]).tolist()
        [1, 2]
        """
        return self.find_leaves(X, "Tree", None)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Give every row the value of its leaf.

        Examples
        --------
        >>> from treefold import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[0.0], [1.0]], [3.0, 5.0]).tree_
        >>> tree.predict([[0.0], [9.0]])
        array([[3.],
               [5.]])
        """
        return self._native.value.take(self.apply(X), axis=0)

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Mark the nodes that every row visits.

        Examples
        --------
        >>> from treefold import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[0.0], [1.0]], [3.0, 5.0]).tree_
        >>> tree.decision_path([[0.0]]).toarray()
        array([[1, 1, 0]])
        """
        return self.find_paths(X, "Tree", None)

    def find_leaves(self, X: Any, owner: str, n_jobs: Any) -> NDArray[np.int64]:
        """Find the leaf of every row, on behalf of an estimator named `owner`."""
        source = open_rows(X, self.schema, owner)
        with named_columns(self.schema):
            return self._native.apply(source, effective_n_jobs(n_jobs))

    def find_paths(self, X: Any, owner: str, n_jobs: Any) -> sparse.csr_matrix:
        """Mark the nodes that every row visits, on behalf of an estimator named `owner`."""
        source = open_rows(X, self.schema, owner)
        with named_columns(self.schema):
            indptr, indices = self._native.decision_path(source, effective_n_jobs(n_jobs))
        marks = np.ones(len(indices), dtype=np.int64)
        shape = (len(indptr) - 1, self.node_count)
        return sparse.csr_matrix((marks, indices, indptr), shape=shape)

    def _to_state(self) -> dict[str, Any]:
        """Say everything that makes this tree, in plain Python and arrays."""
        return {
            "format": _FORMAT,
            "n_classes": self._native.n_classes,
            "schema": schema_to_state(self.schema),
            "missing_columns": np.asarray(self._missing_columns, dtype=np.int64),
            **self._native.to_arrays(),
        }

    @classmethod
    def _from_state(cls, state: Any) -> "Tree":
        """Make the tree of a state, after a check of all of it."""
        return cls._from_arrays(state, schema_from_state(take(state, "schema", dict)))

    @classmethod
    def _from_arrays(cls, state: Any, schema: Schema) -> "Tree":
        """Make the tree of a state, whose columns are known."""
        form = take(state, "format", int)
        if form != _FORMAT:
            raise ModelFileError(
                f"This tree was written in format {form}; this version of treefold reads format "
                f"{_FORMAT}. Load it with the version that wrote it."
            )
        n_classes = take_count(state, "n_classes", 0, 2**31 - 1)
        n_columns = schema.n_columns
        missing = take_array(state, "missing_columns", np.int64, None)
        is_rising = bool((np.diff(missing) > 0).all())
        if not is_rising or (len(missing) and not 0 <= missing[0] <= missing[-1] < n_columns):
            raise ModelFileError("missing_columns does not list columns in rising order")
        n_categories = take_array(state, "n_categories", np.int32, n_columns)
        expected = np.zeros(n_columns, dtype=np.int32)
        for column, labels in schema.categories.items():
            expected[column] = max(1, len(labels))
        if not np.array_equal(expected, n_categories):
            raise ModelFileError("n_categories does not count the categories of the columns")
        try:
            native = _native.Tree.from_arrays(state, n_classes)
        except ValueError as error:
            raise ModelFileError(str(error)) from None
        _refuse_odd_numbers(native, schema)
        return cls(native, schema, np.array(missing))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._to_state(),)


def _rebuild(state: dict[str, Any]) -> Tree:
    return Tree._from_state(state)


def _refuse_odd_numbers(native: _native.Tree, schema: Schema) -> None:
    """Refuse what the core would bear, but growth does not make."""
    is_split = native.feature >= 0
    if (native.threshold[~is_split] != -2).any() or np.isneginf(native.threshold).any():
        raise ModelFileError("not a valid tree: a threshold is neither of a leaf nor of a split")
    if (np.isposinf(native.threshold) & (native.missing_go_to_left != 0)).any():
        raise ModelFileError("not a valid tree: missing values go where the present ones go")
    timed = [column for column, family in schema.families.items() if family in _TIMES]
    cuts = native.threshold[np.isin(native.feature, timed)]
    if (np.abs(cuts[np.isfinite(cuts)]) > _MOST_DAYS).any():
        raise ModelFileError("not a valid tree: a threshold is no day that a date can have")
    rows = native.n_node_samples.astype(np.int64)
    left, right = native.children_left[is_split], native.children_right[is_split]
    if (rows[left] + rows[right] != rows[is_split]).any():
        raise ModelFileError("not a valid tree: a split has other rows than its two sides")
    if native.n_classes and not ((native.value >= 0) & (native.value <= 1 + 1e-9)).all():
        raise ModelFileError("not a valid tree: a share of a class is not between 0 and 1")


def check_same_tree(fitted: Tree, again: Tree) -> None:
    """Refuse data that are not those of the fit."""
    is_same = fitted.node_count == again.node_count and all(
        np.array_equal(getattr(fitted, name), getattr(again, name), equal_nan=True)
        for name in ("feature", "threshold", "n_node_samples", "value")
    )
    if not is_same:
        raise InputError(
            "X and y give another tree than the one that was fitted, so they are not the data of "
            "the fit, or its folds were drawn without a seed. Give the same X, y, sample_weight "
            "and groups, or none of them."
        )
