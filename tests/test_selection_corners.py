"""Corners of model selection in which scikit-learn's own functions, run on our trees, are right."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from selection import assert_same, assert_same_estimator, outcome
from sklearn import model_selection as theirs
from sklearn import tree as their_trees
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from treefold import (
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    DecisionTreeRegressorCV,
    InputError,
    ParameterError,
    Table,
)
from treefold import model_selection as ours

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
WEIGHTS = RNG.random(60)
GROUPS = np.arange(60) % 6
SHALLOW = DecisionTreeClassifier(max_depth=2), DecisionTreeRegressor(max_depth=2)


def compare(call):
    """What our module gives and says is what scikit-learn's does."""
    (one, said), (other, expected) = (outcome(lambda m=m: call(m)) for m in (ours, theirs))
    assert said == expected
    assert_same(one, other)


# Candidates of another kind ---------------------------------------------------------------------


@pytest.mark.parametrize("scoring", [None, "r2", "accuracy", "neg_mean_squared_error"])
@pytest.mark.parametrize("candidates", [SHALLOW, SHALLOW[::-1], SHALLOW[1:]])
@pytest.mark.parametrize("own", [DecisionTreeClassifier(), DecisionTreeRegressor()])
def test_a_search_may_replace_the_tree_of_a_pipeline_by_one_of_the_other_kind(
    scoring, candidates, own
):
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", own)])
    grid = {"tree": list(candidates)}
    compare(
        lambda m: (
            m.GridSearchCV(pipeline, grid, scoring=scoring, cv=3, refit=False).fit(X, Y).cv_results_
        )
    )


# Leaves of candidates ---------------------------------------------------------------------------


def test_candidates_that_prune_nothing_have_the_leaves_of_the_whole_tree():
    for seed in range(778, 788):  # zero-gain splits, which any pruning takes away
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 3, (30, 2)).astype(float)
        labels = ((rows.sum(axis=1) + rng.integers(0, 2, 30)) % 2).astype(int)
        model = DecisionTreeClassifierCV(
            min_samples_leaf=[1, 2], max_depth=[2, 3, None], cv=3, scoring="accuracy"
        ).fit(rows, labels)
        grown = [
            DecisionTreeClassifier(**params).fit(rows, labels).get_n_leaves()
            for params in model.cv_results_["params"]
        ]
        assert model.cv_results_["n_leaves"].tolist() == grown, seed
        assert model.cv_results_["n_leaves"][model.best_index_] == model.get_n_leaves()


# Categories of nullable columns -----------------------------------------------------------------


def nullable_columns():
    ids = [None, *(2**60 + row % 4 for row in range(1, 24))]
    flags = [None, *(row % 2 == 0 for row in range(23))]
    return {
        "pandas ids": pd.DataFrame({"c": pd.array(ids, dtype="Int64")}),
        "polars ids": pl.DataFrame({"c": pl.Series(ids, dtype=pl.Int64)}),
        "small ids": pd.DataFrame({"c": pd.array([None, *range(1, 24)], dtype="Int64") % 5}),
        "flags": pd.DataFrame({"c": pd.array(flags, dtype="boolean")}),
    }


@pytest.mark.parametrize("name", nullable_columns())
def test_folds_without_the_missing_value_keep_their_labels(name):
    frame, labels = nullable_columns()[name], [row % 2 for row in range(24)]
    tree = DecisionTreeClassifier(categorical_features=["c"])
    options = {"cv": KFold(4), "return_estimator": True}
    compare(lambda m: m.cross_validate(tree, frame, labels, **options))
    kept = ours.cross_validate(tree, frame, labels, **options)["estimator"][0]
    alone = theirs.cross_validate(tree, frame, labels, **options)["estimator"][0]
    types = [[type(label) for label in one.tree_.schema.categories[0]] for one in (kept, alone)]
    assert types[0] == types[1]


# Estimators of other libraries ------------------------------------------------------------------


