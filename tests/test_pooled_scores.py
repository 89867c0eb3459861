"""Leave-one-out: a metric that a single row does not have is that of all rows, and says so."""

import warnings

import numpy as np
import pytest
from selection import assert_same, make_data
from sklearn import config_context
from sklearn import model_selection as theirs
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import get_scorer, log_loss, make_scorer
from sklearn.model_selection import LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, PooledScoreWarning
from treefold.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    nested_cross_validate,
    validation_curve,
)
from treefold.scoring.scorers import has_single_rows

DATA = make_data(40)
X, BINARY, CLASSES, NUMBERS = (DATA[name] for name in ("X", "binary", "classes", "numbers"))
CLASSIFIER = DecisionTreeClassifier(min_samples_leaf=4)
REGRESSOR = DecisionTreeRegressor(min_samples_leaf=4)
LEAVE = LeaveOneOut()
POOLED = {
    "roc_auc": (CLASSIFIER, BINARY),
    "neg_log_loss": (CLASSIFIER, BINARY),
    "roc_auc_ovr": (CLASSIFIER, CLASSES),
    "neg_brier_score": (CLASSIFIER, CLASSES),
    "d2_log_loss_score": (CLASSIFIER, CLASSES),
    "top_k_accuracy": (CLASSIFIER, CLASSES),
    "r2": (REGRESSOR, NUMBERS),
    "d2_absolute_error_score": (REGRESSOR, NUMBERS),
}
SINGLE = {
    "accuracy": (CLASSIFIER, CLASSES),
    "balanced_accuracy": (CLASSIFIER, BINARY),
    "neg_brier_score": (CLASSIFIER, BINARY),
    "neg_root_mean_squared_error": (REGRESSOR, NUMBERS),
    "neg_mean_absolute_error": (REGRESSOR, NUMBERS),
}


class Known:
    """A fitted estimator whose answers are known."""

    def __init__(self, like, answers):
        self._estimator_type = like.__sklearn_tags__().estimator_type
        self.__sklearn_tags__ = like.__sklearn_tags__
        self.classes_ = None if answers.ndim == 1 else np.arange(answers.shape[1])
        self.answers = answers

    def predict(self, X):
        return self.answers if self.classes_ is None else self.answers.argmax(axis=1)

    def predict_proba(self, X):
        return self.answers


def score_together(estimator, X, y, scoring):
    """The score of the predictions of all single rows."""
    method = "predict" if y is NUMBERS else "predict_proba"
    answers = cross_val_predict(estimator, X, y, cv=LEAVE, method=method)
    return get_scorer(scoring)(Known(clone(estimator).fit(X, y), answers), X, y)


