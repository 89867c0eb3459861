"""The judge of trees, judged: it passes the twin's trees and sees planted faults."""

import random

import pytest
from cases import BASE_SEED, draw_case, draw_rules
from reference.audit import audit_tree
from reference.routing import grow_tree


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "squared_error"])
def test_audit_passes_the_trees_of_the_twin(criterion):
    rng = random.Random(f"audit {criterion} {BASE_SEED}")
    for _ in range(60):
        case = draw_rules(rng, draw_case(rng, criterion))
        assert audit_tree(grow_tree(case.problem), case.rows, case.problem) == [], case


def test_audit_sees_a_split_of_another_criterion():
    rng = random.Random(f"audit other {BASE_SEED}")
    n_faulty = 0
    for _ in range(100):
        case = draw_case(rng, "gini", n_rows=30)
        other = case.with_rules(criterion="gain_ratio")
        n_faulty += bool(audit_tree(grow_tree(other.problem), case.rows, case.problem))
    assert n_faulty > 50


def test_audit_sees_the_wrong_winner_of_a_tie():
    rng = random.Random(f"audit tie {BASE_SEED}")
    for _ in range(50):
        case = draw_case(rng, "entropy", n_rows=12)
        twice = [row + row for row in case.rows]
        tree = grow_tree(case.problem)
        tree.feature = [f + len(case.n_categories) if f >= 0 else f for f in tree.feature]
        tree.n_categories *= 2
        case = type(case)(
            twice, case.n_categories * 2, case.target, case.n_classes, case.weights,
            case.multipliers, case.rules,
        )  # fmt: skip
        faults = audit_tree(tree, twice, case.problem)
        assert len(faults) == sum(f >= 0 for f in tree.feature), case
