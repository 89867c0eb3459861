"""The core against the plain-Python twin on thousands of tiny data sets.

Where the contract's roundings are reproducible (gini with class weights of at most 61 bits, or 53
under multipliers; squared error without near ties in the order of growth) the trees are identical:

    bit for bit   children, columns, thresholds, category sets, missing sides, numbers of rows,
                  weights (one rounding of an exact sum), means (correctly rounded)
    to 1e-12      impurities and class fractions: ratios of exact sums, of which the contract does
                  not fix each rounding; counts below 2^26 leave nothing to round, so without
                  weights these are compared bit for bit as well

Elsewhere every node is judged by itself (`reference.audit`): no candidate may be better by more
than 1e-12 of what the quality is a difference of, and equal sides must tie.
"""

import random
from fractions import Fraction
from itertools import pairwise
from math import isnan, nan

import numpy as np
import pytest
from cases import BASE_SEED, FEW_VALUED, Case, draw_case, draw_rules
from core_trees import grow_core, make_source, make_sparse_rows, make_table, read_tree
from reference.audit import audit_tree
from reference.columns import MISSING
from reference.grower import Rules, grow, node_splits
from reference.pruning import node_costs, pruning_path
from reference.routing import apply, grow_tree, visited_nodes
from reference.statistics import class_bits

from treefold import DecisionTreeClassifier, DecisionTreeRegressor

CRITERIA = ["gini", "entropy", "gain_ratio", "squared_error"]
EXACT = ("n_categories", "children_left", "children_right", "feature", "threshold")
EXACT += ("left_categories", "missing_go_to_left", "unknown_go_to_left")
EXACT += ("n_node_samples", "weighted_n_node_samples")


def assert_core_agrees(case: Case, is_sparse: bool = False) -> None:
    problem = case.problem
    actual = read_tree(grow_core(case, is_sparse))
    faults = audit_tree(actual, case.rows, problem)
    assert not faults, f"{faults}\n{case}\nsparse: {is_sparse}\n{actual}"
    if is_reproducible(case, problem):
        assert_identical(grow_tree(problem), actual, case)


def is_reproducible(case: Case, problem) -> bool:
    if case.rules.criterion == "gini":
        return class_bits(problem.additive) <= (61 if case.multipliers is None else 53)
    if case.rules.criterion == "squared_error":
        return case.rules.max_leaf_nodes == 0 or not has_near_tie(grow(problem))
    return False


def has_near_tie(nodes) -> bool:
    """Whether the last bit of an impurity may decide which node is split next."""
    decreases = sorted(node.decrease for node in nodes if node.split is not None)
    return any(b - a <= 1e-12 * b for a, b in pairwise(decreases))


def assert_identical(expected, actual, case: Case) -> None:
    for name in EXACT:
        want, got = getattr(expected, name), getattr(actual, name)
        assert [none_for_nan(x) for x in want] == [none_for_nan(x) for x in got], f"{name}\n{case}"
    is_counted = case.n_classes > 0 and case.weights is None and case.multipliers is None
    if is_counted:
        assert expected.value == actual.value, case
        assert expected.impurity == actual.impurity, case
    elif case.n_classes:
        assert np.allclose(expected.value, actual.value, rtol=1e-15, atol=0), case
    else:
        assert expected.value == actual.value, case
    assert np.allclose(expected.impurity, actual.impurity, rtol=1e-12, atol=1e-300), case


def none_for_nan(value):
    return None if isinstance(value, float) and isnan(value) else value


@pytest.mark.parametrize("criterion", CRITERIA)
def test_core_allows_for_chance_as_the_twin_does(criterion):
    """More than five groups of categories, rare ones beside them."""
    rng = random.Random(f"chance {criterion} {BASE_SEED}")
    n_charged = 0
    for _ in range(60):
        kinds = ["ten categories", "many categories", "few", "continuous"]
        case = draw_case(rng, criterion, n_rows=rng.randint(24, 40), kinds=kinds)
        case = case.with_rules(min_samples_category=rng.choice([2, 2, 3]), max_depth=2)
        assert_core_agrees(case)
        problem = case.problem
        splits = node_splits(grow(problem)[0], problem)
        n_charged += any(split.allowance > 0 for split in splits)
    assert n_charged > 20


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("block", range(5))
def test_core_finds_the_best_split_of_a_node(criterion, block):
    rng = random.Random(f"node {criterion} {block} {BASE_SEED}")
    for _ in range(200):
        case = draw_case(rng, criterion)
        is_sparse = rng.random() < 0.4
        assert_core_agrees(case.with_rules(max_depth=1), is_sparse)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("block", range(5))
def test_core_grows_the_tree_of_the_contract(criterion, block):
    rng = random.Random(f"tree {criterion} {block} {BASE_SEED}")
    for _ in range(100):
        case = draw_rules(rng, draw_case(rng, criterion))
        assert_core_agrees(case, is_sparse=rng.random() < 0.3)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_core_grows_larger_trees_of_the_contract(criterion):
    rng = random.Random(f"larger {criterion} {BASE_SEED}")
    for _ in range(12):
        case = draw_rules(rng, draw_case(rng, criterion, n_rows=rng.randint(40, 120)))
        assert_core_agrees(case, is_sparse=rng.random() < 0.3)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_core_grows_the_tree_of_many_rows_with_few_values(criterion):
    rng = random.Random(f"many {criterion} {BASE_SEED}")
    for _ in range(4):
        case = draw_case(rng, criterion, n_rows=rng.randint(500, 1500), kinds=FEW_VALUED)
        assert_core_agrees(case.with_rules(max_depth=3), is_sparse=rng.random() < 0.3)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_core_routes_rows_as_the_twin_does(criterion):
    """Rows of training and rows never met; categories absent from nodes; missing everywhere."""
    rng = random.Random(f"route {criterion} {BASE_SEED}")
    for _ in range(60):
        case = draw_case(rng, criterion)
        tree = grow_core(case)
        read = read_tree(tree)
        shuffled = [rng.sample(column, len(column)) for column in zip(*case.rows, strict=True)]
        strange = [list(row) for row in zip(*shuffled, strict=True)]
        strange.append([nan] * len(case.n_categories))
        strange.append([float(n - 1) if n else 0.25 for n in case.n_categories])
        dense = make_source(strange, case.n_categories)
        sparse_rows = make_sparse_rows(strange, case.n_categories)
        expected = apply(read, strange)
        assert expected == tree.apply(dense, 1).tolist(), case
        assert expected == tree.apply(sparse_rows, 1).tolist(), case
        indptr, indices = tree.decision_path(dense, 1)
        paths = [indices[a:b].tolist() for a, b in pairwise(indptr)]
        assert paths == [visited_nodes(read, row) for row in strange], case


