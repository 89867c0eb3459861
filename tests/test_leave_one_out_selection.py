"""Leave-one-out in cross-validation: answers without trees, scores as by scikit-learn's loop."""

import numpy as np
import pytest
from sklearn import model_selection as theirs
from sklearn.model_selection import KFold, LeaveOneOut

from treefold import DecisionTreeClassifier, DecisionTreeRegressor
from treefold import model_selection as ours

N_ROWS = 26


def make_data(n_classes: int, seed: int = 0):
    random = np.random.default_rng(seed)
    X = random.integers(0, 6, (N_ROWS, 4)).astype(float)
    X[:, 0] += random.random(N_ROWS)
    X[random.random((N_ROWS, 4)) < 0.1] = np.nan
    if n_classes == 0:
        return X, np.nan_to_num(X[:, 0]) + random.integers(0, 4, N_ROWS)
    y = random.integers(0, n_classes, N_ROWS)
    y[y == n_classes - 1] = 0
    y[7] = n_classes - 1  # a class of one row
    return X, np.array(["ash", "birch", "cedar", "date"])[y]


def assert_same_scores(expected, actual):
    assert expected.keys() == actual.keys()
    for name in expected:
        if "time" not in name:
            assert np.array_equal(expected[name], actual[name], equal_nan=True), name


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"criterion": "entropy", "min_samples_leaf": 3},
        {"class_weight": "balanced", "max_depth": 3},
        {"class_weight": {"ash": 2.0, "birch": 0.5, "cedar": 1.0}},
        {"class_weight": {"ash": 0.0, "birch": 0.5, "cedar": 1.0}},
        {"min_impurity_decrease": 0.01, "categorical_features": [1, 2]},
        {"min_weight_fraction_leaf": 0.1, "min_samples_split": 0.2},
        {"max_features": 2, "random_state": 3},
        {"ccp_alpha": 0.01},
    ],
    ids=str,
)
def test_scores_are_those_of_scikit_learns_loop(params):
    X, y = make_data(3)
    scoring = ["accuracy", "f1_macro", "neg_log_loss"] if "criterion" in params else ["accuracy"]
    estimator = DecisionTreeClassifier(**params)
    asked = {"X": X, "y": y, "cv": LeaveOneOut(), "scoring": scoring[:2]}
    expected = theirs.cross_validate(estimator, **asked)
    assert_same_scores(expected, ours.cross_validate(estimator, **asked))


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "neg_mean_absolute_error"])
@pytest.mark.parametrize("cv", [LeaveOneOut(), KFold(N_ROWS), KFold(N_ROWS, shuffle=True)], ids=str)
def test_numbers_are_scored_as_by_scikit_learns_loop(scoring, cv):
    X, y = make_data(0)
    estimator = DecisionTreeRegressor(min_samples_leaf=2)
    asked = {"X": X, "y": y, "cv": cv, "scoring": scoring}
    if getattr(cv, "shuffle", False):
        asked["cv"] = list(cv.split(X))
    expected = theirs.cross_validate(estimator, **asked)
    assert_same_scores(expected, ours.cross_validate(estimator, **asked))


@pytest.mark.parametrize("weights", ["some", "many", "zero"])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_weights_are_kept(weights, n_classes):
    X, y = make_data(n_classes)
    random = np.random.default_rng(1)
    draw = {
        "some": lambda: random.integers(1, 4, N_ROWS).astype(float),
        "many": lambda: random.random(N_ROWS),
        "zero": lambda: random.integers(0, 2, N_ROWS).astype(float),
    }
    params = {"sample_weight": draw[weights]()}
    kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    estimator = kind(min_weight_fraction_leaf=0.05)
    scoring = "accuracy" if n_classes else "neg_mean_squared_error"
    asked = {"X": X, "y": y, "cv": LeaveOneOut(), "scoring": scoring, "params": params}
    expected = theirs.cross_validate(estimator, **asked)
    assert_same_scores(expected, ours.cross_validate(estimator, **asked))


