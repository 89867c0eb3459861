"""treefold's tree as scikit-learn's.

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
    from treefold.model import Tree

__all__ = ["to_sklearn"]

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
    _refuse_columns(tree)
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
