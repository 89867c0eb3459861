"""Which search serves a column in a node: growth counts the columns that each way has searched.

All ways find the same split. Here a way that should serve a case does, and no filter serves a case
that it was not proved for; trees by all filters are those of the exact scans alone, and nodes that
are divided level by level make the tree of those that are divided depth first.
"""

import random
from typing import Any

import numpy as np
import pytest
from cases import BASE_SEED, draw_case
from core_trees import grow_core
from family_trees import Workbench, draw_folds, without_each
from scipy import sparse

from treefold import rules

N_ROWS = 2_000
FILTERS = {"filtered_order", "filtered_list", "cut_filter", "float_categories", "compared_rows"}
ROWS_AT_ONCE = {"two_rows", "three_rows", "compared_rows"}
ARRAYS = ["children_left", "children_right", "feature", "threshold", "missing_go_to_left"]
ARRAYS += ["impurity", "n_node_samples", "value", "category_words", "unknown_go_to_left"]


def draw_table(kind: str) -> Any:
    rng = np.random.default_rng(BASE_SEED)
    if kind in ("few", "categories"):
        return rng.integers(0, 6, (N_ROWS, 6)).astype(float)
    X = rng.normal(size=(N_ROWS, 6))
    if kind == "sparse":
        return sparse.csc_array(np.where(rng.random(X.shape) < 0.1, X, 0.0))
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def draw_target(n_classes: int) -> np.ndarray:
    rng = np.random.default_rng(BASE_SEED + 1)
    first = draw_table("few")[:, 1] + draw_table("continuous")[:, 0]
    score = first + rng.normal(size=N_ROWS)
    if n_classes == 0:
        return score
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def count_ways(kind: str, n_classes: int, weights: Any = None, n_folds: int = 0, **params: Any):
    categorical = list(range(6)) if kind == "categories" else None
    work = Workbench(draw_table(kind), draw_target(n_classes), weights, categorical, params)
    rows = without_each(N_ROWS, draw_folds(N_ROWS, n_folds)) if n_folds else [np.arange(N_ROWS)]
    family = work.grow([work.member(own) for own in rows], "folds" if n_folds else "none")
    return {way: n for way, n in family.work["columns_by_search"].items() if n}


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("continuous", {"filtered_order"}),
        ("few", {"kept_histogram", "cut_filter"}),
        ("categories", {"kept_histogram", "small_histogram"}),
        ("missing", {"filtered_order", "order"}),  # the exact scan where a value is missing
        ("sparse", {"filtered_list"}),
    ],
)
def test_classes_by_gini(kind, expected, n_classes):
    assert count_ways(kind, n_classes).keys() - ROWS_AT_ONCE == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("continuous", {"filtered_order", "compared_rows", "two_rows"}),
        ("categories", {"kept_histogram", "small_histogram", "codes", "compared_rows", "two_rows"}),
        ("missing", {"filtered_order", "order"}),
        ("sparse", {"list"}),
    ],
)
def test_means(kind, expected):
    assert count_ways(kind, 0).keys() == expected


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", ["continuous", "few", "categories", "missing", "sparse"])
def test_no_filter_of_gini_serves_entropy(kind, n_classes):
    assert not count_ways(kind, n_classes, criterion="entropy").keys() & FILTERS


@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("kind", ["continuous", "few", "categories"])
def test_no_filter_serves_weights_that_are_no_counts(kind, n_classes):
    weights = np.random.default_rng(BASE_SEED).random(N_ROWS)
    assert not count_ways(kind, n_classes, weights).keys() & FILTERS
    if n_classes:
        heavier = {label: 1.5 if label == 0 else 1.0 for label in range(n_classes)}
        assert not count_ways(kind, n_classes, class_weight=heavier).keys() & FILTERS


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_that_count_several_times_are_filtered(n_classes):
    weights = np.random.default_rng(BASE_SEED).integers(1, 4, N_ROWS).astype(float)
    assert count_ways("continuous", n_classes, weights)["filtered_order"] > 1_000


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("continuous", "shared_order"),
        ("few", "shared_histogram"),
        ("categories", "shared_histogram"),
    ],
)
def test_members_of_a_group_are_searched_together(kind, expected, n_classes):
    assert count_ways(kind, n_classes, n_folds=10)[expected] > 0


def test_the_exact_search_has_no_filters(monkeypatch):
    monkeypatch.setattr(rules, "SEARCH", "exact")
    exact = {"order", "codes", "list", "looked_up", "sorted"}
    for kind in ("continuous", "few", "categories", "missing", "sparse"):
        for n_classes in (0, 2, 4):
            for n_folds in (0, 5):
                assert count_ways(kind, n_classes, n_folds=n_folds).keys() <= exact


# The same trees --------------------------------------------------------------------------------


def assert_same(first: Any, second: Any, case: Any) -> None:
    for name in ARRAYS:
        a, b = np.asarray(getattr(first, name)), np.asarray(getattr(second, name))
        assert a.tobytes() == b.tobytes(), f"{name}\n{a}\n{b}\n{case}"


