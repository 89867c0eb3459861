"""Many trees from one: path parameters are replayed on a full tree instead of growing again.

Five parameters only make a tree smaller: `PATH_PARAMETERS`. A *cell* is one setting of them. From
the tree that was grown without limits (`full_rules`), the core reads off the tree of any cell:

    filter       splits that max_depth, min_samples_split and min_impurity_decrease let pass
    best first   of these, the first max_leaf_nodes - 1 in the order of best-first growth
    prune        the weakest links of what is left, up to ccp_alpha

in this order, because that is the order in which `fit` does it; the result is what `fit` with these
parameters gives, bit for bit. Nodes are named by their number in the full tree, so
`tree.value[node]` is the prediction.
"""

import copy
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.rules import PATH_PARAMETERS, UNLIMITED_DEPTH, Cell, make_cell

__all__ = ["PATH_PARAMETERS", "Cell", "CountTask", "full_rules", "make_cell"]
__all__ += ["count_correct", "replay_leaf_map", "replay_nodes", "replay_sizes", "replay_sums"]
__all__ += ["replay_tree"]

_limits = attrgetter(*PATH_PARAMETERS)
_filter = attrgetter(*PATH_PARAMETERS[:3])


# A full tree, some cells of it, and rows to test them on: their leaves in it, and their classes.
CountTask = tuple[
    _native.Tree, Sequence[Cell], Sequence[tuple[NDArray[np.int64], NDArray[np.integer[Any]]]]
]


def full_rules(rules: _native.Rules, cells: Sequence[Cell] = ()) -> _native.Rules:
    """Loosen the path parameters until the trees of all cells (by default: any) can be read off."""
    full = copy.copy(rules)
    full.max_depth = max((cell.max_depth for cell in cells), default=UNLIMITED_DEPTH)
    full.min_samples_split = min((cell.min_samples_split for cell in cells), default=2)
    full.min_impurity_decrease = min((cell.min_impurity_decrease for cell in cells), default=0.0)
    full.max_leaf_nodes = _most_leaves(cells)
    return full


def _most_leaves(cells: Sequence[Cell]) -> int:
    """Bound the leaves if all cells do, and filter alike: else one may need splits of any rank."""
    filters = set(map(_filter, cells))
    if len(filters) != 1 or any(cell.max_leaf_nodes == 0 for cell in cells):
        return 0
    return max(cell.max_leaf_nodes for cell in cells)


def replay_nodes(
    tree: _native.Tree, leaves: NDArray[np.int64], cells: Sequence[Cell], n_threads: int = 1
) -> NDArray[np.int64]:
    """Find where rows, given by their leaf of the full tree, end: of shape (n_cells, n_rows)."""
    return tree.replay_nodes(_to_matrix(cells), leaves, n_threads)


def replay_leaf_map(
    tree: _native.Tree, cells: Sequence[Cell], n_threads: int = 1
) -> NDArray[np.int32]:
    """Find the leaf at or above each node: of shape (n_cells, n_nodes).

    A node that is still a split in the cell's tree is mapped to itself.
    """
    return tree.replay_leaf_map(_to_matrix(cells), n_threads)


def replay_sums(
    tree: _native.Tree, cells: Sequence[Cell], statistics: NDArray[np.float64], n_threads: int = 1
) -> NDArray[np.float64]:
    """Add up what nodes have, over the leaves of each cell: of shape (n_cells, n_statistics).

    `statistics` is of shape (n_nodes, n_statistics): what the rows that reach a node come to if
    they end there (rows, rows predicted rightly, squared error ...). Whatever is a sum over rows is
    scored in this way for many cells at a cost that does not depend on the number of rows.
    """
    return tree.replay_sums(_to_matrix(cells), statistics, n_threads)


def count_correct(tasks: Sequence[CountTask], n_threads: int = 1) -> list[NDArray[np.float64]]:
    """Count the rows that each cell predicts rightly: of shape (n_cells, n_tests), of each task.

    All trees and tests in one call are spread over the threads; tests of one tree share its cells.
    """
    return _native.count_correct(
        [
            (
                tree,
                _to_matrix(cells),
                [leaves for leaves, _ in tests],
                [np.ascontiguousarray(truth, dtype=np.int32) for _, truth in tests],
            )
            for tree, cells, tests in tasks
        ],
        n_threads,
    )


def replay_sizes(
    tree: _native.Tree, cells: Sequence[Cell], n_threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the leaves and measure the depth of each cell's tree."""
    return tree.replay_sizes(_to_matrix(cells), n_threads)


def replay_tree(tree: _native.Tree, cell: Cell) -> _native.Tree:
    """Build the tree of one cell: what fitting with its limits gives."""
    return tree.replay_tree(_to_matrix([cell]))


def _to_matrix(cells: Sequence[Cell]) -> NDArray[np.float64]:
    return np.array(list(map(_limits, cells)), dtype=np.float64).reshape(-1, 5)
