"""Nested scores and held-out importance of the estimators that are cross-validated in fit."""

import numpy as np
import pytest
from sklearn import model_selection as theirs
from sklearn.metrics import brier_score_loss

from treefold import DecisionTreeClassifierCV, DecisionTreeRegressorCV
from treefold.evaluation.fitting import Request, fit_with_evidence
from treefold.evaluation.splits import Split
from treefold.evaluation.tuned_scores import TunedScores

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(160, 4)).round(1)
X[RANDOM.random((160, 4)) < 0.05] = np.nan
NUMBERS = np.nan_to_num(X[:, 0]) * 2 + RANDOM.normal(size=160)
CLASSES = np.where(NUMBERS > 0.3, "yes", "no")
WEIGHTS = RANDOM.integers(0, 3, 160).astype(float)
SPLITTERS = {
    "folds": theirs.StratifiedKFold(4, shuffle=True, random_state=0),
    "repeats": theirs.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "time": theirs.TimeSeriesSplit(5),
}


def fit(model, y, weights=None, **wanted):
    return model, fit_with_evidence(model, Request(X, y, weights, **wanted))


def nest_by_hand(model, y, splits, weights=None):
    """The same fit once more on the training rows of each split, by the splits inside of them."""
    for number, (train, test) in enumerate(splits):
        place_of = {row: place for place, row in enumerate(train)}
        inner = [
            ([place_of[row] for row in rows if row in place_of], [place_of[row] for row in held])
            for other, (rows, held) in enumerate(splits)
            if other != number and set(held) <= set(train) and set(rows) & set(train)
        ]
        if not inner:
            continue
        again = type(model)(**{**model.get_params(), "cv": inner})
        again.fit(X[train], y[train], None if weights is None else weights[train])
        yield number, again, test


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("rule", ["best", "one_se"])
def test_the_nested_score_is_that_of_the_same_fit_without_the_held_out_rows(name, rule):
    splits = list(SPLITTERS[name].split(X, CLASSES))
    model, evidence = fit(DecisionTreeClassifierCV(cv=splits, rule=rule), CLASSES, nested=True)
    nested = model.evaluation_.nested
    numbers = []
    for place, (number, again, test) in enumerate(nest_by_hand(model, CLASSES, splits)):
        numbers.append(number)
        shares = again.predict_proba(X[test])[:, 1]
        score = -brier_score_loss(CLASSES[test] == "yes", shares)
        assert nested["test_score"][place] == pytest.approx(score, abs=1e-12)
        np.testing.assert_array_equal(evidence.nested_predictions[number][:, 1], shares)
        assert nested["inner_score"][place] == pytest.approx(again.best_score_, abs=1e-12)
        chosen = {**again.best_params_}
        assert nested["best_params"][place].items() <= chosen.items()
    assert nested["split"].tolist() == numbers
    assert len(numbers) == len(splits) - (name == "time")


def test_merged_splits_are_scored_by_what_was_chosen_without_any_of_them():
    splits = list(theirs.KFold(8, shuffle=True, random_state=1).split(X))
    blocks = [[0, 1, 2], [3, 4], [5], [6, 7]]
    model = DecisionTreeClassifierCV(cv=splits)
    model, evidence = fit(model, CLASSES, nested=True, blocks=blocks)
    held = [np.concatenate([splits[number][1] for number in block]) for block in blocks]
    everything = np.arange(len(X))
    merged = [(np.setdiff1d(everything, rows), np.sort(rows)) for rows in held]
    nested = model.evaluation_.nested
    assert nested["split"].tolist() == list(range(8))
    for block, again, _ in nest_by_hand(model, CLASSES, merged):
        for number in blocks[block]:
            test = splits[number][1]
            shares = again.predict_proba(X[test])[:, 1]
            np.testing.assert_array_equal(evidence.nested_predictions[number][:, 1], shares)
            score = -brier_score_loss(CLASSES[test] == "yes", shares)
            assert nested["test_score"][number] == pytest.approx(score, abs=1e-12)
            assert nested["best_params"][number].items() <= again.best_params_.items()
    assert evidence.n_trees == len(model.min_samples_leaf) * (1 + 8 + 1 + 4 + 6)


def test_two_folds_choose_by_parts_of_each_other():
    splits = list(theirs.KFold(2, shuffle=True, random_state=1).split(X))
    tests = [part for _, rows in splits for part in np.array_split(rows, 4)]
    parts = [Split(len(X), part) for part in tests]
    model, _ = fit(DecisionTreeClassifierCV(cv=splits), CLASSES, nested=True, parts=parts)
    nested = model.evaluation_.nested
    for number, (train, test) in enumerate(splits):
        inside = [np.searchsorted(train, part) for part in tests if set(part) <= set(train)]
        inner = [(np.setdiff1d(np.arange(len(train)), rows), rows) for rows in inside]
        again = DecisionTreeClassifierCV(cv=inner).fit(X[train], CLASSES[train])
        score = -brier_score_loss(CLASSES[test] == "yes", again.predict_proba(X[test])[:, 1])
        assert nested["test_score"][number] == pytest.approx(score, abs=1e-12)
        assert nested["best_params"][number].items() <= again.best_params_.items()


