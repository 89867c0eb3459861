"""Estimators as separate fits would have made them, from trees that grew on shared data.

A tree of a family knows the classes and categories of all rows. A fit on a training set alone
knows those of its own rows: columns of absent classes are dropped, categories renumbered.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from treefold import _native
from treefold.data.schema import Schema
from treefold.estimators.base import BaseDecisionTree
from treefold.evaluation.dataset import Dataset, Training
from treefold.model.tree import Tree

__all__ = ["make_fitted"]

Arrays = dict[str, NDArray[Any]]


def make_fitted(
    estimator: BaseDecisionTree,
    native: _native.Tree,
    dataset: Dataset,
    training: Training,
    schema: Schema,
) -> BaseDecisionTree:
    """Make a fitted clone; `schema` is what a fit on the training rows alone would have read."""
    own = _keep_own_categories(_keep_own_classes(native, training), dataset.table.schema, schema)
    tree = Tree(own, schema, _find_missing(dataset, training.rows))
    fitted: BaseDecisionTree = clone(estimator)
    return fitted._become(tree, training.classes, training.rules.max_features)


def _keep_own_classes(native: _native.Tree, training: Training) -> _native.Tree:
    present = training.present
    if present is None or len(present) == native.n_classes:
        return native
    arrays = native.to_arrays()
    arrays["value"] = np.ascontiguousarray(native.value[:, present]).ravel()
    return _native.Tree.from_arrays(arrays, len(present))


def _keep_own_categories(native: _native.Tree, shared: Schema, own: Schema) -> _native.Tree:
    if shared.categories == own.categories:
        return native
    arrays = native.to_arrays()
    arrays["n_categories"] = np.array(
        [
            max(1, len(own.categories[column])) if column in own.categories else 0
            for column in range(own.n_columns)
        ],
        dtype=np.int32,
    )
    words = [_renumber(native, node, shared, own) for node in range(native.node_count)]
    arrays["category_words"] = np.concatenate(words)
    begins = np.cumsum([0, *map(len, words)], dtype=np.int64)
    arrays["category_begin"] = begins
    return _native.Tree.from_arrays(arrays, native.n_classes)


def _renumber(native: _native.Tree, node: int, shared: Schema, own: Schema) -> NDArray[np.uint64]:
    """Write a node's set of categories with the numbers of its own training rows."""
    begin, end = native.category_begin[node : node + 2]
    if begin == end:
        return np.empty(0, dtype=np.uint64)
    column = int(native.feature[node])
    words = np.ascontiguousarray(native.category_words[begin:end])
    goes_left = np.unpackbits(words.view(np.uint8), bitorder="little")
    number_of = {label: number for number, label in enumerate(shared.categories[column])}
    labels = own.categories[column]
    bits = np.zeros((len(labels) + 63) // 64 * 64, dtype=np.uint8)
    bits[: len(labels)] = goes_left[[number_of[label] for label in labels]]
    return np.packbits(bits, bitorder="little").view(np.uint64)


def _find_missing(dataset: Dataset, rows: NDArray[np.uint32]) -> NDArray[np.int64]:
    table = dataset.table._native
    columns = np.flatnonzero(table.has_missing)
    if len(rows) == table.n_rows:
        return columns
    n_codes = table.n_codes
    has_missing = [bool((table.codes(int(c))[rows] == n_codes[c]).any()) for c in columns]
    missing: NDArray[np.int64] = columns[np.array(has_missing, dtype=bool)]
    return missing
