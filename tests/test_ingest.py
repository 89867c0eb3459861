"""Every kind of input gives the tree of the plain float64 array, and is left as it was."""

import datetime as dt
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, Table

RNG = np.random.default_rng(7)
X = RNG.integers(0, 6, size=(60, 4)).astype(np.float64)
Y = (X[:, 0] + X[:, 1] * (X[:, 2] > 2) + RNG.integers(0, 3, size=60) > 5).astype(int)
WITH_MISSING = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
ARRAYS = ("feature", "threshold", "children_right", "value", "missing_go_to_left", "impurity")


def assert_same_tree(expected: Any, actual: Any) -> None:
    for name in ARRAYS:
        assert_array_equal(getattr(expected.tree_, name), getattr(actual.tree_, name), name)


def fit(data: Any, y: Any = Y, **params: Any) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(**params).fit(data, y)


class NotAnArray:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)


INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
DTYPES = [*INTEGERS, ">i2", ">i8", ">u4", "f2", "f4", "f8", ">f4", ">f8", "longdouble", "O"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_numeric_dtype_gives_the_same_tree(dtype: str) -> None:
    converted = X.astype(dtype)
    model = fit(converted)
    assert_same_tree(fit(X), model)
    assert_array_equal(fit(X).predict(X), model.predict(converted))


def test_booleans_are_numbers() -> None:
    flags = X > 2
    assert_same_tree(fit(flags.astype(float)), fit(flags))


LAYOUTS = {
    "C": np.ascontiguousarray(X),
    "F": np.asfortranarray(X),
    "strided": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": X[::-1, ::-1].copy()[::-1, ::-1],
    "list": X.tolist(),
    "tuple": tuple(map(tuple, X.tolist())),
    "NotAnArray": NotAnArray(X),
    "text that spells numbers": X.astype(str),
    "masked": np.ma.masked_array(X, mask=np.zeros_like(X, dtype=bool)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_tree(layout: str) -> None:
    model = fit(LAYOUTS[layout])
    assert_same_tree(fit(X), model)
    assert_array_equal(fit(X).apply(X), model.apply(LAYOUTS[layout]))


def test_a_masked_value_is_missing() -> None:
    hidden = np.isnan(WITH_MISSING)
    for values in (WITH_MISSING, X, X.astype(int), X.astype(np.float32), X.astype(str)):
        assert_same_tree(fit(WITH_MISSING), fit(np.ma.array(values, mask=hidden)))


MISSING_DAY = np.array([["2020-01-01"], ["NaT"], ["2021-01-01"]], dtype="datetime64[D]")
SHOWN_DAY = np.where(np.isnat(MISSING_DAY), np.datetime64("1999-01-01"), MISSING_DAY)


@pytest.mark.parametrize(
    "shown", [SHOWN_DAY, SHOWN_DAY - np.datetime64("2000-01-01"), SHOWN_DAY.astype("M8[ns]")]
)
def test_a_masked_date_is_a_missing_date(shown: np.ndarray) -> None:
    plain = shown.copy()
    plain[np.isnat(MISSING_DAY)] = "NaT"
    model = fit(np.ma.array(shown, mask=np.isnat(MISSING_DAY)), [0, 1, 2])
    assert_same_tree(fit(plain, [0, 1, 2]), model)
    assert model.tree_.schema == fit(plain, [0, 1, 2]).tree_.schema
    assert model.predict(np.ma.array(plain)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["O", "U1"])
def test_a_masked_label_is_missing(dtype: str) -> None:
    labels = np.array([["a"], ["b"], ["c"]] * 2, dtype=dtype)
    masked = np.ma.array(labels, mask=labels == "b")
    model = fit(masked, [0, 1, 2] * 2, categorical_features=[0])
    assert model.tree_.schema.categories == {0: ("a", "c")}
    assert model.predict(masked).tolist() == [0, 1, 2] * 2


def test_a_masked_array_that_hides_nothing_is_not_copied() -> None:
    data = np.zeros((20_000, 20))
    tracemalloc.start()
    DecisionTreeRegressor().fit(np.ma.array(data), np.arange(20_000) % 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < data.nbytes / 2


def test_none_in_a_list_is_missing() -> None:
    rows = [[None if np.isnan(x) else x for x in row] for row in WITH_MISSING]
    assert_same_tree(fit(WITH_MISSING), fit(rows))


def test_a_read_only_array_is_read() -> None:
    frozen = X.copy()
    frozen.flags.writeable = False
    assert_same_tree(fit(X), fit(frozen))


@pytest.mark.parametrize("fields", ["i1, f8", "V1, f8, V7"])
def test_the_fields_of_packed_records_are_read(fields: str) -> None:
    records = np.zeros(X.shape, dtype=fields)
    records["f1"] = X
    model = fit(records["f1"])
    assert_same_tree(fit(X), model)
    assert_array_equal(fit(X).apply(X), model.apply(records["f1"]))
    twin = DecisionTreeRegressor().fit(X, X[:, 0].copy(), X[:, 1].copy())
    odd = DecisionTreeRegressor().fit(X, records["f1"][:, 0], records["f1"][:, 1])
    assert_same_tree(twin, odd)


def test_float64_is_not_rounded_to_float32() -> None:
    data = np.array([[1.0], [1.0 + 1e-12], [1.0 + 2e-12]])
    assert fit(data, [0, 1, 0]).predict(data).tolist() == [0, 1, 0]


FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("wanted", FORMATS)
def test_every_sparse_format_gives_the_dense_tree(wanted: str, kind: Any, index: Any) -> None:
    matrix = kind(WITH_MISSING)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    matrix = matrix.asformat(wanted)
    model = fit(matrix)
    expected = fit(WITH_MISSING)
    assert_same_tree(expected, model)
    assert_array_equal(expected.apply(WITH_MISSING), model.apply(matrix))


@pytest.mark.parametrize("dtype", ["bool", "i1", "i8", "u2", "f4", "f8", "longdouble"])
def test_sparse_dtypes_give_the_dense_tree(dtype: str) -> None:
    dense = X.astype(dtype)
    assert_same_tree(fit(dense.astype(float)), fit(sparse.csr_array(dense)))


def test_explicit_zeros_are_absent_and_minus_zero_is_zero() -> None:
    matrix = sparse.csr_array(np.where(X == 0, 9.0, X))
    matrix.data[matrix.data == 9.0] = np.where(np.arange((X == 0).sum()) % 2, 0.0, -0.0)
    assert matrix.nnz == X.size
    assert_same_tree(fit(X), fit(matrix))
    assert_array_equal(fit(X).apply(X), fit(X).apply(matrix))


@pytest.mark.parametrize("wanted", ["csr", "csc", "coo"])
def test_unsorted_and_duplicate_entries_are_added_up_on_a_copy(wanted: str) -> None:
    coo = sparse.coo_array(X)
    rows, columns = coo.row, coo.col
    order = RNG.permutation(2 * coo.nnz)
    halves = np.concatenate([coo.data / 2, coo.data / 2])[order]
    rows, columns = np.tile(rows, 2)[order], np.tile(columns, 2)[order]
    matrix = unsummed(halves, rows, columns, wanted)
    parts = [name for name in ("data", "indices", "indptr", "row", "col") if hasattr(matrix, name)]
    before = {name: np.array(getattr(matrix, name)) for name in parts}
    model = fit(matrix)
    assert_same_tree(fit(X), model)
    assert_array_equal(fit(X).apply(X), model.apply(matrix))
    for name in parts:
        assert_array_equal(before[name], np.array(getattr(matrix, name)), name)


def unsummed(data: np.ndarray, rows: np.ndarray, columns: np.ndarray, wanted: str) -> Any:
    """A matrix with duplicates, which scipy's conversions would add up."""
    if wanted == "coo":
        return sparse.coo_array((data, (rows, columns)), shape=X.shape)
    major, minor = (rows, columns) if wanted == "csr" else (columns, rows)
    order = np.argsort(major, kind="stable")
    n_major = X.shape[0] if wanted == "csr" else X.shape[1]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=n_major))])
    kind = sparse.csr_array if wanted == "csr" else sparse.csc_array
    return kind((data[order], minor[order], indptr), shape=X.shape)


