"""Laws that every tree obeys, hunted for exceptions by Hypothesis."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from treefold import DecisionTreeClassifier, DecisionTreeRegressor

SHAPE = ["children_left", "children_right", "feature", "n_node_samples", "missing_go_to_left"]
NUMBERS = ["impurity", "weighted_n_node_samples", "value"]
CRITERIA = ["gini", "entropy", "gain_ratio", "squared_error"]
law = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def data_sets(draw, max_rows=24):
    """Rows of few distinct values, some missing, with classes or numbers as targets."""
    n_rows = draw(st.integers(2, max_rows))
    n_columns = draw(st.integers(1, 3))
    value = st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.5, 1e-9, 1e9, np.nan])
    X = draw(st.lists(value, min_size=n_rows * n_columns, max_size=n_rows * n_columns))
    y = draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))
    return np.array(X).reshape(n_rows, n_columns), np.array(y)


def make(criterion, **params):
    if criterion == "squared_error":
        return DecisionTreeRegressor(criterion=criterion, **params)
    return DecisionTreeClassifier(criterion=criterion, **params)


def assert_equal_fields(expected, actual, names):
    for name in names:
        want, got = getattr(expected.tree_, name), getattr(actual.tree_, name)
        assert_array_equal(want, got, err_msg=name, strict=True)


MONOTONE = {
    "cube": lambda x: x**3,
    "exp of tanh": lambda x: np.exp(np.arctan(x)),
    "affine": lambda x: 3 * x - 7,
    "rank": lambda x: np.where(np.isnan(x), np.nan, np.searchsorted(np.unique(x), x)),
}


@pytest.mark.parametrize("criterion", CRITERIA)
@law
@given(data=data_sets(), change=st.sampled_from(sorted(MONOTONE)))
def test_strictly_monotone_transforms_of_a_column_keep_the_tree(criterion, data, change):
    X, y = data
    moved = X.copy()
    moved[:, 0] = MONOTONE[change](X[:, 0])
    distinct = [len(np.unique(column[~np.isnan(column)])) for column in (X[:, 0], moved[:, 0])]
    assume(distinct[0] == distinct[1])  # else rounding merged values: not strictly monotone
    before, after = make(criterion).fit(X, y), make(criterion).fit(moved, y)
    assert_equal_fields(before, after, SHAPE + NUMBERS)
    assert_array_equal(before.apply(X), after.apply(moved))


@pytest.mark.parametrize("criterion", CRITERIA)
@law
@given(data=data_sets(), seed=st.integers(0, 2**32 - 1))
def test_a_row_twice_is_a_row_of_weight_two(criterion, data, seed):
    X, y = data
    times = np.random.default_rng(seed).integers(0, 4, size=len(y))
    times[0] = 1
    repeated = make(criterion).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    if criterion != "squared_error":  # else the weighted tree knows a class the other never saw
        assume(all(times[y == c].sum() > 0 for c in np.unique(y)))
    weighted = make(criterion).fit(X, y, sample_weight=times)
    names = [n for n in SHAPE if n != "n_node_samples"]
    assert_equal_fields(repeated, weighted, [*names, "threshold", "value"])
    assert_equal_fields(repeated, weighted, ["weighted_n_node_samples"])
    # The impurity of regression is a sum of rounded squares: a row twice may differ in a last bit.
    rtol = 1e-14 if criterion == "squared_error" else 0
    assert_allclose(repeated.tree_.impurity, weighted.tree_.impurity, rtol=rtol, atol=0)


@pytest.mark.parametrize("criterion", CRITERIA)
@law
@given(data=data_sets(), place=st.integers(0, 3), value=st.sampled_from([0.0, 5.0, np.nan]))
def test_a_constant_column_changes_nothing(criterion, data, place, value):
    X, y = data
    place = min(place, X.shape[1])
    before = make(criterion).fit(X, y)
    after = make(criterion).fit(np.insert(X, place, value, axis=1), y)
    names = [name for name in SHAPE if name != "feature"]
    assert_equal_fields(before, after, [*names, *NUMBERS, "threshold"])
    moved = before.tree_.feature + (before.tree_.feature >= place)
    assert_array_equal(moved, after.tree_.feature)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio"])
@law
@given(data=data_sets(), order=st.permutations(range(4)), seed=st.integers(0, 2**32 - 1))
def test_renaming_the_classes_only_renames_them(criterion, data, order, seed):
    X, y = data
    weights = np.random.default_rng(seed).gamma(1.0, size=len(y)) if seed % 2 else None
    renamed = np.array(order)[y]
    before = make(criterion).fit(X, y, weights)
    after = make(criterion).fit(X, renamed, weights)
    names = [*SHAPE, "threshold", "impurity", "weighted_n_node_samples"]
    assert_equal_fields(before, after, names)
    places = np.searchsorted(after.classes_, np.array(order)[before.classes_])
    want, got = (model.tree_.value.reshape(model.tree_.node_count, -1) for model in (before, after))
    assert_array_equal(want, got[:, places])


@pytest.mark.parametrize("criterion", CRITERIA)
@law
@given(data=data_sets(), exponent=st.integers(-40, 40), seed=st.integers(0, 2**32 - 1))
def test_weights_times_a_power_of_two_change_nothing(criterion, data, exponent, seed):
    X, y = data
    weights = np.random.default_rng(seed).gamma(1.0, size=len(y))
    before = make(criterion).fit(X, y, weights)
    after = make(criterion).fit(X, y, weights * 2.0**exponent)
    assert_equal_fields(before, after, [*SHAPE, "threshold", "impurity", "value"])
    sizes = [model.tree_.weighted_n_node_samples for model in (before, after)]
    assert_array_equal(sizes[0] * 2.0**exponent, sizes[1])


@law
@given(data=data_sets(), exponent=st.integers(-200, 200))
def test_targets_times_a_power_of_two_scale_the_tree(data, exponent):
    X, y = data
    before = DecisionTreeRegressor().fit(X, y)
    after = DecisionTreeRegressor().fit(X, y * 2.0**exponent)
    assert_equal_fields(before, after, [*SHAPE, "threshold"])
    assert_array_equal(before.tree_.value * 2.0**exponent, after.tree_.value)
    assert_array_equal(before.tree_.impurity * 4.0**exponent, after.tree_.impurity)


@pytest.mark.parametrize("criterion", CRITERIA)
@law
@given(data=data_sets())
def test_training_rows_arrive_where_they_were_counted(criterion, data):
    X, y = data
    model = make(criterion).fit(X, y)
    counts = np.asarray(model.decision_path(X).sum(axis=0)).ravel()
    assert_array_equal(counts, model.tree_.n_node_samples)
    leaves = np.bincount(model.apply(X), minlength=model.tree_.node_count)
    is_leaf = model.tree_.children_left == -1
    assert_array_equal(leaves[is_leaf], model.tree_.n_node_samples[is_leaf])
    assert leaves[~is_leaf].sum() == 0


@pytest.mark.parametrize("criterion", CRITERIA)
@law
@given(data=data_sets())
def test_published_alphas_can_be_used_back(criterion, data):
    X, y = data
    path = make(criterion).cost_complexity_pruning_path(X, y)
    alphas, impurities = path.ccp_alphas, path.impurities
    assert alphas[0] == 0
    assert (np.diff(alphas) >= 0).all()
    for alpha in np.unique(alphas):
        model = make(criterion, ccp_alpha=alpha).fit(X, y)
        tree = model.tree_
        is_leaf = tree.children_left == -1
        share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
        own = (share * tree.impurity)[is_leaf].sum()
        expected = impurities[alphas == alpha][-1]
        assert own == pytest.approx(expected, rel=1e-9, abs=1e-12)
    # Splits that gain nothing go at alpha 0, and ccp_alpha=0 means no pruning, as in scikit-learn.
    if alphas[-1] > 0:
        assert make(criterion, ccp_alpha=alphas[-1]).fit(X, y).get_n_leaves() == 1


@pytest.mark.parametrize("criterion", CRITERIA)
@law
@given(data=data_sets(), part=st.floats(0, 1))
def test_pruning_twice_is_pruning_once(criterion, data, part):
    X, y = data
    full = make(criterion).fit(X, y).tree_._native
    alphas = full.pruning_path()[0]
    alpha = float(alphas[int(part * (len(alphas) - 1))])
    once = full.prune(alpha)
    twice = once.prune(alpha)
    for name in [*SHAPE, *NUMBERS, "threshold"]:
        assert_array_equal(getattr(once, name), getattr(twice, name), err_msg=name)


@law
@given(data=data_sets())
def test_deeper_trees_never_fit_the_training_rows_worse(data):
    X, y = data
    errors = [
        ((DecisionTreeRegressor(max_depth=depth).fit(X, y).predict(X) - y) ** 2).mean()
        for depth in range(1, 6)
    ]
    assert all(b <= a + 1e-12 for a, b in pairwise(errors))
