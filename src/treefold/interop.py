"""treefold's tree as scikit-learn's.

scikit-learn compares float32(x) <= threshold, treefold x <= threshold. Rounding keeps order, so the
two can differ only for values x that round to c = float32(threshold). Let `below` and `above` be
the training values next to the threshold: below <= threshold < above.

    float32(below) = c = float32(above)   no threshold tells them apart: refuse
    float32(below) = c                    values that round to c go left: between c and the next
    c = float32(above)                    they go right: between the one before and c
    neither                               they go where c itself goes

Which of them holds is the node's *side* (`COINCIDE`, `LEFT`, `RIGHT`).
"""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.exceptions import ConversionError
from treefold.table import Table, encode

if TYPE_CHECKING:
    from treefold.model import Tree

__all__ = ["find_float32_sides", "to_sklearn"]

ValuesOf = Callable[[int], NDArray[np.float64]]

LEFT, RIGHT, COINCIDE = 0, 1, 2
_SHARED_PARAMETERS = (
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "random_state",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "class_weight",
    "ccp_alpha",
)


def find_float32_sides(values_of: ValuesOf, native: _native.Tree) -> NDArray[np.uint8]:
    """Find the side of every node from the values of the whole column next to its threshold.

    `values_of` gives the distinct values of a column, ascending. This is a part of every fit: a few
    numpy calls per column in use, and no copy of a column.
    """
    sides = np.zeros(native.node_count, dtype=np.uint8)
    nodes, starts = _numeric_nodes(native)
    thresholds, feature = native.threshold[nodes], native.feature
    below, above = np.empty(len(nodes)), np.empty(len(nodes))
    for start, end in pairwise(starts):
        values = values_of(int(feature[nodes[start]]))
        place = values.searchsorted(thresholds[start:end], side="right")
        below[start:end] = values[place - 1]
        above[start:end] = values[place]
    sides[nodes] = _sides(thresholds, below, above)
    return sides


def _numeric_nodes(native: _native.Tree) -> tuple[NDArray[np.int64], list[int]]:
    """List the nodes that split at a number, column by column, and where each column starts."""
    feature = native.feature
    nodes = ((feature >= 0) & (native.threshold < np.inf)).nonzero()[0]
    columns = feature[nodes]
    order = columns.argsort(kind="stable")
    columns = columns[order]
    changes = (columns[1:] != columns[:-1]).nonzero()[0] + 1
    return nodes[order], [0, *changes.tolist(), len(nodes)] if len(nodes) else []


def _sides(
    threshold: NDArray[np.float64], below: NDArray[np.float64], above: NDArray[np.float64]
) -> NDArray[np.uint8]:
    with np.errstate(over="ignore"):  # beyond float32: infinite, and scikit-learn refuses it
        below32, above32 = below.astype(np.float32), above.astype(np.float32)
        nearest = threshold.astype(np.float32)
    goes_left = (nearest == below32) | ((nearest <= threshold) & (nearest != above32))
    sides = np.where(goes_left, LEFT, RIGHT)
    unusable = (below32 == above32) | np.isinf(below32) | np.isinf(above32)
    return np.where(unusable, COINCIDE, sides).astype(np.uint8)


def _sides_of_rows(tree: "Tree", X: Any) -> NDArray[np.uint8]:
    """Find the side of every node from the rows that reach it."""
    table = _encode_like(tree, X)
    paths = tree.find_paths(table, "Tree", None)
    rows = np.repeat(np.arange(paths.shape[0]), np.diff(paths.indptr))
    native = tree._native
    below = np.full(native.node_count, -np.inf)
    above = np.full(native.node_count, np.inf)
    nodes, starts = _numeric_nodes(native)
    for start, end in pairwise(starts):
        column = int(native.feature[nodes[start]])
        is_here = np.zeros(native.node_count, dtype=bool)
        is_here[nodes[start:end]] = True
        visits = np.flatnonzero(is_here[paths.indices])
        visited = paths.indices[visits]
        values = np.append(table._native.values(column), np.nan)  # the code of missing is last
        seen = values[table._native.codes(column)[rows[visits]]]
        goes_left = seen <= native.threshold[visited]
        goes_right = seen > native.threshold[visited]
        np.maximum.at(below, visited[goes_left], seen[goes_left])
        np.minimum.at(above, visited[goes_right], seen[goes_right])
    if not (np.isfinite(below[nodes]).all() and np.isfinite(above[nodes]).all()):
        raise ConversionError("X is not the training data: it leaves sides of the tree empty.")
    sides = np.zeros(native.node_count, dtype=np.uint8)
    sides[nodes] = _sides(native.threshold[nodes], below[nodes], above[nodes])
    return sides


