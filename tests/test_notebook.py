"""What notebooks show of a tree."""

from typing import Any

import numpy as np
import pytest
import sklearn
from reports import HOSTILE, Page
from sklearn.datasets import load_diabetes, load_iris

from treefold import DecisionTreeClassifier, DecisionTreeClassifierCV, DecisionTreeRegressor


def show(model: Any) -> str:
    bundle = model._repr_mimebundle_()
    html: str = bundle["text/html"]
    assert bundle["text/plain"] == repr(model)
    assert len(html) == pytest.approx(len(model._repr_html_()), abs=20)  # ids count upwards
    assert "<style>" in html  # scikit-learn's diagram
    return html[: html.index("<style>")]


def test_a_tree_that_is_not_fitted_shows_scikit_learns_diagram() -> None:
    assert show(DecisionTreeClassifier(max_depth=3)) == ""


def test_a_fitted_tree_shows_its_splits() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    tree = show(model)
    assert "3 leaves, depth 2" in tree
    assert "150 rows" in tree
    assert tree.count("<details") == 2
    assert tree.count("<li>") == 3
    assert "petal" in tree


def test_a_cross_validated_tree_shows_its_score_and_its_folds() -> None:
    X, y = load_iris(return_X_y=True)
    html = show(DecisionTreeClassifierCV().fit(X, y))
    assert "neg_brier_score -0.102" in html
    assert "split so in 5 of 5 folds" in html


def test_a_regression_shows_means_and_a_large_tree_stays_short() -> None:
    X, y = load_diabetes(return_X_y=True)
    tree = show(DecisionTreeRegressor().fit(X, y))
    assert "mean 152.1" in tree
    assert "more below" in tree
    assert tree.count("rows") < 150


def test_a_tree_without_splits_is_one_line() -> None:
    html = show(DecisionTreeRegressor().fit([[1.0], [1.0]], [2.0, 4.0]))
    assert "1 leaf, depth 0" in html
    assert "2 rows, mean 3" in html


def test_hostile_names_are_escaped() -> None:
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.normal(size=90) for name in HOSTILE})
    X["kind"] = pd.Categorical(random.choice(HOSTILE, 90))
    y = random.choice(HOSTILE, 90)
    html = show(DecisionTreeClassifier().fit(X, y))
    page = Page(html)
    assert page.find("script") == page.find("img") == []
    assert len(page.raw) < 100_000


def test_text_only_if_that_is_asked_for() -> None:
    model = DecisionTreeRegressor().fit([[1.0], [2.0]], [2.0, 4.0])
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")
