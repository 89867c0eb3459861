"""cross_validate of pipelines, of other libraries' estimators, and with routed metadata."""

import numpy as np
import pytest
import sklearn
from selection import (
    assert_same,
    assert_same_estimator,
    both,
    make_data,
    make_frame,
    outcome,
    poison,
)
from sklearn import model_selection as theirs
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from treefold import DecisionTreeClassifier
from treefold import model_selection as ours

DATA = make_data()
X, Y = DATA["X"], DATA["classes"]
FRAME = make_frame(X)
BALANCED = DecisionTreeClassifier(class_weight="balanced", min_samples_leaf=0.03)
PREPARE = ColumnTransformer(
    [
        ("labels", OneHotEncoder(handle_unknown="ignore"), ["colour", "size"]),
        ("x", "passthrough", ["x"]),
    ]
)
PIPELINES = {
    "scaler": (make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)), X),
    "imputer": (make_pipeline(SimpleImputer(), StandardScaler(), BALANCED), X),
    "columns": (Pipeline([("prepare", PREPARE), ("tree", DecisionTreeClassifier())]), FRAME),
    "targets": (
        make_pipeline(TargetEncoder(random_state=0), DecisionTreeClassifier(min_samples_leaf=3)),
        FRAME[["colour", "code"]],
    ),
    "frames": (
        make_pipeline(StandardScaler().set_output(transform="pandas"), DecisionTreeClassifier()),
        FRAME[["code", "x"]],
    ),
    "nothing": (Pipeline([("tree", DecisionTreeClassifier())]), X),
    "passthrough": (make_pipeline("passthrough", DecisionTreeClassifier()), X),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("is_sorted", [False, True])
def test_pipelines(name, is_sorted):
    pipeline, data = PIPELINES[name]
    y = np.sort(Y) if is_sorted else Y
    options = {
        "cv": theirs.KFold(3),
        "return_estimator": True,
        "return_train_score": True,
        "scoring": ["accuracy", "f1_macro"],
    }
    expected = outcome(lambda: theirs.cross_validate(pipeline, data, y, **options))
    actual = outcome(lambda: ours.cross_validate(pipeline, data, y, **options))
    assert_same(actual, expected)


def test_weights_reach_the_tree_of_a_pipeline():
    pipeline, _ = PIPELINES["scaler"]
    params = {"decisiontreeclassifier__sample_weight": DATA["weights"]}
    assert_same(*both("cross_validate", pipeline, X, Y, params=params, return_estimator=True))
    results = ours.cross_validate(pipeline, X, Y, params=params, return_final_estimator=True)
    assert_same_estimator(results["final_estimator"], sklearn.clone(pipeline).fit(X, Y, **params))


def test_test_rows_that_a_pipeline_cannot_read_have_the_same_outcome():
    bad = poison(X, 5)
    pipeline = make_pipeline("passthrough", DecisionTreeClassifier())
    assert_same(
        outcome(lambda: ours.cross_validate(pipeline, bad, Y)),
        outcome(lambda: theirs.cross_validate(pipeline, bad, Y)),
    )


def test_other_estimators_are_scikit_learns_business():
    data = np.nan_to_num(X)
    model = DummyClassifier(strategy="stratified", random_state=0)
    assert_same(*both("cross_validate", model, data, Y, return_train_score=True))
    results = ours.cross_validate(
        model,
        data,
        Y,
        return_work=True,
        return_predictions="predict_proba",
        return_final_estimator=True,
    )
    assert results["work"]["mode"] == "scikit-learn"
    assert [len(shares) for shares in results["predictions"]] == [32] * 5
    assert results["final_estimator"].n_classes_ == 3
    np.testing.assert_array_equal(*both("cross_val_predict", model, data, Y))
    np.testing.assert_array_equal(*both("cross_val_score", model, data, Y))


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_metadata_are_routed():
    tree = DecisionTreeClassifier().set_fit_request(sample_weight=True)
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    params = {"sample_weight": DATA["weights"], "groups": DATA["groups"]}
    options = {"scoring": scorer, "cv": theirs.GroupKFold(4), "params": params}
    assert_same(*both("cross_validate", tree, X, Y, return_estimator=True, **options))
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), tree)
    assert_same(*both("cross_validate", pipeline, X, Y, return_estimator=True, **options))


@pytest.mark.usefixtures("routing")
def test_metadata_that_nobody_requested_have_the_same_outcome():
    for options in ({"params": {"sample_weight": DATA["weights"]}}, {"groups": DATA["groups"]}):
        assert outcome(
            lambda o=options: ours.cross_validate(DecisionTreeClassifier(), X, Y, **o)
        ) == outcome(lambda o=options: theirs.cross_validate(DecisionTreeClassifier(), X, Y, **o))


@pytest.mark.usefixtures("routing")
def test_weights_that_a_pipelines_score_refuses_have_the_same_outcome():
    tree = DecisionTreeClassifier().set_fit_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), tree)
    options = {"params": {"sample_weight": DATA["weights"]}}
    actual = outcome(lambda: ours.cross_validate(pipeline, X, Y, **options))
    assert_same(actual, outcome(lambda: theirs.cross_validate(pipeline, X, Y, **options)))
    assert np.isnan(actual[0]["test_score"]).all()
