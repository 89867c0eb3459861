"""The core against prefix sums in numpy, on nodes large enough for every search it has.

Counts and whole targets are small enough that float64 holds every sum exactly, so the qualities of
the contract are reproduced bit for bit, and in every node the core must choose the very split that
the rules of ties name.
"""

import numpy as np
import pytest
from cases import BASE_SEED
from core_trees import core_rules, make_source
from reference.grower import Rules
from reference.splits import midpoint

from treefold import _native


def gini(left, total):
    right = total - left
    return (left**2).sum(axis=1) / left.sum(axis=1) + (right**2).sum(axis=1) / right.sum(axis=1)


def squared_error(left, total):
    (w_left, s_left), (w, s) = left.T, total
    d = s_left * w - w_left * s
    return d * d / (w_left * (w - w_left))


QUALITY = {"gini": gini, "squared_error": squared_error}


def best_split(X, stats, rows, criterion, min_samples_leaf):
    """(column, threshold, missing_left) of the winner, or None. `stats` are the rows' vectors."""
    best, best_quality = None, -np.inf
    for column in range(X.shape[1]):
        qualities, n_left, describe = list_cuts(X[rows, column], stats[rows], criterion)
        too_small = np.minimum(n_left, len(rows) - n_left) < min_samples_leaf
        qualities = np.where(too_small, -np.inf, qualities)
        if len(qualities) and qualities.max() > best_quality:
            place = int(qualities.argmax())  # the first of equals
            best, best_quality = (column, *describe(place)), qualities[place]
    return best


