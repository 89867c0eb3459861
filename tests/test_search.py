"""The searches give what scikit-learn's searches give on our estimators."""

import sys
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from interrupts import interrupt
from scipy import stats
from selection import assert_same, assert_same_estimator, make_data, outcome
from sklearn import model_selection as theirs
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, ParameterError, Table
from treefold import model_selection as ours

DATA = make_data(120)
X, Y, NUMBERS, WEIGHTS = (DATA[name] for name in ("X", "classes", "numbers", "weights"))
TREE = DecisionTreeClassifier(random_state=0)
ATTRIBUTES = ("best_index_", "best_params_", "best_score_", "multimetric_", "n_splits_")

GRIDS = {
    "one path": {"max_depth": [None, 1, 2, 3, 5]},
    "all paths": {
        "max_depth": [None, 3],
        "min_samples_split": [2, 0.2],
        "min_impurity_decrease": [0.0, 0.01],
        "max_leaf_nodes": [None, 6],
        "ccp_alpha": [0.0, 0.01],
    },
    "members": {
        "criterion": ["gini", "entropy"],
        "min_samples_leaf": [1, 0.05],
        "class_weight": [None, "balanced", {0: 2}],
        "max_depth": [2, 4],
    },
    "runs": {"max_features": [None, 1, 0.5], "random_state": [0, 1], "ccp_alpha": [0.0, 0.01]},
    "list": [{"max_depth": [2, 3]}, {"min_samples_leaf": [5], "criterion": ["entropy"]}, {}],
    "equal": {"max_depth": [50, 60, 70]},
    "nothing": {},
    "whole and fraction": {"min_samples_split": [2, 1.0], "min_samples_leaf": [1, 0.5]},
}


def fit_both(estimator, candidates, X, y, *, fit_params=None, name="GridSearchCV", **options):
    """Fit our search and scikit-learn's: (search or error, warnings) of each."""
    fit_params = fit_params or {}
    searches = [
        getattr(module, name)(estimator, candidates, **options) for module in (ours, theirs)
    ]
    return [outcome(lambda s=search: s.fit(X, y, **fit_params)) for search in searches]


def assert_same_search(pair):
    (one, said), (other, expected) = pair
    assert said == expected
    if isinstance(other, tuple):  # an error
        assert one == other
        return
    assert_same(one.cv_results_, other.cv_results_)
    for name in ATTRIBUTES:
        assert hasattr(one, name) == hasattr(other, name), name
        if hasattr(other, name):
            assert_same(getattr(one, name), getattr(other, name))
    assert hasattr(one, "best_estimator_") == hasattr(other, "best_estimator_")
    if hasattr(other, "best_estimator_"):
        assert_same_estimator(one.best_estimator_, other.best_estimator_)
        assert one.refit_time_ >= 0


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_grids_of_every_kind(grid, weights):
    params = {"sample_weight": weights} if weights is not None else {}
    pair = fit_both(TREE, GRIDS[grid], X, Y, fit_params=params, cv=3, return_train_score=True)
    assert_same_search(pair)


def test_grids_of_regression_trees():
    grid = {"max_depth": [2, None], "ccp_alpha": [0.0, 0.01], "min_samples_leaf": [1, 4]}
    options = {"scoring": ["r2", "neg_mean_absolute_error"], "refit": "r2"}
    assert_same_search(fit_both(DecisionTreeRegressor(), grid, X, NUMBERS, **options))


@pytest.mark.parametrize("seed", range(3))
def test_random_searches(seed):
    distributions = {
        "max_depth": stats.randint(1, 9),
        "ccp_alpha": stats.loguniform(1e-4, 1e-1),
        "min_samples_leaf": [1, 2, 8],
        "max_leaf_nodes": [None, 5, 9],
    }
    options = {"name": "RandomizedSearchCV", "n_iter": 12, "random_state": seed}
    assert_same_search(fit_both(TREE, distributions, X, Y, **options))


def leaves_and_accuracy(estimator, X, y):
    return {"leaves": -estimator.get_n_leaves(), "right": accuracy_score(y, estimator.predict(X))}


