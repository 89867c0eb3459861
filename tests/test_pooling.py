"""One definition per score: what the splits of a cross-validation give together."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut

import treefold
from treefold import DecisionTreeClassifierCV, DecisionTreeRegressorCV
from treefold.evaluation.fitting import Request, fit_with_evidence
from treefold.evaluation.trials import Trials, find_best
from treefold.scoring.pooling import Pooling

RANDOM = np.random.default_rng(8)
N_ROWS = 150
X = RANDOM.normal(size=(N_ROWS, 3)).round(1)
NUMBERS = X[:, 0] * 2 + RANDOM.normal(size=N_ROWS)
CLASSES = np.where(NUMBERS > 0.5, "yes", "no")
GROUPS = np.sort(RANDOM.integers(0, 20, N_ROWS) ** 2 // 40)  # folds of many sizes
WEIGHTS = RANDOM.integers(1, 4, N_ROWS).astype(float)
SPLITS = list(GroupKFold(4).split(X, groups=GROUPS))


def fit(scoring, y, weights=None, cv=SPLITS, **wanted):
    kind = DecisionTreeRegressorCV if y.dtype.kind == "f" else DecisionTreeClassifierCV
    model = kind(cv=cv, scoring=scoring, min_samples_leaf=(2, 9))
    return model, fit_with_evidence(model, Request(X, y, weights, **wanted))


def gather(model, y, weights):
    """All held-out rows: what is true, what was said, what they count, and what is naive."""
    tests = [test for _, test in SPLITS]
    counts = np.ones(N_ROWS) if weights is None else weights
    naive = [np.full(len(b), np.average(y[a], weights=counts[a])) for a, b in SPLITS]
    rows = np.concatenate(tests)
    return y[rows], np.concatenate(model.evaluation_.predictions), counts[rows], naive


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_r2_is_about_all_held_out_rows_and_naive_is_zero(weights):
    model, _ = fit("r2", NUMBERS, weights)
    truth, said, counts, naive = gather(model, NUMBERS, weights)
    total = counts @ (truth - np.concatenate(naive)) ** 2
    expected = 1 - counts @ (truth - said) ** 2 / total
    evaluation = model.evaluation_
    assert evaluation.score == model.best_score_ == pytest.approx(expected, abs=1e-12)
    row = evaluation.summary["rows"]["baseline"]
    assert (row["score"], row["standard_error"]) == (0.0, 0.0)
    assert (evaluation.baseline == 0).all()
    error, _ = fit("neg_root_mean_squared_error", NUMBERS, weights)
    rows = error.evaluation_.summary["rows"]
    assert rows["baseline"]["score"] == pytest.approx(-np.sqrt(total / counts.sum()))
    squares, _ = fit("neg_mean_squared_error", NUMBERS, weights)
    best = [one.evaluation_.summary["best_index"] for one in (model, error, squares)]
    assert best[0] == best[1] == best[2]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_errors_are_those_of_all_held_out_rows(weights):
    root, _ = fit("neg_root_mean_squared_error", NUMBERS, weights)
    truth, said, counts, _ = gather(root, NUMBERS, weights)
    expected = np.sqrt(np.average((truth - said) ** 2, weights=counts))
    assert -root.evaluation_.score == pytest.approx(expected, abs=1e-12)
    mean, _ = fit("neg_mean_absolute_error", NUMBERS, weights)
    truth, said, counts, _ = gather(mean, NUMBERS, weights)
    expected = np.average(np.abs(truth - said), weights=counts)
    assert -mean.evaluation_.score == pytest.approx(expected, abs=1e-12)
    for scoring, score in (
        ("neg_brier_score", metrics.brier_score_loss),
        ("neg_log_loss", metrics.log_loss),
    ):
        model, _ = fit(scoring, CLASSES, weights)
        truth, said, counts, _ = gather(model, CLASSES == "yes", weights)
        expected = score(truth, said[:, 1], sample_weight=counts)
        assert -model.evaluation_.score == pytest.approx(expected, abs=1e-9)


def test_auc_is_the_mean_over_the_splits_that_hold_both_classes():
    y = CLASSES.copy()
    y[SPLITS[0][1]] = "no"
    model, _ = fit("roc_auc", y)
    scores = model.evaluation_.test_scores["roc_auc"]
    assert np.isnan(scores).tolist() == [True, False, False, False]
    for score, said, (_, test) in list(
        zip(scores, model.evaluation_.predictions, SPLITS, strict=True)
    )[1:]:
        assert score == pytest.approx(metrics.roc_auc_score(y[test] == "yes", said[:, 1]))
    assert model.evaluation_.score == pytest.approx(np.mean(scores[1:]))
    assert "mean over 3 of 4 splits" in repr(model.evaluation_)
    assert model.evaluation_.summary["rows"]["baseline"]["score"] == 0.5


def test_the_standard_error_is_that_of_a_ratio_of_sums():
    """About that of a jackknife over splits, and for equal splits the usual one."""
    scores, sizes = RANDOM.normal(size=12), RANDOM.integers(20, 30, 12).astype(float)
    equal = Pooling(np.full(12, 7.0))
    assert equal.measure_error(scores) == pytest.approx(np.std(scores, ddof=1) / np.sqrt(12))
    naive = -RANDOM.uniform(1, 1.2, 12)
    for pooling, given in (
        (Pooling(sizes), scores),
        (Pooling(sizes, "root"), -RANDOM.uniform(1, 1.5, 12)),
        (Pooling(sizes, "r2", naive), naive * RANDOM.uniform(0.5, 0.9, 12)),
    ):
        others = [np.delete(np.arange(12), split) for split in range(12)]
        left = np.array([pooling.select(rest).pool(given[rest]) for rest in others])
        jackknife = np.sqrt(11 / 12 * ((left - left.mean()) ** 2).sum())
        assert pooling.measure_error(given) == pytest.approx(jackknife, rel=0.05)


def test_what_cannot_be_is_no_number():
    nothing = Pooling(np.zeros(3))
    assert np.isnan(nothing.pool(np.full(3, np.nan)))
    assert np.isnan(Pooling(np.ones(1)).measure_error(np.ones(1)))
    flat = Pooling(np.ones(2), "r2", np.zeros(2))
    assert flat.pool(np.zeros(2)) == 0


def test_all_scores_of_a_summary_are_over_the_same_rows():
    splits = [(np.arange(30 * k), np.arange(30 * k, 30 * k + 30)) for k in range(1, 5)]
    model, _ = fit("neg_brier_score", CLASSES, cv=splits, nested=True)
    rows = model.evaluation_.summary["rows"]
    assert {row["n_splits"] for row in rows.values()} == {3}
    expected = np.mean(model.evaluation_.test_scores["neg_brier_score"][1:])
    assert rows["cross_validation"]["score"] == pytest.approx(expected)


def test_single_rows_have_an_r2_and_its_error():
    model, _ = fit("r2", NUMBERS, cv=LeaveOneOut())
    said = np.concatenate(model.evaluation_.predictions)
    naive = (NUMBERS.sum() - NUMBERS) / (N_ROWS - 1)
    expected = 1 - ((NUMBERS - said) ** 2).sum() / ((NUMBERS - naive) ** 2).sum()
    assert model.evaluation_.score == pytest.approx(expected)
    assert model.evaluation_.standard_error > 0


def test_a_loss_of_importance_is_one_of_the_score():
    losses = {
        scoring: fit(scoring, NUMBERS, n_permutations=2)
        for scoring in ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error")
    }
    (r2, of_r2), (_, of_squares), (root, of_root) = losses.values()
    if r2.best_params_ == root.best_params_ == losses["neg_mean_squared_error"][0].best_params_:
        squares = of_squares.importance.mean(axis=1)
        naive = -losses["neg_mean_squared_error"][0].evaluation_.summary["rows"]["baseline"][
            "score"
        ]
        np.testing.assert_allclose(of_r2.importance.mean(axis=1), squares / naive)
        before = -root.evaluation_.score
        after = before + of_root.importance.mean(axis=1)
        np.testing.assert_allclose(after**2 - before**2, squares)
    assert r2.best_params_ == root.best_params_


def test_the_best_is_the_chosen_one_if_they_are_equal():
    scores = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 0.0]])
    trials = Trials([{"ccp_alpha": 0.0}] * 3, np.arange(3), scores, Pooling(np.ones(2)))
    assert [find_best(trials, chosen) for chosen in (0, 1, 2)] == [0, 1, 0]


def test_a_file_keeps_what_the_splits_give_together(tmp_path):
    model, _ = fit("r2", NUMBERS, nested=True)
    treefold.save(model, tmp_path / "m.treefold")
    again = treefold.load(tmp_path / "m.treefold")
    assert again.evaluation_.summary == model.evaluation_.summary
    assert again.best_score_ == model.best_score_
    for name in ("mean_test_score", "std_test_score", "se_test_score", "rank_test_score"):
        np.testing.assert_array_equal(again.cv_results_[name], model.cv_results_[name])


def test_equal_folds_are_averaged_as_ever():
    model, _ = fit("accuracy", CLASSES, cv=KFold(5))
    scores = model.evaluation_.test_scores["accuracy"]
    assert model.evaluation_.score == np.mean(scores)


def test_balanced_accuracy_is_a_mean_over_splits_too():
    """Trees without a split may predict another class in each fold: pooled, that is no half."""
    model, _ = fit("balanced_accuracy", CLASSES)
    scores = [
        metrics.balanced_accuracy_score(CLASSES[test] == "yes", said.argmax(axis=1))
        for (_, test), said in zip(SPLITS, model.evaluation_.predictions, strict=True)
    ]
    assert model.evaluation_.score == pytest.approx(np.mean(scores))
    assert "mean over 4 splits with both classes" in repr(model.evaluation_)
    assert model.evaluation_.summary["rows"]["baseline"]["score"] == 0.5
