"""The growth loop: which node is split next, when a node stays a leaf, how nodes are numbered.

Depth first is best first without a limit: when every node that can be split is split, the order
does not matter, because nodes are numbered only afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from reference import draws
from reference.columns import MISSING, Column
from reference.criteria import impurity
from reference.splits import (
    Limits,
    Split,
    add_up_codes,
    join,
    judge_splits,
    rare_categories,
)
from reference.statistics import Additive, Vector, subtract


@dataclass(frozen=True)
class Rules:
    criterion: str
    max_depth: int = 2**31 - 1
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_samples_category: int = 1
    max_features: int | None = None  # None: all
    max_leaf_nodes: int = 0  # 0: unlimited
    min_impurity_decrease: float = 0.0
    min_impurity: float = 0.0
    seed: int = 0
    tree: int = 0

    @property
    def limits(self) -> Limits:
        return Limits(self.min_samples_leaf, self.min_weight_leaf, self.min_samples_category)


@dataclass(frozen=True)
class Problem:
    columns: Sequence[Column]
    additive: Additive
    rules: Rules


@dataclass
class Node:
    rows: list[int]
    stats: Vector
    impurity: float
    path: str  # "LR": left, then right
    key: int  # of the node's draws
    split: Split | None = None
    decrease: float = 0.0
    missing_left: bool = False
    children: list["Node"] = field(default_factory=list)

    @property
    def unseen_left(self) -> bool:
        """Where categories go that the node has not: with the rare ones, or as missing values."""
        rare_left = self.split.rare_left
        return self.missing_left if rare_left is None else rare_left

    @property
    def depth(self) -> int:
        return len(self.path)


def grow(problem: Problem) -> list[Node]:
    """The nodes of the tree in preorder. Rows of weight zero do not exist."""
    additive, rules = problem.additive, problem.rules
    rows = [row for row, vector in enumerate(additive.vectors) if additive.weight(vector)]
    root = make_node(rows, "", draws.root_key(rules.seed, rules.tree), problem)
    frontier: list[tuple[float, int, str, Node]] = []  # paths differ: nodes are never compared
    newcomers, n_leaves = [root], 1
    while True:
        for node in newcomers:
            if choose_split(node, root, problem):
                heappush(frontier, (-node.decrease, node.depth, node.path, node))
        if not frontier or n_leaves == rules.max_leaf_nodes:
            return number(root)
        node = heappop(frontier)[-1]  # largest decrease, lower depth, further left
        newcomers = part_rows(node, problem)
        n_leaves += 1


def make_node(rows: list[int], path: str, key: int, problem: Problem) -> Node:
    additive = problem.additive
    own_impurity = impurity(problem.rules.criterion, rows, additive)
    return Node(rows, additive.total(rows), own_impurity, path, key)


def choose_split(node: Node, root: Node, problem: Problem) -> bool:
    """Find the node's split, if it may have one."""
    splits = [] if must_be_leaf(node, problem) else node_splits(node, problem)
    return take_best(splits, node, root, problem)


def take_best(splits: list[Split], node: Node, root: Node, problem: Problem) -> bool:
    if not splits:
        return False
    node.split = splits[0]
    node.decrease = impurity_decrease(node, root, problem)
    return node.decrease >= problem.rules.min_impurity_decrease


def must_be_leaf(node: Node, problem: Problem) -> bool:
    rules, n_rows = problem.rules, node.stats[0]
    return (
        node.depth >= rules.max_depth
        or n_rows < rules.min_samples_split
        or n_rows < 2 * rules.min_samples_leaf
        or problem.additive.weight(node.stats) < 2 * rules.min_weight_leaf
        or problem.additive.is_pure(node.rows)
        or node.impurity <= rules.min_impurity
    )


def node_splits(node: Node, problem: Problem) -> list[Split]:
    """All splits of the columns that the node may look at, the winner first."""
    by_codes = [add_up_codes(column, node.rows, problem.additive) for column in problem.columns]
    drawn = drawn_columns(by_codes, node, problem)
    return judge_columns({column: by_codes[column] for column in drawn}, node, problem)


def drawn_columns(by_codes: Sequence[dict[int, Vector]], node: Node, problem: Problem) -> list[int]:
    """The columns that the node looks at, from the codes that each column has in it.

    A group of rare categories is one value.
    """
    limits = problem.rules.limits
    varying = [
        len(join(codes, rare_categories(column, codes, limits))) > 1
        for column, codes in zip(problem.columns, by_codes, strict=True)
    ]
    max_features = problem.rules.max_features
    return draws.draw_columns(node.key, varying, max_features or len(varying))


def judge_columns(
    by_codes: dict[int, dict[int, Vector]], node: Node, problem: Problem
) -> list[Split]:
    tables = {column: (problem.columns[column], codes) for column, codes in by_codes.items()}
    rules = problem.rules
    worth = (problem.additive, rules.limits)
    return judge_splits(rules.criterion, tables, node.stats, *worth, node_impurity=node.impurity)


def impurity_decrease(node: Node, root: Node, problem: Problem) -> float:
    """In float64, left to right as written in the contract; zero where rounding goes below."""
    right_stats = subtract(node.stats, node.split.left)
    w, w_left, w_right, w_root = (
        float(problem.additive.weight(stats))
        for stats in (node.stats, node.split.left, right_stats, root.stats)
    )
    left_impurity, right_impurity = (
        impurity(problem.rules.criterion, rows, problem.additive)
        for rows in split_rows(node, problem)
    )
    decrease = (
        w / w_root * (node.impurity - w_right / w * right_impurity - w_left / w * left_impurity)
    )
    return max(decrease, 0.0)


def split_rows(node: Node, problem: Problem) -> tuple[list[int], list[int]]:
    split = node.split
    codes = problem.columns[split.column].codes

    def goes_left(row: int) -> bool:
        return split.missing_left if codes[row] == MISSING else codes[row] in split.left_codes

    left = [row for row in node.rows if goes_left(row)]
    right = [row for row in node.rows if not goes_left(row)]
    return left, right


def part_rows(node: Node, problem: Problem) -> list[Node]:
    """Make the children."""
    left_rows, right_rows = split_rows(node, problem)
    left = make_node(left_rows, node.path + "L", draws.left_key(node.key), problem)
    right = make_node(right_rows, node.path + "R", draws.right_key(node.key), problem)
    settle_missing(node, problem)
    node.children = [left, right]
    return node.children


def settle_missing(node: Node, problem: Problem) -> None:
    """Where the node saw no missing values, they go to the child with more weight."""
    left = node.split.left
    right = subtract(node.stats, left)
    weight = problem.additive.weight
    node.missing_left = node.split.missing_left
    if node.missing_left is None:
        node.missing_left = weight(left) >= weight(right)


def number(root: Node) -> list[Node]:
    """Preorder: a node, its left subtree, its right subtree."""
    nodes, stack = [], [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        stack.extend(reversed(node.children))
    return nodes