def list_cuts(values, stats, criterion):
    """Quality and rows on the left of every cut, in the order of ties; and what a cut is."""
    is_missing = np.isnan(values)
    order = np.argsort(values[~is_missing], kind="stable")
    ordered = values[~is_missing][order]
    sums = stats[~is_missing][order].cumsum(axis=0)
    ends = np.flatnonzero(np.diff(ordered))
    total, missing = stats.sum(axis=0), stats[is_missing].sum(axis=0)
    n_missing = int(is_missing.sum())
    sides = [True, False] if n_missing else [None]
    left = np.stack([sums[ends] + missing * bool(side) for side in sides], axis=1)
    n_left = np.stack([ends + 1 + n_missing * bool(side) for side in sides], axis=1).ravel()
    left = left.reshape(-1, len(total))
    if n_missing and len(ordered):  # present against missing
        left, n_left = np.vstack([left, sums[-1:]]), np.append(n_left, len(ordered))

    def describe(place):
        if place == len(ends) * len(sides):
            return np.inf, False
        end = ends[place // len(sides)]
        return (ordered[end], ordered[end + 1]), sides[place % len(sides)]

    return QUALITY[criterion](left, total), n_left, describe


def assert_every_split_is_the_best(tree, X, stats, criterion, min_samples_leaf):
    stack, n_inner = [(0, np.arange(len(X)))], 0
    while stack:
        node, rows = stack.pop()
        assert tree.n_node_samples[node] == len(rows)
        if tree.children_left[node] == -1:
            continue
        n_inner += 1
        column, ends, missing_left = best_split(X, stats, rows, criterion, min_samples_leaf)
        threshold = midpoint(*map(float, ends)) if isinstance(ends, tuple) else ends
        assert tree.feature[node] == column, node
        assert tree.threshold[node] == threshold, node
        if missing_left is not None:
            assert bool(tree.missing_go_to_left[node]) == missing_left, node
        values = X[rows, column]
        goes_left = np.where(np.isnan(values), missing_left is True, values <= threshold)
        stack.append((tree.children_left[node], rows[goes_left]))
        stack.append((tree.children_right[node], rows[~goes_left]))
    assert n_inner > 10


def draw_columns(rng, n_rows):
    """Continuous, duplicated, few-valued, skewed and mostly-zero columns, some with gaps."""
    continuous = rng.normal(size=n_rows)
    columns = [
        continuous,
        rng.integers(0, 300, n_rows),
        rng.integers(0, 3, n_rows),
        continuous.round(2),
        -continuous,
        rng.normal(size=n_rows) * (rng.random(n_rows) < 0.05),
        rng.integers(0, 70_000, n_rows),
    ]
    X = np.column_stack(columns).astype(np.float64)[:, rng.permutation(7)]
    gaps = rng.random(X.shape) < rng.choice([0.0, 0.0, 0.1], size=7)
    X[gaps] = np.nan
    return X, continuous


@pytest.mark.parametrize("n_rows", [1500, 9000])
@pytest.mark.parametrize("n_classes", [0, 2, 3, 12])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_every_split_of_a_large_tree_is_the_best(n_rows, n_classes, is_sparse):
    rng = np.random.default_rng([BASE_SEED, n_rows, n_classes, is_sparse])
    X, signal = draw_columns(rng, n_rows)
    noisy = np.sin(2 * signal) + np.nan_to_num(X[:, 0]) % 3 + rng.normal(size=n_rows)
    if n_classes:
        edges = np.quantile(noisy, np.linspace(0, 1, n_classes + 1)[1:-1])
        target = np.digitize(noisy, edges).astype(np.int32)
        stats, criterion = np.eye(n_classes)[target], "gini"
    else:
        target = np.round(noisy * 10)
        stats, criterion = np.column_stack([np.ones(n_rows), target]), "squared_error"
    min_samples_leaf = int(rng.choice([1, 1, 25]))
    rules = Rules(criterion, max_depth=7, min_samples_leaf=min_samples_leaf)
    n_threads = int(rng.integers(1, 3))
    table = _native.Table(make_source(X, [0] * 7, is_sparse), n_threads)
    tree = _native.grow(table, target, n_classes, None, core_rules(rules, 7, None), n_threads)
    assert_every_split_is_the_best(tree, X, stats, criterion, min_samples_leaf)


@pytest.mark.parametrize("n_columns", [3, 16, 40])
@pytest.mark.parametrize("n_classes", [2, 3, 7, 12])
def test_every_split_of_few_valued_columns_is_the_best(n_columns, n_classes):
    """Down to pure leaves: histograms of many labels, and small nodes with many equal splits."""
    rng = np.random.default_rng([BASE_SEED, n_columns, n_classes])
    X = rng.integers(0, rng.choice([2, 5, 100], size=n_columns), size=(700, n_columns)) * 1.0
    X[:, 0] = np.where(rng.random(700) < 0.05, np.nan, X[:, 0])
    signal = np.nan_to_num(X[:, :3]).sum(axis=1) + rng.normal(size=700)
    edges = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    target = np.digitize(signal, edges).astype(np.int32)
    table = _native.Table(make_source(X, [0] * n_columns, False), 1)
    rules = core_rules(Rules("gini"), n_columns, None)
    tree = _native.grow(table, target, n_classes, None, rules, 1)
    assert_every_split_is_the_best(tree, X, np.eye(n_classes)[target], "gini", 1)


@pytest.mark.parametrize("n_classes", [3, 5, 8, 9])
def test_blocks_of_rows_that_are_skipped_have_no_better_cut(n_classes):
    """Continuous columns of several thousand rows, with classes that come in stretches."""
    rng = np.random.default_rng([BASE_SEED, n_classes])
    X = rng.normal(size=(4000, 6))
    target = (
        np.floor(3 * X[:, 0]) + (rng.random(4000) < 0.3) * rng.integers(0, 9, 4000)
    ) % n_classes
    target = target.astype(np.int32)
    table = _native.Table(make_source(X, [0] * 6, False), 1)
    rules = core_rules(Rules("gini", max_depth=6), 6, None)
    tree = _native.grow(table, target, n_classes, None, rules, 1)
    assert_every_split_is_the_best(tree, X, np.eye(n_classes)[target], "gini", 1)
