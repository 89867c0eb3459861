"""How steady a tree is, row by row and node by node: the twin of `evaluation/stability.py`."""

from collections import Counter
from math import isnan, nan
from statistics import median


def follow(tree, path):
    """The node where the same columns and sides lead, or None."""
    node = 0
    for column, goes_left in path:
        if tree.feature[node] != column:
            return None
        node = int((tree.children_left if goes_left else tree.children_right)[node])
    return node


def paths_of(tree):
    """Columns and sides from the root to every node."""
    paths = {0: []}
    for node in range(tree.node_count):
        if tree.children_left[node] >= 0:
            column = int(tree.feature[node])
            paths[int(tree.children_left[node])] = [*paths[node], (column, True)]
            paths[int(tree.children_right[node])] = [*paths[node], (column, False)]
    return [paths[node] for node in range(tree.node_count)]


def visits(tree, leaves):
    """The set of rows that each node sees."""
    parent = {}
    for node in range(tree.node_count):
        if tree.children_left[node] >= 0:
            parent[int(tree.children_left[node])] = node
            parent[int(tree.children_right[node])] = node
    seen = [set() for _ in range(tree.node_count)]
    for row, leaf in enumerate(leaves):
        node = int(leaf)
        while node is not None:
            seen[node].add(row)
            node = parent.get(node)
    return seen


def cut(tree, node):
    """The number at which a node cuts, or NaN."""
    threshold = float(tree.threshold[node])
    return threshold if tree.feature[node] >= 0 and abs(threshold) < float("inf") else nan


def stability(final, leaves, folds, y, weights):
    """Folds are triples of a tree, the leaf of each row in it, and its held-out rows."""
    exists = {row for row, weight in enumerate(weights) if weight > 0}
    here = visits(final, leaves)
    there = [visits(tree, fold_leaves) for tree, fold_leaves, _ in folds]
    lines = []
    for node, path in enumerate(paths_of(final)):
        column = int(final.feature[node])
        found = [
            (tree, follow(tree, path), seen, set(map(int, heldout)))
            for (tree, _, heldout), seen in zip(folds, there, strict=True)
            if follow(tree, path) is not None
        ]
        columns = [int(tree.feature[place]) for tree, place, _, _ in found]
        same = [one for one, chosen in zip(found, columns, strict=True) if chosen == column >= 0]
        others = Counter(chosen for chosen in columns if chosen >= 0 and chosen != column)
        cuts = [cut(tree, place) for tree, place, _, _ in same]
        cuts = [value for value in cuts if not isnan(value)]
        jaccard = [
            len(here[node] & seen[place] & exists) / len((here[node] | seen[place]) & exists)
            for _, place, seen, _ in found
        ]
        rows = [row for _, place, seen, held in found for row in seen[place] & held & exists]
        lines.append(
            {
                "node": node,
                "n_folds": len(folds),
                "n_reached": len(found),
                "n_same_column": len(same),
                "n_leaf_here": sum(chosen < 0 for chosen in columns),
                "other_column": min(others, key=lambda c: (-others[c], c)) if others else -1,
                "threshold": cut(final, node),
                "threshold_min": min(cuts, default=nan),
                "threshold_median": median(cuts) if cuts else nan,
                "threshold_max": max(cuts, default=nan),
                "rows_jaccard": sum(jaccard) / len(jaccard) if jaccard else nan,
                "heldout_rows": float(len(rows)),
                "heldout_value": average(final, node, rows, y, weights),
            }
        )
    return {name: [line[name] for line in lines] for name in lines[0]}


def average(final, node, rows, y, weights):
    """Mean of the rows, or the share of the class that the node predicts."""
    total = sum(weights[row] for row in rows)
    if not rows:
        return nan
    if final.n_classes == 0:
        return sum(weights[row] * y[row] for row in rows) / total
    predicted = int(final.value[node].argmax())
    return sum(weights[row] for row in rows if y[row] == predicted) / total
