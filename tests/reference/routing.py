"""The grown tree as arrays, and which way a row goes in it.

One function, `goes_left`, serves every question about a row. It sees values, not codes, so it also
answers for rows that the tree has never met.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isnan

from reference.columns import MISSING, Column
from reference.grower import Node, Problem, grow
from reference.statistics import Additive


@dataclass
class Tree:
    """scikit-learn's names where it has them; leaves hold -1, -2 and -2.0 as there."""

    children_left: list[int]
    children_right: list[int]
    feature: list[int]
    threshold: list[float]  # NaN: categorical
    left_categories: list[frozenset[int]]  # every category that goes left, absent ones too
    missing_go_to_left: list[bool]
    unknown_go_to_left: list[bool]
    impurity: list[float]
    n_node_samples: list[int]
    weighted_n_node_samples: list[float]
    value: list[list[float]]
    n_categories: list[int]  # per column, 0 = numeric


def grow_tree(problem: Problem) -> Tree:
    return to_tree(grow(problem), problem)


def to_tree(nodes: Sequence[Node], problem: Problem) -> Tree:
    columns, additive = problem.columns, problem.additive
    index_of = {node.path: index for index, node in enumerate(nodes)}
    tree = Tree(*([] for _ in range(11)), n_categories=[c.n_categories for c in columns])
    for node in nodes:
        is_leaf = not node.children
        split = node.split
        left, right = (-1 if is_leaf else index_of[node.path + side] for side in "LR")
        tree.children_left.append(left)
        tree.children_right.append(right)
        tree.feature.append(-2 if is_leaf else split.column)
        tree.threshold.append(-2.0 if is_leaf else split.threshold)
        tree.left_categories.append(frozenset() if is_leaf else categories_left(node, columns))
        tree.missing_go_to_left.append(False if is_leaf else node.missing_left)
        is_set = not is_leaf and columns[split.column].is_categorical
        tree.unknown_go_to_left.append(is_set and node.unseen_left)
        tree.impurity.append(node.impurity)
        tree.n_node_samples.append(node.stats[0])
        tree.weighted_n_node_samples.append(float(additive.weight(node.stats)))
        tree.value.append(node_value(node, additive))
    return tree


def categories_left(node: Node, columns: Sequence[Column]) -> frozenset[int]:
    """The categories sent left, those that are absent from the node among them."""
    column = columns[node.split.column]
    if not column.is_categorical:
        return frozenset()
    if not node.unseen_left:
        return node.split.left_codes
    present = {column.codes[row] for row in node.rows} - {MISSING}
    return node.split.left_codes | set(range(column.n_categories)) - present


def node_value(node: Node, additive: Additive) -> list[float]:
    if additive.n_classes:
        w = sum(node.stats[1:])
        return [float(Fraction(x, w)) for x in node.stats[1:]]
    return [additive.mean(node.rows)]


def goes_left(tree: Tree, node: int, row: Sequence[float]) -> bool:
    value = row[tree.feature[node]]
    if isnan(value):
        return tree.missing_go_to_left[node]
    n_categories = tree.n_categories[tree.feature[node]]
    if n_categories == 0:
        return value <= tree.threshold[node]
    if value >= n_categories:
        return tree.unknown_go_to_left[node]
    return int(value) in tree.left_categories[node]


def visited_nodes(tree: Tree, row: Sequence[float]) -> list[int]:
    path = [0]
    while tree.children_left[path[-1]] != -1:
        children = tree.children_left if goes_left(tree, path[-1], row) else tree.children_right
        path.append(children[path[-1]])
    return path


def apply(tree: Tree, rows: Sequence[Sequence[float]]) -> list[int]:
    """The leaf of every row."""
    return [visited_nodes(tree, row)[-1] for row in rows]