@pytest.mark.parametrize("scoring", POOLED)
def test_a_metric_that_single_rows_have_not_is_that_of_all_rows(scoring):
    estimator, y = POOLED[scoring]
    with pytest.warns(PooledScoreWarning, match="all held-out rows together") as caught:
        results = cross_validate(estimator, X, y, cv=LEAVE, scoring=scoring, return_work=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert list(results) == ["fit_time", "score_time", "test_score", "work"]
    assert results["work"]["pooled"] == ["score"]
    expected = score_together(estimator, X, y, scoring)
    assert np.isfinite(expected)
    assert results["test_score"].shape == (40,)
    np.testing.assert_allclose(results["test_score"], expected, rtol=0, atol=1e-12)
    theirs_ = theirs_scores(estimator, y, scoring)
    assert not np.isfinite(theirs_).any()


@pytest.mark.parametrize("scoring", SINGLE)
def test_what_scikit_learn_can_score_stays_as_it_is(scoring):
    estimator, y = SINGLE[scoring]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's own, on single rows
        warnings.simplefilter("error", PooledScoreWarning)
        results = cross_validate(estimator, X, y, cv=LEAVE, scoring=scoring, return_work=True)
    assert "pooled" not in results["work"]
    np.testing.assert_array_equal(results["test_score"], theirs_scores(estimator, y, scoring))


def theirs_scores(estimator, y, scoring):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return theirs.cross_val_score(estimator, X, y, cv=LEAVE, scoring=scoring)


def test_labels_and_two_classes_give_single_rows_a_score():
    assert not has_single_rows(get_scorer("neg_log_loss"), 2)
    named = make_scorer(log_loss, response_method="predict_proba", labels=[0, 1])
    assert has_single_rows(named, 2)
    assert has_single_rows(get_scorer("neg_brier_score"), 2)
    assert not has_single_rows(get_scorer("neg_brier_score"), 3)
    assert has_single_rows(lambda estimator, X, y: 0.0, 2)


def test_with_several_metrics_only_those_without_single_rows_are_pooled():
    scoring = ["accuracy", "roc_auc", "neg_brier_score"]
    with pytest.warns(PooledScoreWarning, match="'roc_auc'"):
        results = cross_validate(CLASSIFIER, X, BINARY, cv=LEAVE, scoring=scoring, return_work=True)
    assert results["work"]["pooled"] == ["roc_auc"]
    assert list(results)[2:5] == [f"test_{name}" for name in scoring]
    assert (results["test_roc_auc"] == score_together(CLASSIFIER, X, BINARY, "roc_auc")).all()
    for name in ("accuracy", "neg_brier_score"):
        np.testing.assert_array_equal(
            results[f"test_{name}"], theirs_scores(CLASSIFIER, BINARY, name)
        )


def test_training_rows_are_many_and_are_scored_as_ever():
    with pytest.warns(PooledScoreWarning):
        ours = cross_validate(
            REGRESSOR, X, NUMBERS, cv=LEAVE, return_train_score=True, scoring="r2"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = theirs.cross_validate(
            REGRESSOR, X, NUMBERS, cv=LEAVE, return_train_score=True, scoring="r2"
        )
    np.testing.assert_array_equal(ours["train_score"], others["train_score"])


def test_pipelines_pool_too():
    pipeline = make_pipeline(StandardScaler(), REGRESSOR)
    with pytest.warns(PooledScoreWarning):
        scores = cross_val_score(pipeline, X, NUMBERS, cv=LEAVE)  # a regressor's own score
    expected = score_together(pipeline, X, NUMBERS, "r2")
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def test_searches_choose_by_pooled_scores_and_say_so():
    grid = {"max_depth": [1, 2, 3], "min_samples_leaf": [2, 5]}
    with pytest.warns(PooledScoreWarning):
        search = GridSearchCV(REGRESSOR, grid, cv=LEAVE).fit(X, NUMBERS)
    assert search.work_["pooled"] == ["score"]
    params = search.cv_results_["params"]
    expected = [score_together(clone(REGRESSOR).set_params(**p), X, NUMBERS, "r2") for p in params]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=0, atol=1e-12)
    assert search.best_index_ == int(np.argmax(expected))
    drawn = RandomizedSearchCV(REGRESSOR, grid, n_iter=6, cv=LEAVE, random_state=0)
    with pytest.warns(PooledScoreWarning):
        drawn.fit(X, NUMBERS)
    assert drawn.best_params_ == search.best_params_
    with pytest.warns(PooledScoreWarning):
        _, test = validation_curve(
            REGRESSOR, X, NUMBERS, param_name="max_depth", param_range=[1, 2, 3], cv=LEAVE
        )
    for depth, scores in zip([1, 2, 3], test, strict=True):
        tree = clone(REGRESSOR).set_params(max_depth=depth)
        expected = score_together(tree, X, NUMBERS, "r2")
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def test_an_invalid_candidate_has_no_part_in_the_pool():
    search = GridSearchCV(REGRESSOR, {"max_depth": [-1, 2]}, cv=LEAVE)
    pooled, failed = pytest.warns(PooledScoreWarning), pytest.warns(FitFailedWarning)
    with pooled, failed, pytest.warns(UserWarning, match="non-finite"):
        search.fit(X, NUMBERS)
    assert np.isnan(search.cv_results_["mean_test_score"][0])
    assert search.best_params_ == {"max_depth": 2}


def test_weights_of_scorers_follow_their_rows():
    weights = DATA["weights"] + 1.0
    scorer = get_scorer("roc_auc").set_score_request
    with config_context(enable_metadata_routing=True):
        tree = clone(CLASSIFIER).set_fit_request(sample_weight=False)
        with pytest.warns(PooledScoreWarning):
            scores = cross_val_score(
                tree,
                X,
                BINARY,
                cv=LEAVE,
                scoring=scorer(sample_weight=True),
                params={"sample_weight": weights},
            )
    answers = cross_val_predict(CLASSIFIER, X, BINARY, cv=LEAVE, method="predict_proba")
    known = Known(clone(CLASSIFIER).fit(X, BINARY), answers)
    assert scores[0] == get_scorer("roc_auc")(known, X, BINARY, sample_weight=weights)


def test_nested_cross_validation_pools_inside_and_outside():
    n_rows = 12
    X_few, y = X[:n_rows], NUMBERS[:n_rows]
    grid = {"max_depth": [1, 2], "min_samples_leaf": [1, 2]}
    with pytest.warns(PooledScoreWarning) as caught:
        results = nested_cross_validate(
            REGRESSOR, grid, X_few, y, cv=LEAVE, return_estimator=True, return_evaluation=True
        )
    assert len(caught) == 1
    predicted = []
    for outer in range(n_rows):
        train = np.delete(np.arange(n_rows), outer)
        with pytest.warns(PooledScoreWarning):
            search = GridSearchCV(REGRESSOR, grid, cv=LEAVE).fit(X_few[train], y[train])
        assert search.best_params_ == results["best_params"][outer]
        assert search.best_score_ == results["inner_score"][outer]
        predicted.append(search.predict(X_few[[outer]])[0])
    expected = 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    np.testing.assert_allclose(results["test_score"], expected, rtol=0, atol=1e-12)
    evaluation = results["evaluation"]
    assert len(evaluation.nested["test_score"]) == 1
    assert "pooled over 12 outer splits" in repr(evaluation)
    assert "all held-out rows together" in repr(evaluation)


def test_other_splitters_with_single_rows_pool_and_those_with_some_do_not():
    with pytest.warns(PooledScoreWarning):
        pooled = cross_val_score(REGRESSOR, X, NUMBERS, cv=theirs.LeavePOut(1))
    assert np.isfinite(pooled).all()
    mixed = [(np.arange(5, 40), np.arange(5)), (np.arange(39), np.array([39]))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = cross_validate(REGRESSOR, X, NUMBERS, cv=mixed)
        others = theirs.cross_validate(REGRESSOR, X, NUMBERS, cv=mixed)
    assert_same(ours, others)
