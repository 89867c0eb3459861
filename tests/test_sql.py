"""Databases give every row what the tree gives it."""

import re
import sqlite3
import sys
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sqlglot
from numpy.testing import assert_array_equal
from saved_models import make_saved

from treefold import (
    ConversionError,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ParameterError,
    export_sql,
    load,
    save,
)

NAMES = list(make_saved())
NUMBERS = ["plain", "narrow", "whole"]
ODD_NAMES = [
    'a"b',
    "a'b",
    "a;DROP TABLE t;--",
    "select",
    "a\nb",
    "a\\",
    "ü/*",
    " ",
    "%s{0}$1?",
    "]`[",
]


def as_frame(rows: Any) -> pd.DataFrame:
    if isinstance(rows, pd.DataFrame):
        return rows
    return pd.DataFrame(rows, columns=[f"feature_{column}" for column in range(rows.shape[1])])


@cache
def add_edges(name: str) -> Any:
    """Rows of which one value each lies on a threshold, or as near to it as its dtype can."""
    model, rows = make_saved()[name]
    tree, frame = model.tree_, as_frame(rows)
    parts = [frame]
    for node in np.flatnonzero((tree.feature >= 0) & np.isfinite(tree.threshold)):
        column, threshold = frame.columns[tree.feature[node]], tree.threshold[node]
        near = frame.sample(3, random_state=int(node))
        if frame[column].dtype.kind == "M":
            moment = round(threshold * 86_400_000_000)
            near[column] = pd.to_datetime([moment - 1, moment, moment + 1], unit="us")
        elif frame[column].dtype.kind == "f":
            middle = frame[column].dtype.type(threshold)
            near[column] = [np.nextafter(middle, -np.inf), middle, np.nextafter(middle, np.inf)]
        parts.append(near.astype(frame.dtypes))
    together = pd.concat(parts, ignore_index=True)
    return together if isinstance(rows, pd.DataFrame) else together.to_numpy()