def last_of_equals(alphas, n_leaves):
    """What is left where all cuts of an alpha have been made."""
    return [int(n_leaves[np.flatnonzero(alphas == alpha)[-1]]) for alpha in alphas]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_core_prunes_the_weakest_links(criterion):
    rng = random.Random(f"prune {criterion} {BASE_SEED}")
    for _ in range(80):
        case = draw_case(rng, criterion)
        tree = grow_core(case)
        read = read_tree(tree)
        children = list(zip(read.children_left, read.children_right, strict=True))
        costs = node_costs(read.impurity, read.weighted_n_node_samples)
        alphas, impurities, n_leaves = tree.pruning_path()
        assert alphas[0] == 0, case
        assert (np.diff(alphas) >= 0).all(), case
        assert [tree.prune(a).n_leaves for a in alphas] == last_of_equals(alphas, n_leaves), case
        assert (np.diff(impurities) >= -1e-12 * (1 + abs(impurities[-1]))).all(), case
        expected = pruning_path(children, costs)
        tolerance = 1e-10 * (1 + float(costs[0]))
        for step, later in pairwise(expected):
            if float(later.alpha - step.alpha) > 4 * tolerance:
                between = float(step.alpha + later.alpha) / 2
                pruned = tree.prune(between)
                assert pruned.n_leaves == len(step.leaves), (case, between)
                reached = impurities[alphas <= between][-1]
                assert reached == pytest.approx(float(step.impurity), abs=tolerance), case
        assert tree.prune(float(alphas[-1])).n_leaves == 1, case


@pytest.mark.parametrize("criterion", CRITERIA)
def test_core_adds_up_the_importance_of_columns(criterion):
    rng = random.Random(f"importance {criterion} {BASE_SEED}")
    for _ in range(60):
        case = draw_case(rng, criterion)
        tree = grow_core(case)
        read = read_tree(tree)
        costs = node_costs(read.impurity, read.weighted_n_node_samples)
        expected = [0.0] * len(case.n_categories)
        for node, (left, right) in enumerate(
            zip(read.children_left, read.children_right, strict=True)
        ):
            if left != -1:
                expected[read.feature[node]] += float(costs[node] - costs[left] - costs[right])
        scale = 1 + float(costs[0])
        assert tree.feature_importances() == pytest.approx(expected, abs=1e-11 * scale), case


def test_table_holds_the_codes_of_the_twin():
    rng = random.Random(f"table {BASE_SEED}")
    for _ in range(200):
        case = draw_case(rng, "gini", n_rows=rng.choice([1, 2, 7, 300]))
        from_dense, from_sparse = (_table_columns(case, is_sparse) for is_sparse in (False, True))
        expected = [
            (column.values, [c if c != MISSING else len(column.values) for c in column.codes])
            for column in case.problem.columns
        ]
        assert expected == from_dense, case
        assert expected == from_sparse, case


def _table_columns(case: Case, is_sparse: bool):
    table = make_table(case, is_sparse)
    columns = range(table.n_columns)
    return [(tuple(table.values(c)), table.codes(c).tolist()) for c in columns]


def test_categories_whose_means_round_alike_move_together():
    """(0.1 + 0.3) / 2 is 0.2 in float64, though not exactly: 0 and 1 stay together."""
    rows, target = [[0.0], [0.0], [1.0], [2.0]], [0.1, 0.3, 0.2, 0.0]
    case = Case(rows, [3], target, 0, None, None, Rules("squared_error", max_depth=1))
    assert_core_agrees(case)
    assert grow_core(case).n_node_samples.tolist() == [4, 3, 1]


def test_an_exclusive_or_of_categories_is_found():
    rows = [[float(a), float(b)] for a in range(2) for b in range(2)]
    case = Case(rows, [2, 2], [0, 1, 1, 0], 2, None, None, Rules("gini"))
    assert_core_agrees(case)
    assert grow_core(case).n_leaves == 4


def test_a_tree_of_one_row_is_a_leaf():
    case = Case([[1.0, nan]], [0, 3], [0], 2, None, None, Rules("gini"))
    tree = grow_core(case)
    assert (tree.node_count, tree.n_leaves, tree.max_depth) == (1, 1, 0)
    assert tree.value.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("tree", [DecisionTreeClassifier(), DecisionTreeRegressor()])
def test_missing_values_go_to_the_side_that_is_heavier_before_rounding(tree):
    weights = [0.7, 0.1, 0.3, 0.3]
    assert sum(map(Fraction, weights[1:])) > Fraction(weights[0])  # float64: both are 0.7
    tree.fit([[0.0], [1.0], [1.0], [1.0]], [0, 1, 1, 1], weights)
    assert tree.tree_.missing_go_to_left[0] == 0
