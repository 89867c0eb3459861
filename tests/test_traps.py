"""Traps that other tree libraries fell into: numbers, missing values, zeros, weights, draws.

Trap numbers are those of the design notes; engine, files and pruning are in `test_engine_traps.py`,
and threads, builds and input formats in `test_same_tree.py`.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, Table

NAN = np.nan


def column(*values):
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def fit(X, y, weights=None, **params):
    return DecisionTreeClassifier(**params).fit(X, y, sample_weight=weights)


# Draws ------------------------------------------------------------------------------------------


def test_draws_of_a_node_do_not_depend_on_its_sibling():
    """Trap 5: a stream of random numbers shared by all nodes couples them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, size=(400, 8)).astype(float)
    X[:, 0] = np.repeat([0, 1], 200)
    y = rng.integers(0, 2, size=400)
    y[:200] += 10  # the first split is on column 0, whatever else is drawn
    other = y.copy()
    other[200:] = rng.permutation(other[200:])

    def left_subtree(target):
        for seed in range(100):
            tree = fit(X, target, max_features=4, random_state=seed).tree_
            if tree.feature[0] == 0:
                end = tree.children_right[0]
                return seed, tree.feature[1:end].tolist(), tree.threshold[1:end].tolist()
        raise AssertionError("column 0 was never drawn")

    assert left_subtree(y) == left_subtree(other)


def test_random_state_changes_nothing_unless_columns_are_drawn():
    """Trap 5: ties are broken by a rule, never by chance."""
    X = np.random.default_rng(1).integers(0, 3, size=(60, 4)).astype(float)
    y = np.arange(60) % 3
    features = [fit(X, y, random_state=seed).tree_.feature.tolist() for seed in (0, 1, None)]
    assert features[0] == features[1] == features[2]


def test_a_skipped_candidate_does_not_spoil_the_next():
    """Trap 6: candidates ruled out by min_samples_leaf still count into running sums."""
    X = column(0, 1, 2, 3, 4, 5, 6, 7)
    y = [0, 0, 0, 0, 0, 1, 1, 1]
    tree = fit(X, y, min_samples_leaf=3).tree_
    assert (tree.threshold[0], tree.impurity[1], tree.impurity[2]) == (4.5, 0.0, 0.0)


# Numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.6e308, 1.7e308),
        (-1.7e308, 1.7e308),
        (1.0, np.nextafter(1.0, 2.0)),
        (np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0)),
        (0.0, 5e-324),
        (-5e-324, 0.0),
        (0.1, 0.1 + 1e-17 + 2e-17),
        (0.0, 1e-7),
        (0.0, 1e-300),
        (2.0**53, 2.0**53 + 2),
    ],
)
def test_any_two_distinct_numbers_can_be_split(low, high):
    """Traps 7, 8 and 9: overflow, rounding to a neighbour, float32, absolute epsilons."""
    if low == high:
        high = np.nextafter(low, np.inf)
    model = fit(column(low, high), [0, 1])
    assert low <= model.tree_.threshold[0] < high
    assert model.predict(column(low, high)).tolist() == [0, 1]


def test_a_row_on_the_threshold_goes_left_everywhere():
    """Trap 8: x == threshold went the wrong way through apply() and float32."""
    rng = np.random.default_rng(2)
    X, y = rng.random((300, 1)), rng.integers(0, 2, 300)
    model = fit(X, y)
    tree = model.tree_
    inner = np.flatnonzero(tree.children_left != -1)
    for node in inner:
        on_it = column(tree.threshold[node])
        path = model.decision_path(on_it).indices
        if node in path:
            assert tree.children_left[node] in path
            assert model.apply(on_it)[0] == path.max()


def test_features_of_any_scale_are_seen():
    """Trap 9: features scaled below an epsilon became invisible."""
    rng = np.random.default_rng(3)
    X, y = rng.random((100, 3)), rng.integers(0, 2, 100)
    shapes = [fit(X * scale, y).tree_.n_node_samples.tolist() for scale in (1, 2.0**-500, 2.0**500)]
    assert shapes[0] == shapes[1] == shapes[2]


