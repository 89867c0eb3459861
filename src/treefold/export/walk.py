"""The one walk over a tree that all writers share. A stack, no recursion: depth does not matter."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import ParameterError
from treefold.model.tree import Tree

__all__ = ["Split", "Visit", "check_count", "count_leaves", "read_split", "subtree_depths", "walk"]


@dataclass(frozen=True, slots=True)
class Split:
    """What a node asks of a row.

    "number": at most the threshold goes left. "category": the labels of each side, and where those
    go that the tree has never seen. "present": missing values go right.
    """

    column: int
    kind: Literal["number", "category", "present"]
    threshold: float
    labels_left: tuple[Any, ...]
    labels_right: tuple[Any, ...]
    missing_left: bool
    unseen_left: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """A node on the walk."""

    node: int
    depth: int
    parent: int  # -1: the root
    is_left: bool  # of its parent
    is_leaf: bool
    is_beyond: bool  # below the depth that was asked for: the walk does not go on


def walk(tree: Tree, max_depth: int | None = None) -> Iterator[Visit]:
    """Visit the nodes in preorder, those one level below `max_depth` included."""
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    limit = tree.max_depth if max_depth is None else max_depth
    stack = [(0, 0, -1, True)]
    while stack:
        node, depth, parent, is_left = stack.pop()
        is_leaf, is_beyond = left[node] < 0, depth > limit
        yield Visit(node, depth, parent, is_left, is_leaf, is_beyond)
        if not is_leaf and not is_beyond:
            stack.append((right[node], depth + 1, node, False))
            stack.append((left[node], depth + 1, node, True))


def read_split(tree: Tree, node: int) -> Split:
    """Read what a node asks."""
    column, threshold = int(tree.feature[node]), float(tree.threshold[node])
    missing_left = bool(tree.missing_go_to_left[node])
    if tree.is_categorical(node):
        goes_left = tree.categories_left(node)
        taken = set(goes_left)
        rest = tuple(label for label in tree.schema.categories[column] if label not in taken)
        unseen_left = bool(tree._native.unknown_go_to_left[node])
        return Split(column, "category", threshold, goes_left, rest, missing_left, unseen_left)
    kind: Literal["present", "number"] = "present" if np.isposinf(threshold) else "number"
    return Split(column, kind, threshold, (), (), missing_left)


def subtree_depths(tree: Tree) -> NDArray[np.int64]:
    """Tell for every node how many levels are below it. Children come after parents: one loop."""
    heights = np.zeros(tree.node_count, dtype=np.int64)
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    for node in range(tree.node_count - 1, -1, -1):
        if left[node] >= 0:
            heights[node] = 1 + max(heights[left[node]], heights[right[node]])
    return heights


def count_leaves(tree: Tree) -> list[int]:
    """Tell for every node how many leaves are below it, itself included."""
    counts = [1] * tree.node_count
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    for node in range(tree.node_count - 1, -1, -1):
        if left[node] >= 0:
            counts[node] = counts[left[node]] + counts[right[node]]
    return counts


def check_count(name: str, value: Any, low: int) -> None:
    """Refuse what is not a whole number of at least `low`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < low:
        raise ParameterError(f"{name} must be an int of at least {low}. Got {value!r} instead.")
