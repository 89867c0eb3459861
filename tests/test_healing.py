"""Forks heal: members that have parted go on together once the same rows reach them."""

import numpy as np
import pytest
from core_trees import open_rows
from family_trees import Workbench, draw_folds, without_each

N_ROWS, N_FOLDS, LEAST = 240, 8, 10


def make_led(n_columns=6, n_codes=2, n_rows=N_ROWS, seed=0, n_noisy=1):
    """Columns of equal worth: members test them in different orders, and reach the same rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_codes, (n_rows, n_columns)).astype(float)
    is_noise = rng.integers(0, 5, n_rows) < n_noisy  # of five
    return X, np.where(is_noise, rng.integers(0, 4, n_rows), X[:, :3].sum(axis=1).astype(int))


def grow(work, sharing="folds", n_threads=1, asked=None, **params):
    n_rows = work.table.n_rows
    row_sets = without_each(n_rows, draw_folds(n_rows, N_FOLDS))
    members = [work.member(rows, asked, **params) for rows in row_sets]
    return work.grow(members, sharing, n_threads)


TARGETS = {
    "many classes": lambda y: y,
    "two classes": lambda y: y % 2,
    "regression": lambda y: y.astype(float),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sharing", ["folds", "overlap"])
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("categorical", [None, [1, 2]])
def test_trees_are_those_that_grow_alone(target, sharing, n_threads, categorical):
    X, y = make_led(n_codes=3)
    work = Workbench(X, TARGETS[target](y), categorical=categorical)
    row_sets = without_each(N_ROWS, draw_folds(N_ROWS, N_FOLDS))
    work.assert_as_alone(row_sets, sharing, n_threads)
    heals = grow(work, sharing, n_threads).work["heals"]
    assert (heals > 0) == (sharing == "folds")  # overlap: each member adds up for itself


@pytest.mark.parametrize("seed", range(10))
def test_a_set_of_rows_is_added_up_once(seed):
    """Binary columns: nobody is ambiguous."""
    X, y = make_led(seed=seed)
    work = Workbench(X, y)
    alone = grow(work, "none", min_samples_leaf=LEAST).trees
    healed = grow(work, min_samples_leaf=LEAST).work
    assert healed["statistic_updates"] == X.shape[1] * count_updates(X, alone)


def count_updates(X, trees):
    """Rows of all nodes that are searched, one column: of members with the same rows once. A member
    that is alone stays alone."""
    groups = {(0, tuple(range(len(X)))): [(tree, 0) for tree in trees]}
    n_updates = 0
    while groups:
        depth, rows = max(groups, key=lambda key: len(key[1]))
        nodes = [node for node in groups.pop((depth, rows)) if is_searched(*node)]
        if len(nodes) == 1:
            n_updates += count_alone(*nodes[0])
            continue
        n_updates += len(rows) * bool(nodes)
        for tree, node in nodes:
            for child, side in list_children(X, rows, tree, node):
                groups.setdefault((depth + 1, side), []).append((tree, child))
    return n_updates


def is_searched(tree, node):
    return tree.impurity[node] > 0 and tree.n_node_samples[node] >= 2 * LEAST


def count_alone(tree, node):
    if not is_searched(tree, node):
        return 0
    children = [tree.children_left[node], tree.children_right[node]]
    below = sum(count_alone(tree, child) for child in children if child >= 0)
    return int(tree.n_node_samples[node]) + below


def list_children(X, rows, tree, node):
    """Also the rows that the member does not train on."""
    if tree.feature[node] < 0:
        return
    goes_left = X[list(rows), tree.feature[node]] <= tree.threshold[node]
    yield tree.children_left[node], tuple(np.asarray(rows)[goes_left].tolist())
    yield tree.children_right[node], tuple(np.asarray(rows)[~goes_left].tolist())


@pytest.mark.parametrize("n_repeats", [3, 7])
@pytest.mark.parametrize("n_missing", [0, 40])
def test_repeated_folds_heal_and_have_the_trees_that_grow_alone(n_repeats, n_missing):
    """Nearly every row counts for other members: 63 of them at most heal."""
    X, y = make_led(n_codes=3)
    rng = np.random.default_rng(n_repeats)
    X[rng.integers(0, N_ROWS, n_missing), 0] = np.nan
    row_sets = [
        np.flatnonzero(folds != fold)
        for folds in rng.integers(0, 9, (n_repeats, N_ROWS))
        for fold in range(9)
    ]
    work = Workbench(X, y)
    work.assert_as_alone(row_sets, "folds", min_samples_leaf=3)
    members = [work.member(rows, min_samples_leaf=3) for rows in row_sets]
    assert work.grow(members, "folds").work["heals"] > 0


def test_members_of_different_rules_heal():
    X, y = make_led(n_codes=3)
    work = Workbench(X, y)
    row_sets = without_each(N_ROWS, draw_folds(N_ROWS, N_FOLDS))
    params = [{"min_samples_leaf": 1 + number % 3} for number in range(len(row_sets))]
    assert work.assert_each_as_alone(row_sets, params, "folds").work["heals"] > 0


def test_threads_heal_the_same_forks():
    X, y = make_led(n_codes=4, n_rows=3000)
    one, two = (grow(Workbench(X, y), n_threads=n).work for n in (1, 2))
    assert one["heals"] == two["heals"] > 0
    assert one["statistic_updates"] == two["statistic_updates"]


def test_rows_that_ask_are_answered_as_by_whole_trees():
    X, y = make_led(n_codes=3)
    work = Workbench(X, y)
    asked = np.arange(0, N_ROWS, 3)
    whole, part = grow(work), grow(work, asked=asked)
    assert part.work["heals"] > 0
    for one, other in zip(whole.trees, part.trees, strict=True):
        source = open_rows(work.table._native, asked)
        expected, actual = (tree.value[tree.apply(source, 1)] for tree in (one, other))
        assert expected.tobytes() == actual.tobytes()


def add_wide_columns(X, n_columns, share_missing=0.0):
    """Their orders wait with the rows of a group, and become one with those of another."""
    rng = np.random.default_rng(1)
    noise = rng.permuted(np.tile(np.arange(len(X)) // 3, (n_columns, 1)), axis=1).T.astype(float)
    noise[rng.random(noise.shape) < share_missing] = np.nan
    return np.column_stack([X, noise])


@pytest.mark.parametrize("target", ["many classes", "two halves", "regression"])
@pytest.mark.parametrize("share_missing", [0.0, 0.05])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_orders_heal(target, share_missing, n_threads):
    n_rows, n_heals = 900, 0
    for seed in range(4):
        X, y = make_led(n_rows=n_rows, seed=seed)
        y = y > 1 if target == "two halves" else TARGETS[target](y)
        X = add_wide_columns(X, 2, share_missing)
        work = Workbench(X, y, params={"min_samples_leaf": 30})
        row_sets = without_each(n_rows, draw_folds(n_rows, N_FOLDS))
        n_heals += work.assert_as_alone(row_sets, "folds", n_threads).work["heals"]
    assert n_heals > 0


def test_groups_of_tables_that_fit_no_near_cache_heal_while_they_are_large():
    """Those of a sixteenth of the rows do not: 2^17 cells, and a few more."""
    heals = {0: 0, 10: 0}
    for seed in range(3):
        for more in heals:
            X, y = make_led(n_rows=2**17 // 6 + more, n_noisy=5, seed=seed)
            work = Workbench(X, y, params={"max_depth": 6})
            row_sets = without_each(len(X), draw_folds(len(X), N_FOLDS))
            heals[more] += work.assert_as_alone(row_sets, "folds").work["heals"]
    assert heals[0] > heals[10] > 0


def add_constant_columns(X, n_columns):
    return np.column_stack([X, np.zeros((len(X), n_columns))])


LEFT = {
    "drawn columns": (make_led(n_codes=3)[0], {"max_features": 5, "random_state": 0}),
    "many columns": (add_constant_columns(make_led(n_rows=3_000)[0], 50), {}),
    "many codes": (add_wide_columns(make_led(n_rows=2_000)[0], 7), {"min_samples_leaf": 50}),
    "many cells": (make_led(n_rows=2**22 // 6 + 1)[0], {"max_depth": 4}),
}


@pytest.mark.parametrize("why", LEFT)
def test_forks_are_left_where_healing_does_not_pay(why):
    """Each of these heals if nothing but this is changed in `can_heal`."""
    X, params = LEFT[why]
    y = make_led(n_rows=len(X), n_noisy=5 if why == "many cells" else 1)[1]
    assert grow(Workbench(X, y, params=params)).work["heals"] == 0


@pytest.mark.parametrize(
    ("n_folds", "n_wide", "heals"), [(60, 0, True), (70, 0, False), (14, 1, True), (24, 1, False)]
)
def test_forks_of_very_many_members_are_left(n_folds, n_wide, heals):
    """Of fewer if their orders would have to wait, too."""
    n_rows = 900 if n_wide else N_ROWS
    X, y = make_led(n_codes=3, n_rows=n_rows, n_noisy=3)
    work = Workbench(add_wide_columns(X, n_wide), y, params={"min_samples_leaf": 8})
    members = [work.member(rows) for rows in without_each(n_rows, draw_folds(n_rows, n_folds))]
    assert (work.grow(members, "folds").work["heals"] > 0) == heals
