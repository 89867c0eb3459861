"""cross_validate gives what scikit-learn's gives on our estimators."""

import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
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
from sklearn.metrics import accuracy_score, make_scorer

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, InputError, Table
from treefold import model_selection as ours
from treefold.evaluation import growing
from treefold.evaluation.splits import read_splits

DATA = make_data()
X, Y, NUMBERS = DATA["X"], DATA["classes"], DATA["numbers"]
TREES = [
    DecisionTreeClassifier(),
    DecisionTreeClassifier(criterion="entropy", max_depth=4, min_samples_split=0.05),
    DecisionTreeClassifier(class_weight="balanced", min_samples_leaf=0.03),
    DecisionTreeClassifier(class_weight={0: 2.5, 2: 0.0}, min_weight_fraction_leaf=0.02),
    DecisionTreeClassifier(max_leaf_nodes=9, min_impurity_decrease=0.001, ccp_alpha=0.004),
    DecisionTreeClassifier(max_features=2, random_state=np.random.RandomState(3)),
    DecisionTreeClassifier(max_features="sqrt", random_state=7, criterion="gain_ratio"),
]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("weights", [None, DATA["weights"]], ids=["plain", "weighted"])
def test_every_tree_is_the_separately_fitted_one(tree, weights):
    options = {"return_estimator": True, "return_train_score": True, "return_indices": True}
    assert_same(*both("cross_validate", tree, X, Y, params={"sample_weight": weights}, **options))


@pytest.mark.parametrize("weights", [None, DATA["weights"]], ids=["plain", "weighted"])
def test_regression_trees_too(weights):
    tree = DecisionTreeRegressor(min_samples_leaf=2, ccp_alpha=0.001)
    options = {"cv": 7, "return_estimator": True, "return_train_score": True}
    results = both("cross_validate", tree, X, NUMBERS, params={"sample_weight": weights}, **options)
    assert_same(*results)


SPLITTERS = {
    "None": None,
    "two": 2,
    "KFold": theirs.KFold(4, shuffle=True, random_state=0),
    "StratifiedKFold": theirs.StratifiedKFold(3, shuffle=True, random_state=0),
    "GroupKFold": theirs.GroupKFold(4),
    "StratifiedGroupKFold": theirs.StratifiedGroupKFold(3),
    "LeaveOneGroupOut": theirs.LeaveOneGroupOut(),
    "RepeatedKFold": theirs.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "LeaveOneOut": theirs.LeaveOneOut(),
    "LeavePOut": [(np.arange(2, 160), np.array([0, 1]))],
    "PredefinedSplit": theirs.PredefinedSplit(np.arange(160) % 4 - 1),
    "TimeSeriesSplit": theirs.TimeSeriesSplit(4, gap=2),
    "ShuffleSplit": theirs.ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=0),
    "lists": [([0, 5, 3, 20, 21], [1, 1, 0]), (list(range(50, 100)), list(range(90, 120)))],
    "masks": [(np.arange(160) % 2 == 0, np.arange(160) % 2 == 1)],
    "rows come twice": [(np.array([0, 0, 1, 2, 3, 3, 60, 60, 90]), np.arange(100, 120))],
    "negative": [(np.arange(-60, 0), np.arange(50))],
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_every_splitter(name):
    groups = DATA["groups"] if "Group" in name else None
    tree = DecisionTreeClassifier(min_samples_leaf=2)
    options = {"cv": SPLITTERS[name], "groups": groups, "return_indices": True}
    results = both("cross_validate", tree, X, Y, return_estimator=name != "LeaveOneOut", **options)
    assert_same(*results)


def test_an_iterator_of_splits_is_read_once():
    splits = list(theirs.KFold(3).split(X))
    expected = theirs.cross_val_score(DecisionTreeClassifier(), X, Y, cv=splits)
    actual = ours.cross_val_score(DecisionTreeClassifier(), X, Y, cv=iter(splits))
    np.testing.assert_array_equal(actual, expected)


def leaves_and_accuracy(estimator, X, y):
    return {"leaves": estimator.get_n_leaves(), "right": accuracy_score(y, estimator.predict(X))}