@pytest.mark.filterwarnings("ignore:Number of classes in training fold")
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_predictions_are_those_of_the_trees(method):
    X, y = make_data(3)
    estimator = DecisionTreeClassifier(min_samples_leaf=2)
    expected = theirs.cross_val_predict(estimator, X, y, cv=LeaveOneOut(), method=method)
    actual = ours.cross_val_predict(estimator, X, y, cv=LeaveOneOut(), method=method)
    assert np.array_equal(expected, actual)
    asked = {"cv": LeaveOneOut(), "return_predictions": method}
    alone, together = (
        ours.cross_validate(estimator, X, y, sharing=sharing, **asked)["predictions"]
        for sharing in ("none", "auto")
    )
    assert [each.tolist() for each in alone] == [each.tolist() for each in together]


def test_a_search_answers_every_candidate():
    X, y = make_data(3)
    grid = {"max_depth": [1, 3], "min_samples_leaf": [1, 4], "min_samples_split": [2, 9]}
    expected, actual = (
        library.GridSearchCV(DecisionTreeClassifier(), grid, cv=LeaveOneOut()).fit(X, y)
        for library in (theirs, ours)
    )
    names = [f"split{row}_test_score" for row in range(N_ROWS)] + ["rank_test_score"]
    for name in names:
        assert np.array_equal(expected.cv_results_[name], actual.cv_results_[name]), name
    assert expected.best_params_ == actual.best_params_


def test_only_answers_are_grown_where_answers_are_enough():
    X, y = make_data(3)
    asked = {"X": X, "y": y, "cv": LeaveOneOut(), "return_work": True, "scoring": "accuracy"}
    estimator = DecisionTreeClassifier()
    work = ours.cross_validate(estimator, **asked)["work"]
    assert work["mode"] == "leave-one-out"
    assert 0 < work["statistic_updates"] < work["serial_statistic_updates"]
    whole = [{"return_estimator": True}, {"return_train_score": True}, {"sharing": "none"}]
    for options in whole:
        work = ours.cross_validate(estimator, **asked, **options)["work"]
        assert work["mode"] in ("folds", "none")


def test_the_final_tree_comes_beside_the_answers():
    X, y = make_data(3)
    result = ours.cross_validate(
        DecisionTreeClassifier(), X, y, cv=LeaveOneOut(), return_final_estimator=True
    )
    expected = DecisionTreeClassifier().fit(X, y)
    assert np.array_equal(expected.predict_proba(X), result["final_estimator"].predict_proba(X))


def test_memory_does_not_grow_with_the_number_of_trees():
    random = np.random.default_rng(0)
    X = random.random((1500, 4))
    y = (X[:, 0] + 0.3 * random.random(1500) > 0.6).astype(int)
    asked = {"cv": LeaveOneOut(), "return_work": True, "scoring": "accuracy"}
    work = ours.cross_validate(DecisionTreeClassifier(min_samples_leaf=5), X, y, **asked)["work"]
    one_layout = 4 * 1500 * (4 + 1)
    assert work["peak_bytes"] <= 8 * one_layout


def test_trees_may_be_as_deep_as_they_have_rows():
    n_rows = 600
    X, y = np.arange(n_rows, dtype=float).reshape(-1, 1), np.arange(n_rows) % 2
    asked = {"cv": LeaveOneOut(), "return_work": True, "return_predictions": "predict"}
    result = ours.cross_validate(DecisionTreeClassifier(), X, y, **asked)
    assert DecisionTreeClassifier().fit(X, y).get_depth() == n_rows - 1
    assert result["work"]["peak_bytes"] <= 20 * (4 * n_rows * 2)
    for row in (0, 1, 300, n_rows - 1):
        others = np.delete(np.arange(n_rows), row)
        alone = DecisionTreeClassifier().fit(X[others], y[others])
        assert alone.predict(X[[row]]) == result["predictions"][row]
