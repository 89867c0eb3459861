"""Sums over subtrees: what stops in a node counts for it and for all nodes above it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native

__all__ = ["add_up", "count_rows"]

Floats = NDArray[np.float64]


def add_up(tree: _native.Tree, sums: NDArray[Any]) -> Floats:
    """Add up what nodes have, of shape (n_nodes, n_statistics), for each and all above it."""
    return tree.add_up(np.ascontiguousarray(sums, dtype=np.float64))


def count_rows(
    tree: _native.Tree, nodes: NDArray[np.integer[Any]], weights: NDArray[Any] | None = None
) -> Floats:
    """Add up rows that stop in nodes, for each node and all above it."""
    totals = add_up(tree, np.bincount(nodes, weights, tree.node_count).reshape(-1, 1))
    return totals[:, 0]