@pytest.mark.parametrize(
    ("scoring", "refit"),
    [
        ("balanced_accuracy", True),
        ("neg_log_loss", False),
        (["accuracy", "f1_macro"], "f1_macro"),
        (["accuracy", "f1_macro"], False),
        (["accuracy", "f1_macro"], True),
        ({"a": "accuracy", "b": make_scorer(accuracy_score, normalize=False)}, "b"),
        ({"score": "accuracy", "f1": "f1_macro"}, "score"),
        (leaves_and_accuracy, "right"),
        (leaves_and_accuracy, True),
        (lambda estimator, X, y: -estimator.tree_.node_count, True),
        (None, lambda results: int(np.argmin(results["mean_test_score"]))),
        (None, lambda results: 1000),
        (None, lambda results: "first"),
        ("nonsense", True),
    ],
)
def test_every_kind_of_scoring_and_refit(scoring, refit):
    options = {"scoring": scoring, "refit": refit, "cv": 3, "return_train_score": True}
    assert_same_search(
        fit_both(TREE, {"max_depth": [1, 3], "ccp_alpha": [0, 0.02]}, X, Y, **options)
    )


@pytest.mark.parametrize("error_score", [np.nan, 0.0, "raise"])
@pytest.mark.parametrize(
    "grid",
    [
        {"max_depth": [0, 2]},
        {"max_depth": [0, -1]},
        {"criterion": ["gini", "nonsense"], "max_depth": [1, 2]},
        {"n_jobs": [0, 1]},
        {"class_weight": [None, {7: 1.0}]},
        {"nonsense": [1]},
    ],
)
def test_candidates_without_meaning_have_the_same_outcome(grid, error_score):
    assert_same_search(fit_both(TREE, grid, X, Y, error_score=error_score, cv=3))


def test_folds_without_a_class_have_the_same_outcome():
    options = {"cv": theirs.KFold(3), "scoring": ["accuracy", "roc_auc_ovr"], "refit": "accuracy"}
    assert_same_search(fit_both(TREE, {"max_depth": [1, 4]}, X, np.sort(Y), **options))


