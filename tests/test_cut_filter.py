"""Small nodes: columns of few codes are filtered sixteen at a time before they are searched."""

import numpy as np
import pytest
from family_trees import Workbench, draw_folds, without_each

from treefold import DecisionTreeClassifier, rules

MOST_FILTERED = 255  # rows of a node


def make_data(n_rows, n_columns, n_codes, n_classes, seed):
    """Columns that compete, one of them twice, one constant, and a noisy class."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_codes, (n_rows, n_columns)).astype(float)
    score = X @ rng.random(n_columns) + rng.normal(0, 0.5 * n_codes, n_rows)
    X[:, 1], X[:, 2] = X[:, 0], 1.0
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def assert_as_exact(X, y, **params):
    fast = DecisionTreeClassifier(**params).fit(X, y).tree_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "SEARCH", "exact")
        exact = DecisionTreeClassifier(**params).fit(X, y).tree_
    for name in ("feature", "threshold", "value", "n_node_samples"):
        np.testing.assert_array_equal(getattr(exact, name), getattr(fast, name), err_msg=name)


@pytest.mark.parametrize("min_samples_leaf", [1, 3, 40])
@pytest.mark.parametrize("n_classes", [2, 3, 9])
@pytest.mark.parametrize("n_codes", [2, 3, 9, 60])
@pytest.mark.parametrize("n_columns", [3, 15, 16, 17, 40])  # lanes that are filled, and not
def test_trees_are_those_of_the_exact_scans(n_columns, n_codes, n_classes, min_samples_leaf):
    for n_rows in (2, 11, 64, 65, MOST_FILTERED, MOST_FILTERED + 1, 700):
        X, y = make_data(n_rows, n_columns, n_codes, n_classes, seed=n_rows + n_columns)
        assert_as_exact(X, y, min_samples_leaf=min_samples_leaf)


def test_large_nodes_that_no_cut_divides_are_leaves():
    X = np.zeros((500, 3))
    X[0] = 1.0  # the only cut leaves a single row
    y = np.arange(500) % 2
    assert DecisionTreeClassifier(min_samples_leaf=2).fit(X, y).tree_.node_count == 1
    assert_as_exact(X, y, min_samples_leaf=1)


def make_mixed(n_rows, share_missing, seed):
    """Every other column has gaps; the best is a category."""
    X, y = make_data(n_rows, 20, 3, 3, seed)
    rng = np.random.default_rng(seed)
    X[:, ::2][rng.random((n_rows, 10)) < share_missing] = np.nan
    X[:, 5] = np.where(rng.random(n_rows) < 0.8, y, X[:, 5])
    return X, y


@pytest.mark.parametrize("share_missing", [0.0, 0.02, 0.3])
def test_columns_with_missing_values_and_categories_are_not_left_out(share_missing):
    for seed in range(20):
        X, y = make_mixed(240, share_missing, seed)
        assert_as_exact(X, y, min_samples_leaf=4, categorical_features=[5, 6])
        work = Workbench(X, y, categorical=[5, 6], params={"min_samples_leaf": 4})
        work.assert_as_alone(without_each(240, draw_folds(240, 6)), "folds")


@pytest.mark.parametrize("n_folds", [2, 10, 19])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("n_columns", [7, 16, 45])
def test_groups_find_what_their_members_find_alone(n_columns, n_classes, n_folds):
    for n_rows, n_codes in ((MOST_FILTERED, 3), (900, 2), (900, 4), (600, 30)):
        X, y = make_data(n_rows, n_columns, n_codes, n_classes, seed=n_rows + n_folds)
        work = Workbench(X, y, params={"min_samples_leaf": 4})
        work.assert_as_alone(without_each(n_rows, draw_folds(n_rows, n_folds)), "folds")


def test_groups_whose_rows_lack_several_members():
    """Pairs of folds are left out: rows count for neither of two members, of many others."""
    n_rows, rows = 400, np.arange(400)
    X, y = make_data(n_rows, 32, 3, 3, seed=1)
    fold_of = draw_folds(n_rows, 6)
    pairs = [rows[(fold_of != a) & (fold_of != b)] for a in range(6) for b in range(a + 1)]
    Workbench(X, y, params={"min_samples_leaf": 3}).assert_as_alone([rows, *pairs], "folds")


def test_members_with_rules_of_their_own():
    X, y = make_data(500, 24, 3, 3, seed=2)
    work = Workbench(X, y)
    row_sets = without_each(500, draw_folds(500, 5))
    params = [{"min_samples_leaf": leaf} for leaf in (1, 2, 5, 20, 60, 400)]
    work.assert_each_as_alone(row_sets, params, "folds")
