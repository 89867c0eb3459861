"""Targets of any kind are read as they are, or refused by name; what is kept is a copy."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from treefold import (
    DecisionTreeRegressorCV,
    LazyBaggingClassifier,
    LazyBaggingRegressor,
    LazyDecisionTreeClassifier,
    LazyDecisionTreeRegressor,
)

X = np.array([[0.0], [1.0], [2.0], [3.0]])
LAZY_CLASSIFIERS = [LazyDecisionTreeClassifier(), LazyBaggingClassifier(n_estimators=3)]
LAZY_REGRESSORS = [LazyDecisionTreeRegressor(), LazyBaggingRegressor(n_estimators=3)]


def name_of(thing: Any) -> str:
    return type(thing).__name__


# What the caller changes after fit ----------------------------------------------------------------


@pytest.mark.parametrize("model", LAZY_REGRESSORS, ids=name_of)
def test_a_lazy_estimator_keeps_its_own_targets(model: Any) -> None:
    y = np.arange(4.0)
    model.set_params(random_state=0).fit(X, y)
    before = model.predict(X)
    y[:] = np.nan
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("model", LAZY_CLASSIFIERS + LAZY_REGRESSORS, ids=name_of)
def test_a_lazy_estimator_keeps_its_own_weights(model: Any) -> None:
    weights = np.array([1.0, 2.0, 3.0, 1.0])
    model.set_params(random_state=0).fit(np.zeros((4, 1)), [0, 1, 1, 1], weights)
    before = model.predict(X)
    weights[:] = 100.0, 0.0, 0.0, 0.0
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("model", LAZY_CLASSIFIERS, ids=name_of)
def test_a_lazy_estimator_keeps_its_own_class_weights(model: Any) -> None:
    class_weight = {0: 1.0, 1: 1.0}
    model.set_params(random_state=0, class_weight=class_weight).fit(np.zeros((4, 1)), [0, 1, 1, 1])
    before = model.predict_proba(X)
    class_weight[0] = 100.0
    assert_array_equal(model.predict_proba(X), before)


def test_an_evaluation_keeps_its_own_targets_and_weights() -> None:
    y, weights = np.arange(8.0), np.ones(8)
    model = DecisionTreeRegressorCV(cv=2, store_cv_predictions=True)
    kept = model.fit(np.arange(8.0).reshape(-1, 1), y, sample_weight=weights).evaluation_
    y[:] = weights[:] = 7.0
    assert_array_equal(kept.truth, np.arange(8.0))
    assert_array_equal(kept.weights, np.ones(8))
