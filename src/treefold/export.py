"""A tree as text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import ParameterError
from treefold.model import Tree
from treefold.stability import CAUTION

__all__ = ["Steadiness", "Wording", "export_text", "subtree_depths"]

_SHOWN_CATEGORIES = 8


def export_text(
    decision_tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    show_stability: bool = False,
) -> str:
    """Write the rules of a decision tree as indented text.

    Where a column had missing values, the side they go to says "or missing". Categorical splits
    show the categories of each side.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree.
    feature_names : sequence of str, default=None
        Names of the columns; by default those seen in fit, or "feature_0" and so on.
    class_names : sequence of str, default=None
        Names of the classes, in the order of `classes_`.
    max_depth : int or None, default=10
        Deepest split to show; None for all.
    spacing : int, default=3
        Width of one level.
    decimals : int, default=2
        Digits of thresholds and values.
    show_weights : bool, default=False
        Show the weight of each class in the leaves.
    show_stability : bool, default=False
        Show in how many folds each split and each leaf came out, for estimators that are
        cross-validated in fit (`DecisionTreeClassifierCV`, `DecisionTreeRegressorCV`).

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier, export_text
    >>> X = [[1.0, 3.0], [2.0, 3.0], [3.0, 3.0]]
    >>> print(export_text(DecisionTreeClassifier().fit(X, ["no", "yes", "yes"])), end="")
    |--- feature_0 <= 1.50
    |   |--- class: no
    |--- feature_0 >  1.50
    |   |--- class: yes
    """
    _check_count("spacing", spacing, 1)
    _check_count("decimals", decimals, 0)
    if max_depth is not None:
        _check_count("max_depth", max_depth, 0)
    wording = Wording(decision_tree, feature_names, class_names, decimals)
    steadiness = Steadiness(decision_tree, wording) if show_stability else None
    tree = wording.tree
    limit = tree.max_depth if max_depth is None else max_depth
    heights = subtree_depths(tree) if tree.max_depth > limit else None
    lines: list[str] = []
    # A stack of lines to write: (node, depth, heading); the heading of a node's side comes first.
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, heading = stack.pop()
        if heading:
            lines.append(_indent(depth - 1, spacing) + heading)
        left = int(tree.children_left[node])
        if left < 0:
            more = "" if steadiness is None else f"  [{steadiness.leaf(node)}]"
            lines.append(_indent(depth, spacing) + wording.leaf(node, show_weights) + more)
        elif heights is not None and depth > limit:
            text = f" truncated branch of depth {heights[node] + 1}"
            lines.append(_indent(depth, spacing) + text)
        else:
            to_left, to_right = wording.sides(node)
            more = "" if steadiness is None else f"  [{steadiness.split(node)}]"
            stack.append((int(tree.children_right[node]), depth + 1, f" {to_right}"))
            stack.append((left, depth + 1, f" {to_left}{more}"))
    if steadiness is not None:
        lines.append(CAUTION)
    return "\n".join(lines) + "\n"


def _indent(depth: int, spacing: int) -> str:
    return ("|" + " " * spacing) * depth + "|" + "-" * spacing


def _check_count(name: str, value: Any, low: int) -> None:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < low:
        raise ParameterError(f"{name} must be an int of at least {low}. Got {value!r} instead.")


def subtree_depths(tree: Tree) -> NDArray[np.int64]:
    """Tell for every node how many levels are below it. Children come after parents: one loop."""
    heights = np.zeros(tree.node_count, dtype=np.int64)
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    for node in range(tree.node_count - 1, -1, -1):
        if left[node] >= 0:
            heights[node] = 1 + max(heights[left[node]], heights[right[node]])
    return heights


class Wording:
    """How splits and leaves are put into words, for text and for pictures."""

    def __init__(
        self,
        estimator: Any,
        feature_names: Sequence[str] | None,
        class_names: Sequence[str] | None,
        decimals: int,
    ) -> None:
        if not hasattr(estimator, "_check_fitted"):
            raise ParameterError(
                "decision_tree must be a treefold DecisionTreeClassifier or DecisionTreeRegressor. "
                f"Got {type(estimator).__name__} instead."
            )
        self.tree: Tree = estimator._check_fitted()
        self.decimals = decimals
        self.names = self._choose_names(feature_names)
        classes = getattr(estimator, "classes_", None)
        self.classes = self._choose_classes(classes, class_names)

    def _choose_names(self, given: Sequence[str] | None) -> Sequence[str] | None:
        if given is None:
            names = self.tree.schema.names
            return None if names is None else [str(name) for name in names]
        if len(given) != self.tree.n_features:
            raise ParameterError(
                f"feature_names must contain {self.tree.n_features} elements, got {len(given)}."
            )
        return [str(name) for name in given]

    def _choose_classes(
        self, classes: NDArray[Any] | None, given: Sequence[str] | None
    ) -> list[str] | None:
        if classes is None:
            return None
        if given is not None and len(given) != len(classes):
            raise ParameterError(
                f"class_names must contain as many items as classes_ ({len(classes)}), "
                f"got {len(given)}."
            )
        return [str(label) for label in (classes if given is None else given)]

    def name(self, node: int) -> str:
        """Name of the column that a node splits."""
        column = int(self.tree.feature[node])
        return f"feature_{column}" if self.names is None else self.names[column]

    def sides(self, node: int) -> tuple[str, str]:
        """What goes left in a node, and what goes right."""
        tree, name = self.tree, self.name(node)
        if np.isposinf(tree.threshold[node]):
            return f"{name} is present", f"{name} is missing"
        if tree.is_categorical(node):
            goes_left = tree.categories_left(node)
            labels = tree.schema.categories[int(tree.feature[node])]
            taken = set(goes_left)
            rest = [label for label in labels if label not in taken]
            left, right = f"{name} in {_braces(goes_left)}", f"{name} in {_braces(rest)}"
        else:
            threshold = tree.show_threshold(node, self.decimals)
            left, right = f"{name} <= {threshold}", f"{name} >  {threshold}"
        if not tree.had_missing(int(tree.feature[node])):
            return left, right
        if tree.missing_go_to_left[node]:
            return f"{left} or missing", right
        return left, f"{right} or missing"

    def leaf(self, node: int, show_weights: bool) -> str:
        """What a leaf predicts."""
        value = self.tree.value[node, 0]
        if self.classes is None:
            return f" value: [{value[0]:.{self.decimals}f}]"
        label = f" class: {self.classes[int(value.argmax())]}"
        if not show_weights:
            return label
        weights = value * self.tree.weighted_n_node_samples[node]
        return f" weights: [{self.numbers(weights)}]{label}"

    def numbers(self, values: NDArray[np.float64]) -> str:
        """Write numbers, separated by commas."""
        return ", ".join(f"{value:.{self.decimals}f}" for value in values)


class Steadiness:
    """How the folds' agreement on splits and leaves is put into words."""

    def __init__(self, estimator: Any, wording: Wording) -> None:
        if not hasattr(estimator, "stability_"):
            raise ParameterError(
                f"{type(estimator).__name__} has no stability_ to show: it is found by the "
                "estimators that are cross-validated in fit, such as DecisionTreeClassifierCV."
            )
        self.wording = wording
        self.found: dict[str, NDArray[Any]] = estimator.stability_

    def split(self, node: int) -> str:
        """In how many folds a node is split by the same column, and where it is cut."""
        found = self.found
        text = f"{found['n_same_column'][node]} of {found['n_folds'][node]} folds"
        low, high = found["threshold_min"][node], found["threshold_max"][node]
        if not low < high:
            return text
        tree, decimals = self.wording.tree, self.wording.decimals
        lowest, highest = (tree.show_threshold(node, decimals, number) for number in (low, high))
        return f"{text}, cut at {lowest} to {highest}"

    def leaf(self, node: int) -> str:
        """In how many folds a node is a leaf."""
        found = self.found
        return f"leaf in {found['n_leaf_here'][node]} of {found['n_folds'][node]} folds"


def _braces(labels: Sequence[Any]) -> str:
    shown = [str(label) for label in labels[:_SHOWN_CATEGORIES]]
    if len(labels) > _SHOWN_CATEGORIES:
        shown.append(f"... {len(labels) - _SHOWN_CATEGORIES} more")
    return "{" + ", ".join(shown) + "}"
