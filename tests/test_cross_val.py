"""cross_val_predict, cross_val_score and validation_curve give what scikit-learn's give."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse
from selection import assert_same, both, make_data, make_frame, outcome
from sklearn import model_selection as theirs
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from treefold import DecisionTreeClassifier, DecisionTreeRegressor
from treefold import model_selection as ours

DATA = make_data()
X, Y, NUMBERS = DATA["X"], DATA["classes"], DATA["numbers"]
TREE = DecisionTreeClassifier()
PIPELINE = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_cross_val_predict(method, is_sorted):
    y = np.array(["a", "b", "c"])[np.sort(Y) if is_sorted else Y]
    for cv in (4, theirs.KFold(3), theirs.LeaveOneGroupOut()):
        options = {"cv": cv, "method": method, "groups": DATA["groups"]}
        expected = outcome(lambda o=options: theirs.cross_val_predict(TREE, X, y, **o))
        actual = outcome(lambda o=options: ours.cross_val_predict(TREE, X, y, **o))
        assert_same(actual, expected)


def test_class_weights_keep_their_labels_when_probabilities_are_predicted():
    y = np.array(["a", "b", "c"])[Y]
    tree = DecisionTreeClassifier(class_weight={"a": 5.0}, max_depth=2)
    shares = ours.cross_val_predict(tree, X, y, cv=4, method="predict_proba")
    results = ours.cross_validate(tree, X, y, cv=4, return_indices=True, return_estimator=True)
    for test, fitted in zip(results["indices"]["test"], results["estimator"], strict=True):
        np.testing.assert_array_equal(shares[test], fitted.predict_proba(X[test]))


def test_lists_of_shares_of_other_libraries_are_returned_as_they_came():
    several = np.stack([Y > 0, Y > 1, Y == 1], axis=1)
    forest = RandomForestClassifier(n_estimators=2, random_state=0)
    options = {"cv": 3, "method": "predict_proba"}
    expected = theirs.cross_val_predict(forest, X[:, :2], several, **options)
    actual = ours.cross_val_predict(forest, X[:, :2], several, **options)
    assert type(actual) is type(expected) is list
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_sparse_answers_of_other_libraries_stay_sparse():
    several = csr_matrix(np.stack([Y > 0, Y > 1], axis=1).astype(float))
    model = DummyClassifier(strategy="constant", constant=[1, 0])
    expected = theirs.cross_val_predict(model, X[:, :2], several, cv=3)
    actual = ours.cross_val_predict(model, X[:, :2], several, cv=3)
    assert issparse(actual)
    np.testing.assert_array_equal(actual.toarray(), expected.toarray())


def test_cross_val_predict_of_numbers_and_pipelines():
    np.testing.assert_array_equal(*both("cross_val_predict", DecisionTreeRegressor(), X, NUMBERS))
    encoder = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier())
    for pipeline, data in ((PIPELINE, X), (encoder, make_frame(X)[["colour", "code"]])):
        for method in ("predict", "predict_proba"):
            results = both("cross_val_predict", pipeline, data, Y, method=method)
            np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    "options",
    [
        {"cv": theirs.TimeSeriesSplit(3)},
        {"method": "decision_function"},
        {"method": "nonsense"},
        {"params": {"sample_weight": -np.ones(160)}},
    ],
)
def test_bad_cross_val_predict_has_the_same_outcome(options):
    assert outcome(lambda: ours.cross_val_predict(TREE, X, Y, **options)) == outcome(
        lambda: theirs.cross_val_predict(TREE, X, Y, **options)
    )


def test_cross_val_score():
    np.testing.assert_array_equal(*both("cross_val_score", TREE, X, Y, scoring="f1_macro"))
    for options in ({"scoring": ["accuracy"]}, {"cv": "five"}):
        assert outcome(lambda o=options: ours.cross_val_score(TREE, X, Y, **o)) == outcome(
            lambda o=options: theirs.cross_val_score(TREE, X, Y, **o)
        )


CURVES = {
    "max_depth": [1, 2, 3, None],
    "min_samples_split": [2, 10, 0.1, 0.9],
    "max_leaf_nodes": [None, 2, 5, 30],
    "min_impurity_decrease": [0.0, 0.01, 0.1],
    "ccp_alpha": [0.0, 0.001, 0.01, 0.5],
    "min_samples_leaf": [1, 5, 0.1],
    "criterion": ["gini", "entropy", "log_loss", "gain_ratio"],
    "class_weight": [None, "balanced", {0: 3}],
    "max_features": [1, 3, "sqrt"],
}


@pytest.mark.parametrize("name", CURVES)
def test_validation_curve(name):
    tree = DecisionTreeClassifier(random_state=0)
    options = {"param_name": name, "param_range": CURVES[name], "cv": 3}
    np.testing.assert_array_equal(*both("validation_curve", tree, X, Y, **options))


def test_validation_curve_of_a_pipeline_and_of_others():
    options = {"param_name": "decisiontreeclassifier__max_depth", "param_range": [1, 2, 9]}
    np.testing.assert_array_equal(*both("validation_curve", PIPELINE, X, Y, **options))
    options = {"param_name": "strategy", "param_range": ["uniform", "prior"], "cv": 2}
    data = np.nan_to_num(X)
    np.testing.assert_array_equal(
        *both(
            "validation_curve",
            DummyClassifier(strategy="stratified", random_state=0),
            data,
            Y,
            **options,
        )
    )
