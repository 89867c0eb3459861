"""Which values of a column still come to a node: what the conditions above it have left.

x <= 5      -> up to 5
x <= 4      -> up to 4: the first condition is implied
x in {a, b} -> the labels a and b: a later split of c from the rest does not ask of c
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from treefold.export.walk import Split, read_split
from treefold.model.tree import Tree

__all__ = ["Reach", "follow_paths"]


@dataclass(frozen=True, slots=True)
class Reach:
    """The values of one column that come to a node."""

    above: float = -math.inf
    up_to: float = math.inf
    labels: tuple[Any, ...] | None = None  # None: all
    has_missing: bool = True
    has_present: bool = True

    def keep(self, labels: tuple[Any, ...]) -> tuple[Any, ...]:
        """Of some labels, those that come here."""
        if self.labels is None:
            return labels
        here = set(self.labels)
        return tuple(label for label in labels if label in here)

    def narrow(self, split: Split, is_left: bool) -> "Reach":
        """Go on to one side of a split of the column."""
        left = replace(self, has_missing=self.has_missing and split.missing_left == is_left)
        if split.kind == "present":
            return replace(left, has_present=self.has_present and is_left)
        if split.kind == "category":
            side = split.labels_left if is_left else split.labels_right
            return replace(left, labels=self.keep(side))
        if is_left:
            return replace(left, up_to=min(self.up_to, split.threshold))
        return replace(left, above=max(self.above, split.threshold))


def follow_paths(tree: Tree) -> Iterator[tuple[int, dict[int, Reach]]]:
    """Give every node, in preorder, and what comes to it of each column that is asked above.

    The columns stand in the order in which they are asked first.
    """
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    waiting: dict[int, dict[int, Reach]] = {0: {}}
    for node in range(tree.node_count):
        reach = waiting.pop(node)
        yield node, reach
        if left[node] >= 0:
            split = read_split(tree, node)
            before = reach.get(split.column, Reach())
            for child, is_left in ((left[node], True), (right[node], False)):
                waiting[child] = {**reach, split.column: before.narrow(split, is_left)}
