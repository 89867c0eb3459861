"""scikit-learn's own functions show our trees as they show their own, or name ours instead."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import BaggingRegressor
from sklearn.inspection import partial_dependence

from treefold import (
    ConversionError,
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    DecisionTreeRegressorCV,
)

mpl.use("agg")
IRIS, CANCER, DIABETES = load_iris(), load_breast_cancer(), load_diabetes()
GAPS = np.where(np.random.default_rng(0).random(IRIS.data.shape) < 0.2, np.nan, IRIS.data)
FRAME = pd.DataFrame({"city": list("abc") * 20, "n": np.arange(60.0)})
SHOWN = {
    "iris": DecisionTreeClassifier(max_depth=3).fit(IRIS.data, IRIS.target_names[IRIS.target]),
    "weighted": DecisionTreeClassifier(class_weight="balanced").fit(CANCER.data, CANCER.target),
    "entropy": DecisionTreeClassifier(criterion="entropy").fit(GAPS, IRIS.target),
    "numbers": DecisionTreeRegressor(max_leaf_nodes=9).fit(DIABETES.data, DIABETES.target),
    "one leaf": DecisionTreeRegressor().fit(DIABETES.data, np.ones(442)),
    "classes CV": DecisionTreeClassifierCV().fit(IRIS.data, IRIS.target),
    "numbers CV": DecisionTreeRegressorCV().fit(DIABETES.data, DIABETES.target),
}
OTHERS = {
    "categories": DecisionTreeClassifier().fit(FRAME, FRAME["city"] == "b"),
    "dates": DecisionTreeRegressor().fit(
        pd.DataFrame({"day": pd.date_range("2020-01-01", periods=9)}), np.arange(9.0)
    ),
}
WRITERS = {
    "plot_tree": lambda model: [
        each.get_text() for each in sklearn.tree.plot_tree(model, filled=True)
    ],
    "export_text": lambda model: sklearn.tree.export_text(model, decimals=3),
    "export_graphviz": lambda model: sklearn.tree.export_graphviz(model, filled=True, rounded=True),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", SHOWN)
def test_a_tree_of_numbers_is_shown_as_one_of_scikit_learn(name: str, writer: str) -> None:
    model = SHOWN[name]
    assert WRITERS[writer](model.to_sklearn()) == WRITERS[writer](model)


def test_names_and_weights_are_shown_too() -> None:
    model = SHOWN["iris"]
    text = sklearn.tree.export_text(model, feature_names=list("abcd"), show_weights=True)
    assert "|--- c <= 2.45" in text
    assert "class: setosa" in text
    dot = sklearn.tree.export_graphviz(model, feature_names=list("abcd"), class_names=True)
    assert "c <= 2.45" in dot


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", OTHERS)
def test_a_tree_that_scikit_learn_cannot_show_names_our_functions(name: str, writer: str) -> None:
    with pytest.raises(
        ConversionError, match=r"treefold\.plot_tree, treefold\.export_text"
    ) as found:
        WRITERS[writer](OTHERS[name])
    assert f"holds {name}, and node 0 splits it" in str(found.value)


def test_categories_that_no_node_splits_do_not_matter() -> None:
    frame = FRAME.assign(city="a")
    model = DecisionTreeClassifier().fit(frame, frame["n"] > 30)
    assert "feature_1 <= 30.50" in sklearn.tree.export_text(model)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_tree_that_is_not_fitted_is_refused_in_the_words_of_scikit_learn(writer: str) -> None:
    with pytest.raises(sklearn.exceptions.NotFittedError, match="is not fitted yet"):
        WRITERS[writer](DecisionTreeClassifier())


# What else asks whether a tree is one of scikit-learn ---------------------------------------------


@pytest.mark.parametrize("features", [[2], [2, 8]], ids=str)
def test_partial_dependence_is_that_of_scikit_learn(features: Any) -> None:
    model = SHOWN["numbers"]
    found = partial_dependence(model, DIABETES.data, features)
    theirs = partial_dependence(model.to_sklearn(), DIABETES.data, features)
    assert_allclose(theirs["average"], found["average"], rtol=1e-12)


def test_partial_dependence_on_categories_and_missing_values() -> None:
    frame = FRAME.assign(n=np.where(FRAME["n"] % 7 == 0, np.nan, FRAME["n"] % 5))
    y = (frame["city"] == "b") * 9.0
    by_city = DecisionTreeRegressor().fit(frame, y)
    found = partial_dependence(by_city, frame, ["city"], categorical_features=["city"])
    assert_array_equal([[0.0, 9.0, 0.0]], found["average"])
    by_gap = DecisionTreeRegressor().fit(frame[["n"]], frame["n"].isna() * 1.0)
    values = by_gap._compute_partial_dependence_recursion(np.array([[np.nan], [3.0]]), [0])
    assert_array_equal([1.0, 0.0], values)


def test_partial_dependence_on_dates_names_the_other_method() -> None:
    days = np.array([["2020-01-02"]], dtype="datetime64[D]")
    with pytest.raises(ConversionError, match=r"holds dates.* method='brute'"):
        OTHERS["dates"]._compute_partial_dependence_recursion(days, [0])


def test_our_trees_are_not_changed_by_it() -> None:
    assert sklearn.tree.DecisionTreeClassifier not in DecisionTreeClassifier.__mro__
    bags = BaggingRegressor(DecisionTreeRegressor(), n_estimators=2, random_state=0)
    assert len(bags.fit(DIABETES.data, DIABETES.target).estimators_) == 2
