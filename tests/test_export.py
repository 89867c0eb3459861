"""Trees as text and as pictures."""

import re
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.tree
from sklearn.datasets import load_diabetes, load_iris

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, export_text, plot_tree

mpl.use("Agg")
IRIS = load_iris()
DIABETES = load_diabetes()


@pytest.fixture
def axes() -> Any:
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


OPTIONS = [
    {},
    {"show_weights": True},
    {"decimals": 4, "spacing": 5},
    {"feature_names": IRIS.feature_names},
    {"class_names": IRIS.target_names},
    {"max_depth": 0},
    {"max_depth": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_text_of_a_classifier_is_that_of_scikit_learn(options: dict[str, Any]) -> None:
    ours = DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    assert sklearn.tree.export_text(ours.to_sklearn(), **options) == export_text(ours, **options)


def test_text_of_a_regressor_is_that_of_scikit_learn() -> None:
    ours = DecisionTreeRegressor(max_depth=14).fit(DIABETES.data, DIABETES.target)
    expected = sklearn.tree.export_text(ours.to_sklearn(), decimals=3, max_depth=4)
    # But for the cuts, of which scikit-learn writes "<= -0.004" where it is -0.00376118.
    cut = re.compile(r"(<=|> ) (\S+)$", re.MULTILINE)
    written = export_text(ours, decimals=3, max_depth=4)
    assert expected == cut.sub(lambda one: f"{one[1]} {float(one[2]):.3f}", written)
    assert "feature_8 <= -0.00376118\n" in written


def test_text_uses_the_names_of_the_frame() -> None:
    model = DecisionTreeClassifier().fit(pd.DataFrame({"age": [1, 5]}), ["young", "old"])
    expected = "|--- age <= 3.00\n|   |--- class: young\n|--- age >  3.00\n|   |--- class: old\n"
    assert expected == export_text(model)


def test_text_of_a_single_leaf() -> None:
    model = DecisionTreeRegressor().fit([[1.0], [2.0]], [7.0, 7.0])
    assert export_text(model) == "|--- value: [7.00]\n"


def test_text_shows_categories_and_the_side_of_missing_values() -> None:
    colours = ["red", "blue", None, "green", "red", "blue"]
    model = DecisionTreeClassifier().fit(pl.DataFrame({"c": colours}), [0, 1, 1, 1, 0, 1])
    expected = (
        "|--- c in {blue, green} or missing\n|   |--- class: 1\n"
        "|--- c in {red}\n|   |--- class: 0\n"
    )
    assert expected == export_text(model)
    assert model.tree_.categories_left(0) == ("blue", "green")
    with pytest.raises(ValueError, match="Node 1 does not split by categories"):
        model.tree_.categories_left(1)


def test_text_shows_a_few_of_many_categories() -> None:
    labels = [f"c{number:02}" for number in range(24)] * 2
    y = np.arange(48) % 24 < 12
    model = DecisionTreeClassifier().fit(pd.DataFrame({"c": labels}), y)
    first = export_text(model).splitlines()[0]
    assert first == "|--- c in {c00, c01, c02, c03, c04, c05, c06, c07, ... 4 more}"
    assert len(model.tree_.categories_left(0)) == 12


def test_text_shows_the_side_of_missing_numbers() -> None:
    X = [[1.0], [2.0], [3.0], [np.nan]]
    assert "feature_0 <= 1.50 or missing" in export_text(
        DecisionTreeClassifier().fit(X, [0, 1, 1, 0])
    )
    assert "feature_0 >  1.50 or missing" in export_text(
        DecisionTreeClassifier().fit(X, [0, 1, 1, 1])
    )


def test_text_shows_present_and_missing() -> None:
    model = DecisionTreeClassifier().fit([[1.0], [2.0], [np.nan]], [0, 0, 1])
    lines = export_text(model).splitlines()
    assert lines[0] == "|--- feature_0 is present"
    assert lines[2] == "|--- feature_0 is missing"


@pytest.mark.parametrize("missing", [False, True])
def test_text_says_true_and_false_of_booleans(missing: bool) -> None:
    values = [True, False, True, None if missing else False]
    model = DecisionTreeClassifier().fit(pl.DataFrame({"alone": values}), [1, 0, 1, 0])
    more = " or missing" if missing else ""
    assert export_text(model).splitlines()[::2] == [
        f"|--- alone is false{more}",
        "|--- alone is true",
    ]


def test_text_shows_dates() -> None:
    days = pd.to_datetime(["2020-01-01", "2020-01-03", "2020-01-04"])
    model = DecisionTreeClassifier().fit(pd.DataFrame({"d": days}), [0, 1, 2])
    text = export_text(model)
    assert "d <= 2020-01-02\n" in text
    assert "d <= 2020-01-03 12:00:00\n" in text


def test_text_shows_days_where_the_calendar_ends() -> None:
    days = np.array(["-5000-01-01", "-4000-01-01"], dtype="M8[s]").reshape(-1, 1)
    middle = days.astype("M8[D]").astype(np.int64).mean()
    text = export_text(DecisionTreeClassifier().fit(days, [0, 1]))
    assert f"feature_0 <= day {middle:.2f}\n" in text


def chain(n_rows: int) -> DecisionTreeRegressor:
    """A tree about as deep as it has rows: the targets fall by half and alternate in sign."""
    X = np.arange(n_rows, dtype=float).reshape(-1, 1)
    y = (-1.0) ** np.arange(n_rows)
    weight = 4.0 ** -np.arange(n_rows)
    return DecisionTreeRegressor().fit(X, y, sample_weight=weight)


def test_deep_trees_do_not_recurse(axes: Any) -> None:
    model = chain(300)
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(150)
        text = export_text(model, max_depth=None)
    finally:
        sys.setrecursionlimit(limit)
    assert text.count("value:") == model.get_n_leaves()
    assert "truncated branch" in export_text(model, max_depth=5)
    assert len(plot_tree(model, max_depth=3, ax=axes)) <= 31


def test_a_picture_has_one_box_per_node(axes: Any) -> None:
    model = DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    boxes = plot_tree(model, ax=axes, feature_names=IRIS.feature_names, filled=True, rounded=True)
    assert len(boxes) == model.tree_.node_count
    root = boxes[0].get_text()
    assert "petal" in root
    assert "samples = 150" in root
    assert "impurity = 0.667" in root
    axes.figure.canvas.draw()


def test_a_cut_picture_says_where_it_was_cut(axes: Any) -> None:
    model = DecisionTreeRegressor().fit(DIABETES.data, DIABETES.target)
    boxes = plot_tree(model, max_depth=2, ax=axes, filled=True, impurity=False)
    texts = [box.get_text() for box in boxes]
    assert len(boxes) == 15
    assert texts.count("(...)") == 8
    assert "impurity" not in texts[0]


def test_boxes_of_one_level_do_not_share_a_place(axes: Any) -> None:
    model = DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    places = [box.xy for box in plot_tree(model, ax=axes)]
    assert len(set(places)) == len(places)


def test_a_picture_of_a_single_leaf(axes: Any) -> None:
    model = DecisionTreeClassifier().fit(IRIS.data, np.zeros(150))
    assert len(plot_tree(model, ax=axes, filled=True)) == 1


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    model = DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    with pytest.raises(ImportError, match=r"pip install 'treefold\[plot\]'"):
        plot_tree(model)
