"""What growth says of its work: `Family.seconds` and `Family.work`."""

import numpy as np
import pytest
from family_trees import Workbench, draw_folds, without_each
from mixed_data import make_mixed

from treefold import _native

N_ROWS, FEW_VALUED, CATEGORICAL = 180, [4, 5, 6, 10, 11], [3, 4]
SHARED_MODES = ["overlap", "folds", "auto"]
mode_of = pytest.mark.parametrize("sharing", ["none", *SHARED_MODES])
TREES = {
    "gini": ("many classes", {}),
    "regression": ("regression", {}),
    "drawn columns": ("two classes", {"max_features": 3, "random_state": 7}),
}


def bench(tree="gini") -> Workbench:
    data = make_mixed(N_ROWS)
    target, params = TREES[tree]
    X = data.X[:, FEW_VALUED]
    return Workbench(X, data.targets[target], categorical=CATEGORICAL, params=params)


COUNTERS = {"rows_scanned", "statistic_updates", "serial_statistic_updates", "split_evaluations"}
COUNTERS |= {"nodes_grown", "forks", "histograms_handed_on", "peak_bytes"}
LISTS = {"nodes_by_members", "distinct_tests_per_level"}


def test_seconds_are_shares_of_the_wall_time():
    work = bench()
    members = [work.member(rows) for rows in without_each(N_ROWS, draw_folds(N_ROWS, 4))]
    family = work.grow(members, "auto")
    assert family.seconds.shape == (5,)
    assert (family.seconds >= 0).all()
    assert family.seconds.sum() > 0


@mode_of
def test_work_names_the_mode(sharing):
    work = bench()
    mode = work.grow([work.member(np.arange(N_ROWS))] * 2, sharing).work["mode"]
    assert mode in ("none", "overlap", "folds")


@pytest.mark.parametrize(
    ("n_folds", "n_columns", "params", "n_threads", "mode"),
    [
        (40, 4, {}, 1, "folds"),
        (40, 4, {}, 2, "folds"),
        (22, 4, {}, 1, "folds"),
        (22, 4, {}, 2, "none"),
        (10, 4, {}, 1, "none"),
        (40, 4, {"criterion": "entropy"}, 1, "none"),
        (40, 40, {}, 1, "folds"),
        (15, 4, {}, 1, "folds"),
        (14, 4, {}, 1, "none"),
        (31, 4, {}, 2, "folds"),
        (30, 4, {}, 2, "none"),
        (70, 4, {}, 1, "none"),
    ],
)
def test_auto_shares_among_many_members_that_can_be_searched_together(
    n_folds, n_columns, params, n_threads, mode
):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (300, n_columns)).astype(float), rng.integers(0, 3, 300)
    work = Workbench(X, y, params=params)
    row_sets = without_each(300, draw_folds(300, n_folds))
    for asked in (None, np.arange(0, 300, 7)):
        members = [work.member(rows, asked) for rows in row_sets]
        assert work.grow(members, "auto", n_threads).work["mode"] == mode


@pytest.mark.parametrize(
    ("shape", "n_wide", "n_folds", "n_threads", "mode"),
    [
        ((1100, 80), 4, 10, 1, "folds"),
        ((1100, 80), 4, 10, 2, "none"),
        ((4100, 80), 4, 20, 2, "folds"),
        ((1100, 80), 4, 20, 2, "none"),
        ((1100, 80), 4, 5, 1, "folds"),
        ((1100, 80), 4, 4, 1, "none"),
        ((4100, 80), 4, 12, 2, "none"),
        ((1100, 80), 12, 10, 1, "none"),
        ((1100, 40), 0, 10, 1, "folds"),  # few codes
        ((1100, 40), 1, 10, 1, "none"),
        ((1000, 80), 0, 10, 1, "none"),
    ],
)
def test_auto_shares_wide_tables_that_are_mostly_binary(shape, n_wide, n_folds, n_threads, mode):
    n_rows, n_columns = shape
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (n_rows, n_columns)).astype(float)
    X[:, :n_wide] = rng.normal(size=(n_rows, n_wide))
    work = Workbench(X, rng.integers(0, 2, n_rows), params={"max_depth": 3})
    members = [work.member(rows) for rows in without_each(n_rows, draw_folds(n_rows, n_folds))]
    assert work.grow(members, "auto", n_threads).work["mode"] == mode


@pytest.mark.parametrize(
    ("n_folds", "n_repeats", "mode"), [(20, 1, "folds"), (10, 2, "none"), (5, 4, "none")]
)
def test_auto_does_not_share_where_rows_train_too_many_sets_of_members(n_folds, n_repeats, mode):
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 3, (2000, 4)).astype(float), rng.integers(0, 3, 2000)
    work = Workbench(X, y, params={"max_depth": 3})
    row_sets = [np.arange(2000)]
    for repeat in range(n_repeats):
        row_sets += without_each(2000, draw_folds(2000, n_folds, seed=repeat))[1:]
    members = [work.member(rows) for rows in row_sets]
    assert work.grow(members, "auto").work["mode"] == mode


