"""Nested cross-validation is scikit-learn's search over the outer folds, fold by fold."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
import sklearn
from selection import assert_same_estimator, make_data
from sklearn import model_selection as theirs
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, check_scoring, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treefold import (
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    InputError,
    ParameterError,
    Table,
)
from treefold.model_selection import nested_cross_validate, one_standard_error

DATA = make_data(120)
X, Y, NUMBERS, WEIGHTS = (DATA[name] for name in ("X", "classes", "numbers", "weights"))
TREE = DecisionTreeClassifier(random_state=0)
GRID = [{"max_depth": [1, 3, None], "min_samples_leaf": [1, 5]}, {"ccp_alpha": [0.01]}]


def nest(estimator, grid, X, y, *, cv, refit=True, scoring=None, weights=None, groups=None):
    """The same by scikit-learn: a search over the other folds for each fold, then over all."""
    splits = list(
        theirs.check_cv(cv, y, classifier=sklearn.base.is_classifier(estimator)).split(X, y, groups)
    )
    fold_of = np.full(len(y), -1)
    for number, (_, test) in enumerate(splits):
        fold_of[test] = number
    cut = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    scorer = check_scoring(estimator, scoring)

    def search(rows):
        found = theirs.GridSearchCV(
            estimator, grid, cv=theirs.PredefinedSplit(fold_of[rows]), refit=refit, scoring=scoring
        )
        params = {} if weights is None else {"sample_weight": weights[rows]}
        return found.fit(cut(rows), y[rows], **params)

    searches = [search(np.flatnonzero(fold_of != outer)) for outer in range(len(splits))]
    return {
        "test_score": [
            scorer(found.best_estimator_, cut(test), y[test])
            for found, (_, test) in zip(searches, splits, strict=True)
        ],
        "best_params": [found.best_params_ for found in searches],
        "inner_score": [
            found.cv_results_["mean_test_score"][found.best_index_] for found in searches
        ],
        "estimator": [found.best_estimator_ for found in searches],
        "final_estimator": search(np.arange(len(y))).best_estimator_,
    }


def assert_nested(estimator, grid, X, y, *, rule="best", weights=None, **options):
    extras = {"return_estimator": True, "return_final_estimator": True}
    params = None if weights is None else {"sample_weight": weights}
    actual = nested_cross_validate(
        estimator, grid, X, y, rule=rule, params=params, **options, **extras
    )
    refit = {"best": True, "one_se": one_standard_error}.get(rule, rule)
    expected = nest(estimator, grid, X, y, refit=refit, weights=weights, **options)
    assert list(actual) == list(expected)
    for name in ("test_score", "inner_score"):
        np.testing.assert_array_equal(actual[name], expected[name], name)
    assert actual["best_params"] == expected["best_params"]
    pairs = zip(actual["estimator"], expected["estimator"], strict=True)
    for one, other in [*pairs, (actual["final_estimator"], expected["final_estimator"])]:
        assert_same_estimator(one, other)


SPLITTERS = {
    "three": 3,
    "KFold": theirs.KFold(4, shuffle=True, random_state=0),
    "StratifiedKFold": theirs.StratifiedKFold(5),
    "GroupKFold": theirs.GroupKFold(3),
    "PredefinedSplit": theirs.PredefinedSplit(np.arange(120) % 4 - 1),
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_every_splitter(name):
    groups = DATA["groups"] if "Group" in name else None
    assert_nested(TREE, GRID, X, Y, cv=SPLITTERS[name], groups=groups)


@pytest.mark.parametrize("rule", ["best", "one_se", lambda results: 3])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss", "f1_macro"])
def test_every_rule_and_scoring(rule, scoring):
    assert_nested(TREE, GRID, X, Y, rule=rule, scoring=scoring, cv=3)


@pytest.mark.parametrize("scoring", [None, "f1_macro", "neg_log_loss"])
def test_weights(scoring):
    """Inner scores are weighted where scikit-learn's search weights them; the test score is not."""
    assert_nested(TREE, GRID, X, Y, weights=WEIGHTS, scoring=scoring, cv=3)


def test_the_first_of_equal_candidates_is_chosen():
    assert_nested(TREE, {"max_depth": [9, 40, 30], "random_state": [0, 1]}, X, Y, cv=4)