def test_categories_in_a_sparse_matrix_match_the_dense_ones() -> None:
    dense = fit(X, categorical_features=[1, 3])
    model = fit(sparse.csr_array(X), categorical_features=[1, 3])
    assert_same_tree(dense, model)
    assert_array_equal(dense.apply(X), model.apply(sparse.csc_matrix(X)))


NAMES = ["a", "b", "c", "d"]


def frames(data: np.ndarray) -> dict[str, Any]:
    frame = pd.DataFrame(data, columns=NAMES)
    return {
        "pandas": frame,
        "pandas nullable": frame.astype("Float64"),
        "pandas arrow": frame.astype("float64[pyarrow]"),
        "pandas objects": frame.astype(object),
        "pandas sparse": frame.astype(pd.SparseDtype("float64", 0.0)),
        "pandas one sparse": frame.assign(a=frame["a"].astype(pd.SparseDtype("float64", 0.0))),
        "pandas sparse around NaN": frame.astype(pd.SparseDtype("float64", np.nan)),
        "pandas sparse around 1": frame.astype(pd.SparseDtype("float64", 1.0)),
        "pandas two fills": frame.astype(
            {name: pd.SparseDtype("float64", fill) for fill, name in enumerate(NAMES)}
        ),
        "polars": pl.DataFrame(data, schema=NAMES).fill_nan(None),
        "polars long integers": pl.DataFrame(data, schema=NAMES).fill_nan(None).cast(pl.Int128),
        "polars integers": pl.DataFrame(data, schema=NAMES).fill_nan(None).cast(pl.Int64),
        "polars decimals": pl.DataFrame(data, schema=NAMES).fill_nan(None).cast(pl.Decimal(10, 2)),
        "pyarrow": pa.Table.from_pandas(frame),
        "pyarrow in chunks": pa.concat_tables(
            [pa.Table.from_pandas(frame[:20]), pa.Table.from_pandas(frame[20:])]
        ),
    }