SPLITTERS = {
    "KFold": theirs.KFold(3, shuffle=True, random_state=0),
    "GroupKFold": theirs.GroupKFold(3),
    "RepeatedStratifiedKFold": theirs.RepeatedStratifiedKFold(
        n_splits=2, n_repeats=2, random_state=0
    ),
    "LeaveOneOut": theirs.LeaveOneOut(),
    "PredefinedSplit": theirs.PredefinedSplit(np.arange(120) % 4 - 1),
    "TimeSeriesSplit": theirs.TimeSeriesSplit(3),
    "ShuffleSplit": theirs.StratifiedShuffleSplit(2, test_size=0.3, random_state=0),
    "iterable": [(np.arange(60), np.arange(60, 120)), (np.arange(30, 90), np.arange(30))],
    "irregular": [(np.arange(60), np.arange(60, 120)), (np.array([], dtype=int), np.arange(30))],
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_every_splitter(name):
    params = {"groups": DATA["groups"]} if "Group" in name else {}
    rows = slice(0, 40) if name == "LeaveOneOut" else slice(None)
    grid = {"max_depth": [1, 4], "min_samples_leaf": [1, 3]}
    options = {"cv": SPLITTERS[name], "fit_params": params}
    assert_same_search(fit_both(TREE, grid, X[rows], Y[rows], **options))


@pytest.mark.parametrize(
    ("bad_y", "options"),
    [(Y[:-1], {}), (None, {}), (Y, {"cv": 1000}), (Y, {"refit": "accuracy"}), (Y, {"cv": "five"})],
)
def test_bad_input_has_the_same_outcome(bad_y, options):
    assert_same_search(fit_both(TREE, {"max_depth": [1, 2]}, X, bad_y, **options))


@pytest.mark.parametrize(
    "grid",
    [
        {"tree__max_depth": [1, 2, None], "tree__ccp_alpha": [0.0, 0.01]},
        {"tree__min_samples_leaf": [1, 9], "impute__strategy": ["mean", "median"]},
        {"choose__k": [1, 3], "tree__max_leaf_nodes": [3, 8], "tree__max_depth": [0, 2]},
        {"choose": ["passthrough", StandardScaler()], "tree__max_depth": [1, 3]},
        {"tree": [DecisionTreeClassifier(max_depth=1), DummyClassifier()]},
    ],
)
def test_pipelines(grid):
    pipeline = Pipeline(
        [
            ("impute", SimpleImputer()),
            ("choose", SelectKBest(k=2)),
            ("tree", DecisionTreeClassifier()),
        ]
    )
    params = {"tree__sample_weight": WEIGHTS} if "tree" not in grid else {}
    assert_same_search(fit_both(pipeline, grid, X, Y, cv=3, fit_params=params))


def test_transformers_are_fitted_once_per_fold():
    fits = []

    class Counting(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    pipeline = make_pipeline(Counting(), DecisionTreeClassifier())
    grid = {"decisiontreeclassifier__max_depth": range(1, 20)}
    ours.GridSearchCV(pipeline, grid, cv=4, refit=False).fit(X, Y)
    assert fits == [90] * 4


def test_data_frames_and_names():
    frame = pd.DataFrame(X, columns=list("abcde")).assign(colour=np.array(["r", "g", "b"])[Y])
    grid = {"max_depth": [1, 2], "categorical_features": [["colour"], "from_dtype"]}
    pair = fit_both(TREE, grid, frame, NUMBERS > 0)
    assert_same_search(pair)
    assert pair[0][0].feature_names_in_.tolist() == frame.columns.tolist()


def test_a_table_is_accepted():
    search = ours.GridSearchCV(TREE, {"max_depth": [1, 2, 3]}).fit(Table.from_data(X), Y)
    expected = theirs.GridSearchCV(TREE, {"max_depth": [1, 2, 3]}).fit(X, Y)
    assert_same(search.cv_results_, expected.cv_results_)
    np.testing.assert_array_equal(search.predict(X), expected.predict(X))


def test_other_estimators_are_scikit_learns_business():
    pair = fit_both(
        DummyClassifier(), {"strategy": ["prior", "most_frequent"]}, np.zeros((120, 1)), Y
    )
    assert_same(pair[0][0].cv_results_, pair[1][0].cv_results_)
    assert pair[0][0].work_ == {"mode": "scikit-learn"}


def test_metadata_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        tree = DecisionTreeClassifier().set_fit_request(sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        params = {"sample_weight": WEIGHTS, "groups": DATA["groups"]}
        options = {"scoring": scorer, "cv": theirs.GroupKFold(3), "fit_params": params}
        assert_same_search(fit_both(tree, {"max_depth": [1, 3]}, X, Y, **options))


def test_a_search_is_an_estimator():
    search = sklearn.clone(ours.GridSearchCV(TREE, {"max_depth": [1, 3]}))
    scores = ours.cross_val_score(search, X, Y, cv=3)
    expected = theirs.cross_val_score(theirs.GridSearchCV(TREE, {"max_depth": [1, 3]}), X, Y, cv=3)
    np.testing.assert_array_equal(scores, expected)
    assert sklearn.base.is_classifier(search)


def test_trees_are_not_grown_again_for_path_parameters(monkeypatch):
    from treefold.evaluation import growing  # noqa: PLC0415 - what this test looks into

    n_members = []
    grow = growing.grow_family

    def counting(table, target, members, **options):
        n_members.append(len(members))
        return grow(table, target, members, **options)

    monkeypatch.setattr(growing, "grow_family", counting)
    ours.GridSearchCV(TREE, GRIDS["all paths"], cv=4).fit(X, Y)
    assert n_members == [5]  # four folds and the tree of all rows
    n_members.clear()
    ours.GridSearchCV(TREE, GRIDS["members"], cv=4).fit(X, Y)
    assert n_members == [4 * 12, 1]


def test_work_of_several_growths_adds_up(monkeypatch):
    from treefold.evaluation import growing  # noqa: PLC0415 - what this test looks into

    works = [
        {"mode": "folds", "updates": 5, "by_members": np.array([0, 3]), "peak_bytes": 9, "f": 0.5},
        {
            "mode": "none",
            "updates": 2,
            "by_members": np.array([0, 1, 4]),
            "peak_bytes": 7,
            "f": 1.0,
        },
    ]
    grow, given = growing.grow_family, iter(works)

    def replaced(*arguments, **options):
        family = grow(*arguments, **options)
        return replace(family, work=next(given))

    monkeypatch.setattr(growing, "grow_family", replaced)
    search = ours.GridSearchCV(TREE, {"max_features": [1, 2]}, refit=False).fit(X, Y)
    assert search.work_.pop("by_members").tolist() == [0, 4, 4]
    assert search.work_ == {"mode": "folds", "updates": 7, "peak_bytes": 9, "f": 0.5}


def test_verbose_says_what_scikit_learn_says(capsys):
    ours.GridSearchCV(TREE, {"max_depth": [1, 2]}, verbose=1).fit(X, Y)
    assert (
        capsys.readouterr().out == "Fitting 5 folds for each of 2 candidates, totalling 10 fits\n"
    )


@parametrize_with_checks(
    [
        ours.GridSearchCV(
            DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2, error_score="raise"
        ),
        ours.RandomizedSearchCV(
            DecisionTreeRegressor(),
            {"max_depth": [1, 2]},
            n_iter=2,
            cv=2,
            random_state=0,
            error_score="raise",
        ),
    ]
)
def test_scikit_learns_checks_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tiny folds, and of what is refused a moment later
        check(estimator)


# The rule of one standard error -------------------------------------------------------------------


def make_results(scores, **params):
    scores = np.array(scores, dtype=float)
    rows = zip(*params.values(), strict=True)
    results = {f"split{k}_test_score": column for k, column in enumerate(scores.T)}
    results["mean_test_score"] = scores.mean(axis=1)
    results["params"] = [dict(zip(params, row, strict=True)) for row in rows]
    return results


def test_the_simplest_within_one_standard_error_is_chosen():
    scores = [[0.5, 0.5, 0.5], [0.7, 0.8, 0.6], [0.7, 0.9, 0.8], [0.6, 0.75, 0.9]]
    assert ours.one_standard_error(make_results(scores, max_depth=[1, 2, 5, None])) == 2
    scores[1] = [0.7, 0.85, 0.69]  # best 0.8, its standard error 0.0577
    assert ours.one_standard_error(make_results(scores, max_depth=[1, 2, 5, None])) == 1
    assert ours.one_standard_error(make_results(scores, ccp_alpha=[0.1, 0.01, 0.02, 0.0])) == 2
    assert ours.one_standard_error(make_results(scores, tree__max_depth=[1, 2, 5, None])) == 1


def test_the_rule_says_what_is_simpler():
    same = [[0.5, 0.5]] * 3
    choose = ours.one_standard_error
    assert choose(make_results(same, max_leaf_nodes=[None, 4, 8], max_depth=[1, 9, 2])) == 1
    assert choose(make_results(same, min_samples_leaf=[1, 30, 5], ccp_alpha=[1.0, 0, 0])) == 1
    assert choose(make_results(same, min_samples_leaf=[1, 30, 0.1])) == 2
    assert choose(make_results(same, criterion=["gini", "entropy", "gini"])) == 0
    nothing = np.full((3, 2), np.nan)
    assert choose(make_results(nothing, max_depth=[3, 2, 1])) == 0
    nothing[1] = 0.3
    assert choose(make_results(nothing, max_depth=[3, 2, 1])) == 1


def test_the_rule_is_a_refit_for_both_libraries():
    grid = {"max_depth": [6, 4, 3, 2, 1], "min_samples_leaf": [1, 5]}
    assert_same_search(fit_both(TREE, grid, X, Y, refit=ours.one_standard_error))
    rule = partial(ours.one_standard_error, metric="f1_macro")
    options = {"scoring": ["accuracy", "f1_macro"]}
    assert_same_search(fit_both(TREE, grid, X, Y, refit=rule, **options))
    with pytest.raises(ParameterError, match=r"has \['accuracy', 'f1_macro'\]"):
        ours.GridSearchCV(TREE, grid, refit=ours.one_standard_error, **options).fit(X, Y)


INTERRUPTED = """
import numpy as np
from treefold import DecisionTreeClassifier
from treefold.model_selection import GridSearchCV
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60_000, 12)), rng.integers(0, 2, 60_000)
search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}).fit(X[:100], y[:100])
before = dict(vars(search))
search.estimator.criterion, search.param_grid = "gain_ratio", {"ccp_alpha": [0.0, 0.1]}
try:
    print("ready", flush=True)
    search.fit(X, y)
except KeyboardInterrupt:
    search.param_grid = before["param_grid"]
    print("interrupted, unchanged" if vars(search) == before else "interrupted, changed")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent the POSIX way")
def test_an_interrupted_search_stops_and_changes_nothing():
    assert interrupt(INTERRUPTED) == ("interrupted, unchanged\n", 0)
