"""Sums over subtrees: what stops in a node counts for it and for all nodes above it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native

__all__ = ["Levels"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Levels:
    """The splits of a tree, level by level, to add up from the leaves to the root."""

    def __init__(self, tree: _native.Tree) -> None:
        self.left, self.right = tree.children_left, tree.children_right
        self.levels = []
        nodes = np.zeros(1, dtype=np.int64)
        while len(nodes):
            nodes = nodes[self.left[nodes] >= 0]
            self.levels.append(nodes)
            nodes = np.concatenate((self.left[nodes], self.right[nodes]))

    def count(self, nodes: Ints, weights: NDArray[Any] | None = None) -> Floats:
        """Add up rows that stop in nodes, for each node and all above it."""
        return self.add_up(np.bincount(nodes, weights, len(self.left)).astype(np.float64))

    def add_up(self, sums: Floats) -> Floats:
        """Add up what nodes have, for each node and all above it, in place."""
        for nodes in reversed(self.levels):
            sums[nodes] += sums[self.left[nodes]] + sums[self.right[nodes]]
        return sums
