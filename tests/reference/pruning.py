"""Weakest-link pruning, from its definition (Breiman et al. 1984, chapter 3).

The cost of a tree is the summed cost R of its leaves plus alpha for each leaf, where R(t) is the
node's impurity times its share of the root's weight. A split pays for itself while alpha is below

    g(t) = (R(t) - R(leaves below t)) / (number of leaves below t - 1)

The path cuts the splits of least g, again and again, until only the root is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Step:
    alpha: Fraction
    leaves: tuple[int, ...]  # of the subtree that is best from this alpha on
    impurity: Fraction  # the summed cost of these leaves


def node_costs(impurity: Sequence[float], weight: Sequence[float]) -> list[Fraction]:
    root = Fraction(float(weight[0]))
    return [
        Fraction(float(i)) * Fraction(float(w)) / root
        for i, w in zip(impurity, weight, strict=True)
    ]


def leaves_below(node: int, children: Sequence[tuple[int, int]], cut: set[int]) -> list[int]:
    """The leaves of the subtree at `node` when the nodes in `cut` have become leaves."""
    found, stack = [], [node]
    while stack:
        node = stack.pop()
        if children[node][0] == -1 or node in cut:
            found.append(node)
        else:
            stack.extend(reversed(children[node]))
    return found


def inner_nodes(children: Sequence[tuple[int, int]], cut: set[int]) -> list[int]:
    found, stack = [], [0]
    while stack:
        node = stack.pop()
        if children[node][0] != -1 and node not in cut:
            found.append(node)
            stack.extend(children[node])
    return found


def pruning_path(children: Sequence[tuple[int, int]], costs: Sequence[Fraction]) -> list[Step]:
    """One step per distinct alpha; the first has alpha 0 and no split that is worth nothing."""
    cut: set[int] = set()
    alpha = Fraction(0)
    steps = []
    while True:
        links = {node: link(node, children, costs, cut) for node in inner_nodes(children, cut)}
        weakest = min(links.values(), default=None)
        if weakest is None or weakest > alpha:
            leaves = leaves_below(0, children, cut)
            steps.append(Step(alpha, tuple(leaves), sum((costs[n] for n in leaves), Fraction(0))))
            if weakest is None:
                return steps
            alpha = weakest
        cut |= {node for node, worth in links.items() if worth <= alpha}


def link(node: int, children, costs: Sequence[Fraction], cut: set[int]) -> Fraction:
    leaves = leaves_below(node, children, cut)
    return (costs[node] - sum(costs[leaf] for leaf in leaves)) / (len(leaves) - 1)


def best_subtree(
    children: Sequence[tuple[int, int]], costs: Sequence[Fraction], alpha: Fraction
) -> tuple[int, ...]:
    """The leaves of the cheapest subtree, the smallest of equals: all subtrees are tried."""

    def subtrees(node: int) -> list[list[int]]:
        if children[node][0] == -1:
            return [[node]]
        left, right = map(subtrees, children[node])
        return [[node]] + [a + b for a in left for b in right]

    def cost(leaves: list[int]) -> tuple[Fraction, int]:
        return sum(costs[leaf] for leaf in leaves) + alpha * len(leaves), len(leaves)

    return tuple(min(subtrees(0), key=cost))
