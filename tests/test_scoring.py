"""Scores of many candidates at once are those of scikit-learn's scorers, one at a time."""

import random
import warnings

import numpy as np
import pytest
from cases import BASE_SEED
from mixed_data import make_mixed
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    f1_score,
    get_scorer,
    get_scorer_names,
    log_loss,
    make_scorer,
    matthews_corrcoef,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treefold import DecisionTreeClassifier, DecisionTreeRegressor
from treefold.replay import Cell, count_correct, make_cell, replay_nodes
from treefold.scoring.cells import can_count, resolve_scoring, score_cells, score_counts, score_rows
from treefold.scoring.scorers import recognise

CLASS_METRICS = [
    "accuracy",
    "balanced_accuracy",
    "neg_log_loss",
    "neg_brier_score",
    "roc_auc",
    "roc_auc_ovr",
    "roc_auc_ovr_weighted",
    "roc_auc_ovo",
    "roc_auc_ovo_weighted",
    "f1",
    "f1_macro",
    "f1_micro",
    "f1_weighted",
]
NUMBER_METRICS = [
    "r2",
    "neg_mean_squared_error",
    "neg_mean_absolute_error",
    "neg_root_mean_squared_error",
]

N_CELLS = 2
TWO_ONLY = ("roc_auc", "f1")


class KnownClasses(ClassifierMixin, BaseEstimator):
    """The oracle: a fitted classifier with the training classes only."""

    def __init__(self, shares, classes):
        self.shares, self.classes_ = shares, classes

    def fit(self, X, y):
        raise NotImplementedError

    def predict_proba(self, X):
        return self.shares[X[:, 0]]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class KnownNumbers(RegressorMixin, BaseEstimator):
    def __init__(self, means):
        self.means = means

    def fit(self, X, y):
        raise NotImplementedError

    def predict(self, X):
        return self.means[X[:, 0]]


class Problem:
    """Random nodes with ties, random cells, and rows that some of the classes may lack."""

    def __init__(self, seed, classes=None, n_rows=40, *, absent=(), unseen=()):
        rng = random.Random(seed)
        self.classes = classes
        n_nodes = rng.choice([1, 3, 9, 30])
        numbers = np.random.default_rng(rng.getrandbits(32))
        self.node_of = numbers.integers(0, n_nodes, (N_CELLS, n_rows))
        if classes is None:
            self.present = None
            self.value = numbers.choice([0.5, 1.25, 3.1, -7.3, numbers.normal()], (n_nodes, 1))
            self.y = numbers.normal(0, 10, n_rows).round(rng.choice([0, 1, 12]))
            return
        self.present = np.array([label not in unseen for label in range(len(classes))])
        counts = numbers.integers(0, 4, (n_nodes, len(classes))) * self.present
        counts[counts.sum(axis=1) == 0] = self.present
        self.value = counts / counts.sum(axis=1, keepdims=True)
        held = [label for label in range(len(classes)) if label not in absent]
        self.y = numbers.choice(held, n_rows)
        self.y[: len(held)] = held[:n_rows]

    def expected(self, scorer, weights=None, error_score="raise"):
        more = {} if weights is None else {"sample_weight": weights}
        scores = []
        for nodes in self.node_of:
            if self.classes is None:
                model, y = KnownNumbers(self.value[:, 0]), self.y
            else:
                model = KnownClasses(self.value[:, self.present], self.classes[self.present])
                y = self.classes[self.y]
            try:
                scores.append(scorer(model, nodes.reshape(-1, 1), y, **more))
            except ValueError:
                if error_score == "raise":
                    raise
                scores.append(error_score)
        return np.array(scores)

    def score(self, scoring, **options):
        tree = DecisionTreeRegressor() if self.classes is None else DecisionTreeClassifier()
        resolved = resolve_scoring(tree, scoring, options.get("error_score", np.nan))
        if self.present is not None:
            options["present"] = np.flatnonzero(self.present)
        return score_cells(resolved, self.y, self.node_of, self.value, self.classes, **options)


LABELS = {
    "two": np.array([0, 1]),
    "two signs": np.array([-1, 1]),
    "two numbers": np.array([3.0, 7.0]),
    "two words": np.array(["no", "yes"], dtype=object),
    "three": np.array([0, 1, 2]),
    "words": np.array(["a", "b", "c", "d"]),
    "ten": np.arange(10) * 3,
}


