"""The numbers behind the charts of a report, against scikit-learn and against plain counting."""

import re

import numpy as np
import pytest
from cases import BASE_SEED
from sklearn import metrics
from sklearn.datasets import load_diabetes
from sklearn.inspection import partial_dependence

from treefold import DecisionTreeClassifier, DecisionTreeRegressor
from treefold.export.cleaning import clean, shorten

pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")

from treefold.findings.thresholds import choose_by_cost, list_thresholds
from treefold.reporting.curves import (
    average_curves,
    calibrate,
    confuse,
    find_curve,
    measure_area,
)
from treefold.reporting.dependence import find_dependence


@pytest.fixture
def answers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(BASE_SEED)
    shares = random.integers(0, 9, 300) / 8
    weights = random.integers(1, 5, 300).astype(float)
    return random.random(300) < shares, shares, weights


def test_the_curve_is_scikit_learns(answers) -> None:
    is_positive, shares, weights = answers
    curve = find_curve(is_positive, shares, weights)
    false_alarms, recall, thresholds = metrics.roc_curve(
        is_positive, shares, sample_weight=weights, drop_intermediate=False
    )
    np.testing.assert_allclose(curve["threshold"], thresholds[1:])
    np.testing.assert_allclose(curve["recall"], recall[1:])
    np.testing.assert_allclose(curve["false_alarms"], false_alarms[1:])
    for threshold, precision in zip(curve["threshold"], curve["precision"], strict=True):
        expected = metrics.precision_score(is_positive, shares >= threshold, sample_weight=weights)
        assert precision == pytest.approx(expected)


def test_bins_of_calibration_hold_all_rows_once(answers) -> None:
    is_positive, shares, weights = answers
    bins = calibrate(is_positive, shares, weights)
    assert sum(one.rows for one in bins) == weights.sum()
    assert sum(one.rows * one.came for one in bins) == pytest.approx(weights[is_positive].sum())
    assert sum(one.rows * one.said for one in bins) == pytest.approx(weights @ shares)
    for one in bins:
        assert 0 <= one.low <= one.came <= one.high <= 1


def test_confusion_is_scikit_learns() -> None:
    truth, said = np.random.default_rng(BASE_SEED).integers(0, 4, (2, 100))
    expected = metrics.confusion_matrix(truth, said, labels=range(4))
    assert confuse(truth, said, 4, np.ones(100)).tolist() == expected.tolist()


@pytest.mark.parametrize("ratio", [0.2, 1, 5])
def test_no_threshold_is_cheaper(answers, ratio: float) -> None:
    is_positive, shares, weights = answers

    def cost(threshold: float) -> float:
        is_called = shares >= threshold
        missed, wrong = is_positive & ~is_called, ~is_positive & is_called
        return ratio * weights[missed].sum() + weights[wrong].sum()

    chosen = choose_by_cost(list_thresholds(is_positive, shares, weights), ratio)
    cheapest = min(cost(hundredth / 100) for hundredth in range(1, 100))
    assert cost(chosen.threshold) == pytest.approx(cheapest)


def test_partial_dependence_is_scikit_learns_recursion() -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    model = DecisionTreeRegressor(max_leaf_nodes=20).fit(X, y)
    theirs = model.to_sklearn()
    for column in np.unique(model.tree_.feature[model.tree_.feature >= 0]).tolist():
        found = find_dependence(model.tree_, column)
        expected = partial_dependence(theirs, X, [column], method="recursion", grid_resolution=40)
        grid = expected["grid_values"][0]
        ours = found.values[np.searchsorted(found.edges, grid), 0]
        np.testing.assert_allclose(ours, expected["average"][0])


def test_partial_dependence_on_categories_and_missing_values() -> None:
    kinds = np.array(["a", "b", "c", None] * 30, dtype=object)
    y = np.array([1.0, 2.0, 6.0, 8.0] * 30)
    X = np.column_stack((kinds, np.zeros(120)))
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, y)
    found = find_dependence(model.tree_, 0)
    assert found.labels == ("a", "b", "c")
    assert found.values[:, 0].tolist() == [1.0, 2.0, 6.0]
    assert found.missing is not None
    assert found.missing.tolist() == [8.0]


def test_a_column_that_is_not_used_changes_nothing() -> None:
    model = DecisionTreeClassifier().fit([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]], [0, 1, 1])
    found = find_dependence(model.tree_, 1)
    assert found.edges.tolist() == []
    np.testing.assert_allclose(found.values, [[1 / 3, 2 / 3]])


def test_text_is_made_fit_to_be_shown() -> None:
    assert clean("plain ä ☃") == "plain ä ☃"
    assert clean("a\u202eb\x00\ud800\n") == "a\\u202eb\\u0000\\ud800\\u000a"
    assert shorten("abcdefghij", 10) == "abcdefghij"
    assert shorten("abcdefghijk", 7) == "abcd…jk"
    assert len(clean("x" * 10_000)) == 300


def test_the_mean_curve_has_the_mean_area(answers) -> None:
    is_positive, shares, weights = answers
    parts = np.array_split(np.arange(300), 7)
    curves = [find_curve(is_positive[rows], shares[rows], weights[rows]) for rows in parts]
    areas = [
        metrics.roc_auc_score(is_positive[rows], shares[rows], sample_weight=weights[rows])
        for rows in parts
    ]
    mean = average_curves(curves)
    assert measure_area(mean) == pytest.approx(np.mean(areas))
    for name in ("false_alarms", "recall"):
        assert (np.diff(mean[name]) >= -1e-12).all()
        assert (mean[name][0], mean[name][-1]) == (0, pytest.approx(1))
    constant = [find_curve(is_positive[rows], shares[rows] * 0, weights[rows]) for rows in parts]
    assert measure_area(average_curves(constant)) == pytest.approx(0.5)


# Drawings ---------------------------------------------------------------------------------------


def test_the_roc_curve_fills_its_chart_where_points_share_an_x() -> None:
    from treefold.reporting.held_out import _draw_roc  # noqa: PLC0415 - needs vl_convert

    pytest.importorskip("vl_convert")
    x, y = [0.0, 0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 0.6, 0.7, 0.9, 0.95, 1.0]
    chart = _draw_roc({"false_alarms": np.array(x), "recall": np.array(y)}, "yes")
    paths = re.findall(
        r'<path [^>]*\bd="(M[^"]*)"[^>]*fill-opacity|<path [^>]*d="([^"]*)"', chart.svg
    )
    numbers = [
        [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", "".join(found))] for found in paths
    ]
    curves = [path for path in numbers if len(path) >= 2 * len(x)]
    assert len(curves) == 2, chart.svg  # the area, the line
    for path in curves:
        heights = path[1::2]
        assert min(heights) >= 0
        assert max(heights) - min(heights) > 190, path
