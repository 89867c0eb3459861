"""The encoded table is accepted wherever X is, and gives the same answers."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, ParameterError, Table

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=80),
        "colour": RNG.choice(["red", "blue", "green"], size=80),
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 99, 80), unit="D"),
    }
)
FRAME.loc[::7, "size"] = np.nan
Y = (FRAME["size"].fillna(0) + (FRAME["colour"] == "red") > 0.3).astype(int).to_numpy()


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_a_table_gives_the_tree_of_its_data(estimator: Any) -> None:
    table = Table.from_data(FRAME)
    expected, actual = estimator().fit(FRAME, Y), estimator().fit(table, Y)
    assert_array_equal(expected.tree_.threshold, actual.tree_.threshold)
    assert_array_equal(expected.tree_.value, actual.tree_.value)
    assert_array_equal(expected.feature_names_in_, actual.feature_names_in_)
    for data in (FRAME, table):
        assert_array_equal(expected.predict(FRAME), actual.predict(data))
        assert_array_equal(expected.apply(FRAME), actual.apply(data))
        assert expected.score(FRAME, Y) == actual.score(data, Y)
        assert (expected.decision_path(FRAME) != actual.decision_path(data)).nnz == 0


def test_a_table_can_be_used_again() -> None:
    table = Table.from_data(FRAME)
    trees = [DecisionTreeClassifier(max_depth=depth).fit(table, Y) for depth in (1, 3, None)]
    for tree in trees:
        again = DecisionTreeClassifier(max_depth=tree.max_depth).fit(FRAME, Y)
        assert_array_equal(again.tree_.feature, tree.tree_.feature)


def test_a_table_with_other_categories_is_matched_by_label() -> None:
    model = DecisionTreeClassifier().fit(FRAME, Y)
    few = FRAME[FRAME["colour"] != "blue"].assign(
        colour=lambda frame: frame["colour"].replace("green", "violet")
    )
    assert_array_equal(model.apply(few), model.apply(Table.from_data(few)))


def test_a_sparse_table_predicts_as_its_matrix() -> None:
    matrix = sparse.csr_array(np.where(RNG.random((50, 6)) < 0.3, RNG.normal(size=(50, 6)), 0.0))
    y = RNG.integers(0, 3, 50)
    model = DecisionTreeClassifier().fit(matrix, y)
    assert_array_equal(model.apply(matrix), model.apply(Table.from_data(matrix)))


def test_a_table_tells_what_it_is() -> None:
    table = Table.from_data(FRAME)
    assert repr(table) == "Table(n_rows=80, n_columns=3, n_categorical=1)"
    assert repr(Table.from_data([[1.0]])) == "Table(n_rows=1, n_columns=1)"
    assert (table.n_rows, table.n_columns) == (80, 3) == table.shape
    assert table.feature_names is not None
    assert table.feature_names.tolist() == ["size", "colour", "when"]
    assert Table.from_data([[1.0]]).feature_names is None
    assert table.nbytes > 0


def test_a_table_refuses_other_categorical_features() -> None:
    table = Table.from_data(FRAME)
    DecisionTreeClassifier(categorical_features=["colour"]).fit(table, Y)
    with pytest.raises(ParameterError, match="differs from what the Table was made with"):
        DecisionTreeClassifier(categorical_features=["when"]).fit(table, Y)


def test_a_table_of_a_table_is_that_table() -> None:
    table = Table.from_data(FRAME)
    assert Table.from_data(table) is table
    assert copy.copy(table) is table is copy.deepcopy(table)


def test_a_table_cannot_be_pickled_and_says_so() -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Table.from_data(FRAME))


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_any_number_of_threads_gives_the_same_table(n_jobs: int | None) -> None:
    one, many = Table.from_data(FRAME), Table.from_data(FRAME, n_jobs=n_jobs)
    for column in range(3):
        assert_array_equal(one._native.codes(column), many._native.codes(column))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i1", "u2", "i4", "i8", "u8", "?"])
@pytest.mark.parametrize("n_values", [2, 100, 300])
def test_numbers_that_are_categories_keep_their_labels(dtype: str, n_values: int) -> None:
    values = np.random.default_rng(n_values).integers(0, n_values, 500).astype(dtype)
    labels, codes = np.unique(values, return_inverse=True)
    table = Table.from_data(np.column_stack([values, values]), categorical_features=[1])
    assert table.schema.categories == {1: tuple(labels.tolist())}
    assert list(map(type, table.schema.categories[1])) == list(map(type, labels.tolist()))
    assert_array_equal(table._native.codes(1), codes)
    assert table._native.n_categories.tolist() == [0, len(labels)]


def test_integers_that_float64_cannot_tell_apart_are_different_categories() -> None:
    values = np.array([[2**60 + 1], [2**60], [2**60 + 1]])
    table = Table.from_data(values, categorical_features=[0])
    assert table.schema.categories == {0: (2**60, 2**60 + 1)}
    assert table._native.codes(0).tolist() == [1, 0, 1]


def test_missing_numbers_are_no_category() -> None:
    X = np.array([[3.5, np.nan], [np.nan, np.nan], [-0.0, np.nan], [0.0, np.nan]])
    table = Table.from_data(X, categorical_features=[0, 1])
    assert table.schema.categories == {0: (0.0, 3.5), 1: ()}
    assert table._native.codes(0).tolist() == [1, 2, 0, 0]
    assert table._native.codes(1).tolist() == [1] * 4
    assert table._native.n_categories.tolist() == [2, 1]
