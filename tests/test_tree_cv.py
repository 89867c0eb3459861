"""Trees that are cross-validated in fit: the tree is the plain one, the evidence scikit-learn's."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cases import BASE_SEED
from mixed_data import CATEGORICAL, make_mixed
from reference.stability import stability as reference_stability
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from treefold import (
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    DecisionTreeRegressorCV,
    Table,
    export_text,
    progress,
)
from treefold.exceptions import ParameterError

DATA = make_mixed(240, BASE_SEED)
FOLDS = KFold(4, shuffle=True, random_state=BASE_SEED)
KINDS = {
    "two classes": (DecisionTreeClassifierCV, DecisionTreeClassifier),
    "many classes": (DecisionTreeClassifierCV, DecisionTreeClassifier),
    "regression": (DecisionTreeRegressorCV, DecisionTreeRegressor),
}


# Candidates are compared by a plain score, because class weights may be candidates themselves.
UNWEIGHTED = {"check_class_weight_classifiers": "the size of the tree is chosen by a plain score"}


@parametrize_with_checks(
    [DecisionTreeClassifierCV(), DecisionTreeRegressorCV()],
    expected_failed_checks=lambda model: UNWEIGHTED if is_classifier(model) else {},
)
def test_scikit_learn_accepts_the_estimators(estimator, check):
    check(estimator)


def assert_same_tree(one, other):
    ours, theirs = one.tree_._native.to_arrays(), other.tree_._native.to_arrays()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"rule": "best", "scoring": None},
        {"max_depth": [2, None], "min_samples_split": [2, 0.1], "min_samples_leaf": 3},
        {"max_leaf_nodes": [None, 5], "ccp_alpha": [0.0, 0.001, 0.01]},
        {"min_impurity_decrease": [0.0, 0.002], "max_features": [None, 3], "random_state": 7},
    ],
)
def test_the_tree_is_the_plain_one_and_scores_are_those_of_a_grid_search(target, settings):
    kind, plain = KINDS[target]
    y = DATA.targets[target]
    settings = {"cv": FOLDS, "categorical_features": CATEGORICAL, **settings}
    if target == "regression":  # R2 of all rows is no mean over splits: see test_pooling.py
        settings["scoring"] = "neg_mean_squared_error"
    model = kind(**settings).fit(DATA.X, y)
    assert_same_tree(model, plain(**model.best_params_).fit(DATA.X, y))
    fixed = {key: model.best_params_[key] for key in ("categorical_features", "random_state")}
    results = model.cv_results_
    some = np.unique(np.linspace(0, len(results["params"]) - 1, 4).astype(int))
    grid = [{key: [value] for key, value in results["params"][place].items()} for place in some]
    search = GridSearchCV(plain(**fixed), grid, cv=FOLDS, scoring=model.scorer_, refit=False)
    theirs = search.fit(DATA.X, y).cv_results_
    for name in theirs.keys() & results.keys() - {"params", "rank_test_score"}:
        np.testing.assert_array_equal(results[name][some], theirs[name], err_msg=name)
    assert model.best_score_ == results["mean_test_score"][model.best_index_]
    for place in some[:3]:
        tree = plain(**fixed, **results["params"][place]).fit(DATA.X, y)
        assert tree.get_n_leaves() == results["n_leaves"][place]


def test_lists_of_criteria_and_class_weights_are_candidates():
    y = DATA.targets["many classes"]
    model = DecisionTreeClassifierCV(
        criterion=["gini", "entropy", "gain_ratio"],
        class_weight=[None, "balanced", {0: 3.0}],
        min_samples_leaf=[5],
        ccp_alpha=0.0,
        cv=FOLDS,
    ).fit(DATA.X, y)
    assert len(model.cv_results_["params"]) == 9
    assert_same_tree(model, DecisionTreeClassifier(**model.best_params_).fit(DATA.X, y))
    expected = [
        cross_val_score(
            DecisionTreeClassifier(**one), DATA.X, y, cv=FOLDS, scoring=model.scorer_
        ).mean()
        for one in model.cv_results_["params"]
    ]
    np.testing.assert_array_equal(model.cv_results_["mean_test_score"], expected)


@pytest.mark.parametrize("target", KINDS)
def test_weights_count_in_growing_and_in_scoring(target):
    kind, plain = KINDS[target]
    y, weights = DATA.targets[target], DATA.weights
    scoring = "neg_mean_squared_error" if target == "regression" else "neg_brier_score"
    model = kind(cv=FOLDS, min_samples_leaf=5, scoring=scoring)
    model.fit(DATA.X, y, sample_weight=weights)
    assert_same_tree(model, plain(**model.best_params_).fit(DATA.X, y, sample_weight=weights))
    scores = []
    for train, test in FOLDS.split(DATA.X):
        fold = plain(**model.best_params_).fit(DATA.X[train], y[train], weights[train])
        scores.append(model.scorer_(fold, DATA.X[test], y[test], sample_weight=weights[test]))
    np.testing.assert_allclose(model.evaluation_.test_scores[model.scoring], scores, atol=1e-12)


@pytest.mark.parametrize("target", KINDS)
def test_predictions_and_baseline_are_those_of_held_out_rows(target):
    kind, plain = KINDS[target]
    y = DATA.targets[target]
    is_class = target != "regression"
    scoring = "neg_brier_score" if is_class else "neg_mean_squared_error"
    model = kind(cv=FOLDS, scoring=scoring).fit(DATA.X, y)
    expected = cross_val_predict(
        plain(**model.best_params_),
        DATA.X,
        y,
        cv=FOLDS,
        method="predict_proba" if is_class else "predict",
    )
    tests = model.evaluation_.indices["test"]
    assert [test.tolist() for test in tests] == [test.tolist() for _, test in FOLDS.split(DATA.X)]
    for test, predictions in zip(tests, model.evaluation_.predictions, strict=True):
        np.testing.assert_array_equal(predictions, expected[test])
    dummy = DummyClassifier() if is_class else DummyRegressor()
    scores = cross_val_score(dummy, DATA.X, y, cv=FOLDS, scoring=model.scorer_)
    np.testing.assert_allclose(model.evaluation_.baseline, scores, atol=1e-12)
    assert kind(cv=FOLDS, store_cv_predictions=False).fit(DATA.X, y).evaluation_.predictions is None


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_stability_is_that_of_separate_fits(target, is_weighted):
    kind, plain = KINDS[target]
    y = DATA.targets[target]
    weights = DATA.weights if is_weighted else np.ones(len(y))
    model = kind(cv=FOLDS).fit(DATA.X, y, sample_weight=weights if is_weighted else None)
    folds = []
    for train, test in FOLDS.split(DATA.X):
        own = np.zeros(len(y))
        own[train] = weights[train]
        fold = plain(**model.best_params_).fit(DATA.X, y, sample_weight=own)
        folds.append((fold.tree_._native, fold.apply(DATA.X), test))
    expected = reference_stability(
        model.tree_._native, model.apply(DATA.X), folds, y, weights.tolist()
    )
    assert list(model.stability_) == list(expected)
    for name, values in expected.items():
        assert len(model.stability_[name]) == model.tree_.node_count
        np.testing.assert_allclose(model.stability_[name], values, rtol=1e-12, err_msg=name)


def test_the_path_has_every_size_of_the_final_tree():
    y = DATA.targets["regression"]
    model = DecisionTreeRegressorCV(min_samples_leaf=10).fit(DATA.X, y)
    path = DecisionTreeRegressor(min_samples_leaf=10).cost_complexity_pruning_path(DATA.X, y)
    alphas = model.cv_results_["param_ccp_alpha"]
    assert len(alphas) == len(np.unique(path.ccp_alphas))
    assert alphas[0] == 0
    assert model.cv_results_["n_leaves"][-1] == 1
    assert (np.diff(model.cv_results_["n_leaves"]) < 0).all()


def test_at_most_a_hundred_strengths_are_tried():
    data = make_mixed(2000, BASE_SEED)
    model = DecisionTreeRegressorCV(min_samples_leaf=1, cv=2).fit(
        data.X, data.targets["regression"]
    )
    n_leaves = model.cv_results_["n_leaves"]
    assert 50 < len(n_leaves) <= 100
    assert n_leaves[0] > 500
    assert n_leaves[-1] == 1


@pytest.mark.parametrize(
    "cv",
    [
        3,
        StratifiedKFold(3),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=BASE_SEED),
        ShuffleSplit(3, test_size=0.2, random_state=BASE_SEED),
        TimeSeriesSplit(3),
        PredefinedSplit(np.arange(240) % 4 - 1),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_any_splitter_will_do(cv):
    y = DATA.targets["two classes"]
    model = DecisionTreeClassifierCV(cv=cv, shuffle=False, min_samples_leaf=8).fit(DATA.X, y)
    plain = DecisionTreeClassifier(**model.best_params_)
    scores = cross_val_score(plain, DATA.X, y, cv=cv, scoring=model.scorer_)
    np.testing.assert_array_equal(model.evaluation_.test_scores["neg_brier_score"], scores)
    assert model.n_splits_ == len(scores) == model.stability_["n_folds"][0]


def test_splits_may_be_listed_and_grouped():
    y = DATA.targets["regression"]
    listed = DecisionTreeRegressorCV(cv=list(FOLDS.split(DATA.X)), min_samples_leaf=8)
    generated = DecisionTreeRegressorCV(cv=FOLDS.split(DATA.X), min_samples_leaf=8)
    expected = DecisionTreeRegressorCV(cv=FOLDS, min_samples_leaf=8).fit(DATA.X, y).best_score_
    assert listed.fit(DATA.X, y).best_score_ == expected == generated.fit(DATA.X, y).best_score_
    groups = np.arange(240) // 7
    model = DecisionTreeRegressorCV(cv=GroupKFold(3)).fit(DATA.X, y, groups=groups)
    for test in model.evaluation_.indices["test"]:
        assert not set(groups[test]) & set(np.delete(groups, test))


def test_labels_may_be_words_and_folds_may_lack_classes():
    words = np.array(["no", "yes"], dtype=object)[DATA.targets["two classes"]]
    numbers = DecisionTreeClassifierCV().fit(DATA.X, DATA.targets["two classes"])
    model = DecisionTreeClassifierCV().fit(DATA.X, words)
    assert model.best_score_ == numbers.best_score_
    assert model.scorer_(model, DATA.X, words) <= 0
    y = DATA.targets["many classes"].copy()
    y[:3] = 99  # in one test set only, and in two training sets of three
    for scoring in ("neg_brier_score", "neg_log_loss", "accuracy"):
        rare = DecisionTreeClassifierCV(cv=KFold(3), scoring=scoring).fit(DATA.X, y)
        assert np.isfinite(rare.cv_results_["mean_test_score"]).all()
        assert rare.evaluation_.predictions[0].shape == (80, len(rare.classes_))


def test_scores_that_a_single_row_has_not_are_pooled():
    X, y = DATA.X[:40], DATA.targets["regression"][:40]
    labels = DATA.targets["two classes"][:40]
    auc = DecisionTreeClassifierCV(cv=LeaveOneOut(), scoring="roc_auc", min_samples_leaf=5)
    auc.fit(X, labels)
    together = np.concatenate(auc.evaluation_.predictions)[:, 1]
    assert auc.best_score_ == roc_auc_score(labels, together)
    assert "all held-out rows together" in repr(auc.evaluation_)
    mae = DecisionTreeRegressorCV(cv=LeaveOneOut(), scoring="neg_mean_absolute_error").fit(X, y)
    assert len(mae.evaluation_.test_scores["neg_mean_absolute_error"]) == 40


def test_what_does_not_fit_in_memory_grows_twice(monkeypatch):
    y = DATA.targets["two classes"]
    expected = DecisionTreeClassifierCV(cv=FOLDS).fit(DATA.X, y)
    monkeypatch.setattr("treefold.evaluation.cross_fit._MOST_KEPT", 500)
    monkeypatch.setattr("treefold.evaluation.growing._MOST_ROWS", 500)
    monkeypatch.setattr("treefold.evaluation.growing._FEW_TREES", 1)
    monkeypatch.setattr("treefold.evaluation.judging._MOST_ANSWERS", 300)
    model = DecisionTreeClassifierCV(cv=FOLDS).fit(DATA.X, y)
    assert_same_tree(model, expected)
    for facts in ("cv_results_", "stability_"):
        for name, values in getattr(expected, facts).items():
            np.testing.assert_array_equal(getattr(model, facts)[name], values)


def test_a_callable_may_look_at_the_trees_of_the_folds():
    y = DATA.targets["two classes"]
    seen = []

    def count_leaves(estimator, X, truth):
        seen.append(estimator)
        assert len(X) == len(truth) == 60
        return -float(estimator.get_n_leaves())

    model = DecisionTreeClassifierCV(
        cv=FOLDS, scoring=count_leaves, max_depth=[2, 3], min_samples_leaf=1, ccp_alpha=0.0
    ).fit(DATA.X, y)
    plain = DecisionTreeClassifier(max_depth=2)
    folds = [plain.fit(DATA.X[train], y[train]).get_n_leaves() for train, _ in FOLDS.split(DATA.X)]
    assert model.best_score_ == -np.mean(folds)
    assert isinstance(seen[0], DecisionTreeClassifier)
    assert model.evaluation_.scoring == "count_leaves"
    with pytest.raises(ParameterError, match="one number, but gave"):
        DecisionTreeClassifierCV(scoring=lambda *_: {"a": 1.0, "b": 2.0}).fit(DATA.X, y)


def test_frames_and_tables_are_read_as_by_the_plain_tree():
    frame = pd.DataFrame(DATA.X, columns=[f"c{number}" for number in range(12)])
    frame["c11"] = pd.Categorical(frame["c11"].map(lambda code: f"level {code}"))
    y = DATA.targets["regression"]
    model = DecisionTreeRegressorCV(cv=FOLDS).fit(frame, y)
    assert_same_tree(model, DecisionTreeRegressor(**model.best_params_).fit(frame, y))
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    from_table = DecisionTreeRegressorCV(cv=FOLDS).fit(Table.from_data(frame), y)
    assert_same_tree(model, from_table)
    assert from_table.best_score_ == model.best_score_


def test_threads_change_nothing():
    y = DATA.targets["many classes"]
    one = DecisionTreeClassifierCV(cv=FOLDS).fit(DATA.X, y)
    two = DecisionTreeClassifierCV(cv=FOLDS, n_jobs=2).fit(DATA.X, y)
    assert_same_tree(one, two)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_columns_drawn_at_random_can_be_drawn_again():
    y = DATA.targets["regression"]
    for random_state in (None, np.random.RandomState(BASE_SEED)):
        model = DecisionTreeRegressorCV(max_features=2, random_state=random_state).fit(DATA.X, y)
        assert isinstance(model.best_params_["random_state"], int)
        assert_same_tree(model, DecisionTreeRegressor(**model.best_params_).fit(DATA.X, y))


def test_it_is_pickled_cloned_and_searched_like_any_estimator():
    y = DATA.targets["two classes"]
    model = DecisionTreeClassifierCV(cv=3).fit(DATA.X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.evaluation_.score == model.evaluation_.score
    np.testing.assert_array_equal(again.predict_proba(DATA.X), model.predict_proba(DATA.X))
    assert not hasattr(clone(model), "tree_")
    assert cross_val_score(clone(model), DATA.X, y, cv=2).shape == (2,)


def test_metadata_are_routed():
    y, weights = DATA.targets["regression"], DATA.weights
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("r2").set_score_request(sample_weight=False)
        model = DecisionTreeRegressorCV(
            cv=GroupKFold(3).set_split_request(groups=True), scoring=scorer
        ).set_fit_request(sample_weight=True)
        model.fit(DATA.X, y, sample_weight=weights, groups=np.arange(240) // 9)
        test = model.evaluation_.indices["test"][0]
        truth, predicted = y[test][weights[test] > 0], model.evaluation_.predictions[0]
        predicted = predicted[weights[test] > 0]
        naive = np.average(np.delete(y, test), weights=np.delete(weights, test))
        expected = 1 - ((truth - predicted) ** 2).sum() / ((truth - naive) ** 2).sum()
        actual = next(iter(model.evaluation_.test_scores.values()))[0]
        assert actual == pytest.approx(expected, abs=1e-12)
        with pytest.raises(ValueError, match="sample_weight"):
            DecisionTreeRegressorCV().fit(DATA.X, y, sample_weight=weights)


def test_it_is_a_tree_in_every_other_way():
    y = DATA.targets["two classes"]
    X = DATA.X[:, :7]
    model = DecisionTreeClassifierCV(cv=3).fit(X, y)
    theirs = model.to_sklearn()
    np.testing.assert_array_equal(theirs.predict_proba(X), model.predict_proba(X))
    path = model.cost_complexity_pruning_path(X, y).ccp_alphas
    assert len(path) > 1
    text = export_text(model, show_stability=True)
    assert "of 3 folds" in text
    assert text.endswith("agreement means steady, not certain.\n")
    assert model.score(X, y) == np.mean(model.predict(X) == y)


def test_progress_is_shown_if_asked_for(monkeypatch):
    shown = []
    terminal = SimpleNamespace(isatty=lambda: True, write=shown.append, flush=lambda: None)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal))
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    DecisionTreeRegressorCV(cv=3).fit(DATA.X, DATA.targets["regression"])
    assert shown == []
    DecisionTreeRegressorCV(cv=3, verbose=1).fit(DATA.X, DATA.targets["regression"])
    assert any("100%" in text for text in shown)
