"""How steady each split of a tree is: what the trees of the folds do in its place.

A fold's tree has a node *in the place of* a node of the final tree if the same tests lead there:
the same columns and the same sides, from the root on, whatever the thresholds and the sets of
categories are. The root is always in the place of the root.

Folds share most of their rows: that they agree means that a split is steady, not that it is
certain.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.model.subtrees import add_up, count_rows

__all__ = ["CAUTION", "FIELDS", "FoldTree", "compute_stability", "find_places"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CAUTION = "Folds overlap: agreement means steady, not certain."

# What is said of every node (see `compute_stability`), and its dtype.
FIELDS = {
    "node": np.int64,
    "n_folds": np.int64,
    "n_reached": np.int64,
    "n_same_column": np.int64,
    "n_leaf_here": np.int64,
    "other_column": np.int64,
    "threshold": np.float64,
    "threshold_min": np.float64,
    "threshold_median": np.float64,
    "threshold_max": np.float64,
    "rows_jaccard": np.float64,
    "heldout_rows": np.float64,
    "heldout_value": np.float64,
}


@dataclass(frozen=True, slots=True)
class FoldTree:
    """The tree of one fold, and where it sends the rows of the table."""

    tree: _native.Tree
    leaves: Ints  # of all rows
    heldout: NDArray[np.integer[Any]]  # rows that it did not train on


def compute_stability(
    final: _native.Tree,
    leaves: Ints,
    folds: Iterable[FoldTree],
    y: NDArray[Any],
    weights: Floats | None = None,
) -> dict[str, NDArray[Any]]:
    """Compare the final tree with the trees of the folds, node by node.

    Parameters
    ----------
    final : core tree
        The tree grown from all rows.
    leaves : int64 array of shape (n_rows,)
        The leaf of each row in it.
    folds : iterable of FoldTree
        Read one at a time.
    y : array of shape (n_rows,)
        Class numbers, or float64.
    weights : float64 array of shape (n_rows,), default=None
        What each row counts; a row of weight zero does not exist.

    Returns
    -------
    dict of str to ndarray of shape (node_count,)
        Row i is about node i of the final tree.

        node : the number of the node
        n_folds : number of folds
        n_reached : folds whose tree has a node in its place
        n_same_column : of these, folds that split it by the same column (0 in leaves)
        n_leaf_here : of these, folds where it is a leaf
        other_column : the column by which most of the others split it, the lowest if several;
            -1 if there are no others
        threshold : of the final tree; NaN where it does not cut at a number
        threshold_min, threshold_median, threshold_max : over the folds that cut the same column
            at a number; NaN if none does
        rows_jaccard : of all rows, those that reach both nodes over those that reach one of them;
            the mean over the folds that have a node in its place, NaN if none has
        heldout_rows : held-out rows that reach the nodes in its place, each in its own fold's tree
        heldout_value : their mean, or the share of the class that the final tree predicts in the
            node; weighted; NaN if there are none
    """
    counts = np.ones(len(leaves)) if weights is None else weights
    sums = _Sums(final, leaves, y, counts)
    for fold in folds:
        sums.add(fold)
    return sums.finish()


def find_places(final: _native.Tree, tree: _native.Tree) -> Ints:
    """Find the node of a tree that is in the place of each node of the final tree; -1 if none."""
    places = np.full(final.node_count, -1, dtype=np.int64)
    nodes = np.zeros(1, dtype=np.int64)
    places[0] = 0
    while len(nodes):
        others = places[nodes]
        is_same = (final.feature[nodes] >= 0) & (final.feature[nodes] == tree.feature[others])
        nodes, others = nodes[is_same], others[is_same]
        left, right = final.children_left[nodes], final.children_right[nodes]
        places[left], places[right] = tree.children_left[others], tree.children_right[others]
        nodes = np.concatenate((left, right))
    return places


class _Sums:
    """What is added up over the folds."""

    def __init__(self, final: _native.Tree, leaves: Ints, y: NDArray[Any], counts: Floats) -> None:
        self.final, self.y, self.counts = final, y, counts
        self.exists = np.flatnonzero(counts > 0)
        self.leaves = leaves
        self.n_here = count_rows(final, leaves[self.exists])
        n_nodes = final.node_count
        self.n_folds = 0
        self.n_reached, self.n_same, self.n_leaf = np.zeros((3, n_nodes), dtype=np.int64)
        self.jaccard, self.heldout, self.weight, self.total = np.zeros((4, n_nodes))
        self.columns: list[Ints] = []  # per fold: the column of the node in each place, or -1
        self.thresholds: list[Floats] = []

    def add(self, fold: FoldTree) -> None:
        """Add one fold."""
        places = find_places(self.final, fold.tree)
        reached = np.flatnonzero(places >= 0)
        others = places[reached]
        feature = fold.tree.feature[others]
        is_same = (feature >= 0) & (feature == self.final.feature[reached])
        self.n_folds += 1
        self.n_reached[reached] += 1
        self.n_same[reached] += is_same
        self.n_leaf[reached] += feature < 0
        columns = np.full(len(places), -1)
        columns[reached] = np.where(is_same, -1, np.maximum(feature, -1))
        self.columns.append(columns)
        thresholds = np.full(len(places), np.nan)
        thresholds[reached] = np.where(is_same, _cuts(fold.tree)[others], np.nan)
        self.thresholds.append(thresholds)
        both = self._walk_together(fold, places)[reached]
        n_there = count_rows(fold.tree, fold.leaves[self.exists])[others]
        either = self.n_here[reached] + n_there - both
        self.jaccard[reached] += both / either  # a node of the final tree has rows
        self._add_heldout(fold, reached, others)

    def _walk_together(self, fold: FoldTree, places: Ints) -> Floats:
        """Count the rows that both trees send through a node and the node in its place.

        Nodes are numbered in preorder: a row goes right where its leaf is not before the right
        child.
        """
        n_leaves = len(fold.tree.feature)
        pairs, n_rows = _count_values(
            self.leaves[self.exists] * n_leaves + fold.leaves[self.exists],
            self.final.node_count * n_leaves,
        )
        here, there = np.divmod(pairs, n_leaves)
        nodes = np.zeros(len(pairs), dtype=np.int64)
        walking = np.arange(len(pairs))
        while len(walking):
            at = nodes[walking]
            right, other = self.final.children_right[at], fold.tree.children_right[places[at]]
            goes_right = here[walking] >= right
            is_same = (right >= 0) & (other >= 0)
            is_same &= places[np.where(is_same, right, 0)] == other
            is_same &= goes_right == (there[walking] >= other)
            walking = walking[is_same]
            nodes[walking] = np.where(goes_right[is_same], right[is_same], at[is_same] + 1)
        return count_rows(self.final, nodes, n_rows)

    def _add_heldout(self, fold: FoldTree, reached: Ints, others: Ints) -> None:
        rows = fold.heldout[self.counts[fold.heldout] > 0]
        tree, leaves, counts = fold.tree, fold.leaves[rows], self.counts[rows]
        self.heldout[reached] += count_rows(tree, leaves)[others]
        self.weight[reached] += count_rows(tree, leaves, counts)[others]
        n_classes = self.final.n_classes
        if n_classes == 0:
            self.total[reached] += count_rows(tree, leaves, counts * self.y[rows])[others]
            return
        codes, size = leaves * n_classes + self.y[rows], tree.node_count * n_classes
        by_class = np.bincount(codes, counts, size).reshape(-1, n_classes)
        predicted = self.final.value.argmax(axis=1)
        self.total[reached] += add_up(tree, by_class)[others, predicted[reached]]

    def finish(self) -> dict[str, NDArray[Any]]:
        """Make of the sums what the caller asked for."""
        n_nodes = self.final.node_count
        low, middle, high = _summarise(self.thresholds, n_nodes)
        return {
            "node": np.arange(n_nodes),
            "n_folds": np.full(n_nodes, self.n_folds),
            "n_reached": self.n_reached,
            "n_same_column": self.n_same,
            "n_leaf_here": self.n_leaf,
            "other_column": _most_frequent(self.columns, n_nodes),
            "threshold": _cuts(self.final),
            "threshold_min": low,
            "threshold_median": middle,
            "threshold_max": high,
            "rows_jaccard": _divide(self.jaccard, self.n_reached),
            "heldout_rows": self.heldout,
            "heldout_value": _divide(self.total, self.weight),
        }


def _cuts(tree: _native.Tree) -> Floats:
    """Thresholds of the nodes that cut at a number; NaN elsewhere."""
    is_cut = (tree.feature >= 0) & np.isfinite(tree.threshold)
    return np.where(is_cut, tree.threshold, np.nan)


def _divide(total: Floats, count: NDArray[Any]) -> Floats:
    shares = np.full(len(total), np.nan)
    np.divide(total, count, out=shares, where=count > 0)
    return shares


def _summarise(thresholds: list[Floats], n_nodes: int) -> tuple[Floats, Floats, Floats]:
    """Lowest, median and highest number of each node, NaN left out."""
    table = np.array(thresholds).reshape(-1, n_nodes)
    low, middle, high = np.full((3, n_nodes), np.nan)
    has = (~np.isnan(table)).any(axis=0)
    if has.any():
        low[has], high[has] = np.nanmin(table[:, has], axis=0), np.nanmax(table[:, has], axis=0)
        middle[has] = np.nanmedian(table[:, has], axis=0)
    return low, middle, high


def _most_frequent(columns: list[Ints], n_nodes: int) -> Ints:
    """The most frequent column of each node; the lowest of several, -1 if there is none."""
    best = np.full(n_nodes, -1, dtype=np.int64)
    most, run = np.zeros((2, n_nodes), dtype=np.int64)
    last = best
    for column in np.sort(np.array(columns, dtype=np.int64).reshape(-1, n_nodes), axis=0):
        run = np.where(column == last, run + 1, 1)
        is_better = (column >= 0) & (run > most)
        best, most = np.where(is_better, column, best), np.where(is_better, run, most)
        last = column
    return best


def _count_values(values: Ints, end: int) -> tuple[Ints, Ints]:
    """Count each value that occurs, all below `end`; without a sort where that is few."""
    if end > 4 * len(values):
        return np.unique(values, return_counts=True)
    counts = np.bincount(values, minlength=end)
    found = np.flatnonzero(counts)
    return found, counts[found]
