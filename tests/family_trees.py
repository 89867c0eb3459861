"""Families over one data set, and each member's tree beside that of an estimator fitted alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from core_trees import open_rows
from scipy import sparse

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, Table, _native
from treefold.data.target import Target
from treefold.family import Family, Member, grow_family
from treefold.rules import make_rules

SAME = ["children_left", "children_right", "feature", "threshold", "missing_go_to_left"]
SAME += ["impurity", "n_node_samples", "weighted_n_node_samples"]


@dataclass
class Workbench:
    """A data set and the parameters of its trees; fits are remembered."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None = None
    categorical: list[int] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    fits: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def table(self) -> Table:
        return Table.from_data(self.X, categorical_features=self.categorical)

    @property
    def is_classification(self) -> bool:
        return self.y.dtype.kind != "f"

    @cached_property
    def target(self) -> Target:
        if not self.is_classification:
            return Target(self.y, weights=self.weights)
        classes, numbers = np.unique(self.y, return_inverse=True)
        return Target(numbers.astype(np.int32), classes, self.weights)

    def estimator(self, **params: Any) -> Any:
        kind = DecisionTreeClassifier if self.is_classification else DecisionTreeRegressor
        return kind(categorical_features=self.categorical, **self.params, **params)

    def member(
        self, rows: Any, asked: Any = None, bag: Any = None, is_whole: bool = False, **params: Any
    ) -> Member:
        """A member with the rules of an estimator fitted on its rows. `bag`: weights of its own.

        It names its rows or, if they are fewer, the others.
        """
        rows = np.asarray(rows, dtype=np.uint32)
        own = self.read_target(rows, bag, **params)
        rules = make_rules(self.estimator(**params), own, self.table.n_columns)
        if own.multipliers is not None:
            multipliers = np.ones(self.target.n_classes)
            multipliers[np.searchsorted(self.target.classes, own.classes)] = own.multipliers
            rules.class_multipliers = multipliers
        if asked is not None:
            asked = np.asarray(asked, dtype=np.uint32)
        left_out = np.setdiff1d(np.arange(len(self.y)), rows).astype(np.uint32)
        if len(left_out) < len(rows):
            return Member(None, rules, bag, asked, is_whole, left_out)
        return Member(rows, rules, bag, asked, is_whole)

    def read_target(self, rows: np.ndarray, bag: Any, **params: Any) -> Target:
        weights = self.weights if bag is None else bag
        own = None if weights is None else weights[rows]
        return self.estimator(**params)._read_target(self.y[rows], own, len(rows))

    def fit_alone(self, rows: Any, bag: Any = None, **params: Any) -> Any:
        rows = np.asarray(rows)
        key = (rows.tobytes(), None if bag is None else bag.tobytes(), *sorted(params.items()))
        if key not in self.fits:
            weights = self.weights if bag is None else bag
            own = None if weights is None else weights[rows]
            model = self.estimator(**params)
            self.fits[key] = model.fit(self.X[rows], self.y[rows], sample_weight=own)
        return self.fits[key]

    def grow(self, members: Sequence[Member], sharing: Any, n_threads: int = 1) -> Family:
        return grow_family(
            self.table._native, self.target, members, sharing=sharing, n_threads=n_threads
        )

    def assert_as_alone(
        self, row_sets: Sequence[Any], sharing: Any, n_threads: int = 1, **params: Any
    ) -> Family:
        """Members that differ in rows only."""
        return self.assert_each_as_alone(row_sets, [params] * len(row_sets), sharing, n_threads)

    def assert_each_as_alone(
        self,
        row_sets: Sequence[Any],
        params: Sequence[dict[str, Any]],
        sharing: Any,
        n_threads: int = 1,
    ) -> Family:
        """Members with parameters of their own."""
        members = [self.member(rows, **own) for rows, own in zip(row_sets, params, strict=True)]
        family = self.grow(members, sharing, n_threads)
        for rows, own, tree in zip(row_sets, params, family.trees, strict=True):
            self.assert_same(self.fit_alone(rows, **own), tree)
        return family

    def assert_same(self, alone: Any, tree: _native.Tree) -> None:
        """Node by node, bit for bit; values by class, categories by label."""
        expected = alone.tree_._native
        for name in SAME:
            want, got = getattr(expected, name), getattr(tree, name)
            assert want.tobytes() == got.tobytes(), f"{name}\n{want}\n{got}"
        values = expected.value
        if self.is_classification:
            values = np.zeros((tree.node_count, self.target.n_classes))
            values[:, np.searchsorted(self.target.classes, alone.classes_)] = expected.value
        assert values.tobytes() == tree.value.tobytes()
        for node in np.flatnonzero(np.isnan(tree.threshold)):
            assert self.left_labels_alone(alone, node) == left_labels(
                tree, node, self.table.schema.categories
            )

    def left_labels_alone(self, alone: Any, node: int) -> set[Any]:
        """Labels that the estimator has never seen go where its nodes send unknown ones."""
        expected, known = alone.tree_._native, alone.tree_.schema.categories
        left = left_labels(expected, node, known)
        if expected.unknown_go_to_left[node]:
            column = int(expected.feature[node])
            left |= set(self.table.schema.categories[column]) - set(known[column])
        return left


def left_labels(tree: _native.Tree, node: int, categories: dict[int, Sequence[Any]]) -> set[Any]:
    begin, end = tree.category_begin[node : node + 2]
    words = tree.category_words[begin:end].tolist()
    number = sum(word << 64 * i for i, word in enumerate(words))
    labels = categories[int(tree.feature[node])]
    return {label for c, label in enumerate(labels) if number >> c & 1}


def visited(tree: _native.Tree, table: _native.Table) -> sparse.csr_array:
    """(row, node): whether the row passes the node."""
    indptr, indices = tree.decision_path(open_rows(table), 1)
    shape = (table.n_rows, tree.node_count)
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)


def without_each(n_rows: int, fold_of: np.ndarray) -> list[np.ndarray]:
    """All rows, then all but one fold, for each fold: the final tree and its cross-validation."""
    rows = np.arange(n_rows)
    return [rows, *(rows[fold_of != fold] for fold in np.unique(fold_of))]


def draw_folds(n_rows: int, n_folds: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.arange(n_rows) % n_folds)