@pytest.mark.parametrize("kind", list(frames(X)))
@pytest.mark.parametrize("data", [X, WITH_MISSING], ids=["complete", "missing"])
def test_every_frame_gives_the_tree_of_the_array(kind: str, data: np.ndarray) -> None:
    frame = frames(data)[kind]
    model = fit(frame)
    expected = fit(data)
    assert_same_tree(expected, model)
    assert_array_equal(NAMES, model.feature_names_in_)
    for other in frames(data).values():
        assert_array_equal(expected.apply(data), model.apply(other))


BOOLEANS = [True, None, False, True, False, None]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.array(BOOLEANS, dtype="boolean")}),
        pd.DataFrame({"a": pd.Series(BOOLEANS, dtype=object)}),
        pl.DataFrame({"a": BOOLEANS}),
        pa.table({"a": BOOLEANS}),
    ],
    ids=["pandas", "objects", "polars", "pyarrow"],
)
def test_missing_booleans_are_missing_numbers(frame: Any) -> None:
    numbers = np.array([[1.0], [np.nan], [0.0], [1.0], [0.0], [np.nan]])
    y = [1, 2, 0, 1, 0, 2]
    assert_same_tree(fit(numbers, y), fit(frame, y))


DATES = [dt.date(1970, 1, 1), dt.date(1969, 12, 30), None, dt.date(2024, 2, 29)]
DAYS = [0.0, -2.0, np.nan, 19782.0]
MOMENTS = [None if day is None else dt.datetime(day.year, day.month, day.day, 6) for day in DATES]
DATE_FRAMES = {
    "pandas dates as objects": pd.DataFrame({"d": pd.Series(DATES, dtype=object)}),
    "pandas datetimes": pd.DataFrame({"d": pd.to_datetime(pd.Series(DATES))}),
    "pandas nanoseconds": pd.DataFrame({"d": pd.Series(DATES, dtype="datetime64[ns]")}),
    "pandas with zone": pd.DataFrame({"d": pd.to_datetime(pd.Series(DATES), utc=True)}),
    "pandas arrow dates": pd.DataFrame({"d": pd.Series(DATES, dtype=pd.ArrowDtype(pa.date32()))}),
    "polars dates": pl.DataFrame({"d": DATES}),
    "polars datetimes": pl.DataFrame({"d": pl.Series(DATES).cast(pl.Datetime("ms"))}),
    "pyarrow dates": pa.table({"d": DATES}),
    "numpy": np.array(DATES, dtype="datetime64[D]").reshape(-1, 1),
}


