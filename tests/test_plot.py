"""Pictures show what the fit found: lines, bands, marks, bars and labels."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import LeaveOneOut, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treefold
from treefold import (
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressorCV,
    ParameterError,
    plot,
)
from treefold.model_selection import GridSearchCV, RandomizedSearchCV

mpl.use("Agg")
CANCER = load_breast_cancer(as_frame=True, return_X_y=True)
DIABETES = load_diabetes(as_frame=True, return_X_y=True)


@pytest.fixture
def axes() -> Iterator[Any]:
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


@pytest.fixture(scope="module")
def classifier() -> DecisionTreeClassifierCV:
    return DecisionTreeClassifierCV().fit(*CANCER)


@pytest.fixture(scope="module")
def regressor() -> DecisionTreeRegressorCV:
    return DecisionTreeRegressorCV(min_samples_leaf=[5, 20]).fit(*DIABETES)


def labelled(axes: Any) -> dict[str, Any]:
    handles, labels = axes.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def texts(labels: Any) -> list[str]:
    return [label.get_text().strip() for label in labels]


# The path ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("against", [None, "n_leaves", "ccp_alpha"])
def test_the_path_shows_every_candidate_and_marks_the_chosen_one(
    classifier: Any, axes: Any, against: str | None
) -> None:
    assert plot.path(classifier, against=against, ax=axes) is axes
    results, index = classifier.cv_results_, classifier.best_index_
    alpha = results["param_ccp_alpha"].data
    x = alpha if against == "ccp_alpha" else results["n_leaves"]
    drawn = labelled(axes)
    lines = [line for line in axes.lines if len(line.get_xdata()) > 2]
    assert len(lines) == 3  # one per min_samples_leaf
    points = np.concatenate([np.transpose(line.get_data()) for line in lines])
    wanted = np.stack((x, results["mean_test_score"]), axis=1)
    np.testing.assert_allclose(sorted(points.tolist()), sorted(wanted.tolist()), rtol=1e-12)
    (chosen,) = (drawn[name] for name in drawn if name.startswith("chosen"))
    assert chosen.get_xdata()[0] == x[index]
    assert chosen.get_ydata()[0] == pytest.approx(classifier.best_score_)
    assert "neg_brier_score" in axes.get_ylabel()


def test_the_band_is_one_standard_error_and_the_bar_is_below_the_best(
    regressor: Any, axes: Any
) -> None:
    plot.path(regressor, ax=axes)
    drawn = labelled(axes)
    results = regressor.cv_results_
    every, errors = results["mean_test_score"], results["se_test_score"]
    best = every.argmax()
    bar = drawn["one standard error below the best"].get_ydata()[0]
    assert bar == pytest.approx(every[best] - errors[best])
    leaf_sizes = regressor.cv_results_["param_min_samples_leaf"].data
    same = leaf_sizes == regressor.best_params_["min_samples_leaf"]
    band = drawn["one standard error on each side"].get_paths()[0].get_extents()
    means = every[same]
    assert band.ymin == pytest.approx((means - errors[same]).min())
    assert band.ymax == pytest.approx((means + errors[same]).max())
    assert drawn["without any split"].get_ydata()[0] == 0
    assert drawn["best"].get_ydata()[0] == pytest.approx(every[best])


def test_pooled_scores_have_no_band(axes: Any) -> None:
    X, y = load_iris(return_X_y=True)
    ranked = DecisionTreeClassifierCV(min_samples_leaf=5, cv=LeaveOneOut(), scoring="roc_auc")
    plot.path(ranked.fit(X[:, :2], y > 0), ax=axes)
    assert not any("standard error" in name for name in labelled(axes))
    assert axes.get_ylabel() == "roc_auc, all held-out rows"


def test_a_search_is_drawn_against_the_parameter_that_varies(axes: Any) -> None:
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 5]}, cv=3).fit(*CANCER)
    plot.path(search, ax=axes)
    line = labelled(axes)["mean score"]
    assert line.get_xdata().tolist() == [1, 2, 3, 5]
    np.testing.assert_allclose(line.get_ydata(), search.cv_results_["mean_test_score"])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("max_depth", "accuracy, mean of 3 splits")


def test_a_search_with_several_metrics_shows_that_of_refit(axes: Any) -> None:
    search = RandomizedSearchCV(
        DecisionTreeClassifier(),
        {"ccp_alpha": [0.0, 0.001, 0.01, 0.1]},
        n_iter=4,
        random_state=0,
        cv=3,
        scoring=["accuracy", "neg_log_loss"],
        refit="neg_log_loss",
    ).fit(*CANCER)
    plot.path(search, ax=axes)
    assert axes.get_ylabel().startswith("neg_log_loss")
    expected = sorted(search.cv_results_["mean_test_neg_log_loss"])
    np.testing.assert_allclose(sorted(labelled(axes)["mean score"].get_ydata()), expected)


def test_what_a_path_cannot_show_is_refused_with_advice(classifier: Any, axes: Any) -> None:
    grid = {"max_depth": [1, None], "min_samples_leaf": [1, 5]}
    search = GridSearchCV(DecisionTreeClassifier(), grid, cv=2).fit(*CANCER)
    with pytest.raises(ParameterError, match=r"2 parameters vary.*max_depth, min_samples_leaf"):
        plot.path(search, ax=axes)
    with pytest.raises(ParameterError, match="one is None"):
        plot.path(search, against="max_depth", ax=axes)
    with pytest.raises(ParameterError, match=r"'criterion'.*ccp_alpha"):
        plot.path(classifier, against="criterion", ax=axes)
    with pytest.raises(ParameterError, match="Got DecisionTreeClassifier instead"):
        plot.path(DecisionTreeClassifier().fit(*CANCER), ax=axes)
    with pytest.raises(NotFittedError):
        plot.path(DecisionTreeClassifierCV(), ax=axes)
    with pytest.raises(NotFittedError):
        plot.path(GridSearchCV(DecisionTreeClassifier(), grid), ax=axes)
    assert not axes.has_data()


def test_a_loaded_model_has_the_same_path(classifier: Any, axes: Any, tmp_path: Path) -> None:
    treefold.save(classifier, tmp_path / "model.treefold")
    plot.path(treefold.load(tmp_path / "model.treefold"), ax=axes)
    means = labelled(axes)["mean score"].get_ydata()
    assert set(means.tolist()) <= set(classifier.cv_results_["mean_test_score"].tolist())


# The tree ---------------------------------------------------------------------------------------


def test_plot_tree_and_the_tree_of_plot_are_one_function() -> None:
    assert treefold.plot_tree is plot.tree


def test_the_tree_of_a_search_is_drawn(axes: Any) -> None:
    tree = DecisionTreeClassifier()
    search = GridSearchCV(tree, {"max_depth": [1, 2]}, cv=2).fit(*CANCER)
    assert len(plot.tree(search, ax=axes)) == search.best_estimator_.tree_.node_count
    steps = make_pipeline(StandardScaler(), tree)
    piped = GridSearchCV(steps, {"decisiontreeclassifier__max_depth": [1]}, cv=2).fit(*CANCER)
    assert len(plot.tree(piped, ax=axes)) == 3
    with pytest.raises(ParameterError, match="refit=False"):
        plot.tree(GridSearchCV(tree, {"max_depth": [1]}, cv=2, refit=False).fit(*CANCER), ax=axes)


# Stability --------------------------------------------------------------------------------------


def test_stability_has_two_bars_per_split_in_the_order_of_the_tree(
    classifier: Any, axes: Any
) -> None:
    assert plot.stability(classifier, ax=axes) is axes
    found = classifier.stability_
    splits = np.flatnonzero(classifier.tree_.feature >= 0)
    widths = np.array([bar.get_width() for bar in axes.patches]).reshape(-1, 2)
    assert widths[:, 0].tolist() == found["n_same_column"][splits].tolist()
    assert widths.sum(axis=1).tolist() == found["n_reached"][splits].tolist()
    names = np.array(CANCER[0].columns)[classifier.tree_.feature[splits]]
    for name, label in zip(names, texts(axes.get_yticklabels()), strict=True):
        assert label.startswith(f"{name} <= ")
    assert axes.get_xlim() == (0, classifier.n_splits_)
    assert "steady, not certain" in axes.get_xlabel()
    cuts = [text for text in texts(axes.texts) if text]
    is_range = found["threshold_min"] < found["threshold_max"]
    assert len(cuts) == is_range[splits].sum()
    assert all(cut.startswith("cut at") for cut in cuts)


def test_stability_goes_as_deep_as_asked_and_knows_a_tree_without_splits(
    classifier: Any, axes: Any
) -> None:
    plot.stability(classifier, max_depth=0, ax=axes)
    assert len(axes.patches) == 2
    axes.clear()
    leaf = DecisionTreeClassifierCV(max_depth=1, ccp_alpha=1.0).fit(*CANCER)
    plot.stability(leaf, ax=axes)
    assert texts(axes.texts) == ["one leaf: no split"]


def test_only_what_was_cross_validated_has_stability(axes: Any) -> None:
    with pytest.raises(ParameterError, match="Got DecisionTreeClassifier instead"):
        plot.stability(DecisionTreeClassifier().fit(*CANCER), ax=axes)
    with pytest.raises(NotFittedError):
        plot.stability(DecisionTreeClassifierCV(), ax=axes)


# Importance -------------------------------------------------------------------------------------


def test_importance_without_data_is_that_of_the_training_rows(classifier: Any, axes: Any) -> None:
    assert plot.importance(classifier, max_columns=4, ax=axes) is axes
    shares = classifier.feature_importances_
    assert [bar.get_width() for bar in axes.patches] == sorted(shares, reverse=True)[:4]
    assert texts(axes.get_yticklabels())[0] == CANCER[0].columns[shares.argmax()]
    assert "on the training rows" in axes.get_xlabel()
    assert not axes.lines


@pytest.mark.parametrize("cv", [4, ShuffleSplit(3, random_state=0)])
def test_importance_with_data_is_what_held_out_rows_lose(axes: Any, cv: Any) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = X[:, 1] > 0
    model = DecisionTreeClassifierCV(cv=cv, scoring="accuracy").fit(X, y)
    plot.importance(model, X, y, ax=axes)
    losses = dict(
        zip(texts(axes.get_yticklabels()), (bar.get_width() for bar in axes.patches), strict=True)
    )
    assert losses["feature_0"] == losses["feature_2"] == 0  # the tree does not use them
    assert 0.3 < losses["feature_1"] < 0.7  # half of the answers are wrong by chance
    assert len(axes.lines[0].get_xdata()) == 3 * model.n_splits_
    assert axes.lines[0].get_xdata()[: model.n_splits_].mean() == losses["feature_1"]


def test_importance_refuses_data_that_are_not_those_of_the_fit(
    classifier: Any, axes: Any, tmp_path: Path
) -> None:
    X, y = CANCER
    with pytest.raises(treefold.InputError, match="not the data of the fit"):
        plot.importance(classifier, X[::-1], y[::-1].to_numpy()[::-1], ax=axes)
    with pytest.raises(ParameterError, match="both X and y"):
        plot.importance(classifier, X, ax=axes)
    with pytest.raises(ParameterError, match="DecisionTreeClassifier instead"):
        plot.importance(DecisionTreeClassifier().fit(X, y), X, y, ax=axes)
    treefold.save(classifier, tmp_path / "model.treefold")
    with pytest.raises(ParameterError, match="does not know its folds"):
        plot.importance(treefold.load(tmp_path / "model.treefold"), X, y, ax=axes)
    assert not axes.has_data()


def test_single_held_out_rows_cannot_be_shuffled(axes: Any) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifierCV(min_samples_leaf=5, cv=LeaveOneOut()).fit(X[::2], y[::2])
    with pytest.raises(ParameterError, match="single row"):
        plot.importance(model, X[::2], y[::2], ax=axes)


# All of them ------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [plot.path, plot.stability, plot.importance])
def test_each_picture_opens_a_figure_of_its_own(function: Any, classifier: Any, axes: Any) -> None:
    from matplotlib import pyplot  # noqa: PLC0415

    drawn = function(classifier)
    assert drawn.figure is not axes.figure
    assert not axes.has_data()
    drawn.figure.canvas.draw()
    pyplot.close(drawn.figure)
