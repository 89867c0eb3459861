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
    """Columns that compete, and noise."""
    rng = np.random.default_rng(seed)
    X = make_columns(kind, n_rows, rng)
    score = X @ np.linspace(1.0, 0.5, N_COLUMNS) / X.std() + rng.normal(0, 1, n_rows)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_rows", [SMALL, LARGE])
@pytest.mark.parametrize("n_classes", [2, 7])
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


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("kind", ["few codes", "continuous"])
def test_many_members_are_divided_among_the_workers(kind, n_classes, n_threads):
    """Whole trees and rows that ask; some roots are leaves; pairs of folds are left out, too."""
    X, y = make_data(kind, SMALL, n_classes, seed=3)
    work = Workbench(X, y, params={"min_samples_leaf": 5})
    fold_of, rows = draw_folds(SMALL, 8), np.arange(SMALL)
    pairs = [rows[(fold_of != a) & (fold_of != b)] for a in range(8) for b in range(a)]
    row_sets = [*without_each(SMALL, fold_of), rows[:4], *pairs]
    together = work.assert_as_alone(row_sets, "folds", n_threads)
    n_together = np.flatnonzero(together.work["nodes_by_members"]).max()
    assert 9 <= n_together <= -(-len(row_sets) // n_threads)  # nobody shares with all
    asked = np.arange(0, SMALL, 9)
    members = [work.member(own, asked, is_whole=False) for own in row_sets]
    one, several = (work.grow(members, "folds", n) for n in (1, n_threads))
    for expected, got in zip(one.trees, several.trees, strict=True):
        assert expected.threshold.tobytes() == got.threshold.tobytes()
        assert expected.feature.tobytes() == got.feature.tobytes()
    for leaves, others in zip(one.leaves, several.leaves, strict=True):
        np.testing.assert_array_equal(leaves, others)


@pytest.mark.parametrize("n_folds", [3, 10])
@pytest.mark.parametrize("seed", range(6))
def test_ties_within_a_column_and_between_columns(seed, n_folds):
    """Whether the best cut is clear by its bound or not: twins of columns, mirrored ones, cuts as
    good as each other, and codes that a member does not have.
    """
    rng = np.random.default_rng(seed)
    n_codes, n_rows = int(rng.integers(2, 40)), 600
    base = rng.integers(0, n_codes, (n_rows, 2)).astype(float)
    rare = np.where(rng.random((n_rows, 2)) < 0.02, rng.integers(0, 40, (n_rows, 2)), base)
    X = np.column_stack([base, rare, n_codes - base, base, rare])
    y = (np.abs(base[:, 0] - n_codes / 2) > n_codes / 4).astype(int) + (base[:, 1] > n_codes // 2)
    work = Workbench(X, y, params={"min_samples_leaf": int(rng.integers(1, 9))})
    work.assert_as_alone(without_each(n_rows, draw_folds(n_rows, n_folds)), "folds")


@pytest.mark.parametrize(
    "counts",
    [
        [[422, 562], [706, 952], [336, 447]],  # one number in float32
        [[224, 343], [15, 23], [176, 269]],
        [[488, 264], [532, 288], [766, 415]],  # another order
        [[886, 166], [746, 140], [909, 171]],
        [[493, 589], [538, 642], [162, 193]],
        [[955, 299], [842, 264], [525, 165]],
        [[57, 201], [229, 806], [234, 823]],
        [[187, 120], [672, 431], [128, 82]],
    ],
)
def test_cuts_that_float32_would_put_in_another_order(counts):
    """Rows by code and class: the two cuts differ by less than the bounds are rounded."""
    codes, classes = np.divmod(np.arange(6), 2)
    cells = np.ravel(counts)
    X, y = np.repeat(codes, cells).astype(float).reshape(-1, 1), np.repeat(classes, cells)
    work = Workbench(X, y, params={"max_depth": 1})
    work.assert_as_alone([np.arange(len(y))] * 3, "folds")


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


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_rows", [SMALL, LARGE])
def test_sets_of_categories_that_are_of_one_size(n_rows, n_classes):
    """Many ways to divide the categories leave as many rows on either side; a numeric column that
    comes first is nearly as good as the best of them.
    """
    for seed in range(8):
        rng = np.random.default_rng(seed)
        category = np.arange(n_rows) % 5
        chosen = np.isin(category, rng.permutation(5)[:2])
        y = (chosen ^ (rng.random(n_rows) < 0.2)).astype(int)
        y[rng.random(n_rows) < 0.1] = n_classes - 1
        rival = np.where(rng.random(n_rows) < 0.25, rng.integers(0, 4, n_rows), 3 * chosen)
        X = np.column_stack([rival, category, rng.permutation(category)]).astype(float)
        work = Workbench(X, y, categorical=[1, 2], params={"min_samples_leaf": 2})
        work.assert_as_alone(without_each(n_rows, np.arange(n_rows) // 5 % 10), "folds")
