"""Leave-one-out as it is defined: a tree without each row answers for that row."""

from collections.abc import Sequence
from dataclasses import replace

from reference.grower import Problem
from reference.routing import grow_tree, visited_nodes


def leave_one_out(problem: Problem, rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """The value of the leaf that each row reaches in the tree of all other rows."""
    return [answer_without(problem, rows, left_out) for left_out in range(len(rows))]


def answer_without(problem: Problem, rows: Sequence[Sequence[float]], left_out: int) -> list[float]:
    additive = problem.additive
    vectors = list(additive.vectors)
    vectors[left_out] = tuple(0 for _ in vectors[left_out])  # of weight zero: it does not exist
    others = replace(problem, additive=replace(additive, vectors=vectors))
    tree = grow_tree(others)
    return tree.value[visited_nodes(tree, rows[left_out])[-1]]
