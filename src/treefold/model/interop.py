"""treefold's tree as scikit-learn's, and what scikit-learn's functions ask of a tree.

scikit-learn compares float32(x) <= threshold, treefold x <= threshold. Rounding keeps order, so the
two can differ only for values x that round to c = float32(threshold). Let `below` and `above` be
the values of the node's training rows next to the threshold: below <= threshold < above.

    float32(below) = c = float32(above)   no threshold tells them apart: refuse
    float32(below) = c                    values that round to c go left: between c and the next
    c = float32(above)                    they go right: between the one before and c
    neither                               they go where c itself goes

Which of them holds is the node's *side* (`COINCIDE`, `LEFT`, `RIGHT`), which growth notes.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import ConversionError

if TYPE_CHECKING:
    from collections.abc import Collection

    from treefold.model.tree import Tree

__all__ = ["average_out", "refuse_special", "to_sklearn"]

LEFT, RIGHT, COINCIDE = 0, 1, 2  # Float32Side in the core
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


def to_sklearn(estimator: Any) -> Any:
    """Build scikit-learn's estimator with the same predictions on the training data."""
    import sklearn.tree  # noqa: PLC0415 - only here

    tree: Tree = estimator.tree_
    refuse_special(tree, "encode the column before fitting.")
    _refuse_coincidence(tree)
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
    model.tree_ = _make_sklearn_tree(tree)
    return model


def refuse_special(tree: "Tree", advice: str, only: "Collection[int] | None" = None) -> None:
    """Refuse a tree that splits columns, or some of them, that do not hold numbers."""
    schema = tree.schema
    for column in schema.special_columns:
        if only is not None and column not in only:
            continue
        if column not in schema.categories and schema.families[column] == "empty":
            continue
        if (tree.feature == column).any():
            node = int(np.argmax(tree.feature == column))
            what = "categories" if column in schema.categories else schema.families[column] + "s"
            raise ConversionError(
                f"{schema.describe(column)} holds {what}, and node {node} splits it. "
                f"scikit-learn's trees split numbers only: {advice}"
            )


def _refuse_coincidence(tree: "Tree") -> None:
    sides = tree._native.float32_side
    if not (sides == COINCIDE).any():
        return
    node = int(np.argmax(sides == COINCIDE))
    column = tree.schema.describe(int(tree.feature[node]))
    raise ConversionError(
        f"{column} has training values on both sides of {float(tree.threshold[node])!r} (node "
        f"{node}) that float32 cannot tell apart, and scikit-learn's trees see only float32. "
        "Scale or round the column before fitting, or keep treefold's tree."
    )


def _make_sklearn_tree(tree: "Tree") -> Any:
    from sklearn.tree._tree import NODE_DTYPE  # noqa: PLC0415
    from sklearn.tree._tree import Tree as SklearnTree  # noqa: PLC0415

    nodes = np.zeros(tree.node_count, dtype=NODE_DTYPE)  # zeros: padding bytes too
    nodes["left_child"] = tree.children_left
    nodes["right_child"] = tree.children_right
    nodes["feature"] = tree.feature
    nodes["threshold"] = _move_thresholds(tree)
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


def _move_thresholds(tree: "Tree") -> NDArray[np.float64]:
    """Place each threshold halfway between two neighbouring float32 numbers."""
    moved = np.array(tree.threshold)
    is_split = (tree.feature >= 0) & np.isfinite(moved)
    nearest = moved[is_split].astype(np.float32)
    sides = tree._native.float32_side[is_split]
    towards = np.where(sides == RIGHT, -np.inf, np.inf).astype(np.float32)
    neighbour = np.nextafter(nearest, towards)
    moved[is_split] = (nearest.astype(np.float64) + neighbour.astype(np.float64)) / 2
    return moved


def average_out(tree: "Tree", grid: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float64]:
    """Average the values of the leaves that each line of the grid may reach: partial dependence.

    Where a node splits another column, both sides count, by the weight of their training rows.
    """
    timed = [column for column in columns if column not in tree.schema.categories]
    refuse_special(tree, "give partial_dependence method='brute'.", only=timed)
    places = {int(column): place for place, column in enumerate(columns)}
    weights = tree.weighted_n_node_samples
    shares = {0: np.ones(len(grid))}
    total = np.zeros(len(grid))
    for node, column in enumerate(tree.feature):
        share = shares.pop(node)
        if column < 0:
            total += share * tree.value[node, 0, 0]
            continue
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        part: Any = weights[left] / weights[node]
        if column in places:
            part = _go_left(tree, node, grid[:, places[int(column)]])
        shares[left], shares[right] = share * part, share * (1 - part)
    return total


def _go_left(tree: "Tree", node: int, values: NDArray[Any]) -> NDArray[np.int64]:
    """Which values of a column, as the caller gave them, go left: 1, else 0."""
    is_missing = np.array([value is None or value != value for value in values])  # noqa: PLR0124
    if tree.is_categorical(node):
        labels = set(tree.categories_left(node))
        goes_left = np.array([value in labels for value in values])
    else:
        goes_left = np.where(is_missing, np.nan, values).astype(np.float64) <= tree.threshold[node]
    return np.where(is_missing, tree.missing_go_to_left[node] != 0, goes_left).astype(np.int64)
