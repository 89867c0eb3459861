"""scikit-learn's tree gives the same predictions, or the conversion is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from treefold import ConversionError, DecisionTreeClassifier, DecisionTreeRegressor

DATA = {"iris": load_iris(), "cancer": load_breast_cancer(), "diabetes": load_diabetes()}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("tree", [DecisionTreeClassifier, DecisionTreeRegressor])
@pytest.mark.parametrize("params", [{}, {"max_depth": 3}, {"max_leaf_nodes": 6}], ids=str)
def test_the_converted_tree_predicts_alike(name: str, tree: Any, params: dict[str, Any]) -> None:
    X, y = DATA[name].data, DATA[name].target
    ours = tree(**params).fit(X, y.astype(int))
    theirs = ours.to_sklearn()
    kind = getattr(sklearn.tree, tree.__name__)
    assert type(theirs) is kind
    assert theirs.get_params().items() >= params.items()
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_array_equal(ours.apply(X), theirs.apply(X))
    assert theirs.score(X, y.astype(int)) == ours.score(X, y.astype(int))
    assert_array_equal(ours.tree_.impurity, theirs.tree_.impurity)
    assert theirs.get_depth() == ours.get_depth()


def test_attributes_are_carried_over() -> None:
    frame = pd.DataFrame(DATA["iris"].data, columns=list("abcd"))
    labels = DATA["iris"].target_names[DATA["iris"].target]
    ours = DecisionTreeClassifier(criterion="gain_ratio", class_weight="balanced").fit(
        frame, labels
    )
    theirs = ours.to_sklearn()
    assert theirs.criterion == "entropy"
    assert theirs.class_weight == "balanced"
    assert_array_equal(ours.classes_, theirs.classes_)
    assert_array_equal(ours.feature_names_in_, theirs.feature_names_in_)
    assert_array_equal(ours.predict_proba(frame), theirs.predict_proba(frame))


@pytest.mark.parametrize("seed", range(20))
def test_every_row_of_random_float64_data_takes_the_same_path(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Values so close that float32 merges some: the conversion is refused, or right.
    X = 1 + rng.normal(size=(40, 2)) * 10.0 ** -rng.integers(2, 8)
    y = rng.integers(0, 2, 40)
    ours = DecisionTreeClassifier().fit(X, y)
    try:
        theirs = ours.to_sklearn()
    except ConversionError:
        return
    assert_array_equal(ours.apply(X), theirs.apply(X))


@pytest.mark.parametrize("seed", range(10))
def test_no_float32_row_differs_if_the_training_data_are_float32(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)).astype(np.float32)
    ours = DecisionTreeRegressor().fit(X, rng.normal(size=60))
    theirs = ours.to_sklearn()
    tree = ours.tree_
    thresholds = tree.threshold[tree.feature >= 0].astype(np.float32)
    near = np.concatenate(
        [np.nextafter(thresholds, side) for side in np.float32([-np.inf, np.inf])]
    )
    rows = np.stack(np.meshgrid(near, thresholds), axis=-1).reshape(-1, 2)
    for data in (X, rows, rows[:, ::-1]):
        assert_array_equal(ours.apply(data), theirs.apply(data))


def test_thresholds_lie_between_neighbouring_float32_numbers() -> None:
    ours = DecisionTreeRegressor().fit(DATA["diabetes"].data, DATA["diabetes"].target)
    tree = ours.to_sklearn().tree_
    thresholds = tree.threshold[tree.feature >= 0]
    assert (thresholds != thresholds.astype(np.float32)).all()


def test_values_that_float32_merges_are_refused() -> None:
    ours = DecisionTreeClassifier().fit([[1.0], [1.0 + 1e-12]], [0, 1])
    with pytest.raises(
        ConversionError, match=r"Column 0 has training values on both sides of 1\.0"
    ):
        ours.to_sklearn()


def test_values_beyond_float32_are_refused() -> None:
    ours = DecisionTreeClassifier().fit([[1.0], [1e300]], [0, 1])
    with pytest.raises(ConversionError, match="float32"):
        ours.to_sklearn()


def test_only_the_rows_of_a_node_have_to_differ_in_float32() -> None:
    # Column 0 holds 1 and 1 + 2e-9, next to the threshold 1 + 1e-9 of the rows with column 1 at 0,
    # whose own values are 0 and 2 + 2e-9.
    close = 2e-9
    X = np.array([[0.0, 0.0], [2.0 + close, 0.0], [1.0, 9.0], [1.0 + close, 9.0]])
    ours = DecisionTreeClassifier().fit(X, [0, 1, 2, 2])
    assert_array_equal([0, 1, 2, 2], ours.to_sklearn().predict(X))


def test_missing_values_take_the_same_path() -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 3)) < 0.2, np.nan, rng.normal(size=(80, 3)))
    ours = DecisionTreeClassifier().fit(X, rng.integers(0, 3, 80))
    assert_array_equal(ours.apply(X), ours.to_sklearn().apply(X))
    present = DecisionTreeClassifier().fit([[1.0], [2.0], [np.nan]], [0, 0, 1])
    assert_array_equal([0, 1], present.to_sklearn().predict([[5.0], [np.nan]]))


def test_splits_by_categories_or_dates_are_refused() -> None:
    frame = pd.DataFrame({"c": ["a", "b", "a", "b"], "n": [1.0, 2.0, 3.0, 4.0]})
    by_category = DecisionTreeClassifier().fit(frame, [0, 1, 0, 1])
    with pytest.raises(ConversionError, match="Column 'c' holds categories, and node 0 splits it"):
        by_category.to_sklearn()
    dates = pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    with pytest.raises(ConversionError, match="Column 'd' holds dates"):
        DecisionTreeClassifier().fit(dates, [0, 1]).to_sklearn()


def test_categories_that_no_node_splits_do_not_matter() -> None:
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    ours = DecisionTreeClassifier(categorical_features=[0]).fit(X, [0, 1, 1])
    assert_array_equal([0, 1, 1], ours.to_sklearn().predict(X))
