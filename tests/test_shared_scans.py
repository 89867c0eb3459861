"""Columns that are searched for all members of a group at once: in float32 where groups are small,
in float64 where they are large. The trees are those that grow alone.
"""

import numpy as np
import pytest
from family_trees import Workbench, draw_folds, without_each

SMALL, LARGE = 1200, 5200  # rows: groups of more than 4,096 are counted in float64
N_COLUMNS = 6


def make_columns(kind, n_rows, rng):
    if kind == "few codes":
        return rng.integers(0, 12, (n_rows, N_COLUMNS)).astype(float)
    if kind == "many codes":
        return rng.integers(0, 200, (n_rows, N_COLUMNS)).astype(float)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    if kind == "mostly zero":  # long runs of one code, as the words of a text have them
        X[rng.random(X.shape) < 0.7] = 0.0
    return X


def make_data(kind, n_rows, n_classes, seed):
    """Columns that compete, and noise; without classes the score itself."""
    rng = np.random.default_rng(seed)
    X = make_columns(kind, n_rows, rng)
    score = X @ np.linspace(1.0, 0.5, N_COLUMNS) / X.std() + rng.normal(0, 1, n_rows)
    if n_classes == 0:
        return X, score
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_rows", [SMALL, LARGE])
@pytest.mark.parametrize("n_classes", [0, 2, 7])
@pytest.mark.parametrize("kind", ["few codes", "many codes", "mostly zero", "continuous"])
def test_small_and_large_groups(kind, n_classes, n_rows, n_threads):
    X, y = make_data(kind, n_rows, n_classes, seed=n_rows + n_classes)
    work = Workbench(X, y, params={"min_samples_leaf": 5, "max_depth": 7})
    row_sets = without_each(n_rows, draw_folds(n_rows, 10))
    together = work.assert_as_alone(row_sets, "folds", n_threads)
    saved = together.work["serial_statistic_updates"] / together.work["statistic_updates"]
    assert saved > 1


@pytest.mark.parametrize("n_folds", [2, 3, 7, 8, 9, 16, 17, 40])  # vectors of 8, filled and not
@pytest.mark.parametrize("n_classes", [2, 5])
def test_numbers_of_members(n_classes, n_folds):
    X, y = make_data("few codes", SMALL, n_classes, seed=n_folds)
    work = Workbench(X, y, params={"min_samples_leaf": 3})
    work.assert_as_alone(without_each(SMALL, draw_folds(SMALL, n_folds)), "folds")


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_codes_that_begin_with_rows_of_others(n_classes, seed):
    """A cut stands before the first row of a code, which need not be a row of the member."""
    rng = np.random.default_rng(seed)
    n_rows = 400
    X = np.round(
        rng.exponential(1.0, (n_rows, 3)) * 300
    )  # columns with orders: more than 256 codes
    X[rng.random(X.shape) < 0.5] = 0.0
    _, y = make_data("continuous", n_rows, n_classes, seed)
    if n_classes:
        y = np.where(X[:, 0] > 100, 0, y)
    # The rows of a code stand in their order, so that those of fold 0 come first.
    fold_of = np.arange(n_rows) * 4 // n_rows
    work = Workbench(X, y, params={"min_samples_leaf": int(rng.integers(1, 8))})
    work.assert_as_alone(without_each(n_rows, fold_of), "folds")


@pytest.mark.parametrize("sharing", ["folds", "overlap", "none"])
def test_members_whose_root_is_a_leaf(sharing):
    """They take no part: the strata of the others are found without them."""
    X, y = make_data("few codes", SMALL, 3, seed=5)
    rows = np.arange(SMALL)
    pure = rows[y == 1]
    row_sets = [pure, *without_each(SMALL, draw_folds(SMALL, 4)), pure[:3], rows[:1]]
    Workbench(X, y, params={"min_samples_leaf": 5}).assert_as_alone(row_sets, sharing)


def test_all_roots_but_one_are_leaves():
    X, y = make_data("few codes", SMALL, 2, seed=6)
    rows = np.arange(SMALL)
    row_sets = [rows[y == 1], rows, rows[y == 0]]
    Workbench(X, y, params={"min_samples_leaf": 5}).assert_as_alone(row_sets, "folds")
