"""Judge a tree that somebody else grew, node by node, instead of growing another beside it.

For criteria whose float64 value is not reproducible to the last bit (entropies; class weights of
more than 61 bits) two correct trees may part at a near tie. Each node can still be judged on its
own: the rows that reach it, the candidates they have, and how far the chosen one is from the best.
"""

from collections.abc import Sequence
from fractions import Fraction

from reference import draws
from reference.criteria import total_entropy
from reference.grower import Node, Problem, make_node, must_be_leaf, node_splits
from reference.routing import Tree, goes_left
from reference.splits import Split
from reference.statistics import Vector, subtract, weight

TOLERANCE = 1e-12  # relative to the total of which the quality is a small difference


def audit_tree(tree: Tree, rows: Sequence[Sequence[float]], problem: Problem) -> list[str]:
    """What is wrong with the tree: empty if nothing is. `rows` are the values of all rows."""
    additive, rules = problem.additive, problem.rules
    existing = [row for row, vector in enumerate(additive.vectors) if additive.weight(vector)]
    root = make_node(existing, "", draws.root_key(rules.seed, rules.tree), problem)
    faults, stack = [], [(0, root)]
    while stack:
        index, node = stack.pop()
        faults += [f"node {index}: {fault}" for fault in audit_node(tree, index, node, problem)]
        if tree.children_left[index] == -1:
            continue
        left = [row for row in node.rows if goes_left(tree, index, rows[row])]
        right = [row for row in node.rows if row not in left]
        keys = draws.left_key(node.key), draws.right_key(node.key)
        for side, part, key in zip("LR", (left, right), keys, strict=True):
            child = (tree.children_left if side == "L" else tree.children_right)[index]
            stack.append((child, make_node(part, node.path + side, key, problem)))
    return faults


def audit_node(tree: Tree, index: int, node: Node, problem: Problem) -> list[str]:
    faults = []
    if tree.n_node_samples[index] != len(node.rows):
        faults.append(f"{tree.n_node_samples[index]} rows, not {len(node.rows)}")
    if abs(tree.impurity[index] - node.impurity) > TOLERANCE * max(node.impurity, 1):
        faults.append(f"impurity {tree.impurity[index]!r}, not {node.impurity!r}")
    stops = must_be_leaf(node, problem)
    splits = [] if stops else node_splits(node, problem)
    if tree.children_left[index] != -1:
        return faults + audit_split(tree, index, splits, node, problem)
    rules = problem.rules
    may_stop = not splits or rules.min_impurity_decrease > 0 or rules.max_leaf_nodes > 0
    return faults if may_stop else [*faults, f"a leaf, but {splits[0]} is possible"]


def audit_split(tree, index, splits, node: Node, problem: Problem) -> list[str]:
    if not splits:
        return ["should be a leaf"]
    chosen = [split for split in splits if is_chosen(tree, index, split, node, problem)]
    if len(chosen) != 1:
        return [f"its split matches {len(chosen)} candidates"]
    best, own = splits[0], chosen[0]
    if float(best.quality - own.quality) > slack(best, node, problem):
        return [f"chose {own}, but {best} is better"]
    twins = [split for split in splits if shape(split, node) == shape(own, node)]
    return [] if twins[0] == own else [f"chose {own}, but {twins[0]} wins the tie"]


def is_chosen(tree: Tree, index: int, split: Split, node: Node, problem: Problem) -> bool:
    column = problem.columns[split.column]
    if tree.feature[index] != split.column:
        return False
    if split.missing_left not in (None, tree.missing_go_to_left[index]):
        return False
    if not column.is_categorical:
        return tree.threshold[index] == split.threshold
    present = {column.codes[row] for row in node.rows}
    return tree.left_categories[index] & present == split.left_codes


def slack(split: Split, node: Node, problem: Problem) -> float:
    """How much of the quality may be rounding: `h` of the node is what gains are taken from."""
    criterion, n_classes = problem.rules.criterion, problem.additive.n_classes
    if criterion in ("gini", "squared_error"):
        return TOLERANCE * (float(split.quality) + 2 * split.allowance)
    scale = Fraction(total_entropy(node.stats[1:])) + weight(node.stats, n_classes)
    if criterion == "gain_ratio":
        right = subtract(node.stats, split.left)
        sides = tuple(weight(stats, n_classes) for stats in (split.left, right))
        scale /= Fraction(total_entropy(sides))
    return TOLERANCE * float(scale)


def shape(split: Split, node: Node) -> frozenset[Vector]:
    """What every symmetric function of the two sides agrees on: such splits must tie exactly."""
    right = subtract(node.stats, split.left)
    return frozenset({split.left[1:], right[1:]})
