"""Regression without weights or missing values: its fast ways grow the tree of the plain ones."""

import numpy as np
import pytest

import treefold

pytestmark = pytest.mark.filterwarnings("ignore::treefold.CardinalityWarning")
ARRAYS = ["children_left", "children_right", "feature", "threshold", "missing_go_to_left"]
ARRAYS += ["float32_side", "n_node_samples", "weighted_n_node_samples", "value"]
ARRAYS += ["category_begin", "category_words"]
CATEGORICAL = [5, 6, 7]
TARGETS = {
    "whole": np.rint,
    "two decimals": lambda y: np.round(y, 2),
    "float64": lambda y: y,
    "large and close together": lambda y: 1e12 + y,
    "mostly zero": lambda y: np.where(y > 3, y, 0.0),
}
RULES = [{}, {"min_samples_leaf": 2}, {"min_samples_leaf": 9}, {"max_depth": 7}]


def make_columns(rng, n_rows):
    """Continuous, tied, few-valued, binary and categorical columns."""
    x = rng.normal(size=(n_rows, 8))
    x[:, 1] = np.round(x[:, 1], 2)
    x[:, 2] = np.round(x[:, 2] * 20)
    x[:, 3] = x[:, 3] > 0
    x[:, 4] = x[:, 0]  # a twin: every cut is tied
    x[:, 5] = rng.integers(0, 3, n_rows)
    x[:, 6] = rng.integers(0, 40, n_rows)
    x[:, 7] = rng.integers(0, 90, n_rows)
    return x


def make_target(rng, X):
    noise = rng.normal(size=len(X))
    return 3 * np.sin(2 * X[:, 0]) + X[:, 2] * X[:, 3] / 10 + X[:, 5] + X[:, 6] % 3 + noise


def fit(X, y, weights=None, **params):
    model = treefold.DecisionTreeRegressor(categorical_features=CATEGORICAL, **params)
    return model.fit(X, y, sample_weight=weights).tree_._native


def assert_same(expected, actual, names):
    for name in names:
        want, got = (np.asarray(getattr(tree, name)) for tree in (expected, actual))
        assert want.tobytes() == got.tobytes(), name


@pytest.mark.parametrize("n_rows", [3, 17, 40, 700])
@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("target", list(TARGETS))
def test_kernels_of_means_grow_the_tree_of_exact_scans(target, rules, n_rows):
    """Weights of one keep the kernels out: all is decided by exact integers."""
    for seed in range(3):
        rng = np.random.default_rng([n_rows, seed])
        X = make_columns(rng, n_rows)
        y = TARGETS[target](make_target(rng, X))
        assert_same(fit(X, y, np.ones(n_rows), **rules), fit(X, y, **rules), ARRAYS)


@pytest.mark.parametrize("target", list(TARGETS))
def test_pairs_that_become_leaves_at_once_equal_those_that_are_nodes(target):
    """A tree with a limit of leaves makes every node wait for its turn."""
    rng = np.random.default_rng(0)
    X = make_columns(rng, 900)
    y = TARGETS[target](make_target(rng, X))
    assert_same(fit(X, y, max_leaf_nodes=10**6), fit(X, y), [*ARRAYS, "impurity"])


def test_pairs_of_classes_that_become_leaves_at_once_equal_those_that_are_nodes():
    rng = np.random.default_rng(1)
    X = make_columns(rng, 900)
    y = np.rint(make_target(rng, X)) % 4
    trees = [
        treefold.DecisionTreeClassifier(**params).fit(X, y).tree_._native
        for params in ({"max_leaf_nodes": 10**6}, {})
    ]
    assert_same(*trees, [*ARRAYS, "impurity"])
