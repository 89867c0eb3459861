"""Batched lazy decision trees (Guillame-Bert and Dubrawski, algorithm 3).

The batch goes down the tree with the training rows; where it does not go, nothing is grown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan

from reference import draws
from reference.grower import (
    Node,
    Problem,
    make_node,
    must_be_leaf,
    node_splits,
    part_rows,
    take_best,
)
from reference.routing import categories_left, node_value

Question = Sequence[float]


@dataclass
class Answers:
    values: dict[int, list[float]] = field(default_factory=dict)  # by the place of the question
    nodes_grown: int = 0  # nodes whose best split was looked for
    rows_scanned: int = 0  # their rows
    stack_words: int = 0  # rows of the nodes on one path, at most


def ask(problem: Problem, questions: Sequence[Question]) -> Answers:
    """Answer all questions in one pass; every node that is needed is grown once."""
    additive, rules = problem.additive, problem.rules
    rows = [row for row, vector in enumerate(additive.vectors) if additive.weight(vector)]
    root = make_node(rows, "", draws.root_key(rules.seed, rules.tree), problem)
    answers = Answers()

    def run(node: Node, batch: list[int], n_above: int) -> None:
        n_alive = n_above + len(node.rows)
        if not is_divided(node):
            answers.stack_words = max(answers.stack_words, n_alive)
            for place in batch:
                answers.values[place] = node_value(node, additive)
            return
        sides = part_rows(node, problem)
        left = [place for place in batch if goes_left(node, questions[place], problem)]
        right = [place for place in batch if place not in set(left)]
        for child, part in zip(sides, (left, right), strict=True):
            if part:
                run(child, part, n_alive)

    def is_divided(node: Node) -> bool:
        if must_be_leaf(node, problem):
            return False
        answers.nodes_grown += 1
        answers.rows_scanned += len(node.rows)
        return take_best(node_splits(node, problem), node, root, problem)

    if questions:
        run(root, list(range(len(questions))), 0)
    return answers


def goes_left(node: Node, question: Question, problem: Problem) -> bool:
    column, value = problem.columns[node.split.column], question[node.split.column]
    if isnan(value):
        return node.missing_left
    if column.is_categorical and value >= column.n_categories:
        return node.unseen_left
    if column.is_categorical:
        return int(value) in categories_left(node, problem.columns)
    return value <= node.split.threshold


def draw_counts(seed: int, tree: int, n_rows: int, n_drawn: int | None = None) -> list[int]:
    """How often each row is drawn into a bag, of as many draws as there are rows by default."""
    counts = [0] * n_rows
    for draw in list_draws(seed, tree, n_rows if n_drawn is None else n_drawn):
        counts[draw * n_rows >> 64] += 1
    return counts


def draw_rows(seed: int, tree: int, n_rows: int, n_drawn: int) -> list[int]:
    """Which rows are in a bag that is drawn without replacement: those of the lowest draws."""
    every = list_draws(seed, tree, n_rows)
    return sorted(sorted(range(n_rows), key=every.__getitem__)[:n_drawn])


def list_draws(seed: int, tree: int, n_draws: int) -> list[int]:
    bag = draws.mix((draws.root_key(seed, tree) + 3) & draws.MASK)
    return [draws.mix(bag ^ draws.mix(k)) for k in range(1, n_draws + 1)]