@pytest.mark.parametrize(
    "scoring",
    [
        "accuracy",
        "balanced_accuracy",
        "neg_log_loss",
        "roc_auc_ovr",
        "f1_macro",
        "neg_brier_score",
        make_scorer(accuracy_score, normalize=False),
        lambda estimator, X, y: estimator.tree_.node_count,
        leaves_and_accuracy,
        ["accuracy", "f1_macro"],
        ("recall_macro",),
        {"a": "accuracy", "n": lambda estimator, X, y: estimator.get_depth()},
    ],
)
def test_every_kind_of_scoring(scoring):
    options = {"scoring": scoring, "return_train_score": True}
    expected = outcome(lambda: theirs.cross_validate(TREES[2], X, Y, **options))
    actual = outcome(lambda: ours.cross_validate(TREES[2], X, Y, **options))
    assert_same(actual, expected)


@pytest.mark.parametrize(
    "scoring", [None, "neg_mean_absolute_error", ["r2", "neg_max_error"]], ids=str
)
def test_scores_of_regression(scoring):
    tree = DecisionTreeRegressor(min_samples_leaf=4)
    assert_same(*both("cross_validate", tree, X, NUMBERS, scoring=scoring))


FRAME = make_frame(X)
INPUTS = {
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "objects": FRAME[["colour", "code", "x"]].to_numpy(dtype=object),
    "numbers": FRAME[["code", "x"]].to_numpy(dtype=float),
    "csr": sparse.csr_array(np.where(X > 0, X, 0.0)),
    "csc": sparse.csc_matrix(np.where(X > 0, X, 0.0)),
    "float32": X.astype(np.float32),
    "rows": np.nan_to_num(X).tolist(),
}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("is_classifier", [True, False])
def test_every_kind_of_input(name, is_classifier):
    """Labels that a fold does not have go as missing values do, and its tree does not know them."""
    categorical = {"objects": [0, 1], "numbers": [0]}.get(name, "from_dtype")
    kind = DecisionTreeClassifier if is_classifier else DecisionTreeRegressor
    tree = kind(categorical_features=categorical, min_samples_leaf=2)
    y = Y if is_classifier else NUMBERS
    options = {"cv": theirs.KFold(5), "return_estimator": True, "return_train_score": True}
    assert_same(*both("cross_validate", tree, INPUTS[name], y, **options))


@pytest.mark.parametrize("labels", [["a", "b", "c"], [3.0, -1.0, 7.0], [True, False, True]])
def test_labels_of_any_kind(labels):
    for y in (np.array(labels)[Y], [labels[number] for number in Y], pd.Series(labels)[Y]):
        assert_same(*both("cross_validate", TREES[0], X, y, return_estimator=True, cv=3))


def test_classes_that_a_fold_lacks_are_unknown_to_its_tree():
    y = np.sort(Y)
    options = {"cv": theirs.KFold(3), "return_estimator": True, "scoring": ["accuracy", "f1_macro"]}
    results = list(both("cross_validate", TREES[2], X, y, **options))
    assert_same(*results)
    assert [len(fitted.classes_) for fitted in results[0]["estimator"]] != [3, 3, 3]


def test_a_class_of_next_to_no_weight_is_known():
    tree = DecisionTreeClassifier(class_weight={0: 1.0, 1: 1.0, 2: 1e-25}, max_depth=3)
    assert_same(*both("cross_validate", tree, X, Y, scoring="neg_log_loss"))


@pytest.mark.parametrize("scoring", ["roc_auc_ovr", "neg_log_loss", ["accuracy", "roc_auc_ovr"]])
def test_scorers_that_fail_on_a_fold(scoring):
    y = np.sort(Y)
    options = {"cv": theirs.KFold(3), "scoring": scoring}
    for error_score in (np.nan, -1.0, "raise"):
        call = {**options, "error_score": error_score}
        expected = outcome(lambda call=call: theirs.cross_validate(TREES[0], X, y, **call))
        actual = outcome(lambda call=call: ours.cross_validate(TREES[0], X, y, **call))
        assert_same(actual, expected)


