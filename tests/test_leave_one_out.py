"""Leave-one-out: every row gets the answer of the tree that is grown without it, bit for bit."""

import random
from dataclasses import replace

import numpy as np
import pytest
from cases import BASE_SEED, FEW_VALUED, Case, draw_case, draw_rules
from core_trees import core_rules, grow_core, make_source, make_table, open_rows
from mixed_data import CATEGORICAL, make_mixed
from reference.leave_one_out import leave_one_out as leave_one_out_by_hand

from treefold import Table, _native

CRITERIA = ["gini", "entropy", "gain_ratio", "squared_error"]


def leave_one_out(case: Case, is_sparse: bool = False, n_threads: int = 1):
    kind = np.int32 if case.n_classes else np.float64
    n_rows = len(case.rows)
    values, work = _native.leave_one_out(
        make_table(case, is_sparse),
        np.array(case.target, dtype=kind),
        case.n_classes,
        None if case.weights is None else np.array(case.weights, dtype=np.float64),
        core_rules(case.rules, len(case.n_categories), case.multipliers),
        np.arange(n_rows, dtype=np.uint32),
        n_threads,
    )
    return values.reshape(n_rows, -1), work


def fit_each(case: Case) -> np.ndarray:
    """One tree per row, from the data of the other rows alone."""
    answers = []
    for row in range(len(case.rows)):
        others = [other for other in range(len(case.rows)) if other != row]
        alone = replace(
            case,
            rows=[case.rows[other] for other in others],
            target=[case.target[other] for other in others],
            weights=None if case.weights is None else [case.weights[other] for other in others],
        )
        tree = grow_core(alone)
        source = make_source([case.rows[row]], case.n_categories)
        answers.append(tree.value[tree.apply(source, 1)[0]])
    return np.array(answers)


def has_other_rows(case: Case) -> bool:
    """Whether each tree has a row to grow from."""
    multipliers = case.multipliers or [1.0] * max(1, case.n_classes)
    n_present = sum(
        (case.weights is None or case.weights[row] > 0)
        and (not case.n_classes or multipliers[int(case.target[row])] > 0)
        for row in range(len(case.rows))
    )
    return n_present > 1


def draw_cases(seed, criterion, n_cases, **options):
    rng = random.Random(f"{BASE_SEED} {seed} {criterion}")
    n_drawn = 0
    while n_drawn < n_cases:
        case = draw_case(rng, criterion, **options)
        if rng.random() < 0.5:
            case = draw_rules(rng, case).with_rules(max_leaf_nodes=0)
        if has_other_rows(case):
            n_drawn += 1
            yield case


def assert_same(case: Case, **options) -> None:
    expected, (actual, _) = fit_each(case), leave_one_out(case, **options)
    assert expected.tobytes() == actual.tobytes(), (case, expected, actual)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])  # others round at the end
def test_the_core_answers_as_the_twin_does(criterion):
    for case in draw_cases("twin", criterion, 12, n_rows=6):
        plain = replace(case, weights=None, multipliers=None)
        expected = leave_one_out_by_hand(plain.problem, plain.rows)
        assert expected == leave_one_out(plain)[0].tolist(), plain


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_each_row_is_answered_by_the_tree_without_it(criterion, is_sparse):
    for case in draw_cases(f"tiny {is_sparse}", criterion, 60):
        assert_same(case, is_sparse=is_sparse)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rows_without_weights_are_left_out_together(criterion):
    for n_rows in (12, 20, 30):
        for case in draw_cases(n_rows, criterion, 12, n_rows=n_rows):
            assert_same(replace(case, weights=None, multipliers=None))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rows_of_few_values_are_left_out_together(criterion):
    for case in draw_cases("few", criterion, 12, n_rows=40, kinds=FEW_VALUED):
        assert_same(case, n_threads=2)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rows_of_many_categories_are_left_out_together(criterion):
    """A category that loses a row may be a rare one; more than five groups are charged."""
    kinds = ["ten categories", "many categories", "few", "continuous"]
    for drawn in draw_cases("categories", criterion, 12, n_rows=36, kinds=kinds):
        case = drawn.with_rules(min_samples_category=2)
        assert_same(replace(case, weights=None, multipliers=None))
        assert_same(case)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("columns", [slice(None), slice(0, 3)], ids=["all columns", "numbers"])
@pytest.mark.parametrize("target", ["two classes", "many classes", "regression"])
def test_many_rows_are_answered_as_by_trees_with_a_demand(target, columns, n_threads):
    n_rows = 300
    data = make_mixed(n_rows)
    X = data.X[:, columns]
    categorical = [column for column in CATEGORICAL if column < X.shape[1]]
    table = Table.from_data(X, categorical_features=categorical or None)._native
    y, n_classes, rules = data.targets[target].astype(float), 0, _native.Rules()
    rules.criterion, rules.min_samples_leaf = "squared_error", 3
    if target != "regression":
        y = np.unique(y, return_inverse=True)[1].astype(np.int32)
        n_classes, rules.criterion = int(y.max()) + 1, "gini"
    rows = np.arange(n_rows, dtype=np.uint32)
    members = [(None, rows[[row]], None, rules, rows[[row]], False) for row in rows]
    trees, _, _ = _native.grow_family(table, y, n_classes, None, members, "none", 1)
    source = open_rows(table)
    expected = np.array([tree.value[tree.apply(source, 1)[k]] for k, tree in enumerate(trees)])
    actual, _ = _native.leave_one_out(table, y, n_classes, None, rules, rows, n_threads)
    assert expected.tobytes() == actual.tobytes()
