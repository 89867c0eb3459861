"""How steady splits are: against the twin, by hand, and as text and picture."""

import numpy as np
import pytest
from cases import BASE_SEED
from mixed_data import CATEGORICAL, make_mixed
from reference.stability import stability as reference_stability
from sklearn.model_selection import KFold, ShuffleSplit

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, export_text, plot_tree
from treefold.evaluation.stability import FoldTree, compute_stability, find_places
from treefold.exceptions import ParameterError

INTEGERS = ["node", "n_folds", "n_reached", "n_same_column", "n_leaf_here", "other_column"]
NUMBERS = ["threshold", "threshold_min", "threshold_median", "threshold_max"]
NUMBERS += ["rows_jaccard", "heldout_rows", "heldout_value"]


def grow(model, X, y, weights, splits):
    """The final tree, its leaves, and the folds' trees, all with the classes of all rows."""
    final = model.fit(X, y, sample_weight=weights)
    native, leaves = final.tree_._native, final.apply(X)
    folds = []
    for train, test in splits:
        own = np.zeros(len(X))
        own[train] = weights[train]
        fold = model.fit(X, y, sample_weight=own)
        folds.append(FoldTree(fold.tree_._native, fold.apply(X), test))
    return native, leaves, folds


def assert_equal_to_twin(native, leaves, folds, y, weights):
    actual = compute_stability(native, leaves, folds, y, weights)
    triples = [(fold.tree, fold.leaves, fold.heldout) for fold in folds]
    expected = reference_stability(native, leaves, triples, y, weights)
    assert list(actual) == list(expected)
    for name in INTEGERS:
        assert actual[name].dtype == np.int64
        assert actual[name].tolist() == expected[name], name
    for name in NUMBERS:
        assert actual[name].dtype == np.float64
        np.testing.assert_allclose(actual[name], expected[name], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("target", ["two classes", "many classes", "regression"])
@pytest.mark.parametrize("limits", [{"max_depth": 3}, {"ccp_alpha": 0.004}, {}], ids=str)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_stability_is_that_of_the_twin(target, limits, is_weighted):
    data = make_mixed(200, BASE_SEED)
    kind = DecisionTreeRegressor if target == "regression" else DecisionTreeClassifier
    y = data.targets[target]
    weights = data.weights if is_weighted else np.ones(200)
    splits = KFold(4, shuffle=True, random_state=BASE_SEED).split(data.X)
    model = kind(categorical_features=CATEGORICAL, **limits)
    assert_equal_to_twin(*grow(model, data.X, y, weights, splits), y, weights)


def test_splits_that_leave_rows_out_and_repeat_others_are_fine():
    data = make_mixed(150, BASE_SEED)
    y = data.targets["regression"]
    splits = ShuffleSplit(3, test_size=0.3, train_size=0.4, random_state=BASE_SEED).split(data.X)
    grown = grow(DecisionTreeRegressor(max_depth=4), data.X, y, np.ones(150), splits)
    assert_equal_to_twin(*grown, y, np.ones(150))


def test_a_tree_is_as_steady_as_can_be_against_itself():
    data = make_mixed(300, BASE_SEED)
    y = data.targets["many classes"]
    model = DecisionTreeClassifier(categorical_features=CATEGORICAL).fit(data.X, y)
    native, leaves = model.tree_._native, model.apply(data.X)
    folds = [FoldTree(native, leaves, np.arange(300)) for _ in range(3)]
    found = compute_stability(native, leaves, folds, y)
    is_leaf = native.feature < 0
    assert (found["n_reached"] == 3).all()
    assert (found["n_same_column"] == np.where(is_leaf, 0, 3)).all()
    assert (found["n_leaf_here"] == np.where(is_leaf, 3, 0)).all()
    assert (found["other_column"] == -1).all()
    assert (found["rows_jaccard"] == 1).all()
    assert (found["heldout_rows"] == 3 * native.n_node_samples).all()
    np.testing.assert_allclose(found["heldout_value"], native.value.max(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(found["threshold"], found["threshold_median"])


def test_the_same_tests_are_the_same_columns_and_sides():
    # Final: column 0, then column 1 on the left. The fold tests column 0 at another threshold,
    # then column 1 on the right: only the root and its children are in the places.
    X = np.array([[0, 0], [0, 1], [5, 0], [5, 1], [9, 0], [9, 1]], dtype=float)
    final = DecisionTreeRegressor(max_depth=2).fit(X, [0, 4, 9, 9, 9, 9])
    fold = DecisionTreeRegressor(max_depth=2).fit(X, [0, 0, 0, 0, 9, 20])
    assert final.tree_.feature.tolist() == [0, 1, -2, -2, -2]
    assert fold.tree_.feature.tolist() == [0, -2, 1, -2, -2]
    places = find_places(final.tree_._native, fold.tree_._native)
    assert places.tolist() == [0, 1, -1, -1, 2]
    found = compute_stability(
        final.tree_._native,
        final.apply(X),
        [FoldTree(fold.tree_._native, fold.apply(X), np.array([2, 5]))],
        np.array([0.0, 4, 9, 9, 9, 9]),
    )
    assert found["n_reached"].tolist() == [1, 1, 0, 0, 1]
    assert found["n_same_column"].tolist() == [1, 0, 0, 0, 0]
    assert found["n_leaf_here"].tolist() == [0, 1, 0, 0, 0]
    assert found["other_column"].tolist() == [-1, -1, -1, -1, 1]
    assert found["threshold"].tolist()[:2] == [2.5, 0.5]
    assert found["threshold_median"].tolist()[0] == 7.0
    assert found["rows_jaccard"][[0, 1, 4]].tolist() == [1.0, 2 / 4, 2 / 4]
    assert found["heldout_rows"].tolist() == [2, 1, 0, 0, 1]
    assert found["heldout_value"][[0, 1, 4]].tolist() == [9.0, 9.0, 9.0]
    assert np.isnan(found["heldout_value"][[2, 3]]).all()


def test_no_folds_are_no_evidence():
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])
    found = compute_stability(model.tree_._native, model.apply([[0.0], [1.0]]), [], np.arange(2.0))
    assert found["n_folds"].tolist() == [0, 0, 0]
    assert np.isnan(found["rows_jaccard"]).all()


@pytest.fixture
def fitted():
    """A tree with a stability of two folds, one of which cuts elsewhere and goes on."""
    X = np.array([[0, 0], [0, 1], [5, 0], [5, 1], [9, 0], [9, 1]], dtype=float)
    y = np.array([0.0, 0, 9, 9, 9, 9])
    model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    folds = [
        FoldTree(tree.tree_._native, tree.apply(X), np.array([0]))
        for tree in (
            DecisionTreeRegressor().fit(X, y),
            DecisionTreeRegressor().fit(X, [0, 0, 0, 0, 9, 20]),
        )
    ]
    model.stability_ = compute_stability(model.tree_._native, model.apply(X), folds, y)
    return model


def test_text_can_show_how_steady_splits_are(fitted):
    assert export_text(fitted, show_stability=True).splitlines() == [
        "|--- feature_0 <= 2.50  [2 of 2 folds, cut at 2.50 to 7.00]",
        "|   |--- value: [0.00]  [leaf in 2 of 2 folds]",
        "|--- feature_0 >  2.50",
        "|   |--- value: [9.00]  [leaf in 1 of 2 folds]",
        "Folds overlap: agreement means steady, not certain.",
    ]
    assert "folds" not in export_text(fitted)


def test_pictures_can_show_how_steady_splits_are(fitted):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    texts = [box.get_text() for box in plot_tree(fitted, ax=axes, show_stability=True)]
    assert "2 of 2 folds, cut at 2.500 to 7.000" in texts[0]
    assert "leaf in 1 of 2 folds" in texts[2]
    assert any("steady, not certain" in text.get_text() for text in axes.texts)
    pyplot.close(figure)


def test_trees_that_were_not_cross_validated_have_nothing_to_show():
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ParameterError, match="DecisionTreeRegressor has no stability_ to show"):
        export_text(model, show_stability=True)
    with pytest.raises(ParameterError, match="DecisionTreeClassifierCV"):
        plot_tree(model, show_stability=True)