def warned(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = call()
        except ValueError as error:
            result = str(error)
    return result, {(one.category, str(one.message)) for one in seen}


def assert_same(problem, name, weights=None, atol=0.0):
    """The same numbers, or the same error, and the same warnings."""
    scorer = get_scorer(name)
    expected, their_warnings = warned(lambda: problem.expected(scorer, weights))
    actual, our_warnings = warned(
        lambda: problem.score(name, weights=weights, error_score="raise")["score"]
    )
    if isinstance(expected, str):
        assert expected == actual
    else:
        np.testing.assert_allclose(actual, expected, rtol=0, atol=atol, err_msg=name)
    assert their_warnings == our_warnings


@pytest.mark.parametrize("name", CLASS_METRICS)
@pytest.mark.parametrize("labels", LABELS)
def test_scores_of_classes_are_those_of_scikit_learn_to_the_last_bit(name, labels):
    assert_same(Problem(BASE_SEED, LABELS[labels], n_rows=300), name)


@pytest.mark.parametrize("name", NUMBER_METRICS)
def test_scores_of_numbers_are_those_of_scikit_learn_to_the_last_bit(name):
    for seed in range(4):
        for n_rows in (1, 2, 9, 300):
            assert_same(Problem(BASE_SEED + seed, n_rows=n_rows), name)


@pytest.mark.parametrize("name", CLASS_METRICS)
@pytest.mark.parametrize(
    "shape",
    [
        {"absent": [0]},
        {"absent": [1]},
        {"absent": [1, 2]},
        {"unseen": [0]},
        {"unseen": [2]},
        {"absent": [1], "unseen": [0]},
        {"unseen": [0, 1]},
        {"n_rows": 1},
        {"n_rows": 2},
    ],
)
def test_rows_that_lack_classes_score_warn_and_fail_as_in_scikit_learn(name, shape):
    for labels in ("three", "words"):
        assert_same(Problem(BASE_SEED, LABELS[labels], **shape), name)


@pytest.mark.parametrize("name", CLASS_METRICS)
@pytest.mark.parametrize("labels", ["two", "two words"])
def test_single_class_folds_of_two_classes_are_scored_as_in_scikit_learn(name, labels):
    for shape in ({"absent": [0]}, {"absent": [1]}, {"unseen": [0]}, {"n_rows": 1}):
        assert_same(Problem(BASE_SEED, LABELS[labels], **shape), name)


@pytest.mark.parametrize("name", [*CLASS_METRICS, *NUMBER_METRICS])
def test_weights_count_as_in_scikit_learn(name):
    numbers = np.random.default_rng(BASE_SEED)
    for labels in ("two", "three", "ten") if name in CLASS_METRICS else (None,):
        problem = Problem(BASE_SEED, labels and LABELS[labels])
        assert_same(problem, name, numbers.integers(0, 3, 40), atol=1e-12)
        assert_same(problem, name, numbers.random(40), atol=1e-12)


@pytest.mark.parametrize("name", [*CLASS_METRICS, *NUMBER_METRICS])
def test_regular_rows_are_scored_without_scikit_learn(name, monkeypatch):
    monkeypatch.setattr("treefold.scoring.cells._score", None)
    labels = None if name in NUMBER_METRICS else LABELS["two" if name in TWO_ONLY else "ten"]
    weights = None if "ovo" in name else np.arange(1.0, 41.0)
    assert len(Problem(BASE_SEED, labels).score(name, weights=weights)["score"]) == N_CELLS


def test_the_common_scorers_are_recognised_and_no_others():
    known = {name for name in get_scorer_names() if recognise(get_scorer(name)) is not None}
    assert known - {"f1_samples"} == {*CLASS_METRICS, *NUMBER_METRICS}
    assert recognise(make_scorer(f1_score, labels=[0])) is None
    assert recognise(make_scorer(roc_auc_score)) is None  # it wants predicted classes
    assert recognise(lambda estimator, X, y: 0.0) is None


def test_no_scoring_means_the_score_of_the_estimator():
    classes, numbers = Problem(BASE_SEED, LABELS["three"]), Problem(BASE_SEED)
    assert resolve_scoring(DecisionTreeClassifier()).metrics["score"] is not None
    assert (classes.score(None)["score"] == classes.score("accuracy")["score"]).all()
    assert (numbers.score(None)["score"] == numbers.score("r2")["score"]).all()
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    assert resolve_scoring(pipeline).metrics["score"] is not None


def test_a_positive_label_may_be_named():
    problem = Problem(BASE_SEED, LABELS["two words"])
    for scorer in (
        make_scorer(f1_score, pos_label="no"),
        make_scorer(brier_score_loss, response_method="predict_proba", pos_label="no"),
        make_scorer(brier_score_loss, response_method="predict_proba", pos_label="yes"),
    ):
        assert (problem.score(scorer)["score"] == problem.expected(scorer)).all()
    with pytest.raises(ValueError, match="pos_label=1 is not a valid label"):
        problem.score("f1", error_score="raise")


def test_all_labels_may_be_named_so_that_a_fold_may_lack_one():
    labels = LABELS["words"]
    problem = Problem(BASE_SEED, labels, absent=[2])
    for loss in (log_loss, brier_score_loss):
        scorer = make_scorer(
            loss, response_method="predict_proba", greater_is_better=False, labels=labels
        )
        assert (problem.score(scorer)["score"] == problem.expected(scorer)).all()


def test_several_metrics_are_scored_at_once():
    problem = Problem(BASE_SEED, LABELS["two"])
    names = ["roc_auc", "accuracy", "matthews_corrcoef"]
    for scoring in (names, tuple(names), {name: name for name in names}):
        scores = problem.score(scoring)
        assert list(scores) == names
        for name in names:
            assert (scores[name] == problem.expected(get_scorer(name))).all()


def test_other_scorers_are_called_once_per_distinct_answer():
    problem = Problem(BASE_SEED, LABELS["three"])
    problem.node_of[1] = problem.node_of[0]
    calls = []

    def count_calls(y, predicted):
        calls.append(1)
        return matthews_corrcoef(y, predicted)

    scores = problem.score(make_scorer(count_calls))["score"]
    assert (scores == problem.expected(get_scorer("matthews_corrcoef"))).all()
    assert len(calls) == len({nodes.tobytes() for nodes in problem.node_of})


def test_a_callable_sees_a_fitted_estimator_and_the_rows_as_they_are():
    problem = Problem(BASE_SEED, LABELS["words"])
    X, y = object(), problem.classes[problem.y].tolist()

    def scorer(estimator, rows, truth):
        assert rows is X
        assert truth is y
        assert estimator.classes_.tolist() == problem.classes.tolist()
        return {"right": estimator.score(rows, truth), "one": 1}

    scores = problem.score(scorer, X=X, y=y)
    assert (scores["right"] == problem.expected(get_scorer("accuracy"))).all()
    assert (scores["one"] == 1).all()


def test_a_callable_gets_a_real_estimator_where_there_is_one():
    problem = Problem(BASE_SEED)
    scores = problem.score(lambda model, X, y: model, estimator_of=lambda cell: 10 + cell)
    assert scores["score"].tolist() == [10, 11]


def test_a_stand_in_refuses_data_that_it_cannot_answer_for():
    problem = Problem(BASE_SEED)
    with pytest.raises(ValueError, match="data other than the held-out rows"):
        problem.score(lambda model, X, y: model.predict(X + 1).sum(), error_score="raise")


def test_a_failing_scorer_gives_the_error_score_and_a_warning():
    problem = Problem(BASE_SEED)

    def fails(model, X, y):
        raise KeyError("nothing here")

    with pytest.warns(UserWarning, match="Scoring failed"):
        assert np.isnan(problem.score(fails, error_score=np.nan)["score"]).all()
    with pytest.warns(UserWarning, match="Scoring failed"):
        scores = problem.score({"bad": fails, "good": "r2"}, error_score=-3.0)
    assert (scores["bad"] == -3.0).all()
    assert (scores["good"] == problem.expected(get_scorer("r2"))).all()
    with pytest.raises(KeyError):
        problem.score(fails, error_score="raise")
    with pytest.raises(ValueError, match="scoring must return a number"):
        problem.score(lambda model, X, y: "much", error_score=np.nan)


@pytest.mark.parametrize("scoring", ["nonsense", [], ["r2", "r2"], {}, {1: "r2"}, f1_score])
def test_what_scikit_learn_refuses_is_refused(scoring):
    with pytest.raises(ValueError, match=r"scoring|empty|list/tuple|Non-string"):
        resolve_scoring(DecisionTreeRegressor(), scoring)


def test_weights_are_routed_as_metadata():
    problem = Problem(BASE_SEED, LABELS["two"])
    weights = np.random.default_rng(BASE_SEED).random(40)
    with config_context(enable_metadata_routing=True):
        asks = get_scorer("accuracy").set_score_request(sample_weight=True)
        silent = get_scorer("roc_auc").set_score_request(sample_weight=False)
        scores = problem.score(
            {"asks": asks, "silent": silent}, score_params={"sample_weight": weights}
        )
    assert (scores["asks"] == problem.expected(get_scorer("accuracy"), weights)).all()
    assert (scores["silent"] == problem.expected(get_scorer("roc_auc"))).all()


def test_rows_that_several_trees_answered_for_are_pooled():
    problem = Problem(BASE_SEED, LABELS["two"])
    scoring = resolve_scoring(DecisionTreeClassifier(), ["roc_auc", "accuracy", "neg_log_loss"])
    assert scoring.needs_pooling([1, 1, 1], 2) == ["roc_auc", "neg_log_loss"]
    assert scoring.needs_pooling([1, 2], 2) == []
    values = problem.value[problem.node_of]
    pooled = score_rows(scoring, problem.y, values, problem.classes)
    for name, scores in pooled.items():
        assert (scores == problem.expected(get_scorer(name))).all(), name


@pytest.mark.parametrize("target", ["two classes", "many classes"])
def test_counts_over_nodes_give_the_accuracy_of_every_cell(target):
    data = make_mixed(600, BASE_SEED)
    y = data.targets[target]
    model = DecisionTreeClassifier().fit(data.X[:400], y[:400])
    tree, leaves = model.tree_._native, model.apply(data.X[400:])
    limits = {"min_impurity_decrease": 0.0, "max_leaf_nodes": None}
    cells = [
        make_cell({"max_depth": depth, "min_samples_split": size, "ccp_alpha": a, **limits}, 400)
        for depth in (1, 3, None)
        for size in (2, 20)
        for a in (0.0, 0.002)
    ]
    for scoring in (None, "accuracy", make_scorer(accuracy_score, greater_is_better=False)):
        resolved = resolve_scoring(model, scoring)
        assert can_count(resolved, y[400:], tree, model.classes_)
        halves = [(leaves[:90], y[400:490]), (leaves[90:], y[490:])]
        tasks = [(tree, cells, [(leaves, y[400:])]), (tree, cells, halves)] * 2
        for n_threads in (1, 2, 5):  # fewer tasks than threads, too
            for task, counted in zip(tasks, score_counts(resolved, tasks, n_threads), strict=True):
                assert counted.shape == (len(cells), len(task[2]))
                for (found, truth), scores in zip(task[2], counted.T, strict=True):
                    nodes = replay_nodes(tree, found, cells)
                    scored = score_cells(resolved, truth, nodes, tree.value, model.classes_)
                    assert (scores == scored["score"]).all()


def test_counts_are_no_answer_to_other_questions():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    tree, truth, classes = model.tree_._native, np.array([0, 1]), model.classes_
    for scoring in ("f1", ["accuracy"]):
        resolved = resolve_scoring(model, scoring)
        assert not can_count(resolved, truth, tree, classes)
    accuracy = resolve_scoring(model, "accuracy")
    assert can_count(accuracy, truth, tree, classes)
    assert not can_count(accuracy, truth[:0], tree, classes)
    assert not can_count(accuracy, truth, tree, np.arange(3))


def test_rows_that_smaller_trees_predict_rightly():
    data = make_mixed(300, BASE_SEED)
    y = data.targets["many classes"]
    model = DecisionTreeClassifier().fit(data.X[:200], y[:200])
    truth = np.searchsorted(model.classes_, y).clip(0, len(model.classes_) - 1)
    tests = [(model.apply(data.X), truth), (model.apply(data.X[:7]), truth[:7])]
    cells = [Cell(max_depth=depth) for depth in range(1, 6)]
    (right,) = count_correct([(model.tree_._native, cells, tests)])
    for cell, counts in zip(cells, right, strict=True):
        small = DecisionTreeClassifier(max_depth=int(cell.max_depth)).fit(data.X[:200], y[:200])
        is_right = small.predict(data.X) == model.classes_[truth]
        assert counts.tolist() == [is_right.sum(), is_right[:7].sum()]


@pytest.mark.parametrize(
    ("leaves", "classes", "words"),
    [
        ([3], [0], "node"),
        ([-1], [0], "node"),
        ([1], [2], "class"),
        ([1], [-1], "class"),
        ([1, 2], [0], "one class"),
    ],
)
def test_rows_of_other_trees_or_classes_are_not_counted(leaves, classes, words):
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_._native
    with pytest.raises(ValueError, match=words):
        count_correct([(tree, [Cell()], [(np.array(leaves), np.array(classes))])])