NOTHING = np.array([], dtype=int)
BAD = {
    "empty train": (X, Y, {"cv": [(NOTHING, np.arange(9)), (np.arange(99), np.arange(99, 160))]}),
    "empty test": (X, Y, {"cv": [(np.arange(50), NOTHING), (np.arange(99), np.arange(99, 160))]}),
    "all empty": (X, Y, {"cv": [(NOTHING, np.arange(9))]}),
    "out of range": (X, Y, {"cv": [(np.arange(50), np.array([1000]))]}),
    "infinity": (poison(X, 5), Y, {"cv": theirs.KFold(4)}),
    "infinity, unused": (poison(X, 5), Y, {"cv": [(np.arange(9, 80), np.arange(80, 160))]}),
    "y missing": (X, np.where(np.arange(160) == 7, np.nan, Y), {"cv": theirs.KFold(4)}),
    "no y": (X, None, {}),
    "two columns": (X, np.column_stack([Y, Y]), {}),
    "short y": (X, Y[:-1], {}),
    "more folds than rows": (X[:3], Y[:3], {"cv": 5}),
    "groups": (X, Y, {"cv": theirs.GroupKFold(3)}),
    "weights": (X, Y, {"params": {"sample_weight": -np.ones(160)}}),
    "short weights": (X, Y, {"params": {"sample_weight": np.ones(5)}}),
    "no weight": (X, Y, {"cv": theirs.KFold(2), "params": {"sample_weight": np.arange(160) > 79}}),
    "unknown fit parameter": (X, Y, {"params": {"nonsense": 3}}),
    "cv": (X, Y, {"cv": "five"}),
    "scoring": (X, Y, {"scoring": "nonsense"}),
    "n_jobs": (X, Y, {"n_jobs": "many"}),
    "error_score": (X, Y, {"error_score": "nonsense"}),
    "return_train_score": (X, Y, {"return_train_score": 3}),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("error_score", [np.nan, "raise"])
def test_bad_input_has_the_same_outcome(name, error_score):
    bad_X, bad_y, options = BAD[name]
    options = {"error_score": error_score, **options}
    expected = outcome(lambda: theirs.cross_validate(TREES[0], bad_X, bad_y, **options))
    actual = outcome(lambda: ours.cross_validate(TREES[0], bad_X, bad_y, **options))
    assert_same(actual, expected)


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_depth": 0},
        {"criterion": "nonsense"},
        {"n_jobs": 0},
        {"class_weight": {"a": 1, "b": 2}},
    ],
)
def test_parameters_without_meaning_have_the_same_outcome(parameters):
    tree = DecisionTreeClassifier(**parameters)
    assert outcome(lambda: ours.cross_validate(tree, X, Y)) == outcome(
        lambda: theirs.cross_validate(tree, X, Y)
    )


def test_our_own_arguments_are_checked():
    for name in ("return_predictions", "return_final_estimator", "return_work", "sharing"):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of cross_validate must be"):
            ours.cross_validate(TREES[0], X, Y, **{name: "nonsense"})
    with pytest.raises(InputError, match="gives no split"):
        ours.cross_validate(TREES[0], X, Y, cv=[])


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_predictions_are_those_of_the_estimators(method):
    options = {"cv": theirs.KFold(3), "return_estimator": True, "return_indices": True}
    for y in (Y, np.sort(Y)):
        results = ours.cross_validate(TREES[4], X, y, return_predictions=method, **options)
        triples = zip(
            results["predictions"], results["estimator"], results["indices"]["test"], strict=True
        )
        for predictions, fitted, test in triples:
            np.testing.assert_array_equal(predictions, getattr(fitted, method)(X[test]))


@pytest.mark.parametrize("tree", TREES[:5], ids=str)
def test_the_final_estimator_is_a_fit_to_all_rows(tree):
    results = ours.cross_validate(tree, FRAME, Y, return_final_estimator=True)
    assert_same_estimator(results["final_estimator"], sklearn.clone(tree).fit(FRAME, Y))


@pytest.mark.parametrize("sharing", ["auto", "folds", "overlap", "none"])
def test_sharing_changes_nothing(sharing):
    options = {"sharing": sharing, "return_estimator": True, "return_work": True}
    results = ours.cross_validate(TREES[2], FRAME, Y, **options)
    assert isinstance(results.pop("work")["mode"], str)
    assert_same(results, theirs.cross_validate(TREES[2], FRAME, Y, return_estimator=True))


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs):
    results = ours.cross_validate(TREES[1], X, Y, n_jobs=n_jobs, return_estimator=True)
    assert_same(results, theirs.cross_validate(TREES[1], X, Y, return_estimator=True))


def test_results_make_a_frame():
    frame = pd.DataFrame(ours.cross_validate(TREES[0], X, Y))
    assert list(frame) == ["fit_time", "score_time", "test_score"]
    assert (frame["fit_time"] > 0).all()