@pytest.mark.parametrize("scale", [1e153, 1e154, 1e160, 1e200, 1e300])
def test_importances_of_huge_targets_are_shares(scale):
    rng = np.random.default_rng(5)
    X, y, weights = rng.integers(0, 4, (60, 4)) * 1.0, rng.integers(1, 100, 60), rng.random(60)
    small = DecisionTreeRegressor(max_depth=3).fit(X, y, weights)
    for factor in (1.0, 1e-9):
        large = DecisionTreeRegressor(max_depth=3).fit(X, scale * y, factor * weights)
        np.testing.assert_allclose(large.feature_importances_, small.feature_importances_)
        assert np.isfinite(large.tree_.compute_feature_importances(normalize=False)).all()
    useless = DecisionTreeRegressor(max_depth=1).fit([[0], [0], [1], [1]], [0, scale, 0, scale])
    assert useless.feature_importances_.tolist() == [0.0]


def test_means_stay_inside_the_range_of_the_target():
    """Trap 10: narrow accumulators put leaf means outside the range of y."""
    n_rows = 3_000_000
    y = np.where(np.arange(n_rows) % 2, 0.1, np.nextafter(0.1, 1.0))
    model = DecisionTreeRegressor(max_depth=1).fit(np.zeros((n_rows, 1)), y)
    assert model.tree_.node_count == 1
    assert y.min() <= model.tree_.value.ravel()[0] <= y.max()


def test_equal_targets_are_returned_as_they_are():
    """Trap 10: a mean of equal numbers is that number."""
    weights = np.random.default_rng(4).random(1000)
    model = DecisionTreeRegressor().fit(np.arange(1000).reshape(-1, 1), np.full(1000, 0.1), weights)
    assert model.tree_.node_count == 1
    assert model.predict([[3.0]])[0] == 0.1
    assert model.tree_.impurity[0] == 0.0


@pytest.mark.parametrize(
    ("criterion", "expected"), [("gini", 0.75), ("entropy", 2.0), ("gain_ratio", 2.0)]
)
def test_impurity_of_four_equal_classes(criterion, expected):
    """Trap 11: natural logarithms for log2, wrong scales."""
    tree = fit(column(0, 1, 2, 3), [0, 1, 2, 3], criterion=criterion).tree_
    assert tree.impurity[0] == expected


def test_impurity_of_regression_is_the_variance_even_far_from_zero():
    """Trap 11: E[y^2] - E[y]^2 cancels."""
    y = 1e9 + np.array([0.0, 1.0, 2.0, 3.0])
    tree = DecisionTreeRegressor(max_depth=1).fit(column(0, 1, 2, 3), y).tree_
    assert tree.impurity.tolist() == [1.25, 0.25, 0.25]


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_weighted_variance_is_right_far_from_zero(offset):
    """Trap 11: rounding w*y per row cancels as well."""
    weights = np.array([0.1, 0.7, 0.3, 0.9])
    y = offset + np.array([0.0, 1.0, 2.0, 3.0])
    tree = DecisionTreeRegressor().fit(column(0, 1, 2, 3), y, weights).tree_
    mean = np.average(y - offset, weights=weights)
    variance = np.average((y - offset - mean) ** 2, weights=weights)
    assert tree.impurity[0] == pytest.approx(variance, rel=1e-9)
    assert tree.n_leaves == 4


# Missing values ---------------------------------------------------------------------------------


def test_missing_rows_count_on_the_side_they_are_sent_to():
    """Trap 13: children without their missing rows, counters kept from the last column."""
    X = np.array([[NAN, 0], [0, 1], [0, NAN], [1, 0], [NAN, 1], [1, NAN], [2, 0], [2, 1]])
    y = np.array([1, 0, 0, 1, 1, 1, 0, 1])
    model = fit(X, y)
    tree = model.tree_
    inside = model.decision_path(X).toarray().astype(bool)
    for node in range(tree.node_count):
        share = np.bincount(y[inside[:, node]], minlength=2) / inside[:, node].sum()
        assert tree.n_node_samples[node] == inside[:, node].sum()
        assert_array_equal(tree.value[node].ravel(), share)
        assert tree.impurity[node] == pytest.approx(1 - (share**2).sum(), abs=1e-15)


def test_one_value_and_missing_is_not_constant():
    """Trap 13: NaN beside a single value was taken for a constant column."""
    model = fit(column(5, 5, NAN, NAN), [0, 0, 1, 1])
    assert model.tree_.threshold[0] == np.inf
    assert model.predict(column(5, NAN, -1e300, 1e300)).tolist() == [0, 1, 0, 0]


def test_a_column_of_nothing_but_missing_values_is_constant():
    """Trap 13: too many splits."""
    model = fit(np.array([[NAN, 0], [NAN, 1], [NAN, 2]]), [0, 1, 1])
    assert model.tree_.feature.tolist() == [1, -2, -2]