def _encode_like(tree: "Tree", X: Any) -> Table:
    """Encode X with the categorical columns of the fit."""
    return X if isinstance(X, Table) else encode(X, sorted(tree.schema.categories), 1)


def to_sklearn(estimator: Any, X: Any) -> Any:
    """Build scikit-learn's estimator with the same predictions on the training data."""
    import sklearn.tree  # noqa: PLC0415 - only here

    tree: Tree = estimator.tree_
    _refuse_columns(tree)
    sides = tree._float32_sides if X is None else _sides_of_rows(tree, X)
    _refuse_coincidence(tree, sides, X is None)
    parameters = estimator.get_params(deep=False)
    shared = {name: parameters[name] for name in _SHARED_PARAMETERS if name in parameters}
    is_classifier = hasattr(estimator, "classes_")
    if is_classifier:
        gain_ratio = estimator.criterion == "gain_ratio"  # unknown there; only its name is lost
        shared["criterion"] = "entropy" if gain_ratio else estimator.criterion
        model = sklearn.tree.DecisionTreeClassifier(**shared)
        model.classes_ = estimator.classes_
        model.n_classes_ = np.intp(estimator.n_classes_)
    else:
        model = sklearn.tree.DecisionTreeRegressor(**shared)
    for name in ("n_features_in_", "n_outputs_", "max_features_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(model, name, getattr(estimator, name))
    model.tree_ = _make_sklearn_tree(tree, sides)
    return model


def _refuse_columns(tree: "Tree") -> None:
    schema = tree.schema
    for column in schema.special_columns:
        if column not in schema.categories and schema.families[column] == "empty":
            continue
        if (tree.feature == column).any():
            node = int(np.argmax(tree.feature == column))
            what = "categories" if column in schema.categories else schema.families[column] + "s"
            raise ConversionError(
                f"{schema.describe(column)} holds {what}, and node {node} splits it. "
                "scikit-learn's trees split numbers only: encode the column before fitting."
            )


def _refuse_coincidence(tree: "Tree", sides: NDArray[np.uint8], can_tell_more: bool) -> None:
    if not (sides == COINCIDE).any():
        return
    node = int(np.argmax(sides == COINCIDE))
    column = tree.schema.describe(int(tree.feature[node]))
    hint = " pass the training data (to_sklearn(X)), which is less strict," if can_tell_more else ""
    raise ConversionError(
        f"{column} has training values on both sides of {float(tree.threshold[node])!r} (node "
        f"{node}) that float32 cannot tell apart, and scikit-learn's trees see only float32. "
        f"Scale or round the column before fitting,{hint} or keep treefold's tree."
    )


def _make_sklearn_tree(tree: "Tree", sides: NDArray[np.uint8]) -> Any:
    from sklearn.tree._tree import NODE_DTYPE  # noqa: PLC0415
    from sklearn.tree._tree import Tree as SklearnTree  # noqa: PLC0415

    nodes = np.zeros(tree.node_count, dtype=NODE_DTYPE)  # zeros: padding bytes too
    nodes["left_child"] = tree.children_left
    nodes["right_child"] = tree.children_right
    nodes["feature"] = tree.feature
    nodes["threshold"] = _move_thresholds(tree, sides)
    nodes["impurity"] = tree.impurity
    nodes["n_node_samples"] = tree.n_node_samples
    nodes["weighted_n_node_samples"] = tree.weighted_n_node_samples
    nodes["missing_go_to_left"] = tree.missing_go_to_left
    made = SklearnTree(tree.n_features, tree.n_classes, 1)
    made.__setstate__(
        {
            "max_depth": tree.max_depth,
            "node_count": tree.node_count,
            "nodes": nodes,
            "values": np.array(tree.value, dtype=np.float64, order="C"),
        }
    )
    return made


def _move_thresholds(tree: "Tree", sides: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Place each threshold halfway between two neighbouring float32 numbers."""
    moved = np.array(tree.threshold)
    is_split = (tree.feature >= 0) & np.isfinite(moved)
    nearest = moved[is_split].astype(np.float32)
    towards = np.where(sides[is_split] == RIGHT, -np.inf, np.inf).astype(np.float32)
    neighbour = np.nextafter(nearest, towards)
    moved[is_split] = (nearest.astype(np.float64) + neighbour.astype(np.float64)) / 2
    return moved
