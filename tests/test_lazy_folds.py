"""Lazy estimators are cross-validated by demand, with the results of separate fits."""

import numpy as np
import pandas as pd
import pytest
from selection import assert_same, make_data, outcome
from sklearn import model_selection as theirs

from treefold import (
    BaggingClassifier,
    LazyBaggingClassifier,
    LazyBaggingRegressor,
    LazyDecisionTreeClassifier,
    LazyDecisionTreeRegressor,
    PooledScoreWarning,
)
from treefold.model_selection import cross_val_score, cross_validate

DATA = make_data(60)
X, Y, NUMBERS, WEIGHTS = (DATA[name] for name in ("X", "classes", "numbers", "weights"))
BAGS = {"n_estimators": 3, "random_state": 2}
MODELS = {
    "tree of classes": (LazyDecisionTreeClassifier(min_samples_leaf=3), Y),
    "tree of numbers": (LazyDecisionTreeRegressor(max_features=2, random_state=0), NUMBERS),
    "bags of classes": (LazyBaggingClassifier(**BAGS, class_weight="balanced"), Y),
    "votes": (LazyBaggingClassifier(**BAGS, voting="hard", max_features=3), Y),
    "one by one": (LazyBaggingClassifier(**BAGS, strategy="single", max_depth=3), Y),
    "bags of numbers": (LazyBaggingRegressor(**BAGS, min_samples_split=0.1), NUMBERS),
}
SPLITTERS = {
    "five": 5,
    "shuffled": theirs.ShuffleSplit(3, random_state=0),
    "groups": theirs.GroupKFold(3),
    "time": theirs.TimeSeriesSplit(3),
    "repeated": [(np.array([3, 3, 5, 40, 50, 55]), np.arange(20, 30)), (np.arange(50), [52, 58])],
}


def both(estimator, y, **options):
    return cross_validate(estimator, X, y, **options), theirs.cross_validate(
        estimator, X, y, **options
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cv", SPLITTERS)
def test_results_are_those_of_separate_fits(name, cv):
    estimator, y = MODELS[name]
    groups = DATA["groups"] if cv == "groups" else None
    options = {"cv": SPLITTERS[cv], "groups": groups, "return_indices": True}
    assert_same(*both(estimator, y, **options))


@pytest.mark.parametrize("name", MODELS)
def test_weights_and_several_metrics(name):
    estimator, y = MODELS[name]
    scoring = ["r2", "neg_mean_absolute_error"] if y is NUMBERS else ["accuracy", "f1_macro"]
    assert_same(*both(estimator, y, params={"sample_weight": WEIGHTS}, scoring=scoring, cv=4))


@pytest.mark.parametrize("name", MODELS)
def test_predictions_and_the_final_estimator(name):
    estimator, y = MODELS[name]
    results = cross_validate(
        estimator,
        X,
        y,
        cv=3,
        return_predictions="predict",
        return_final_estimator=True,
        return_work=True,
    )
    expected = theirs.cross_val_predict(estimator, X, y, cv=3)
    splits = theirs.check_cv(3, y, classifier=y is Y).split(X, y)
    for (_, test), predicted in zip(splits, results["predictions"], strict=True):
        np.testing.assert_array_equal(predicted, expected[test])
    final = results["final_estimator"].predict(X)
    np.testing.assert_array_equal(
        final, type(estimator)(**estimator.get_params()).fit(X, y).predict(X)
    )
    assert results["work"]["mode"] == "lazy"


def test_classes_that_a_training_set_lacks():
    y = np.array(["a", "b", "c"])[np.sort(Y)]
    estimator = LazyBaggingClassifier(**BAGS)
    for scoring in ("accuracy", "neg_log_loss", "roc_auc_ovr"):
        ours, others = (
            outcome(lambda f=function, s=scoring: f(estimator, X, y, cv=theirs.KFold(3), scoring=s))
            for function in (cross_validate, theirs.cross_validate)
        )
        assert_same(ours, others)


def test_frames_with_categories_of_their_own():
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.array(list("uvwxyz"))[Y + 2])
    estimator = LazyBaggingClassifier(**BAGS)
    ours = cross_validate(estimator, frame, DATA["binary"], cv=4)
    assert_same(ours, theirs.cross_validate(estimator, frame, DATA["binary"], cv=4))


def test_less_is_grown_than_by_whole_trees():
    lazy, eager = LazyBaggingClassifier(**BAGS), BaggingClassifier(**BAGS)
    work = {}
    for n_folds in (3, 12):
        results = cross_validate(lazy, X, Y, cv=theirs.KFold(n_folds), return_work=True)
        whole = [eager.fit(X[train], Y[train]).work_ for train, _ in theirs.KFold(n_folds).split(X)]
        work[n_folds] = results["work"]["rows_scanned"] / sum(one["rows_scanned"] for one in whole)
    assert work[12] < work[3] <= 1.0


def test_what_needs_fitted_estimators_is_fitted_split_by_split():
    estimator = LazyBaggingClassifier(**BAGS)
    ours, others = both(estimator, Y, return_train_score=True, cv=3)
    assert_same(ours, others)
    assert len(cross_validate(estimator, X, Y, return_estimator=True, cv=3)["estimator"]) == 3
    bad = LazyBaggingClassifier(n_estimators=0)
    assert_same(
        outcome(lambda: cross_validate(bad, X, Y)),
        outcome(lambda: theirs.cross_validate(bad, X, Y)),
    )


def test_leave_one_out_is_pooled_where_single_rows_have_no_score():
    estimator = LazyBaggingRegressor(**BAGS)
    with pytest.warns(PooledScoreWarning):
        scores = cross_val_score(estimator, X[:30], NUMBERS[:30], cv=theirs.LeaveOneOut())
    predicted = theirs.cross_val_predict(estimator, X[:30], NUMBERS[:30], cv=theirs.LeaveOneOut())
    y = NUMBERS[:30]
    expected = 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
