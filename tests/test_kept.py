"""Histograms that groups hand on: children take what remains of their parent's, and a member that
goes on alone takes its own along. The trees are those that grow alone.
"""

from itertools import combinations

import numpy as np
import pytest
from family_trees import Workbench, draw_folds, without_each

N_ROWS = 2400


def make_few_valued(n_codes, n_classes, *, n_columns=7, n_rows=N_ROWS, seed=0, is_missing=False):
    """Columns that compete, and noise: members part at every depth, some by a code or two."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_codes, (n_rows, n_columns)).astype(float)
    score = X @ np.linspace(1.0, 0.4, n_columns) / n_codes + rng.normal(0, 0.4, n_rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    if is_missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def assert_handed_on(work, row_sets, n_threads=1, least=1, **params):
    """Grown together as alone, with so many histograms handed on."""
    together = work.assert_as_alone(row_sets, "folds", n_threads, **params)
    assert together.work["histograms_handed_on"] >= least
    one_by_one = work.assert_as_alone(row_sets, "none", n_threads, **params)
    assert one_by_one.work["histograms_handed_on"] == 0


DATA = {  # name: codes, classes, categorical columns, whether values are missing
    "two values": (2, 2, None, False),
    "two values, many classes": (2, 6, None, False),
    "categories": (4, 3, [0, 2, 3], False),
    "numbers": (9, 2, None, False),
    "numbers, three classes": (6, 3, None, False),
    "missing": (5, 2, [1, 4], True),
}


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_folds", [2, 3, 10])
@pytest.mark.parametrize("name", DATA)
def test_members_that_part_by_and_by(name, n_folds, n_threads):
    n_codes, n_classes, categorical, is_missing = DATA[name]
    X, y = make_few_valued(n_codes, n_classes, seed=n_folds, is_missing=is_missing)
    work = Workbench(X, y, categorical=categorical, params={"min_samples_leaf": 3})
    row_sets = without_each(N_ROWS, draw_folds(N_ROWS, n_folds))
    assert_handed_on(work, row_sets, n_threads, least=4)


@pytest.mark.parametrize("n_folds", [40, 70])  # a word of members, and two
def test_many_members(n_folds):
    X, y = make_few_valued(2, 2, n_rows=3000)
    work = Workbench(X, y, params={"min_samples_leaf": 5})
    assert_handed_on(work, without_each(3000, draw_folds(3000, n_folds)), least=2)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_members_that_lack_pairs_of_folds(n_threads):
    """Nested folds: no slot is a single member's."""
    X, y = make_few_valued(3, 3)
    fold_of = draw_folds(N_ROWS, 6)
    rows = np.arange(N_ROWS)
    pairs = combinations(range(6), 2)
    row_sets = [rows[(fold_of != one) & (fold_of != other)] for one, other in pairs]
    work = Workbench(X, y, params={"min_samples_leaf": 5})
    assert_handed_on(work, [*without_each(N_ROWS, fold_of), *row_sets], n_threads, least=20)


@pytest.mark.parametrize("seed", range(12))
def test_members_that_stop(seed):
    """Some children are leaves for some members: those who go on have fewer patterns."""
    rng = np.random.default_rng(seed)
    X, y = make_few_valued(int(rng.integers(2, 7)), int(rng.integers(2, 4)), seed=seed)
    work = Workbench(X, y, params={"min_impurity_decrease": 0.002, "min_samples_leaf": 20})
    row_sets = without_each(N_ROWS, draw_folds(N_ROWS, int(rng.integers(2, 12))))
    assert_handed_on(work, row_sets)


@pytest.mark.parametrize("seed", range(12))
def test_members_of_different_rules_and_rows(seed):
    """Any sets of rows, so that most patterns lack several members; each has limits of its own."""
    rng = np.random.default_rng(seed)
    X, y = make_few_valued(3, 2, n_rows=3000, seed=seed)
    work = Workbench(X, y)
    limits = [{"max_depth": int(depth)} for depth in rng.integers(3, 9, 5)]
    row_sets = [np.flatnonzero(rng.random(3000) < share) for share in (1, 0.9, 0.8, 0.7, 0.95)]
    family = work.assert_each_as_alone(row_sets, limits, "folds")
    assert family.work["histograms_handed_on"] > 0


def test_rows_of_a_member_that_has_parted_are_dropped():
    """Members that lack pairs of strata, and one with rows of its own and another rule of nature:
    what goes on without it keeps the slots that it had.
    """
    X, y = make_few_valued(2, 2, n_rows=4000, seed=5)
    y[2500:] = X[2500:, 6]
    stratum_of = np.resize(np.arange(10), 2500)
    lacking = list(combinations(range(5), 2))
    row_sets = [
        np.flatnonzero([member not in lacking[stratum] for stratum in stratum_of])
        for member in range(5)
    ]
    work = Workbench(X, y, params={"min_samples_leaf": 5})
    assert_handed_on(work, [*row_sets, np.arange(2500, 4000)], least=4)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_few_out_of_many_that_go_on_one_by_one(n_threads):
    """Four members have rows of their own: they part from all others at the root, and each takes
    its histogram out of that of the four.
    """
    X, y = make_few_valued(3, 2, n_rows=4000, seed=3)
    X = np.column_stack([X, np.random.default_rng(1).normal(size=4000)])
    y[2000:] = X[2000:, 6] > 1
    flipped = np.random.default_rng(0).random(2000) < 0.2
    y[2000:][flipped] ^= 1
    many = without_each(2000, draw_folds(2000, 30))[1:]
    few = [2000 + rows for rows in without_each(2000, draw_folds(2000, 4))[1:]]
    work = Workbench(X, y, params={"min_samples_leaf": 5})
    assert_handed_on(work, [*many, *few], n_threads, least=8)


def test_a_group_that_keeps_is_metered_once():
    """A stump: a row and its pattern are eight bytes, all else is less than half of that."""
    X, y = make_few_valued(2, 2)
    work = Workbench(X, y, params={"max_depth": 1})
    members = [work.member(rows) for rows in without_each(N_ROWS, draw_folds(N_ROWS, 10))]
    assert 8 * N_ROWS < work.grow(members, "folds").work["peak_bytes"] < 12 * N_ROWS


def test_groups_too_small_for_it_count_again():
    X, y = make_few_valued(9, 6, n_rows=300)
    work = Workbench(X, y)
    members = [work.member(rows) for rows in without_each(300, draw_folds(300, 10))]
    assert work.grow(members, "folds").work["histograms_handed_on"] == 0


def test_categories_that_all_go_other_ways():
    """255 categories, each left for other members, and rows without one: bins do not fit a byte."""
    n_members, n_rows = 24, 13_000
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n_rows, 3)).astype(float)
    X[:, 0] = np.arange(n_rows) % 255
    X[rng.random(n_rows) < 0.05, 0] = np.nan
    params = {"max_depth": 2, "min_samples_category": 1}
    work = Workbench(X, rng.integers(0, 2, n_rows), categorical=[0], params=params)
    member_of = rng.integers(0, n_members, n_rows)
    row_sets = [np.flatnonzero(member_of == member) for member in range(n_members)]
    together = work.assert_as_alone(row_sets, "folds")
    assert together.work["nodes_by_members"][n_members] > 1  # they stay together in one fork