@pytest.mark.parametrize("kind", DATE_FRAMES)
def test_dates_become_days(kind: str) -> None:
    table = Table.from_data(DATE_FRAMES[kind])
    assert table._native.values(0).tolist() == [-2.0, 0.0, 19782.0]
    assert table._native.has_missing.tolist() == [True]


@pytest.mark.parametrize("frame", [pd.DataFrame({"d": MOMENTS}), pl.DataFrame({"d": MOMENTS})])
def test_times_of_day_become_fractions_of_days(frame: Any) -> None:
    assert Table.from_data(frame)._native.values(0).tolist() == [-1.75, 0.25, 19782.25]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"d": pd.to_timedelta([36, 12, None], unit="h")}),
        pl.DataFrame({"d": [dt.timedelta(hours=36), dt.timedelta(hours=12), None]}),
    ],
)
def test_durations_become_days(frame: Any) -> None:
    assert Table.from_data(frame)._native.values(0).tolist() == [0.5, 1.5]


NANOSECONDS = [100, 300, 800, None]


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"d": pd.to_timedelta(NANOSECONDS, unit="ns")}),
        pd.DataFrame({"d": pd.array(NANOSECONDS, dtype=pd.ArrowDtype(pa.duration("ns")))}),
        pl.DataFrame({"d": pl.Series(NANOSECONDS, dtype=pl.Duration("ns"))}),
        pa.table({"d": pa.array(NANOSECONDS, pa.duration("ns"))}),
        np.array([[100], [300], [800], ["NaT"]], dtype="m8[ns]"),
        np.array([[100_000], [300_999], [800_000], ["NaT"]], dtype="m8[ps]"),
    ],
    ids=["pandas", "pandas arrow", "polars", "pyarrow", "numpy", "picoseconds"],
)
def test_durations_keep_their_nanoseconds(data: Any) -> None:
    expected = (np.array([100, 300, 800]) / 86_400e9).tolist()
    assert Table.from_data(data)._native.values(0).tolist() == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_duration_is_the_same_in_every_unit(unit: str) -> None:
    seconds = np.random.default_rng(3).integers(0, 2**32, (500, 1)).astype("m8[s]")
    expected = Table.from_data(seconds)._native
    assert_array_equal(
        expected.values(0), Table.from_data(seconds.astype(f"m8[{unit}]"))._native.values(0)
    )


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D"])
def test_days_need_no_microseconds(unit: str) -> None:
    dates = np.array([[0], [1_000_000], ["NaT"]], dtype=f"M8[{unit}]")
    expected = [0.0, float(dates[1, 0].astype("M8[D]").astype(int))]
    assert Table.from_data(dates)._native.values(0).tolist() == expected


def test_a_column_of_nothing_is_a_missing_column() -> None:
    for frame in (
        pd.DataFrame({"a": X[:, 0], "b": [None] * 60}),
        pl.DataFrame({"a": X[:, 0], "b": [None] * 60}),
        pa.table({"a": X[:, 0], "b": pa.nulls(60)}),
    ):
        model = fit(frame)
        assert_same_tree(fit(np.c_[X[:, 0], np.full(60, np.nan)]), model)
        for now in (Y, ["text"] * 60, [None] * 60):
            assert_array_equal(
                model.apply(frame), model.apply(pl.DataFrame({"a": X[:, 0], "b": now}))
            )


def test_a_fit_on_supported_arrays_copies_no_cells() -> None:
    for data in (np.zeros((20_000, 20)), np.zeros((20_000, 20), dtype=np.float32, order="F")):
        frame = pd.DataFrame(data, columns=list("abcdefghijklmnopqrst"), copy=False)
        y = np.arange(20_000) % 2
        for given in (data, frame, pl.from_numpy(data)):
            tracemalloc.start()
            DecisionTreeRegressor().fit(given, y)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < data.nbytes / 2, type(given)


def test_predictions_do_not_change_the_input() -> None:
    model = fit(X)
    matrix = sparse.csc_array(X)
    before = matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()
    model.predict(matrix)
    for expected, actual in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        assert_array_equal(expected, actual)