@pytest.fixture
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("_routing")
def test_nested_searches_of_other_libraries_route_what_the_caller_gave():
    grid = {"C": [0.001, 0.01, 0.1, 1, 10]}
    weighted = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    model = LogisticRegression().set_fit_request(sample_weight=False)
    found = ours.nested_cross_validate(
        model, grid, X, Y, scoring=weighted, cv=4, params={"sample_weight": WEIGHTS}
    )
    fold_of = np.empty(60, dtype=int)
    for fold, (_, test) in enumerate(StratifiedKFold(4).split(X, Y)):
        fold_of[test] = fold
    for fold in range(4):
        rest = fold_of != fold
        search = theirs.GridSearchCV(
            model, grid, scoring=weighted, cv=PredefinedSplit(fold_of[rest])
        ).fit(X[rest], Y[rest], sample_weight=WEIGHTS[rest])
        assert found["inner_score"][fold] == search.best_score_
        assert found["best_params"][fold] == search.best_params_
        score = search.score(X[~rest], Y[~rest], sample_weight=WEIGHTS[~rest])
        assert found["test_score"][fold] == score


@pytest.mark.usefixtures("_routing")
def test_nested_searches_of_other_libraries_know_other_names_of_weights():
    model = LogisticRegression().set_fit_request(sample_weight="importance")
    own = LogisticRegression().set_fit_request(sample_weight=True)
    own.set_score_request(sample_weight=False)
    grid = {"C": [0.01, 1]}
    renamed, plain = (
        ours.nested_cross_validate(one, grid, X, Y, cv=4, params={name: WEIGHTS})
        for one, name in ((model, "importance"), (own, "sample_weight"))
    )
    assert_same(renamed, plain)


@pytest.mark.usefixtures("_routing")
def test_the_final_estimator_of_another_library_gets_what_its_fit_asks_for():
    result = ours.cross_validate(
        LogisticRegression(),
        X,
        Y,
        cv=GroupKFold(3),
        params={"groups": GROUPS},
        return_final_estimator=True,
    )
    expected = LogisticRegression().fit(X, Y).coef_
    np.testing.assert_array_equal(result["final_estimator"].coef_, expected)
    weighted = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    result = ours.cross_validate(
        LogisticRegression().set_fit_request(sample_weight=False),
        X,
        Y,
        scoring=weighted,
        params={"sample_weight": WEIGHTS},
        return_final_estimator=True,
    )
    np.testing.assert_array_equal(result["final_estimator"].coef_, expected)


class Fragile(their_trees.DecisionTreeClassifier):
    def fit(self, X, y):
        if 0.0 in X[:, 0]:
            raise ValueError("boom")
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_split_that_failed_has_no_predictions():
    rows = X.copy()
    rows[0, 0] = 0
    result = ours.cross_validate(Fragile(), rows, Y, cv=KFold(3), return_predictions="predict")
    assert [one is None for one in result["predictions"]] == [False, True, True]


def test_predictions_of_estimators_that_are_given_distances():
    result = ours.cross_validate(
        SVC(kernel="precomputed"), X @ X.T, Y, cv=KFold(3), return_predictions="predict"
    )
    for (train, test), predicted in zip(KFold(3).split(X), result["predictions"], strict=True):
        own = SVC(kernel="precomputed").fit(X[train] @ X[train].T, Y[train])
        np.testing.assert_array_equal(predicted, own.predict(X[test] @ X[train].T))


# Errors and warnings ----------------------------------------------------------------------------


def test_nested_search_warns_of_candidates_that_cannot_be_fitted():
    def search(error_score, depths):
        return outcome(
            lambda: ours.nested_cross_validate(
                DecisionTreeClassifier(), {"max_depth": depths}, X, Y, error_score=error_score
            )
        )

    for error_score in (0, np.nan):
        _, said = search(error_score, [1, -1])
        assert "FitFailedWarning" in {kind for kind, _ in said}
        (kind, message), _ = search(error_score, [-1])
        assert kind == "ValueError"
        assert "fits failed" in message


def test_nested_search_asks_for_a_candidate():
    with pytest.raises(ParameterError, match="param_grid holds no candidate"):
        ours.nested_cross_validate(DecisionTreeClassifier(), [], X, Y)


@dataclasses.dataclass
class Hit:  # a dataclass has no hash
    margin: float
    __name__ = "Hit"

    def __call__(self, truth, predicted):
        return float(np.mean(np.abs(truth - predicted) <= self.margin))


