"""Targets of the whole range of float64: filters in floating point must not lose a cut there.

`exact_twin` is the same tree by the exact scans alone: no filter serves a leaf that must have a
certain weight, even if that is next to nothing.
"""

import numpy as np
import pytest
from cases import BASE_SEED
from sklearn.model_selection import LeaveOneOut

from treefold import DecisionTreeRegressor
from treefold.model_selection import cross_val_predict, cross_validate

EXPONENTS = [-1074, -1060, -1022, -900, -540, -511, -300, 0, 300, 500, 511, 520, 700, 900, 1000]
ARRAYS = ("children_left", "feature", "threshold", "value", "impurity", "n_node_samples")


def draw_targets(rng: np.random.Generator, n_rows: int, kind: str) -> np.ndarray:
    if kind == "whole":
        return rng.integers(0, 9, n_rows) * 1.0
    if kind == "real":
        return rng.normal(size=n_rows)
    if kind == "far apart":  # within one table
        return rng.normal(size=n_rows) * 2.0 ** rng.integers(-60, 20, n_rows)
    return rng.permutation(n_rows) * 1.0


def draw_table(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Many values, few values, categories, a column that is mostly zero."""
    return np.column_stack(
        (
            rng.normal(size=n_rows),
            rng.integers(0, 4, n_rows),
            rng.integers(0, 6, n_rows),
            np.where(rng.random(n_rows) < 0.7, 0.0, rng.normal(size=n_rows)),
        )
    )


def fit(X: np.ndarray, y: np.ndarray, **params) -> DecisionTreeRegressor:
    return DecisionTreeRegressor(categorical_features=[2], **params).fit(X, y)


def assert_same_tree(expected, actual, what) -> None:
    for name in ARRAYS:
        want, got = getattr(expected.tree_, name), getattr(actual.tree_, name)
        assert want.tobytes() == got.tobytes(), (what, name, want, got)


def scale(y: np.ndarray, exponent: int) -> np.ndarray:
    """Times 2^exponent, brought back into the range if that leaves it."""
    largest = float(np.frexp(np.abs(y).max())[1])
    return np.ldexp(y, int(min(exponent, 1023 - largest)))


@pytest.mark.parametrize("kind", ["whole", "real", "far apart", "ranks"])
@pytest.mark.parametrize("n_rows", [3, 16, 17, 40, 120])
def test_no_filter_loses_a_cut(n_rows: int, kind: str) -> None:
    rng = np.random.default_rng([BASE_SEED, n_rows, len(kind)])
    for exponent in EXPONENTS:
        X, y = draw_table(rng, n_rows), scale(draw_targets(rng, n_rows, kind), exponent)
        for min_samples_leaf in (1, 3):
            params = {"min_samples_leaf": min_samples_leaf}
            exact = fit(X, y, min_weight_fraction_leaf=1e-12, **params)
            assert_same_tree(exact, fit(X, y, **params), (n_rows, kind, exponent))


@pytest.mark.parametrize("n_rows", [16, 17, 60])
def test_a_power_of_two_changes_no_split(n_rows: int) -> None:
    rng = np.random.default_rng([BASE_SEED, n_rows])
    X, y = draw_table(rng, n_rows), rng.integers(0, 50, n_rows) * 1.0
    expected = fit(X, y)
    for exponent in (*EXPONENTS[1:], 1016):
        actual = fit(X, np.ldexp(y, exponent))
        assert_same = np.testing.assert_array_equal
        assert_same(expected.tree_.feature, actual.tree_.feature, err_msg=str(exponent))
        assert_same(expected.tree_.threshold, actual.tree_.threshold, err_msg=str(exponent))


@pytest.mark.parametrize("n_rows", [16, 17])
def test_large_targets_grow_a_whole_tree(n_rows: int) -> None:
    X = np.arange(n_rows * 1.0)[:, None]
    assert DecisionTreeRegressor().fit(X, X[:, 0] * 1e160).get_n_leaves() == n_rows


@pytest.mark.parametrize("sharing", ["none", "folds"])
@pytest.mark.parametrize("exponent", [-1060, -540, 511, 520, 900])
def test_trees_of_folds_are_those_of_fit(exponent: int, sharing: str) -> None:
    rng = np.random.default_rng([BASE_SEED, exponent + 2000])
    X, y = draw_table(rng, 90), scale(rng.normal(size=90), exponent)
    model = DecisionTreeRegressor(categorical_features=[2])
    folds = [(np.arange(90)[np.arange(90) % 5 != k], np.arange(k, 90, 5)) for k in range(5)]
    found = cross_validate(
        model,
        X,
        y,
        cv=folds,
        return_estimator=True,
        sharing=sharing,
        error_score="raise",
        scoring=lambda *_: 0.0,
    )
    for (train, _), tree in zip(folds, found["estimator"], strict=True):
        assert_same_tree(fit(X[train], y[train]), tree, (exponent, sharing))


@pytest.mark.parametrize("exponent", [-1060, -540, 511, 520, 900])
def test_leave_one_out_answers_as_the_tree_without_the_row(exponent: int) -> None:
    rng = np.random.default_rng([BASE_SEED, exponent + 2000])
    X, y = draw_table(rng, 40), scale(rng.normal(size=40), exponent)
    model = DecisionTreeRegressor(categorical_features=[2])
    actual = cross_val_predict(model, X, y, cv=LeaveOneOut())
    rows = np.arange(40)
    expected = [fit(X[rows != row], y[rows != row]).predict(X[[row]])[0] for row in rows]
    assert np.asarray(expected).tobytes() == actual.tobytes(), exponent