def test_the_last_row_is_parted_like_the_others():
    """Trap 13: the last row, missing, landed on the wrong side."""
    for missing_at in range(6):
        X = column(0, 1, 2, 3, 4, 5)
        X[missing_at] = NAN
        y = np.arange(6) >= 3
        y[missing_at] = True
        model = fit(X, y)
        assert model.predict(X).tolist() == y.tolist()
        assert model.tree_.n_node_samples[1:].tolist() == [6 - y.sum(), y.sum()]


def test_paths_and_leaves_agree_on_missing_values():
    """Trap 13: decision_path forgot NaN."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 9, size=(300, 4)).astype(float)
    X[rng.random(X.shape) < 0.3] = NAN
    model = fit(X, rng.integers(0, 3, 300))
    paths = model.decision_path(X)
    last = [paths.indices[start : start + n].max() for start, n in row_spans(paths)]
    assert_array_equal(last, model.apply(X))
    from_sparse = fit(sparse.csc_matrix(X), model.predict(X))
    assert_array_equal(from_sparse.apply(X), from_sparse.apply(sparse.csr_matrix(X)))


def row_spans(matrix):
    return zip(matrix.indptr[:-1], np.diff(matrix.indptr), strict=True)


@pytest.mark.parametrize(
    ("weights", "side"), [(None, 1), ([9.0, 1, 1], 0), ([1.0, 5, 1], 1), ([2.0, 1, 1], 0)]
)
def test_missing_goes_to_the_heavier_child_where_none_was_seen(weights, side):
    """Trap 14: peers use zero, the right child, or raise. Equal weights: left."""
    model = fit(column(0, 1, 2), [0, 1, 1], weights)
    assert model.predict([[NAN]])[0] == side


def test_unknown_labels_go_as_missing_does():
    """Trap 14: a category that was never seen must not be undefined behaviour."""
    X = pd.DataFrame({"colour": ["red", "red", "blue", "blue", None, None]})
    model = fit(X, [0, 0, 1, 1, 1, 1])
    assert model.predict(X).tolist() == [0, 0, 1, 1, 1, 1]
    assert model.predict(pd.DataFrame({"colour": ["green", None, "red"]})).tolist() == [1, 1, 0]


# Zeros ------------------------------------------------------------------------------------------


def test_stored_absent_and_negative_zeros_are_one_value():
    """Trap 15: absent as missing, bins around zero."""
    dense = column(0.0, -0.0, 0.0, 1.0, -1.0, 0.0)
    y = [0, 0, 0, 1, 2, 0]
    stored = sparse.csc_matrix((dense.ravel(), ([0, 1, 2, 3, 4, 5], [0] * 6)), shape=(6, 1))
    absent = sparse.csc_matrix(np.where(dense == 0, 0.0, dense))
    assert stored.nnz == 6
    assert absent.nnz == 2
    trees = [fit(X, y).tree_ for X in (dense, stored, absent)]
    for tree in trees:
        assert sorted(tree.threshold[tree.feature == 0]) == [-0.5, 0.5]
    model = fit(dense, y)
    for X in (dense, stored, absent, stored.tocsr(), absent.tocoo()):
        assert model.predict(X).tolist() == y


def test_missing_values_in_sparse_data_are_missing():
    """Trap 15: NaN is stored, zero is not."""
    dense = column(0, 0, NAN, NAN, 1, 1)
    y = [0, 0, 1, 1, 2, 2]
    assert fit(sparse.csc_matrix(dense), y).predict(dense).tolist() == y
    assert fit(dense, y).predict(sparse.csr_matrix(dense)).tolist() == y


@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.csr_matrix, sparse.coo_matrix])
def test_wide_sparse_indices_are_welcome(form):
    """Trap 16: int64 indices were refused or crashed."""
    X = sparse.random(200, 5, density=0.3, random_state=0, format="csr")
    y = np.arange(200) % 3
    wide = form(X)
    for name in ("indices", "indptr", "row", "col"):
        if hasattr(wide, name):
            setattr(wide, name, getattr(wide, name).astype(np.int64))
    model = fit(wide, y)
    assert_array_equal(model.tree_.threshold, fit(X, y).tree_.threshold)
    assert_array_equal(model.predict(wide), model.predict(X.toarray()))


# Weights, constants, classes --------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio"])
@pytest.mark.parametrize("feather", [1e-30, 2.0993148431629514e-61, 1e-300])
@pytest.mark.parametrize("n_heavy", [1, 2, 5])
def test_a_side_whose_weight_rounds_to_nothing_can_be_split_off(n_heavy, feather, criterion):
    """Few rows are searched in a way of their own, unless there are missing values elsewhere."""
    X = np.zeros((n_heavy + 1, 2))
    X[-1, 0], y = 3.0, [0] * n_heavy + [1]
    weights = [0.5] * n_heavy + [feather]
    gaps = np.vstack([X, [0.0, np.nan]])
    for rows, own in ((X, y), (gaps, [*y, 0])):
        weight = np.append(weights, [0.5] * (len(rows) - len(X)))
        tree = DecisionTreeClassifier(criterion=criterion).fit(rows, own, weight).tree_
        assert tree.feature.tolist() == [0, -2, -2]
        assert tree.threshold[0] == 1.5


@pytest.mark.parametrize("feather", [1e-100, 1e-160, 1e-300])
def test_a_row_of_next_to_no_weight_does_not_spoil_the_choice(feather):
    """Products of weights that differ widely left the range of float64: all splits were equal."""
    X = np.array([[0.0], [np.nan], [-1.0], [5.0]])
    model = DecisionTreeRegressor(max_depth=1)
    tree = model.fit(X, [0.0, 0.0, 1.0, 0.0], sample_weight=[1.0, 1.0, 2.0, feather]).tree_
    assert tree.threshold[0] == -0.5
    assert not tree.missing_go_to_left[0]
    assert_array_equal(tree.impurity[1:], 0.0)


def test_min_weight_fraction_counts_rows_without_weights():
    """Trap 17: it was silently ignored without weights."""
    rng = np.random.default_rng(6)
    X, y = rng.random((200, 3)), rng.integers(0, 2, 200)
    tree = fit(X, y, min_weight_fraction_leaf=0.1).tree_
    same = fit(X, y, min_samples_leaf=20).tree_
    assert tree.node_count > 1
    assert tree.n_node_samples[tree.children_left == -1].min() >= 20
    assert_array_equal(tree.threshold, same.threshold)


def test_rows_of_no_weight_do_not_exist():
    """Trap 17: not in counts, not in midpoints, not in min_samples_leaf."""
    X, y = column(0, 1, 1.5, 2, 3), [0, 0, 1, 1, 1]
    tree = fit(X, y, [1, 1, 0, 1, 1], min_samples_leaf=2).tree_
    assert tree.threshold[0] == 1.5
    assert tree.n_node_samples.tolist() == [4, 2, 2]


def test_too_much_minimum_weight_gives_a_root_and_not_an_empty_tree():
    """Trap 19: min_child_weight produced an empty root."""
    model = fit(column(0, 1, 2, 3), [0, 1, 0, 1], [1.0, 2, 3, 4], min_weight_fraction_leaf=0.5)
    assert model.tree_.node_count >= 1
    assert model.tree_.n_node_samples[0] == 4
    assert model.predict_proba(column(0))[0].sum() == pytest.approx(1.0)


def test_a_column_constant_in_one_node_is_tried_in_its_sibling():
    """Trap 18: the list of constant columns leaked to siblings."""
    rng = np.random.default_rng(7)
    side = np.repeat([0.0, 1.0], 100)
    X = np.column_stack([side, np.where(side == 0, 5.0, rng.random(200)), rng.random(200)])
    y = np.where(side == 0, 2 + (X[:, 2] > 0.5), X[:, 1] > 0.5)
    for seed in range(20):
        model = fit(X, y, max_features=1, random_state=seed)
        assert model.score(X, y) == 1.0
    assert fit(X, y).get_n_leaves() == 4


def test_a_table_serves_other_targets_and_criteria():
    """Trap 24: a cache must depend on nothing but what it was made from."""
    rng = np.random.default_rng(8)
    X = rng.random((150, 3))
    table = Table.from_data(X)
    for seed in range(3):
        y = np.random.default_rng(seed).integers(0, 3, 150)
        for criterion in ("gini", "entropy"):
            models = [fit(data, y, criterion=criterion) for data in (table, X)]
            assert_array_equal(models[0].tree_.threshold, models[1].tree_.threshold)
    regressors = [DecisionTreeRegressor(max_depth=3).fit(data, X[:, 0]) for data in (table, X)]
    assert_array_equal(regressors[0].tree_.value, regressors[1].tree_.value)


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson", "nonsense"])
def test_unsupported_criteria_are_refused_by_name(criterion):
    """Trap 29: a loss that is silently replaced by another."""
    with pytest.raises(ValueError, match="criterion"):
        DecisionTreeRegressor(criterion=criterion).fit(column(0, 1), [0.0, 1.0])