@pytest.mark.parametrize("cv", [3, theirs.LeaveOneOut()])
def test_scorers_whose_function_has_no_hash(cv):
    scorer = make_scorer(Hit(0.5))
    tree = DecisionTreeRegressor(max_depth=2)
    compare(lambda m: m.cross_val_score(tree, X, X[:, 0] ** 2, scoring=scorer, cv=cv))
    assert DecisionTreeRegressorCV(scoring=scorer).fit(X, X[:, 0]).best_score_ > 0


def count_right(estimator, X, y):
    return float(np.mean(estimator.predict(X) == y))


@pytest.mark.parametrize("form", ["coo", "dia", "bsr", "csr", "csc"])
def test_any_function_scores_cross_validated_trees_of_any_sparse_matrix(form):
    matrix = getattr(sparse, f"{form}_matrix")(X)
    model = DecisionTreeClassifierCV(scoring=count_right).fit(matrix, Y)
    assert model.best_score_ == DecisionTreeClassifierCV(scoring="accuracy").fit(X, Y).best_score_


def test_functions_that_score_cross_validated_trees_of_a_table_see_predictions():
    table = Table.from_data(X)
    model = DecisionTreeClassifierCV(scoring=count_right).fit(table, Y)
    assert model.best_score_ == DecisionTreeClassifierCV(scoring=count_right).fit(X, Y).best_score_


def test_a_table_does_not_hide_which_parameter_is_wrong():
    table = Table.from_data(X)
    grid = {"max_depth": [2, -1]}
    (one, said), (other, expected) = (
        outcome(lambda d=d: ours.GridSearchCV(DecisionTreeClassifier(), grid).fit(d, Y).cv_results_)
        for d in (table, X)
    )
    assert said == expected
    assert_same(one, other)
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", DecisionTreeClassifier())])
    with pytest.raises(InputError, match="pipeline"):
        ours.cross_validate(pipeline, table, Y)


def test_a_search_without_splits_says_so():
    compare(lambda m: m.GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}, cv=[]).fit(X, Y))


def give_two(estimator, X, y):
    return {"a": 1.0, "b": 2.0}


@pytest.mark.filterwarnings("ignore:Scoring failed")
@pytest.mark.parametrize("error_score", [np.nan, "raise"])
def test_a_scorer_that_must_give_a_number(error_score):
    tree, options = DecisionTreeClassifier(), {"error_score": error_score}
    compare(lambda m: m.cross_val_score(tree, X, Y, scoring=give_two, **options))
    compare(lambda m: m.cross_validate(tree, X, Y, scoring={"x": give_two}, **options))


def test_regressors_have_no_probabilities():
    for tree in (
        DecisionTreeRegressor(),
        Pipeline([("scale", StandardScaler()), ("tree", DecisionTreeRegressor())]),
    ):
        with pytest.raises(AttributeError, match="predict_proba"):
            ours.cross_validate(tree, X, X[:, 0], return_predictions="predict_proba")


# Rounding ---------------------------------------------------------------------------------------


def test_balanced_weights_of_a_class_that_no_training_row_has():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = np.append(rng.integers(0, 2, 8), 0).reshape(-1, 1).astype(float)
        labels, weights = np.append(rng.integers(0, 3, 8), 3), rng.random(9)
        kept, alone = (
            m.cross_validate(
                DecisionTreeClassifier(class_weight="balanced"),
                rows,
                labels,
                cv=[(np.arange(8), [8])],
                params={"sample_weight": weights},
                return_estimator=True,
                error_score="raise",
            )["estimator"][0]
            for m in (ours, theirs)
        )
        assert_same_estimator(kept, alone)


def test_the_sign_of_zero_in_a_leaf_does_not_depend_on_the_order_of_rows():
    rows = [[0.0], [0.0], [1.0]]
    signs = [
        np.signbit(DecisionTreeRegressor().fit(rows, y).predict([[0.0]])).tolist()
        for y in ([0.0, -0.0, 1], [-0.0, 0.0, 1])
    ]
    assert signs == [[False], [False]]