def to_arrow(frame: pd.DataFrame, nan_is_null: bool) -> pa.Table:
    columns = {"row": pa.array(np.arange(len(frame)))}
    for name in frame.columns:
        values = frame[name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = values.astype("Int64")
        is_float = values.dtype.kind == "f" and isinstance(values.dtype, np.dtype)
        keep_nan = is_float and not nan_is_null
        columns[name] = pa.array(
            values.to_numpy() if keep_nan else values, from_pandas=not keep_nan
        )
    return pa.table(columns)


def ask_duckdb(query: str, table: pa.Table, zone: str = "UTC") -> list[np.ndarray]:
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = '{zone}'")
        connection.register("t", table)
        found = connection.sql(f"SELECT * FROM ({query}) ORDER BY row").to_arrow_table()
    return [found.column(place).to_numpy() for place in range(table.num_columns, found.num_columns)]


@pytest.mark.parametrize(("dialect", "nan_is_null"), [(None, False), ("duckdb", True)])
@pytest.mark.parametrize("name", NAMES)
def test_duckdb_gives_every_row_what_the_tree_gives_it(
    name: str, dialect: str | None, nan_is_null: bool
) -> None:
    model, rows = make_saved()[name].model, add_edges(name)
    table = to_arrow(as_frame(rows), nan_is_null)
    for method in ("predict", "predict_proba", "apply"):
        if not hasattr(model, method):
            continue
        query = export_sql(model, dialect=dialect, method=method, table="t")
        found = ask_duckdb(query, table)
        answer = getattr(model, method)(rows)
        expected = answer.T if method == "predict_proba" else [answer]
        assert len(expected) == len(found)
        for one, other in zip(expected, found, strict=True):
            if one.dtype.kind == "f":
                assert np.asarray(other, dtype=float).tobytes() == one.astype(float).tobytes()
            else:
                assert_array_equal(one, other)


def test_a_model_from_a_file_gives_the_same_sql(tmp_path: Any) -> None:
    for saved in make_saved().values():
        save(saved.model, tmp_path / "model")
        assert export_sql(saved.model) == export_sql(load(tmp_path / "model"))


@pytest.mark.parametrize("seed", range(8))
def test_numbers_of_all_sizes_are_told_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([-1.0, 1.0], 40) * 2.0 ** rng.uniform(-1074, 1023, 40)
    values = np.concatenate([values, np.nextafter(values, np.inf), [0.0, -0.0, np.nan, 5e-324]])
    model = DecisionTreeRegressor().fit(values.reshape(-1, 1), rng.normal(size=len(values)))
    table = to_arrow(pd.DataFrame({"feature_0": values}), False)
    (found,) = ask_duckdb(export_sql(model, table="t"), table)
    assert model.predict(values.reshape(-1, 1)).tobytes() == found.tobytes()


@pytest.mark.parametrize("seed", range(5))
def test_sqlite_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"number": rng.normal(size=200).round(1), "text": rng.choice(["a", "A", "é", "'"], 200)}
    )
    frame.loc[rng.random(200) < 0.2, "number"] = np.nan
    frame.loc[rng.random(200) < 0.2, "text"] = None
    model = DecisionTreeClassifier().fit(frame, rng.integers(0, 3, 200))
    connection = sqlite3.connect(":memory:")
    frame.to_sql("t", connection, index_label="row")
    for dialect in (None, "sqlite"):
        query = export_sql(model, dialect=dialect, table="t")
        found = connection.execute(f"SELECT prediction FROM ({query}) ORDER BY row").fetchall()
        assert_array_equal(model.predict(frame), [answer for (answer,) in found])
    connection.close()


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_and_labels_cannot_break_out(name: str) -> None:
    frame = pd.DataFrame({name: [1.0, 2.0, 3.0, 3.0], "c": [name, "x", "y", name]})
    y = np.array([name, "other", "more", "last"])
    model = DecisionTreeClassifier().fit(frame, y)
    for dialect in (None, "duckdb"):
        query = export_sql(model, dialect=dialect, table="t")
        (found,) = ask_duckdb(query, to_arrow(frame, True))
        assert_array_equal(y, found)
        export_sql(model, dialect=dialect, method="predict_proba")


@pytest.mark.parametrize("cast", [False, True])
@pytest.mark.parametrize("dtype", [bool, "boolean", object])
@pytest.mark.parametrize("dialect", [None, "duckdb", "postgres", "bigquery", "tsql"])
def test_booleans_are_numbers(dialect: str | None, dtype: Any, cast: bool, tmp_path: Any) -> None:
    flags = [True, False, True, False] if dtype is bool else [True, False, None, False]
    frame = pd.DataFrame({"flag": pd.Series(flags, dtype=dtype), "number": [1, 2, 3, 2]})
    model = DecisionTreeClassifier().fit(frame[["flag"]], [True, False, True, False])
    save(model, tmp_path / "model")
    query = export_sql(load(tmp_path / "model"), table="t", cast=cast, dialect=dialect)
    if dialect is not None:
        query = sqlglot.transpile(query, read=dialect, write="duckdb")[0]
    (found,) = ask_duckdb(query, to_arrow(frame, True))
    assert_array_equal([True, False, True, False], found)


def test_an_array_of_booleans_is_cast() -> None:
    model = DecisionTreeClassifier().fit(np.array([[True], [False]]), [0, 1])
    assert 'CAST("feature_0" AS INTEGER)' in export_sql(model)


def test_a_deep_tree_is_not_nested_deeply() -> None:
    row = np.arange(300)
    X = row.reshape(-1, 1).astype(float)
    tree = DecisionTreeRegressor().fit(X, (-1.0) ** row, sample_weight=4.0**-row)
    assert tree.get_depth() > 200
    depth = max(len(line) - len(line.lstrip()) for line in export_sql(tree).splitlines()) // 4
    assert depth <= np.log2(tree.get_n_leaves()) + 1
    for dialect in (None, "duckdb"):
        query = export_sql(tree, table="t", dialect=dialect)
        (found,) = ask_duckdb(query, to_arrow(as_frame(X), True))
        assert_array_equal(tree.predict(X), found)