def test_a_table_is_accepted():
    table = Table.from_data(FRAME)
    results = ours.cross_validate(TREES[0], table, Y, return_predictions="predict")
    expected = theirs.cross_validate(TREES[0], FRAME, Y)
    np.testing.assert_array_equal(results["test_score"], expected["test_score"])
    with pytest.raises(InputError, match="cannot be cut out of a Table"):
        ours.cross_validate(TREES[0], table, Y, cv=[(NOTHING, np.arange(3))])


def test_draws_from_the_global_state_come_in_the_order_of_the_splits():
    tree = DecisionTreeClassifier(max_features=1)
    results = []
    for module in (ours, theirs):
        np.random.seed(5)
        results.append(module.cross_validate(tree, X, Y, return_estimator=True))
    assert_same(*results)


FOLDED = {
    "numbers": Y,
    "bytes": Y.astype(np.uint8),
    "two": Y > 0,
    "labels": np.array(["a", "b", "c"])[Y],
    "list": Y.tolist(),
    "continuous": NUMBERS,
    "column": Y.reshape(-1, 1),
    "rare": np.where(np.arange(len(Y)) == 3, 9, Y),
    "nothing": None,
}


@pytest.mark.parametrize("y", FOLDED.values(), ids=FOLDED)
@pytest.mark.parametrize("kind", [theirs.KFold, theirs.StratifiedKFold])
@pytest.mark.parametrize("n_splits", [2, 7, 160, 161])
@pytest.mark.parametrize("state", [None, 3, "a state"])
def test_folds_are_those_of_the_splitter(y, kind, n_splits, state):
    def draw(read):
        seed = np.random.RandomState(2) if state == "a state" else state
        cv = kind(n_splits, shuffle=state is not None, random_state=seed)
        return outcome(lambda: list(read(cv)))

    actual, told = draw(lambda cv: read_pairs(cv, y))
    expected, warned = draw(lambda cv: cv.split(X, y))
    assert told == warned
    if isinstance(expected, tuple):  # an error
        assert actual == expected
        return
    for pair, own in zip(actual, expected, strict=True):
        for rows, other in zip(pair, own, strict=True):
            assert rows.dtype == other.dtype
            np.testing.assert_array_equal(rows, other)


class UncountedFolds(theirs.KFold):
    """A splitter of somebody's own, that does not say beforehand how many folds there are."""

    n_splits = property(lambda self: None, lambda self, value: None)

    def split(self, X, y=None, groups=None):
        return theirs.KFold(4).split(X, y, groups)

    def get_n_splits(self, X=None, y=None, groups=None):
        return 4


def test_splitters_of_somebodys_own_are_asked():
    expected = theirs.cross_validate(TREES[0], X, Y, cv=theirs.KFold(4))
    actual = ours.cross_validate(TREES[0], X, Y, cv=UncountedFolds())
    np.testing.assert_array_equal(actual["test_score"], expected["test_score"])


def read_pairs(cv, y):
    return [split.pair for split in read_splits(cv, X, y, len(X))]


def test_memory_does_not_grow_with_folds_times_rows(monkeypatch):
    """Splits are kept as their test rows, and members grow as many at a time as memory allows."""
    n_rows = 4_000
    for cv in (theirs.LeaveOneOut(), theirs.KFold(n_rows)):
        kept = read_splits(cv, np.zeros((n_rows, 1)), None, n_rows)
        assert all(split.listed_train is None for split in kept)
        assert sum(split.test.nbytes for split in kept) == 8 * n_rows
    n_members = []
    grow = growing.grow_family

    def counting(table, target, members, **options):
        n_members.append(len(members))
        return grow(table, target, members, **options)

    monkeypatch.setattr(growing, "grow_family", counting)
    monkeypatch.setattr(growing, "_MOST_ROWS", 1_000)
    monkeypatch.setattr(growing, "_FEW_TREES", 1)
    options = {"cv": theirs.LeaveOneOut(), "return_train_score": True}
    results = ours.cross_validate(TREES[0], X[:60], Y[:60], **options)
    assert n_members == [17, 17, 17, 9]
    assert_same(results, theirs.cross_validate(TREES[0], X[:60], Y[:60], **options))


def test_times_of_fits_add_up_to_no_more_than_the_wall_time():
    start = time.perf_counter()
    results = ours.cross_validate(TREES[0], X, Y, cv=9)
    assert 0 < results["fit_time"].sum() <= time.perf_counter() - start
