"""Rows that do not fit the tree, trees that were not fitted, and pictures that cannot be drawn."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from treefold import (
    ColumnMismatchError,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    InputError,
    ParameterError,
    Table,
    export_text,
    plot_tree,
)

X = np.array([[0.0, 5.0], [1.0, 4.0], [2.0, 3.0], [3.0, 2.0]])
Y = np.array([0, 0, 1, 1])
FRAME = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "colour": ["red", "blue", "red", "blue"]})
RENAMED = FRAME.rename(columns={"age": "years"})
PREDICT_CASES = [
    ("one dimension", FRAME.to_numpy()[0], InputError, "Expected 2D array"),
    ("missing column", FRAME[["age"]], ColumnMismatchError, "yet now missing:\n- colour"),
    ("extra column", FRAME.assign(z=1), ColumnMismatchError, "unseen at fit time:\n- z"),
    ("renamed column", RENAMED, ColumnMismatchError, "(?s)unseen.*- years.*missing:\n- age"),
    ("reordered columns", FRAME[["colour", "age"]], ColumnMismatchError, "in the same order"),
    (
        "numbers became text",
        FRAME.assign(age=["a", "b", "c", "d"]),
        ColumnMismatchError,
        r"Column 'age' held numbers at fit, but holds text now \(dtype",
    ),
    (
        "text became numbers",
        FRAME.assign(colour=[1, 2, 3, 4]),
        ColumnMismatchError,
        "Column 'colour' held text at fit, but holds numbers now",
    ),
    (
        "numbers became dates",
        FRAME.assign(age=pd.to_datetime(["2020-01-01"] * 4)),
        ColumnMismatchError,
        "Column 'age' held numbers at fit, but holds dates now",
    ),
    (
        "polars, wrong types",
        pl.from_pandas(FRAME).with_columns(age=pl.lit("x")),
        ColumnMismatchError,
        "Column 'age' held numbers at fit, but holds text now",
    ),
    ("infinity", FRAME.assign(age=[1.0, np.inf, 2.0, 3.0]), InputError, "[Cc]olumn 'age'"),
    ("no rows", FRAME[:0], InputError, r"0 sample\(s\)"),
]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "decision_path"])
@pytest.mark.parametrize(
    ("data", "error", "message"),
    [case[1:] for case in PREDICT_CASES],
    ids=[case[0] for case in PREDICT_CASES],
)
def test_a_bad_prediction_is_refused(method: str, data: Any, error: Any, message: str) -> None:
    estimator = DecisionTreeClassifier().fit(FRAME, Y)
    before = dict(vars(estimator))
    with pytest.raises(error, match=message):
        getattr(estimator, method)(data)
    assert list(vars(estimator)) == list(before)
    assert all(vars(estimator)[name] is before[name] for name in before)


def test_a_table_of_other_columns_is_refused() -> None:
    estimator = DecisionTreeClassifier().fit(FRAME, Y)
    table = Table.from_data(FRAME.assign(colour=[1, 2, 3, 4]))
    with pytest.raises(ColumnMismatchError, match=r"'colour' held text at fit.*in a Table"):
        estimator.predict(table)


@pytest.mark.parametrize("X_bad", [X[:, :1], np.c_[X, X], sparse.csr_array(X[:, :1])])
def test_another_number_of_columns_is_refused(X_bad: Any) -> None:
    estimator = DecisionTreeRegressor().fit(X, Y)
    with pytest.raises(ColumnMismatchError, match="DecisionTreeRegressor is expecting 2 features"):
        estimator.predict(X_bad)


def test_an_array_for_a_frame_warns_and_a_frame_for_an_array_too() -> None:
    numbers = FRAME[["age"]]
    by_frame = DecisionTreeClassifier().fit(numbers, Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        by_frame.predict(numbers.to_numpy())
    by_array = DecisionTreeClassifier().fit(numbers.to_numpy(), Y)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        by_array.predict(numbers)


def test_a_warning_points_to_the_line_of_the_user() -> None:
    by_frame = DecisionTreeClassifier().fit(FRAME[["age"]], Y)
    for call in (by_frame.predict, by_frame.apply, by_frame.tree_.apply):
        with pytest.warns(UserWarning, match="valid feature names") as caught:
            call(FRAME[["age"]].to_numpy())
        assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="column-vector") as caught:
        DecisionTreeRegressor().fit(X, Y.reshape(-1, 1))
    assert caught[0].filename == __file__


METHODS = ["predict", "predict_proba", "predict_log_proba", "apply", "decision_path"]


@pytest.mark.parametrize("method", METHODS)
def test_an_unfitted_estimator_says_so(method: str) -> None:
    with pytest.raises(NotFittedError, match="This DecisionTreeClassifier instance is not fitted"):
        getattr(DecisionTreeClassifier(), method)(X)


@pytest.mark.parametrize("method", ["get_depth", "get_n_leaves", "to_sklearn"])
def test_an_unfitted_estimator_has_nothing_to_tell(method: str) -> None:
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        getattr(DecisionTreeRegressor(), method)()


def test_unfitted_importances_say_so() -> None:
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        _ = DecisionTreeRegressor().feature_importances_


EXPORT_CASES = [
    ({"feature_names": ["a"]}, "feature_names must contain 2 elements, got 1"),
    ({"class_names": ["a"]}, r"class_names must contain as many items as classes_ \(2\), got 1"),
    ({"spacing": 0}, "spacing must be an int of at least 1"),
    ({"decimals": -1}, "decimals must be an int of at least 0"),
    ({"decimals": 1.5}, "decimals must be an int of at least 0"),
    ({"max_depth": -1}, "max_depth must be an int of at least 0"),
]


@pytest.mark.parametrize(("arguments", "message"), EXPORT_CASES)
def test_bad_arguments_of_export_text_are_refused(arguments: Any, message: str) -> None:
    estimator = DecisionTreeClassifier().fit(X, Y)
    with pytest.raises(ParameterError, match=message):
        export_text(estimator, **arguments)


@pytest.mark.parametrize("function", [export_text, plot_tree])
def test_only_our_trees_are_exported(function: Any) -> None:
    with pytest.raises(ParameterError, match=r"must be a treefold .* Got int instead"):
        function(3)
