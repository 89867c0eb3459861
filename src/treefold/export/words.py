"""How splits, leaves and boxes are put into words, for text and for pictures."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import ParameterError
from treefold.export.reach import Reach, follow_paths
from treefold.export.walk import Split, read_split
from treefold.model.tree import Tree

__all__ = ["Steadiness", "Wording"]

_SHOWN_CATEGORIES = 8


class Wording:
    """The words for a tree, with names and digits as the user wants them."""

    above = ">  "  # as long as "<= ", so that both sides of a cut are in line

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
        if hasattr(estimator, "estimators_"):
            raise ParameterError(
                f"One tree can be written, but {type(estimator).__name__} has "
                f"{len(estimator.estimators_)}. Give one of them: model.estimators_[0]."
            )
        self.decimals = decimals
        self.names = self._choose_names(feature_names)
        classes = getattr(estimator, "classes_", None)
        self.classes = self._choose_classes(classes, class_names)

    @cached_property
    def _reaches(self) -> dict[int, Reach]:
        """What comes to each node that splits, of the column that it splits."""
        column = self.tree.feature.tolist()
        return {
            node: reach[column[node]]
            for node, reach in follow_paths(self.tree)
            if column[node] in reach
        }

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

    def name(self, column: int) -> str:
        """Name of a column."""
        return f"feature_{column}" if self.names is None else self.names[column]

    def split(self, node: int) -> Split:
        """What a node asks, without the categories that splits above it send elsewhere."""
        split, here = read_split(self.tree, node), self._reaches.get(node, Reach())
        left, right = here.keep(split.labels_left), here.keep(split.labels_right)
        return replace(split, labels_left=left, labels_right=right)

    def sides(self, node: int) -> tuple[str, str]:
        """What goes left in a node, and what goes right, of what comes to the node."""
        split = read_split(self.tree, node)
        before = self._reaches.get(node, Reach())
        labels = before.labels if split.kind == "category" else None
        asked = Reach(labels=labels, has_missing=before.has_missing)  # cuts above say theirs
        left, right = (
            " and ".join(self.conditions(split.column, asked.narrow(split, is_left)))
            for is_left in (True, False)
        )
        return left, right

    def conditions(self, column: int, reach: Reach) -> list[str]:
        """What values of a column have in common that come to a node."""
        name, had_missing = self.name(column), self.tree.had_missing(column)
        is_empty = not reach.has_present or reach.labels == ()
        if is_empty and reach.has_missing:
            return [f"{name} is missing"]
        said = []
        if reach.labels is not None:
            said.append(self.word_labels(name, reach.labels))
        if self.tree.schema.kinds.get(column) == "boolean":
            said += [f"{name} is true"] if reach.above >= 0 else []
            said += [f"{name} is false"] if reach.up_to < 1 else []
        else:
            said += self._word_cuts(name, column, reach)
        if not said:
            said = [f"{name} is present"]
        more = " or missing" if had_missing and reach.has_missing else ""
        return [condition + more for condition in said]

    def _word_cuts(self, name: str, column: int, reach: Reach) -> list[str]:
        said = []
        if reach.above > -math.inf:
            said.append(f"{name} {self.above}{self.show_cut(column, reach.above)}")
        if reach.up_to < math.inf:
            said.append(f"{name} <= {self.show_cut(column, reach.up_to)}")
        return said

    def word_labels(self, name: str, labels: Sequence[Any]) -> str:
        """Say that a value is one of some labels."""
        return f"{name} in {_braces(labels)}"

    def show_cut(self, column: int, threshold: float) -> str:
        """Write a threshold."""
        return self.tree._show_cut(column, threshold, self.decimals)

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

    def box(self, node: int, impurity: bool, steadiness: "Steadiness | None") -> list[str]:
        """What a picture says in the box of a node, line by line."""
        tree = self.tree
        lines = []
        is_leaf = tree.children_left[node] < 0
        if not is_leaf:
            lines.append(self.sides(node)[0])
        if steadiness is not None:
            lines.append(steadiness.leaf(node) if is_leaf else steadiness.split(node))
        if impurity:
            lines.append(f"impurity = {tree.impurity[node]:.{self.decimals}f}")
        lines.append(f"samples = {tree.n_node_samples[node]}")
        value = tree.value[node, 0]
        if self.classes is None:
            lines.append(f"value = {value[0]:.{self.decimals}f}")
        else:
            lines.append(f"value = [{self.numbers(value)}]")
            lines.append(f"class = {self.classes[int(value.argmax())]}")
        return lines

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
        column = int(self.wording.tree.feature[node])
        lowest, highest = (self.wording.show_cut(column, number) for number in (low, high))
        return text if lowest == highest else f"{text}, cut at {lowest} to {highest}"

    def leaf(self, node: int) -> str:
        """In how many folds a node is a leaf."""
        found = self.found
        return f"leaf in {found['n_leaf_here'][node]} of {found['n_folds'][node]} folds"


def _braces(labels: Sequence[Any]) -> str:
    shown = [str(label) for label in labels[:_SHOWN_CATEGORIES]]
    if len(labels) > _SHOWN_CATEGORIES:
        shown.append(f"... {len(labels) - _SHOWN_CATEGORIES} more")
    return "{" + ", ".join(shown) + "}"