def test_the_text_is_plain() -> None:
    towns = ["Bonn", "Ulm", "Ulm", "Bonn", "Ulm", "Ulm"]
    frame = pd.DataFrame({"age": [1.0, 2.0, np.nan, 3.0, 4.0, np.nan], "town": towns})
    model = DecisionTreeClassifier().fit(frame, ["a", "b", "c", "d", "b", "c"])
    expected = """\
CASE
  WHEN "age" IS NULL OR NOT "age" <= 1.7976931348623157E308 THEN 'c'
  WHEN "town" IN ('Ulm') THEN 'b'
  WHEN "age" > 2.0E0 AND "age" <= 1.7976931348623157E308 THEN 'd'
  ELSE 'a'
END"""
    assert export_sql(model) == expected


@pytest.mark.parametrize("day", [2**62, 10**15, 2932897, -730000, -(10**9)])
def test_days_that_sql_has_no_date_for_are_refused(day: int) -> None:
    days = np.array([[day], [day + 10 ** (1 + len(str(day)) // 2)]]).astype("M8[D]")
    model = DecisionTreeClassifier().fit(days, [0, 1])
    with pytest.raises(ConversionError, match="outside the years 1 to 9999"):
        export_sql(model)


def test_dates_are_compared_as_dates() -> None:
    days = pd.to_datetime(["2020-01-01", "2020-01-04", None])
    model = DecisionTreeClassifier().fit(pd.DataFrame({"d": days}), [0, 1, 1])
    assert "\"d\" <= TIMESTAMP '2020-01-02 12:00:00'" in export_sql(model)
    dates = pa.table({"row": [0, 1, 2], "d": pa.array([18262, 18265, None], pa.date32())})
    (found,) = ask_duckdb(export_sql(model, table="t"), dates)
    assert_array_equal([0, 1, 1], found)


@pytest.mark.parametrize("session", ["UTC", "America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
@pytest.mark.parametrize("dialect", [None, "duckdb", "postgres", "bigquery", "tsql"])
def test_the_zone_of_the_session_does_not_matter(
    session: str, zone: str | None, dialect: str | None, tmp_path: Any
) -> None:
    hours = pd.date_range("2024-01-01", periods=400, freq="h", tz=zone)
    frame = pd.DataFrame({"d": hours})
    model = DecisionTreeClassifier().fit(frame, np.arange(400) > 200)
    save(model, tmp_path / "model")
    query = export_sql(load(tmp_path / "model"), table="t", dialect=dialect)
    if dialect is not None:
        query = sqlglot.transpile(query, read=dialect, write="duckdb")[0]
    (found,) = ask_duckdb(query, to_arrow(frame, True), zone=session)
    assert_array_equal(model.predict(frame), found)


def test_booleans_are_cast_to_integers_whatever_else_is_cast() -> None:
    frame = pd.DataFrame({"flag": [True, False, True, False], "x": [1.0, 2.0, 3.0, 4.0]})
    model = DecisionTreeClassifier().fit(frame, [0, 1, 0, 2])
    query = export_sql(model, cast=True)
    assert 'CAST("flag" AS INTEGER)' in query
    assert 'CAST("flag" AS DOUBLE' not in query
    assert 'CAST("x" AS DOUBLE PRECISION)' in query


def test_objects_with_a_zone_have_one_in_sql_too() -> None:
    paris = timezone(timedelta(hours=1))
    days = [datetime(2024, 1, day, tzinfo=paris) for day in (1, 3, 5, 7)]
    for frame in (pd.DataFrame({"d": days}), pl.DataFrame({"d": days}), pa.table({"d": days})):
        model = DecisionTreeClassifier().fit(frame, [0, 0, 1, 1])
        assert "\"d\" > CAST('2024-01-03 23:00:00+00:00' AS TIMESTAMP WITH" in export_sql(model)


@pytest.mark.parametrize("name", ["classes", "numbers CV", "booleans"])
@pytest.mark.parametrize("dialect", ["postgres", "mysql", "bigquery", "snowflake", "spark", "tsql"])
def test_every_dialect_says_the_same(dialect: str, name: str) -> None:
    """Read as its own dialect and run by DuckDB, which is at hand."""
    model, rows = make_saved()[name].model, add_edges(name)
    query = export_sql(model, dialect=dialect, table="t")
    parsed = sqlglot.parse_one(query, read=dialect)
    assert len(list(parsed.find_all(sqlglot.exp.If))) == model.get_n_leaves() - 1
    (found,) = ask_duckdb(parsed.sql("duckdb"), to_arrow(as_frame(rows), True))
    answer = model.predict(rows)
    if answer.dtype.kind == "f":
        assert np.asarray(found, dtype=float).tobytes() == answer.tobytes()
    else:
        assert_array_equal(answer, found)


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "bigquery", "snowflake", "spark", "tsql"])
def test_every_dialect_quotes_names_and_labels(dialect: str) -> None:
    y = np.array(ODD_NAMES * 2)
    columns = dict(zip(ODD_NAMES, np.tile(np.eye(len(ODD_NAMES)), 2), strict=True))
    for frame in (pd.DataFrame(columns), pd.DataFrame({"c": ODD_NAMES * 2})):
        model = DecisionTreeClassifier().fit(frame, y)
        query = export_sql(model, dialect=dialect, table="t")
        again = sqlglot.transpile(query, read=dialect, write="duckdb")
        assert len(again) == 1
        (found,) = ask_duckdb(again[0], to_arrow(frame, True))
        assert_array_equal(y, found)


def test_without_sqlglot_only_dialects_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    model, _ = make_saved()["booleans"]
    assert export_sql(model).startswith("CASE\n")
    with pytest.raises(ImportError, match=re.escape("pip install 'treefold[sql]'")):
        export_sql(model, dialect="duckdb")


def test_what_has_no_meaning_is_refused() -> None:
    model, _ = make_saved()["numbers"]
    with pytest.raises(ParameterError, match="dialect='klingon' is not known"):
        export_sql(model, dialect="klingon")
    with pytest.raises(ParameterError, match="method must be one of 'predict', 'apply'"):
        export_sql(model, method="predict_proba")
    with pytest.raises(ConversionError, match=r"cannot be called 'a.ud800'"):
        export_sql(model, table="a\ud800")
    with pytest.raises(ConversionError, match="cannot be called ''"):
        export_sql(model, feature_names=[""] * 7)
    with pytest.raises(ParameterError, match="feature_names must contain 7"):
        export_sql(model, feature_names=["a"])


def test_what_sql_has_no_form_for_is_refused() -> None:
    spans = pd.DataFrame({"d": pd.to_timedelta([1, 2], unit="D")})
    with pytest.raises(ConversionError, match="Column 'd' holds durations, and node 0 splits it"):
        export_sql(DecisionTreeClassifier().fit(spans, [0, 1]))
    bins = pd.DataFrame({"c": pd.cut([1.0, 5.0], 2)})
    with pytest.raises(ConversionError, match="Interval has no form in SQL"):
        export_sql(DecisionTreeClassifier().fit(bins, [0, 1]))
    with pytest.raises(ConversionError, match="has no form in SQL"):
        export_sql(DecisionTreeClassifier().fit([[0.0], [1.0]], ["a\0b", "c"]))
    ages = pd.DataFrame({"d": np.array(["-5000-01-01", "-4000-01-01"], dtype="M8[s]")})
    with pytest.raises(ConversionError, match="outside the years"):
        export_sql(DecisionTreeClassifier().fit(ages, [0, 1]))
