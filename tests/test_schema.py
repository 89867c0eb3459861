"""What the columns are: which are categories, in which order, and what fits them later."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from treefold import (
    CardinalityWarning,
    ColumnMismatchError,
    DecisionTreeClassifier,
    InputError,
    InputTypeError,
    Table,
    load,
    save,
)

COLOURS = ["red", "blue", None, "green", "red", "blue"]
SIZES = ["L", "S", "M", "S", None, "L"]
Y = [0, 1, 1, 1, 0, 1]


def categories_of(data: Any, **options: Any) -> dict[int, tuple[Any, ...]]:
    return Table.from_data(data, **options).schema.categories


TEXT_FRAMES = {
    "pandas": pd.DataFrame({"c": COLOURS}),
    "pandas objects": pd.DataFrame({"c": pd.Series(COLOURS, dtype=object)}),
    "pandas string": pd.DataFrame({"c": pd.array(COLOURS, dtype="string")}),
    "polars": pl.DataFrame({"c": COLOURS}),
    "polars categorical": pl.DataFrame({"c": pl.Series(COLOURS, dtype=pl.Categorical)}),
    "pyarrow": pa.table({"c": COLOURS}),
    "pyarrow large": pa.table({"c": pa.array(COLOURS, pa.large_string())}),
    "pyarrow chunks": pa.concat_tables(
        [pa.table({"c": COLOURS[:2]}), pa.table({"c": COLOURS[2:]})]
    ),
}


@pytest.mark.parametrize("kind", TEXT_FRAMES)
def test_text_is_categorical_and_sorted(kind: str) -> None:
    table = Table.from_data(TEXT_FRAMES[kind])
    assert table.schema.categories == {0: ("blue", "green", "red")}
    assert table._native.codes(0).tolist() == [2, 0, 3, 1, 2, 0]
    assert table._native.n_categories.tolist() == [3]


DECLARED = ["S", "M", "L", "XL"]
CATEGORY_FRAMES = {
    "pandas": pd.DataFrame({"s": pd.Categorical(SIZES, categories=DECLARED)}),
    "pandas ordered": pd.DataFrame({"s": pd.Categorical(SIZES, categories=DECLARED, ordered=True)}),
    "polars": pl.DataFrame({"s": pl.Series(SIZES, dtype=pl.Enum(DECLARED))}),
    "pyarrow": pa.Table.from_pandas(
        pd.DataFrame({"s": pd.Categorical(SIZES, categories=DECLARED)})
    ),
    "pyarrow chunks": pa.concat_tables(
        [
            pa.Table.from_pandas(pd.DataFrame({"s": pd.Categorical(part, categories=DECLARED)}))
            for part in (SIZES[:2], SIZES[2:])
        ]
    ),
}


@pytest.mark.parametrize("kind", CATEGORY_FRAMES)
def test_category_dtypes_keep_their_declared_order(kind: str) -> None:
    table = Table.from_data(CATEGORY_FRAMES[kind])
    assert table.schema.categories == {0: ("S", "M", "L", "XL")}
    assert table._native.codes(0).tolist() == [2, 0, 1, 0, 4, 2]


@pytest.mark.parametrize("fitted", CATEGORY_FRAMES)
@pytest.mark.parametrize("seen", CATEGORY_FRAMES)
def test_frames_of_one_library_are_read_by_trees_of_another(fitted: str, seen: str) -> None:
    model = DecisionTreeClassifier().fit(CATEGORY_FRAMES[fitted], Y)
    expected = model.predict(CATEGORY_FRAMES[fitted])
    assert_array_equal(expected, model.predict(CATEGORY_FRAMES[seen]))
    assert_array_equal(expected, model.predict(pd.DataFrame({"s": SIZES})))


def test_categories_with_another_order_or_fewer_levels_are_matched_by_label() -> None:
    model = DecisionTreeClassifier().fit(pd.DataFrame({"c": COLOURS}), Y)
    for levels in (["red", "green", "blue"], ["red", "blue", "green", "other"]):
        frame = pd.DataFrame({"c": pd.Categorical(COLOURS, categories=levels)})
        assert_array_equal(model.predict(pd.DataFrame({"c": COLOURS})), model.predict(frame))


def test_an_unknown_category_goes_as_missing() -> None:
    model = DecisionTreeClassifier().fit(pd.DataFrame({"c": COLOURS}), Y)
    answers = model.apply(pd.DataFrame({"c": ["purple", None]}))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "asked", [[1], np.array([1]), ["s"], np.array(["s"]), [False, True], np.array([False, True])]
)
def test_categorical_features_are_named_by_number_name_or_mask(asked: Any) -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0], "s": [30, 10, 10]})
    assert categories_of(frame, categorical_features=asked) == {1: (10, 30)}


@pytest.mark.parametrize("asked", [None, [], "from_dtype", [False, False]])
def test_no_column_is_categorical_if_none_is_declared(asked: Any) -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0], "flag": [True, False]})
    assert categories_of(frame, categorical_features=asked) == {}
    assert categories_of(frame.to_numpy(), categorical_features=asked) == {}


def test_numbers_of_an_array_can_be_categories() -> None:
    data = np.array([[5.0, 1.0], [np.nan, 2.0], [-1.0, 3.0], [5.0, 4.0]])
    table = Table.from_data(data, categorical_features=[0])
    assert table.schema.categories == {0: (-1.0, 5.0)}
    assert table._native.codes(0).tolist() == [1, 2, 0, 1]


def test_objects_of_an_array_can_be_categories() -> None:
    data = np.array([["b", 1], [None, 2], ["a", 3.5]], dtype=object)
    assert categories_of(data, categorical_features=[0]) == {0: ("a", "b")}
    model = DecisionTreeClassifier(categorical_features=[0]).fit(data, [0, 1, 1])
    assert_array_equal([0, 1, 1], model.predict(data))
    assert_array_equal([0, 1, 1], model.predict(data.tolist()))


def test_text_arrays_can_be_categories() -> None:
    data = np.array([["b"], ["c"], ["a"]])
    assert categories_of(data, categorical_features=[0]) == {0: ("a", "b", "c")}


def test_a_category_dtype_of_numbers_is_numbers_if_not_declared() -> None:
    frame = pd.DataFrame({"c": pd.Categorical([30, 10, None, 20], categories=[30, 20, 10])})
    assert categories_of(frame) == {0: (30, 20, 10)}
    table = Table.from_data(frame, categorical_features=None)
    assert table.schema.categories == {}
    assert table._native.values(0).tolist() == [10.0, 20.0, 30.0]


def test_a_text_column_without_any_text_is_allowed() -> None:
    frame = pl.DataFrame({"c": pl.Series([None, None], dtype=pl.String), "n": [1, 2]})
    model = DecisionTreeClassifier().fit(frame, [0, 1])
    assert model.predict(frame).tolist() == [0, 1]


@pytest.mark.parametrize("values", [[f"level {n}" for n in range(305)], range(305)])
def test_few_rows_per_category_warn(values: Any) -> None:
    labels = [*values, *values][:-7]
    with pytest.warns(CardinalityWarning, match=r"305 categories in 603 rows, 2.0 rows each"):
        Table.from_data(pd.DataFrame({"name": labels}), categorical_features=["name"])


@pytest.mark.parametrize(("n_levels", "n_each"), [(305, 2), (20, 1)])
def test_many_rows_per_category_or_few_categories_do_not_warn(n_levels: int, n_each: int) -> None:
    labels = [f"level {number}" for number in range(n_levels)] * n_each
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Table.from_data(pd.DataFrame({"name": labels}))


def test_the_schema_travels_with_a_pickled_tree() -> None:
    frame = pd.DataFrame({"c": COLOURS, "s": SIZES})
    model = DecisionTreeClassifier().fit(frame, Y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(model.predict_proba(frame), copy.predict_proba(frame))
    assert copy.tree_.schema.categories == model.tree_.schema.categories
    with pytest.raises(ColumnMismatchError, match="- s"):
        copy.predict(frame[["c"]])


def test_column_numbers_are_not_names() -> None:
    frame = pd.DataFrame(np.eye(3))
    model = DecisionTreeClassifier().fit(frame, [0, 1, 2])
    assert not hasattr(model, "feature_names_in_")
    assert_array_equal(model.predict(frame), model.predict(frame.to_numpy()))


def test_a_refit_forgets_the_names_of_the_frame_before() -> None:
    model = DecisionTreeClassifier().fit(pd.DataFrame({"a": [1, 2]}), [0, 1])
    assert model.feature_names_in_.tolist() == ["a"]
    model.fit(np.array([[1.0], [2.0]]), [0, 1])
    assert not hasattr(model, "feature_names_in_")


def test_large_numbers_are_categories():
    labels = [2**63 + 1, 2**63 + 2, 2**64 - 1, 2**63 + 1]
    X = np.array(labels, dtype=np.uint64).reshape(-1, 1)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, [0, 1, 2, 0])
    assert model.tree_.schema.categories[0] == tuple(sorted(set(labels)))
    assert model.predict(X).tolist() == [0, 1, 2, 0]


def test_a_number_that_is_no_category_may_be_of_any_size():
    model = DecisionTreeClassifier(categorical_features=[0]).fit([[1.0], [2.0]], [0, 1])
    unknown = model.predict([[1e300], [-1e300], [2.0**60]])
    assert unknown.tolist() == model.predict([[np.nan]] * 3).tolist()
    with pytest.raises(InputError, match="Column 0 has an infinite value in row 1"):
        model.predict([[1.0], [-np.inf]])


def dictionary(codes: list[int | None], labels: list[Any], kind: str) -> Any:
    """A column of pyarrow's, or of pandas' on top of it; in two chunks or in one."""
    column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(labels))
    if kind == "chunks":
        column = pa.chunked_array([column[:2], column[2:4].dictionary_encode(), column[4:]])
    if kind == "pandas":
        return pd.DataFrame({"c": pd.Series(pd.arrays.ArrowExtensionArray(column))})
    return pa.table({"c": column})


@pytest.mark.parametrize("kind", ["one piece", "chunks", "pandas"])
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["y", "x", "y"], ("y", "x")),
        (["y", None, "x"], ("y", "x")),
        ([2.0, np.nan, 1.0], (2.0, 1.0)),
        ([np.nan, 1.0, np.nan], (1.0,)),
        ([2.0, None, np.nan], (2.0,)),
    ],
    ids=str,
)
def test_a_dictionary_may_repeat_labels_and_hold_missing_ones(
    labels: list[Any], expected: tuple[Any, ...], kind: str, tmp_path: Path
) -> None:
    codes, y = [0, 1, 2, None, 0, 2], [0, 1, 2, 1, 0, 2]
    frame = dictionary(codes, labels, kind)
    values = [None if code is None else labels[code] for code in codes]
    plain = [[number_of(value, expected)] for value in values]
    model = DecisionTreeClassifier().fit(frame, y)
    assert model.tree_.schema.categories == {0: expected}
    twin = DecisionTreeClassifier(categorical_features=[0]).fit(plain, y)
    assert_array_equal(model.apply(frame), twin.apply(plain))
    save(model, tmp_path / "model.treefold")
    assert_array_equal(load(tmp_path / "model.treefold").predict(frame), model.predict(frame))


def number_of(value: Any, labels: tuple[Any, ...]) -> float:
    return labels.index(value) if value in labels else np.nan


def test_a_dictionary_of_lists_is_refused_by_name() -> None:
    with pytest.raises(InputTypeError, match="Column 'c' holds objects that are neither"):
        Table.from_data(dictionary([0, 1], [[1], [2]], "one piece"))