CRITERIA = ["gini", "entropy", "squared_error"]


def draw_cases(criterion: str, n_cases: int) -> Any:
    rng = random.Random(f"{BASE_SEED} {criterion}")
    for number in range(n_cases):
        yield draw_case(rng, criterion, rng.choice([None, None, 40, 100, 400])), number % 3 == 0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_filters_leave_out_nothing_that_wins(criterion):
    for case, is_sparse in draw_cases(criterion, 400):
        exact = grow_core(case, is_sparse, search="exact")
        assert_same(exact, grow_core(case, is_sparse), case)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_levels_make_the_tree_that_grows_depth_first(criterion):
    for case, is_sparse in draw_cases(criterion, 300):
        level = grow_core(case, is_sparse, order="level")
        assert_same(grow_core(case, is_sparse), level, case)
        assert_same(level, grow_core(case, is_sparse, 2, order="level"), case)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("kind", ["continuous", "few", "categories", "missing", "sparse"])
def test_whole_families_grow_level_by_level(monkeypatch, kind, n_classes, n_threads):
    categorical = list(range(6)) if kind == "categories" else None
    X, y = draw_table(kind), draw_target(n_classes)
    rows = without_each(N_ROWS, draw_folds(N_ROWS, 5))
    grown = {}
    for order in ("last", "level"):
        monkeypatch.setattr(rules, "ORDER", order)
        work = Workbench(X, y, None, categorical)
        members = [work.member(own, asked=[0, 7, 9], is_whole=True) for own in rows]
        grown[order] = work.grow(members, "folds", n_threads)
    for number, tree in enumerate(grown["last"].trees):
        assert_same(tree, grown["level"].trees[number], (kind, n_classes, number))
        assert (grown["last"].leaves[number] == grown["level"].leaves[number]).all()


# Columns that are drawn ------------------------------------------------------------------------


def draw_numbers(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """A column of many values, or of some, skewed, constant; with gaps or without."""
    kind = rng.choice(["many", "some", "skewed", "constant"], p=[0.55, 0.25, 0.15, 0.05])
    column = rng.normal(size=n_rows)
    if kind == "some":
        column = rng.integers(0, rng.choice([2, 5, 40, 300]), n_rows).astype(float)
    elif kind == "skewed":
        column = np.round(column**3, 2)
    elif kind == "constant":
        column[:] = 1.0
    if rng.random() < 0.25:
        column[rng.random(n_rows) < rng.choice([0.02, 0.3, 0.9])] = np.nan
    return column


def draw_weights(rng: np.random.Generator, n_rows: int) -> Any:
    weights = rng.poisson(1.0, n_rows).astype(float) * rng.choice([1.0, 1.0, 70.0])
    weights[0] += 1.0
    return weights if rng.random() < 0.7 else rng.random(n_rows) + 0.1


def draw_problem(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng([BASE_SEED, seed])
    n_rows = int(rng.integers(2, rng.choice([20, 80, 700, 3_000])))
    n_columns, n_classes = int(rng.integers(2, 9)), int(rng.integers(2, 4))
    X = np.column_stack([draw_numbers(rng, n_rows) for _ in range(n_columns)])
    score = np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows) * rng.choice([0.1, 1.0, 3.0])
    y = np.digitize(score, [0.0, 1.0][: n_classes - 1])
    weights = draw_weights(rng, n_rows) if rng.random() < 0.5 else None
    params = {
        "max_features": int(rng.integers(1, n_columns + 1)),
        "min_samples_leaf": int(rng.choice([1, 1, 2, 5, 20])),
        "random_state": seed,
    }
    return X, y, weights, params


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_coarse_to_fine_finds_the_split_of_the_exact_search(monkeypatch, first):
    n_coarse = 0
    for seed in range(first, first + 100):
        X, y, weights, params = draw_problem(seed)
        grown = {}
        for search in ("fastest", "exact"):
            monkeypatch.setattr(rules, "SEARCH", search)
            work = Workbench(X, y, weights, None, params)
            family = work.grow([work.member(np.arange(len(y)))], "none")
            grown[search] = family.trees[0]
            n_coarse += family.work["columns_by_search"]["coarse_to_fine"]
        assert_same(grown["exact"], grown["fastest"], (seed, params))
    assert n_coarse > 1_000


def test_drawn_columns_are_searched_coarse_to_fine():
    for kind, n_classes in (("continuous", 2), ("continuous", 3), ("few", 2), ("missing", 2)):
        ways = count_ways(kind, n_classes, max_features=2, random_state=0)
        assert ways.keys() == {"coarse_to_fine"}, (kind, n_classes)
    for kind, n_classes in (("continuous", 4), ("continuous", 0), ("sparse", 2)):
        ways = count_ways(kind, n_classes, max_features=2, random_state=0)
        assert "coarse_to_fine" not in ways, (kind, n_classes)
