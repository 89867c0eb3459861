"""A tree as JSON: a flat list of nodes, because trees may be deeper than parsers go."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from treefold.export.cleaning import is_storable
from treefold.export.walk import Split, walk
from treefold.export.words import Wording

__all__ = ["export_json"]


def export_json(
    decision_tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    indent: int | None = None,
) -> str:
    """Write a decision tree as JSON.

    The nodes stand in preorder, and `left` and `right` are their numbers. A split of numbers sends
    what is at most `threshold` left (dates count as days since 1970), one of categories has the
    labels of both sides that come to the node, one of kind "present" sends missing values right.
    `missing` says where missing values go, `unseen` where labels go that are not listed.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree.
    feature_names : sequence of str, default=None
        Names of the columns; by default those seen in fit, or "feature_0" and so on.
    class_names : sequence of str, default=None
        Names of the classes, in the order of `classes_`.
    indent : int or None, default=None
        Width of one level; None writes all in one line.

    Returns
    -------
    str
        The JSON.

    Examples
    --------
    >>> import json
    >>> from treefold import DecisionTreeClassifier, export_json
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> json.loads(export_json(model))["nodes"][0]["split"]["threshold"]
    1.5
    """
    wording = Wording(decision_tree, feature_names, class_names, 0)
    tree = wording.tree
    document = {
        "type": type(decision_tree).__name__,
        "features": [wording.name(column) for column in range(tree.n_features)],
        "classes": _list_classes(decision_tree, class_names),
        "nodes": [_describe(wording, visit.node, visit.depth) for visit in walk(tree)],
    }
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    return text if is_storable(text) else json.dumps(document, indent=indent, allow_nan=False)


def _list_classes(estimator: Any, class_names: Sequence[str] | None) -> list[Any] | None:
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return None
    names = classes.tolist() if class_names is None else class_names
    return [_plain(label) for label in names]


def _describe(wording: Wording, node: int, depth: int) -> dict[str, Any]:
    tree = wording.tree
    values = tree.value[node, 0].tolist()
    described: dict[str, Any] = {
        "node": node,
        "depth": depth,
        "samples": int(tree.n_node_samples[node]),
        "weight": float(tree.weighted_n_node_samples[node]),
        "impurity": float(tree.impurity[node]),
        "value": values[0] if wording.classes is None else values,
    }
    if wording.classes is not None:
        described["class"] = int(np.argmax(values))
    if tree.children_left[node] >= 0:
        described["split"] = _describe_split(wording, wording.split(node))
        described["left"] = int(tree.children_left[node])
        described["right"] = int(tree.children_right[node])
    return described


def _describe_split(wording: Wording, split: Split) -> dict[str, Any]:
    family = wording.tree.schema.families.get(split.column, "number")
    described: dict[str, Any] = {"feature": split.column, "kind": split.kind}
    if split.kind == "number":
        described["threshold"] = split.threshold
        if family == "date":
            described["unit"] = "days since 1970-01-01"
    if split.kind == "category":
        described["left"] = [_plain(label) for label in split.labels_left]
        described["right"] = [_plain(label) for label in split.labels_right]
        described["unseen"] = "left" if split.unseen_left else "right"
    described["missing"] = "left" if split.missing_left else "right"
    return described


def _plain(label: Any) -> Any:
    """Give a label a form that JSON has."""
    if isinstance(label, np.generic):
        label = label.item()
    is_finite = isinstance(label, float) and abs(label) < float("inf")
    return label if is_finite or isinstance(label, bool | int | str) else str(label)