def give_nan_to_stumps(estimator, X, y):
    return np.nan if estimator.max_depth == 1 else estimator.score(X, y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_candidates_without_a_score_are_not_chosen():
    assert_nested(TREE, {"max_depth": [1, 2]}, X, Y, cv=4, scoring=give_nan_to_stumps)


def test_regression():
    grid = {"max_leaf_nodes": [2, 5, None], "min_samples_split": [2, 0.3]}
    assert_nested(DecisionTreeRegressor(), grid, X, NUMBERS, cv=4)


def test_pipelines_and_frames():
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    grid = {"decisiontreeclassifier__max_depth": [1, 3, None]}
    assert_nested(pipeline, grid, X, Y, cv=3)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(colour=np.array(["r", "g", "b"])[Y])
    assert_nested(TREE, GRID, frame, DATA["binary"], cv=3)


def test_other_estimators():
    grid = {"strategy": ["prior", "most_frequent", "uniform"]}
    estimator = DummyClassifier(random_state=0)
    actual = nested_cross_validate(estimator, grid, X, Y, cv=3, scoring="neg_log_loss")
    expected = nest(estimator, grid, X, Y, cv=3, scoring="neg_log_loss")
    for name in actual:
        np.testing.assert_array_equal(actual[name], expected[name])


def test_metadata_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        tree = DecisionTreeClassifier().set_fit_request(sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        options = {"cv": theirs.GroupKFold(3), "scoring": scorer}
        params = {"sample_weight": WEIGHTS, "groups": DATA["groups"]}
        routed = nested_cross_validate(tree, GRID, X, Y, params=params, **options)
    splits = list(theirs.GroupKFold(3).split(X, Y, DATA["groups"]))
    for score, best, (train, test) in zip(
        routed["test_score"], routed["best_params"], splits, strict=True
    ):
        fitted = DecisionTreeClassifier(**best).fit(X[train], Y[train], WEIGHTS[train])
        assert score == accuracy_score(
            Y[test], fitted.predict(X[test]), sample_weight=WEIGHTS[test]
        )


def test_each_training_set_grows_once(monkeypatch):
    from treefold.evaluation import growing  # noqa: PLC0415 - what this test looks into

    n_members = []
    grow = growing.grow_family

    def counting(table, target, members, **options):
        n_members.append(len(members))
        return grow(table, target, members, **options)

    monkeypatch.setattr(growing, "grow_family", counting)
    paths = {"max_depth": [1, 2, 3], "ccp_alpha": [0.0, 0.1]}
    nested_cross_validate(TREE, paths, X, Y, cv=5, return_final_estimator=True)
    assert n_members == [1 + 5 + 10]


def test_a_table_is_accepted():
    actual = nested_cross_validate(TREE, GRID, Table.from_data(X), Y, cv=3)
    expected = nested_cross_validate(TREE, GRID, X, Y, cv=3)
    np.testing.assert_array_equal(actual["test_score"], expected["test_score"])


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [(TREE, GRID), (DummyClassifier(random_state=0), {"strategy": ["prior", "uniform"]})],
)
def test_the_evaluation_tells_the_choice_and_what_it_is_worth(estimator, grid):
    results = nested_cross_validate(
        estimator, grid, X, Y, cv=4, scoring="accuracy", rule="one_se", return_evaluation=True
    )
    search = theirs.GridSearchCV(
        estimator, grid, cv=4, scoring="accuracy", refit=one_standard_error
    ).fit(X, Y)
    evaluation, table, best = results["evaluation"], search.cv_results_, search.best_index_
    assert evaluation.scoring == "accuracy"
    scores = [table[f"split{k}_test_score"][best] for k in range(4)]
    assert evaluation.test_scores["accuracy"].tolist() == scores
    assert evaluation.chosen == {"index": best, "params": search.best_params_, "rule": "one_se"}
    np.testing.assert_array_equal(evaluation.path["mean_test_score"], table["mean_test_score"])
    frame = evaluation.to_frame()
    assert len(frame) == len(table["params"])
    for number, params in enumerate(table["params"]):
        for name in evaluation.path.keys() - {"mean_test_score", "std_test_score"}:
            value = frame[name][number]
            assert value == params.get(name) or pd.isna(value)
    assert evaluation.nested["best_params"] == results["best_params"]
    assert evaluation.nested["test_score"] is results["test_score"]
    assert "nested" in repr(evaluation)
    assert "4 outer splits" in evaluation._repr_html_()
    assert "a little too good" not in repr(evaluation)
    assert json.loads(json.dumps(evaluation.to_dict()))["nested"]["best_params"]


def test_the_evaluation_of_a_cv_estimator_takes_up_nested_scores():
    model = DecisionTreeClassifierCV(cv=3, min_samples_leaf=(1, 5), ccp_alpha=0.0).fit(X, Y)
    nested = nested_cross_validate(
        TREE, {"min_samples_leaf": [1, 5]}, X, Y, cv=3, scoring="neg_brier_score"
    )
    whole = dataclasses.replace(model.evaluation_, nested=nested)
    assert "3 outer splits" in repr(whole)
    assert whole.to_dict()["nested"]["test_score"] == nested["test_score"].tolist()


def test_indices_are_returned_if_asked_for():
    results = nested_cross_validate(TREE, GRID, X, Y, cv=3, return_indices=True)
    for k, (train, test) in enumerate(theirs.StratifiedKFold(3).split(X, Y)):
        np.testing.assert_array_equal(results["indices"]["train"][k], train)
        np.testing.assert_array_equal(results["indices"]["test"][k], test)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 2}, "needs at least 3 folds, but cv gives 2"),
        ({"cv": theirs.TimeSeriesSplit(3)}, "Split 0 of cv does not"),
        ({"cv": theirs.ShuffleSplit(3, random_state=0)}, "no row may be held out twice"),
        ({"cv": theirs.RepeatedKFold(n_splits=3, n_repeats=2)}, "Split 3 of cv does not"),
        ({"cv": [([], [0])] * 3}, "Split 0 of cv does not"),
        ({"rule": "worst"}, "The 'rule' parameter of nested_cross_validate must be"),
        ({"scoring": ["accuracy"]}, "The 'scoring' parameter of nested_cross_validate must be"),
        ({"cv": "five"}, "The 'cv' parameter of nested_cross_validate must be"),
    ],
)
def test_what_has_no_meaning_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        nested_cross_validate(TREE, GRID, X, Y, **options)


def test_one_metric_is_chosen_by():
    with pytest.raises(ParameterError, match="chooses by one metric"):
        nested_cross_validate(TREE, GRID, X, Y, scoring=lambda *_: {"a": 1.0, "b": 2.0})


def test_a_grid_without_meaning_is_refused():
    with pytest.raises(ValueError, match="All the 8 fits failed"):
        nested_cross_validate(TREE, {"max_depth": [0, -1]}, X, Y)
    with pytest.raises(InputError):
        nested_cross_validate(TREE, GRID, X, Y, cv=2)
