"""Targets of any kind are read as they are, or refused by name; what is kept is a copy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from treefold import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    DecisionTreeRegressorCV,
    InputError,
    LazyBaggingClassifier,
    LazyBaggingRegressor,
    LazyDecisionTreeClassifier,
    LazyDecisionTreeRegressor,
    load,
    save,
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


# Labels that numpy would change -------------------------------------------------------------------


def objects(*labels: Any) -> np.ndarray:
    return np.fromiter(labels, dtype=object, count=len(labels))


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier, LazyDecisionTreeClassifier])
def test_tuples_are_labels(estimator: Any) -> None:
    y = objects((1, 2), (1, 3), (1, 2), (0, 0))
    model = estimator().fit(X, y)
    assert model.classes_.tolist() == [(0, 0), (1, 2), (1, 3)]
    assert model.predict(X).tolist() == y.tolist()


LARGE = {
    "a list of whole numbers": [2**63 + 1, 2**63 + 2, -1, -1],
    "whole numbers and a float": [2**53 + 1, 2**53, 2**53 + 1, 1.0],
    "objects": objects(2**53 + 1, 2**53, 2**53 + 1, 1.0),
    "scalars of numpy": objects(np.uint64(2**63 + 1), np.uint64(2**63 + 2), np.int64(-1), 0.0),
    "beyond all integers of numpy": [10**30, 10**30 + 1, 1, 2],
    "unsigned": np.array([2**63 + 1, 2**63 + 2] * 2, dtype=np.uint64),
    "floats": [1e300, 2e300, 1e300, 5.0],
    "an array of floats": np.array([1e300, 2e300, 1e300, 5.0]),
    "far apart": np.array([-(2**63), 2**63 - 1, 0, 1]),
    "close to the end": np.array([-(2**63), 1 - 2**63] * 2),
}


@pytest.mark.parametrize("kind", LARGE)
def test_large_numbers_stay_the_labels_that_they_are(kind: str) -> None:
    y = LARGE[kind]
    model = DecisionTreeClassifier().fit(X, y)
    assert model.classes_.tolist() == sorted(set(y))
    assert model.predict(X).tolist() == list(y)


@pytest.mark.parametrize("other", [0.5, np.inf])
def test_large_whole_numbers_do_not_hide_numbers_that_are_no_labels(other: float) -> None:
    with pytest.raises(InputError, match=r"Unknown label type: continuous|contains infinity"):
        DecisionTreeClassifier().fit(X, [10**30, other, 1, 2])


def test_durations_as_objects_are_labels() -> None:
    y = objects(*np.array([1, 2, 1, 3], dtype="m8[ns]"))
    assert_array_equal(DecisionTreeClassifier().fit(X, y).predict(X), y)


@pytest.mark.parametrize("y", [objects((1, 2), (1, 3), (1, 2), (0, 0)), [10**30, 10**30 + 1, 1, 2]])
def test_odd_labels_come_back_from_a_file(y: Any, tmp_path: Path) -> None:
    save(DecisionTreeClassifier().fit(X, y), tmp_path / "model.treefold")
    assert load(tmp_path / "model.treefold").predict(X).tolist() == list(y)


@pytest.mark.parametrize(
    ("tree", "y", "weights"),
    [
        (DecisionTreeClassifier(), [0, 1, 0, 1], [1e308] * 4),
        (DecisionTreeRegressor(), [0.0, 1.0, 0.0, 1.0], [1e308] * 4),
        (DecisionTreeClassifier(class_weight={0: 1e308, 1: 1e308}), [0, 1, 0, 1], None),
        (DecisionTreeClassifier(class_weight={0: 1e200}), [0, 1, 0, 1], [1e200, 1, 1, 1]),
        (DecisionTreeRegressor(), [1e200, 1.1e200, 0.0, 0.0], [1e150] * 4),
        (DecisionTreeRegressor(), [1e-200, 2e-200, 5e-200, 9e-200], [1e-200] * 4),
    ],
)
def test_weights_that_leave_the_range_of_numbers_are_refused(tree, y, weights):
    """They made a tree of one leaf, or means that were off by any factor."""
    with pytest.raises(ValueError, match="Divide all weights by the same number"):
        tree.fit([[0.0], [1.0], [2.0], [3.0]], y, weights)
    assert not hasattr(tree, "tree_")


def test_a_target_may_be_smaller_than_any_weight_could_make_it():
    tree = DecisionTreeRegressor().fit([[1.0], [2.0]], [1e-310, 1.0], sample_weight=[1.0, 1.0])
    assert tree.predict([[1.0]]).tolist() == [1e-310]
