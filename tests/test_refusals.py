"""What shared growth cannot serve reaches scikit-learn's own loop; a bug of ours surfaces."""

import numpy as np
import pytest
from selection import assert_same, make_data, outcome
from sklearn import model_selection as theirs
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from treefold import DecisionTreeClassifier, LazyDecisionTreeClassifier
from treefold import model_selection as ours

DATA = make_data()
X, Y = np.nan_to_num(DATA["X"]), DATA["classes"]
TREE = DecisionTreeClassifier()
FOLDS = KFold(4)


class Failing(TransformerMixin, BaseEstimator):
    """A transformer that fails on some rows, in `fit` or in `transform`."""

    def __init__(self, row=(), when="fit", error=RuntimeError):
        self.row = row
        self.when = when
        self.error = error

    def _look(self, X, when):
        if when == self.when and (np.asarray(self.row) == X).all(axis=1).any():
            raise self.error("this row")

    def fit(self, X, y=None):
        self._look(X, "fit")
        return self

    def transform(self, X):
        self._look(X, "transform")
        return X


BUGS = {
    "reading": "treefold.evaluation.dataset.encode",
    "rules": "treefold.evaluation.dataset.make_rules",
    "growth": "treefold.evaluation.growing.grow_family",
    "replay": "treefold.evaluation.growing.replay_nodes",
    "scores": "treefold.evaluation.judging.score_cells",
}


@pytest.mark.parametrize("place", BUGS)
@pytest.mark.parametrize("error", [AttributeError, IndexError, RuntimeError, AssertionError])
def test_a_bug_surfaces(place, error, monkeypatch):
    """It was caught, and every split was fitted alone: the bug became a slowdown."""

    def fail(*_, **__):
        raise error("a bug of ours")

    monkeypatch.setattr(BUGS[place], fail)
    search = ours.GridSearchCV(TREE, {"max_depth": [1, 3]}, scoring="roc_auc_ovr", cv=FOLDS)
    with pytest.raises(error, match="a bug of ours"):
        search.fit(X, Y)


@pytest.mark.parametrize("place", ["growth", "scores"])
def test_a_bug_surfaces_though_users_make_such_errors(place, monkeypatch):
    def fail(*_, **__):
        raise ValueError("a bug of ours")

    monkeypatch.setattr(BUGS[place], fail)
    with pytest.raises(ValueError, match="a bug of ours"):
        ours.cross_validate(TREE, X, Y, scoring="roc_auc_ovr", cv=FOLDS)


def test_a_bug_surfaces_in_lazy_estimators(monkeypatch):
    def fail(*_, **__):
        raise ValueError("a bug of ours")

    monkeypatch.setattr("treefold.evaluation.lazy_engine.split_batches", fail)
    with pytest.raises(ValueError, match="a bug of ours"):
        ours.cross_validate(LazyDecisionTreeClassifier(), X, Y, cv=FOLDS)


@pytest.mark.parametrize("when", ["fit", "transform"])
@pytest.mark.parametrize("error", [RuntimeError, ValueError, KeyError, ZeroDivisionError])
@pytest.mark.parametrize("error_score", [np.nan, 0.25, "raise"])
def test_errors_of_transformers_are_met_by_the_loop_of_scikit_learn(when, error, error_score):
    pipeline = make_pipeline(Failing(X[5], when, error), TREE)
    options = {"cv": FOLDS, "error_score": error_score}
    actual = outcome(lambda: ours.cross_validate(pipeline, X, Y, **options))
    expected = outcome(lambda: theirs.cross_validate(pipeline, X, Y, **options))
    assert actual[1] == expected[1]
    assert_same(actual[0], expected[0])


@pytest.mark.parametrize("error_score", [np.nan, 0.25, "raise"])
def test_errors_of_scorers_are_scored_or_raised(error_score):
    def fail(estimator, X, y):
        raise ZeroDivisionError("no score")

    options = {"cv": FOLDS, "error_score": error_score, "scoring": fail}
    actual = outcome(lambda: ours.cross_validate(TREE, X, Y, **options))
    expected = outcome(lambda: theirs.cross_validate(TREE, X, Y, **options))
    assert actual[1] == expected[1]
    assert_same(actual[0], expected[0])
