"""Partial dependence of a tree on one column, from the tree alone.

Where a node asks for the column, the value decides; elsewhere both sides count by their rows. This
is the weighted walk of Friedman (2001), which scikit-learn calls "recursion". What is found is a
step function, exactly: its steps are the thresholds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.export.walk import read_split
from treefold.model.tree import Tree

__all__ = ["Dependence", "find_dependence"]

Floats = NDArray[np.float64]

_MOST_STEPS = 150
_MOST_CATEGORIES = 20


@dataclass(frozen=True, slots=True)
class Dependence:
    """What the tree says for each range, or category, of a column."""

    column: int
    edges: Floats  # of the ranges of numbers: thresholds, rising; none for categories
    labels: tuple[Any, ...]  # categories
    n_left_out: int  # categories that are not listed
    values: Floats  # (n_ranges or n_labels, n_outputs)
    missing: Floats | None  # (n_outputs,), if the column had missing values


def find_dependence(tree: Tree, column: int) -> Dependence:
    """Compute what a tree says on average, for all values of one column."""
    nodes = np.flatnonzero(tree.feature == column).tolist()
    categories = tree.schema.categories.get(column)
    if categories is not None:
        shown = _choose_labels(tree, nodes, categories)
        goes_left = {node: _find_labels(tree, node, shown) for node in nodes}
        edges, n_points = np.empty(0), len(shown)
    else:
        cuts = np.unique([tree.threshold[node] for node in nodes])
        edges = _thin(cuts[np.isfinite(cuts)])
        shown, n_points = (), len(edges) + 1
        goes_left = {
            node: np.append(edges, np.inf) <= float(tree.threshold[node]) for node in nodes
        }
    missing_left = {node: bool(tree.missing_go_to_left[node]) for node in nodes}
    sides = {node: np.append(goes_left[node], missing_left[node]) for node in nodes}
    values = _walk(tree, sides, n_points + 1)
    return Dependence(
        column,
        edges,
        shown,
        0 if categories is None else len(categories) - len(shown),
        values[:-1],
        values[-1] if tree.had_missing(column) else None,
    )


def _walk(tree: Tree, sides: dict[int, NDArray[np.bool_]], n_points: int) -> Floats:
    """Carry values from the leaves up, all points at once. Children come after parents."""
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    weights, own = tree.weighted_n_node_samples, tree.value[:, 0, :]
    values: dict[int, Floats] = {}
    for node in range(tree.node_count - 1, -1, -1):
        if left[node] < 0:
            values[node] = np.tile(own[node], (n_points, 1))
            continue
        a, b = values.pop(left[node]), values.pop(right[node])
        if node in sides:
            values[node] = np.where(sides[node][:, None], a, b)
        else:
            share = weights[left[node]] / weights[node]
            values[node] = a * share + b * (1 - share)
    return values[0]


def _thin(edges: Floats) -> Floats:
    if len(edges) <= _MOST_STEPS:
        return edges
    return edges[np.unique(np.linspace(0, len(edges) - 1, _MOST_STEPS).astype(np.int64))]


def _choose_labels(tree: Tree, nodes: list[int], categories: tuple[Any, ...]) -> tuple[Any, ...]:
    """The labels to show: the first ones of both sides, if there are too many."""
    if len(categories) <= _MOST_CATEGORIES:
        return categories
    first = read_split(tree, nodes[0]) if nodes else None
    if first is None:
        return categories[:_MOST_CATEGORIES]
    half = _MOST_CATEGORIES // 2
    return (*first.labels_left[:half], *first.labels_right[:half])


def _find_labels(tree: Tree, node: int, shown: tuple[Any, ...]) -> NDArray[np.bool_]:
    split = read_split(tree, node)
    if split.kind == "present":
        return np.ones(len(shown), dtype=bool)
    goes_left = set(split.labels_left)
    return np.array([label in goes_left for label in shown], dtype=bool)
