"""Path parameters replayed on a full tree: filter, best first, prune, in the order of growth.

`keep` gives the splits that a tree grown with these limits has. Two shortcuts are tempting and
wrong: to cut the tree of `max_leaf_nodes` alone at `max_depth` (splits below the depth have used up
leaves), and to filter a pruned tree (a split is pruned for what is below it, which the filter has
taken away).
"""

from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import inf

from reference.pruning import inner_nodes, leaves_below, node_costs, pruning_path
from reference.routing import Tree


@dataclass(frozen=True)
class Cell:
    max_depth: float = inf
    min_samples_split: int = 2
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int = 0  # 0: no limit
    ccp_alpha: float = 0.0  # 0: no pruning


def keep(tree: Tree, cell: Cell) -> set[int]:
    """The splits of the full tree that stay; all other nodes become leaves or disappear."""
    return prune(tree, best_first(tree, filter_splits(tree, cell), cell), cell)


def children_of(tree: Tree, splits: set[int]) -> list[tuple[int, int]]:
    pairs = zip(tree.children_left, tree.children_right, strict=True)
    return [pair if node in splits else (-1, -1) for node, pair in enumerate(pairs)]


def depths(tree: Tree) -> list[int]:
    found = [0] * len(tree.feature)
    for node, children in enumerate(zip(tree.children_left, tree.children_right, strict=True)):
        for child in children:
            if child != -1:
                found[child] = found[node] + 1
    return found


def decrease(tree: Tree, node: int) -> float:
    """As in `grower.impurity_decrease`, from what the tree records."""
    w, imp = tree.weighted_n_node_samples, tree.impurity
    left, right = tree.children_left[node], tree.children_right[node]
    gain = imp[node] - w[right] / w[node] * imp[right] - w[left] / w[node] * imp[left]
    return max(w[node] / w[0] * gain, 0.0)


def filter_splits(tree: Tree, cell: Cell) -> set[int]:
    """A split stays if it passes each limit and so does every split above it."""
    depth = depths(tree)
    passing = {
        node
        for node, feature in enumerate(tree.feature)
        if feature >= 0
        and depth[node] < cell.max_depth
        and tree.n_node_samples[node] >= cell.min_samples_split
        and decrease(tree, node) >= cell.min_impurity_decrease
    }
    return set(inner_nodes(children_of(tree, passing), set()))


def best_first(tree: Tree, splits: set[int], cell: Cell) -> set[int]:
    """The splits that are made before the leaves run out."""
    if cell.max_leaf_nodes == 0:
        return splits
    depth, made = depths(tree), set()
    frontier: list[tuple[float, int, int]] = []
    newcomers = [0]
    while True:
        for node in newcomers:
            if node in splits:
                heappush(frontier, (-decrease(tree, node), depth[node], node))
        if not frontier or len(made) + 1 == cell.max_leaf_nodes:
            return made
        node = heappop(frontier)[-1]  # ties: lower depth, then further left, as preorder has it
        made.add(node)
        newcomers = [tree.children_left[node], tree.children_right[node]]


def prune(tree: Tree, splits: set[int], cell: Cell) -> set[int]:
    """The weakest links of the tree of these splits, cut in exact arithmetic."""
    if cell.ccp_alpha == 0:
        return splits
    children = children_of(tree, splits)
    costs = node_costs(tree.impurity, tree.weighted_n_node_samples)
    steps = pruning_path(children, costs)
    leaves = [step.leaves for step in steps if step.alpha <= Fraction(cell.ccp_alpha)][-1]
    return set(inner_nodes(children, set(leaves)))


def leaf_map(tree: Tree, cell: Cell) -> list[int]:
    """For each node, the leaf at or above it; a split that stays is mapped to itself."""
    splits = keep(tree, cell)
    found = list(range(len(tree.feature)))
    for leaf in leaves_below(0, children_of(tree, splits), set()):
        for node in below(tree, leaf):
            found[node] = leaf
    return found


def below(tree: Tree, top: int) -> list[int]:
    """The node and all nodes under it in the full tree."""
    found = [top]
    for node in found:
        if tree.children_left[node] != -1:
            found += [tree.children_left[node], tree.children_right[node]]
    return found