def test_strata_are_the_sets_of_members_that_rows_train():
    rows = [(np.array(own, dtype=np.uint32), None) for own in ([0, 1, 2, 3], [1, 2], [2, 3], [])]
    assert _native.count_strata(rows, 4, 4) == 4  # {0}, {0, 1}, {0, 1, 2}, {0, 2}
    assert _native.count_strata(rows, 4, 100) == 4
    assert _native.count_strata(rows, 4, 2) == 2  # rows 0 and 2
    assert _native.count_strata(rows, 6, 6) == 4  # a row that trains nobody is in none
    assert _native.count_strata([], 4, 4) == 0


def test_strata_of_members_that_name_the_rows_that_they_leave_out():
    left_out = [(None, np.array(own, dtype=np.uint32)) for own in ([], [0, 3], [0, 1])]
    listed = (np.array([0, 2], dtype=np.uint32), None)
    assert _native.count_strata([*left_out, (None, None)], 4, 4) == 4
    assert _native.count_strata([left_out[0], (None, None)], 4, 4) == 1
    assert _native.count_strata([*left_out, listed], 4, 4) == 4  # {0, 3}, {0, 1}, all, {0, 1, 2}


def grow_counted(tree, sharing, n_folds=5, n_threads=1):
    work = bench(tree)
    row_sets = without_each(N_ROWS, draw_folds(N_ROWS, n_folds))
    members = [work.member(rows, min_samples_leaf=5) for rows in row_sets]
    family = work.grow(members, sharing, n_threads)
    return family, {name: family.work[name] for name in COUNTERS | LISTS}


@mode_of
@pytest.mark.parametrize("tree", ["gini", "regression", "drawn columns"])
def test_counters_are_consistent(tree, sharing):
    family, work = grow_counted(tree, sharing)
    n_members = len(family.trees)
    assert all(work[name] >= 0 for name in COUNTERS)
    assert 0 < work["statistic_updates"] <= work["serial_statistic_updates"]
    by_members = read_counts(work["nodes_by_members"])
    assert sum(n * count for n, count in by_members.items()) == work["nodes_grown"]
    assert max(by_members) <= n_members
    n_splits = sum(int((grown.feature >= 0).sum()) for grown in family.trees)
    n_nodes = sum(grown.node_count for grown in family.trees)
    assert n_splits <= work["nodes_grown"] <= n_nodes
    tests = np.asarray(work["distinct_tests_per_level"])
    assert 0 < len(tests) <= max(grown.max_depth for grown in family.trees) + 1
    assert (tests >= 1).all()
    assert (tests <= n_members).all()
    assert work["split_evaluations"] > 0


@mode_of
def test_memory_is_counted(sharing):
    assert grow_counted("gini", sharing)[1]["peak_bytes"] > 0


def read_counts(counts) -> dict[int, int]:
    """Of a dict, or of an array whose index is the number of members."""
    pairs = counts.items() if isinstance(counts, dict) else enumerate(counts)
    return {int(n): int(count) for n, count in pairs if count}


@mode_of
def test_one_at_a_time_nothing_is_shared(sharing):
    family, work = grow_counted("gini", sharing)
    alone = grow_counted("gini", "none")[1]
    assert alone["serial_statistic_updates"] == work["serial_statistic_updates"]
    if family.work["mode"] == "none":
        assert work["statistic_updates"] == work["serial_statistic_updates"]
        assert read_counts(work["nodes_by_members"]).keys() == {1}
        assert work["forks"] == 0


def test_members_that_agree_everywhere_are_added_up_once():
    """Down to the leaves: nodes of few rows, which each member may search alone, are not split."""
    work = bench("gini")
    family = work.grow([work.member(np.arange(N_ROWS), min_samples_leaf=20)] * 7, "folds")
    assert family.work["serial_statistic_updates"] == 7 * family.work["statistic_updates"]
    assert read_counts(family.work["nodes_by_members"]).keys() == {7}
    assert family.work["forks"] == 0


@pytest.mark.parametrize("sharing", ["overlap", "folds", "auto"])
def test_means_grow_one_at_a_time(sharing):
    family, work = grow_counted("regression", sharing)
    assert family.work["mode"] == "none"
    assert work["statistic_updates"] == work["serial_statistic_updates"]
    assert read_counts(work["nodes_by_members"]).keys() == {1}


@pytest.mark.parametrize("sharing", ["overlap", "folds", "auto"])
def test_folds_share_at_least_the_root(sharing):
    family, work = grow_counted("gini", sharing)
    if family.work["mode"] != "none":
        assert len(family.trees) in read_counts(work["nodes_by_members"])
    if family.work["mode"] == "folds":  # overlap: each member adds up for itself
        assert work["statistic_updates"] < work["serial_statistic_updates"]


@pytest.mark.parametrize("sharing", SHARED_MODES)
def test_threads_do_the_same_work(sharing):
    one, two = (grow_counted("gini", sharing, n_threads=n)[1] for n in (1, 2))
    for name in (COUNTERS | LISTS) - {"peak_bytes"}:
        assert str(one[name]) == str(two[name]), name