def test_single_rows_nest_in_blocks_and_are_scored_together():
    blocks = [list(range(first, 160, 5)) for first in range(5)]
    model = DecisionTreeRegressorCV(cv=theirs.LeaveOneOut())
    model, evidence = fit(model, NUMBERS, nested=True, blocks=blocks)
    answers = np.array([evidence.nested_predictions[row][0] for row in range(160)])
    naive = (NUMBERS.sum() - NUMBERS) / 159
    score = 1 - ((NUMBERS - answers) ** 2).sum() / ((NUMBERS - naive) ** 2).sum()
    row = model.evaluation_.summary["rows"]["nested"]
    assert (row["score"], row["n_splits"]) == (pytest.approx(score, abs=1e-12), 160)


def test_weights_and_numbers_nest_too():
    splits = list(theirs.KFold(4).split(X))
    model = DecisionTreeRegressorCV(cv=splits, min_samples_leaf=(2, 9))
    model, _ = fit(model, NUMBERS, WEIGHTS, nested=True)
    nested = model.evaluation_.nested
    for number, again, test in nest_by_hand(model, NUMBERS, splits, WEIGHTS):
        exists = test[WEIGHTS[test] > 0]
        train = np.setdiff1d(np.arange(len(X)), test)
        naive = np.average(NUMBERS[train], weights=WEIGHTS[train])
        errors = [NUMBERS[exists] - said for said in (again.predict(X[exists]), naive)]
        parts = [WEIGHTS[exists] @ each**2 for each in errors]
        score = 1 - parts[0] / parts[1]
        assert nested["test_score"][number] == pytest.approx(score, abs=1e-12)


def test_asking_for_more_changes_nothing_else():
    plain = DecisionTreeClassifierCV(cv=4).fit(X, CLASSES)
    more, evidence = fit(DecisionTreeClassifierCV(cv=4), CLASSES, nested=True, n_permutations=2)
    assert plain.evaluation_.nested is None
    assert plain.best_params_ == more.best_params_
    np.testing.assert_array_equal(plain.tree_.threshold, more.tree_.threshold)
    np.testing.assert_array_equal(
        plain.cv_results_["mean_test_score"], more.cv_results_["mean_test_score"]
    )
    assert evidence.importance.shape == (4, 4)


def test_without_inner_splits_there_is_no_nested_score():
    model, _ = fit(DecisionTreeRegressorCV(cv=2), NUMBERS, nested=True)
    assert model.evaluation_.nested is None
    ranked = DecisionTreeClassifierCV(cv=theirs.LeaveOneOut(), scoring="roc_auc")
    assert fit(ranked, CLASSES, nested=True)[0].evaluation_.nested is None


def test_a_column_is_as_important_as_what_the_score_loses_by_shuffling_it():
    y = np.where(X[:, 2] > 0, "b", "a")
    _, evidence = fit(DecisionTreeClassifierCV(cv=5), y, n_permutations=40)
    losses = evidence.importance.mean(axis=1)
    assert losses[[0, 1, 3]].tolist() == [0, 0, 0]
    share = np.mean(y == "b")
    # Every answer is right; shuffled, an answer is wrong if it is that of a row of the other class.
    assert losses[2] == pytest.approx(2 * share * (1 - share), abs=0.05)
    again = fit(DecisionTreeClassifierCV(cv=5, n_jobs=2), y, n_permutations=40)[1]
    np.testing.assert_array_equal(evidence.importance, again.importance)


def test_importance_reads_categories_and_missing_values():
    letters = np.array(["x", "y", "z", None], dtype=object)[RANDOM.integers(0, 4, 160)]
    data = np.column_stack([letters, X[:, 1].astype(object)])
    y = (letters == "y") | (letters == None)  # noqa: E711
    model = DecisionTreeClassifierCV(cv=4, categorical_features=[0])
    evidence = fit_with_evidence(model, Request(data, y, n_permutations=3))
    losses = evidence.importance.mean(axis=1)
    assert losses[0] > 0.3
    assert losses[1] == 0


@pytest.mark.parametrize(
    ("scoring", "y"),
    [
        ("neg_brier_score", CLASSES),
        ("neg_log_loss", CLASSES),
        ("accuracy", CLASSES),
        ("neg_brier_score", np.where(NUMBERS > 2, "more", CLASSES)),
        ("r2", NUMBERS),
        ("neg_mean_squared_error", NUMBERS + 1e6),
        ("neg_root_mean_squared_error", NUMBERS),
        ("neg_mean_absolute_error", NUMBERS),
        ("roc_auc", CLASSES),
    ],
)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_scores_to_choose_by_are_the_scores_up_to_rounding(scoring, y, weights, monkeypatch):
    found = []

    def estimate(judge, *arguments):
        scores = estimated(judge, *arguments)
        found.append((scores, judge.score(*arguments[:-1])))
        return scores

    estimated = TunedScores.estimate
    monkeypatch.setattr(TunedScores, "estimate", estimate)
    kind = DecisionTreeRegressorCV if y.dtype.kind == "f" else DecisionTreeClassifierCV
    model = kind(cv=theirs.KFold(3, shuffle=True, random_state=1), scoring=scoring)
    fit(model, y, weights, nested=True)
    assert len(found) == 3 * 6
    for estimates, scores in found:
        np.testing.assert_allclose(estimates, scores, rtol=1e-9, atol=1e-9)
