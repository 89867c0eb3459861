"""scikit-learn's tools take the converted tree, and say of it what they say of ours."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV

from treefold import (
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    DecisionTreeRegressorCV,
)

mpl.use("Agg")
CANCER, DIABETES, IRIS = load_breast_cancer(), load_diabetes(), load_iris()
for bunch in (CANCER, DIABETES, IRIS):
    bunch.data = bunch.data.astype(np.float32)  # scikit-learn's trees see no more than that
TRAIN, REST = slice(0, None, 2), slice(1, None, 2)


def fit(tree: Any, data: Any) -> tuple[Any, Any]:
    """Ours, and scikit-learn's."""
    ours = tree.fit(data.data[TRAIN], data.target[TRAIN])
    return ours, ours.to_sklearn()


CLASSIFIERS = [DecisionTreeClassifier(max_depth=4), DecisionTreeClassifierCV(min_samples_leaf=5)]
REGRESSORS = [DecisionTreeRegressor(max_depth=4), DecisionTreeRegressorCV()]


@pytest.mark.parametrize(
    ("tree", "data", "target"),
    [
        *[(tree, CANCER, None) for tree in CLASSIFIERS],
        *[(tree, IRIS, 1) for tree in CLASSIFIERS],
        *[(tree, DIABETES, None) for tree in REGRESSORS],
    ],
    ids=str,
)
def test_partial_dependence(tree: Any, data: Any, target: int | None) -> None:
    from matplotlib import pyplot  # noqa: PLC0415

    ours, theirs = fit(tree, data)
    column = int(np.argmax(ours.feature_importances_))
    X = data.data[REST]
    figure, axes = pyplot.subplots()
    display = PartialDependenceDisplay.from_estimator(
        theirs, X, [column], target=target, method="brute", ax=axes, grid_resolution=20
    )
    pyplot.close(figure)
    expected = partial_dependence(ours, X, [column], method="brute", grid_resolution=20)
    drawn = display.pd_results[0]
    assert_array_equal(expected["grid_values"][0], drawn["grid_values"][0])
    assert_array_equal(expected["average"], drawn["average"])
    # The fast way walks scikit-learn's tree itself.
    if target is None and data is DIABETES:
        walked = partial_dependence(theirs, X, [column], method="recursion", grid_resolution=20)
        assert walked["average"].shape == drawn["average"].shape


@pytest.mark.parametrize("tree", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["cancer", "iris"])
def test_calibration(tree: Any, data: Any) -> None:
    ours, theirs = fit(tree, data)
    X, y = data.data[REST], data.target[REST]
    shares = [
        CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y).predict_proba(X)
        for model in (ours, theirs)
    ]
    assert_array_equal(*shares)
    refitted = CalibratedClassifierCV(theirs, cv=3, method="isotonic").fit(X, y)
    assert refitted.score(X, y) > 0.8


@pytest.mark.parametrize("tree", CLASSIFIERS, ids=str)
def test_a_tuned_threshold(tree: Any) -> None:
    ours, theirs = fit(tree, CANCER)
    X, y = CANCER.data[REST], CANCER.target[REST]
    tuned = [
        TunedThresholdClassifierCV(model, cv="prefit", refit=False).fit(X, y)
        for model in (ours, theirs)
    ]
    assert tuned[0].best_threshold_ == tuned[1].best_threshold_
    assert_array_equal(tuned[0].predict(X), tuned[1].predict(X))
    refitted = TunedThresholdClassifierCV(theirs, cv=3).fit(X, y)
    assert refitted.score(X, y) > 0.8


@pytest.mark.parametrize("tree", CLASSIFIERS, ids=str)
def test_stacking_of_classifiers(tree: Any) -> None:
    ours, theirs = fit(tree, IRIS)
    X, y = IRIS.data[REST], IRIS.target[REST]
    stacks = [
        StackingClassifier([("tree", model)], LogisticRegression(), cv="prefit").fit(X, y)
        for model in (ours, theirs)
    ]
    assert_array_equal(stacks[0].transform(X), stacks[1].transform(X))
    assert_array_equal(stacks[0].predict(X), stacks[1].predict(X))
    together = StackingClassifier([("ours", ours), ("theirs", theirs)], LogisticRegression(), cv=3)
    assert together.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("tree", REGRESSORS, ids=str)
def test_stacking_of_regressors(tree: Any) -> None:
    ours, theirs = fit(tree, DIABETES)
    X, y = DIABETES.data[REST], DIABETES.target[REST]
    answers = [
        StackingRegressor([("tree", model)], cv="prefit").fit(X, y).predict(X)
        for model in (ours, theirs)
    ]
    assert_array_equal(*answers)


def test_permutation_importance() -> None:
    ours, theirs = fit(DecisionTreeClassifier(max_depth=4), CANCER)
    X, y = CANCER.data[REST], CANCER.target[REST]
    found = [
        permutation_importance(model, X, y, n_repeats=2, random_state=0).importances
        for model in (ours, theirs)
    ]
    assert_array_equal(*found)
