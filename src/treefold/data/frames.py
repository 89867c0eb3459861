"""Columns of data frames: pandas, polars and pyarrow, seen through narwhals.

A column of numbers without missing values is handed on as it lies in memory. Labels are numbered
by the frame's own library, which is much faster than Python objects would be.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treefold.data.columns import (
    Column,
    Family,
    Kind,
    as_numbers,
    days,
    find_missing,
    number_objects,
    parse_objects,
    read_objects,
)
from treefold.exceptions import InputError, InputTypeError

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["frame_names", "is_frame", "is_sparse_frame", "read_frame"]


def is_frame(X: Any) -> bool:
    """Whether X is a data frame that narwhals knows."""
    import narwhals as nw  # noqa: PLC0415 - light, but not needed for arrays

    return bool(nw.dependencies.is_into_dataframe(X))


def is_sparse_frame(X: Any) -> bool:
    """Whether X is a pandas frame of sparse columns only, which is a sparse matrix with names.

    Columns that leave out another number than zero are read one by one, as dense ones.
    """
    if not hasattr(X, "sparse") or not hasattr(X, "dtypes"):
        return False
    return len(X.columns) > 0 and all(getattr(dtype, "fill_value", None) == 0 for dtype in X.dtypes)


def frame_names(X: Any) -> NDArray[np.object_] | None:
    """Names of the columns, if they are text; numbers do not count as names."""
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"Column name {twice!r} occurs more than once. Give each its own name.")
    is_text = [isinstance(name, str) for name in names]
    if not any(is_text):
        return None
    if not all(is_text):
        types = sorted({type(name).__qualname__ for name in names})
        raise InputTypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {types} as feature name / column name types. Rename the columns, for "
            "instance by X.columns = X.columns.astype(str)."
        )
    return np.array(names, dtype=object)


def read_frame(X: Any) -> list[Column]:
    """Read all columns of a data frame."""
    import narwhals as nw  # noqa: PLC0415

    frame = nw.from_native(X, eager_only=True)
    return [_read_column(column) for column in frame.iter_columns()]


def _read_column(series: "nw.Series[Any]") -> Column:
    import narwhals as nw  # noqa: PLC0415

    dtype = series.dtype
    shown = str(getattr(series.to_native(), "dtype", dtype))
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return _read_labels(series, shown)
    if isinstance(dtype, nw.Boolean) or dtype.is_numeric():
        kind: Kind | None = "boolean" if isinstance(dtype, nw.Boolean) else None
        has_lost = (kind is not None or dtype.is_integer()) and series.null_count() > 0
        return Column(
            "number",
            _read_numbers(series),
            dtype=shown,
            read_whole=partial(_read_whole, series) if has_lost else None,
            kind=kind,
        )
    if isinstance(dtype, nw.Date | nw.Datetime):
        kind = None if getattr(dtype, "time_zone", None) is None else "zoned"
        return Column("date", _read_days(series), dtype=shown, kind=kind)
    if isinstance(dtype, nw.Duration):
        return Column("duration", _read_days(series), dtype=shown)
    describe = f"Column {series.name!r}"
    if isinstance(dtype, nw.Object):
        return read_objects(series.to_numpy(), describe)
    if isinstance(dtype, nw.Unknown):
        return _read_unknown(series, describe, shown)
    raise InputTypeError(
        f"{describe} has type {shown}, which a tree cannot split. "
        "Turn it into numbers, dates or text, or drop it."
    )


def _read_numbers(series: "nw.Series[Any]") -> NDArray[Any]:
    import narwhals as nw  # noqa: PLC0415

    if str(series.dtype) in ("Int128", "UInt128"):  # which numpy does not have
        series = series.cast(nw.Float64())
    values = series.to_numpy()
    if values.dtype == object:  # decimals; booleans with missing values
        is_boolean = isinstance(series.dtype, nw.Boolean)
        values = series.cast(nw.Float32() if is_boolean else nw.Float64()).to_numpy()
    if values.dtype == object:  # older pandas: nullable numbers with missing values
        values = parse_objects(values, f"Column {series.name!r}")
    return as_numbers(values, f"Column {series.name!r}")


def _read_whole(series: "nw.Series[Any]") -> "np.ma.MaskedArray[Any, Any]":
    import narwhals as nw  # noqa: PLC0415

    nothing = False if isinstance(series.dtype, nw.Boolean) else 0
    return np.ma.MaskedArray(series.fill_null(nothing).to_numpy(), series.is_null().to_numpy())


def _read_days(series: "nw.Series[Any]") -> NDArray[np.float64]:
    values = series.to_numpy()
    if values.dtype.kind not in "mM":  # pandas' arrow-backed dates come as objects
        values = series.to_native().array.__arrow_array__().to_numpy()
    return days(values, f"Column {series.name!r}")


def _read_unknown(series: "nw.Series[Any]", describe: str, shown: str) -> Column:
    """Read a column that narwhals has no name for: all missing, or pandas' sparse numbers."""
    values = np.asarray(series.to_native())
    if series.null_count() == len(series):
        return Column("empty", np.full(len(series), np.nan), dtype=shown)
    if values.dtype.kind in "biuf":
        return Column("number", as_numbers(values, describe), dtype=shown)
    raise InputTypeError(
        f"{describe} has type {shown}, which a tree cannot split. "
        "Turn it into numbers, dates or text, or drop it."
    )


def _read_labels(series: "nw.Series[Any]", shown: str) -> Column:
    native = series.to_native()
    implementation = series.implementation
    describe = f"Column {series.name!r}"
    if implementation.is_polars():
        codes, labels, is_ordered = _number_polars(native)
    elif implementation.is_pyarrow():
        codes, labels, is_ordered = _number_pyarrow(native, describe)
    elif hasattr(native.dtype, "pyarrow_dtype"):
        codes, labels, is_ordered = _number_pyarrow(native.array.__arrow_array__(), describe)
    else:
        codes, labels, is_ordered = _number_pandas(native)
    return Column(_family_of(labels), None, codes, labels, is_ordered, shown)


Numbered = tuple[NDArray[Any], tuple[Any, ...], bool]


def _number_pandas(native: Any) -> Numbered:
    if hasattr(native, "cat"):
        return native.cat.codes.to_numpy(), tuple(native.cat.categories.tolist()), True
    codes, labels = native.factorize()
    return codes, tuple(labels.tolist()), False


def _number_polars(native: Any) -> Numbered:
    import polars as pl  # noqa: PLC0415

    is_ordered = isinstance(native.dtype, pl.Enum)
    # A polars Categorical lists every category of the process, in order of arrival: read its text.
    labels = native.dtype.categories if is_ordered else native.cast(pl.String).unique()
    labels = labels.drop_nulls()
    if not is_ordered:
        native = native.cast(pl.String).cast(pl.Enum(labels))
    codes = native.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return codes, tuple(labels.to_list()), is_ordered


def _number_pyarrow(native: Any, describe: str) -> Numbered:
    import pyarrow as pa  # noqa: PLC0415

    is_ordered = pa.types.is_dictionary(native.type)
    encoded = _unify_dictionaries(native) if is_ordered else native.dictionary_encode()
    encoded = encoded.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # no rows: no chunk
        return np.empty(0, dtype=np.int64), (), is_ordered
    codes = _codes_of(encoded)
    labels = encoded.dictionary.to_pylist()
    if is_ordered:  # a dictionary may hold a label twice, and missing values
        values = np.fromiter(labels, dtype=object, count=len(labels))
        places, labels = number_objects(values, find_missing(values), describe)
        codes = np.append(places, -1)[codes]
    return codes, tuple(labels), is_ordered


def _unify_dictionaries(native: Any) -> Any:
    """Give all chunks one dictionary, without nulls: pyarrow refuses these."""
    import pyarrow as pa  # noqa: PLC0415

    if any(chunk.dictionary.null_count for chunk in native.chunks):
        native = pa.chunked_array([_drop_nulls(chunk) for chunk in native.chunks])
    return native.unify_dictionaries()


def _drop_nulls(chunk: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    is_label = chunk.dictionary.is_valid().to_numpy(zero_copy_only=False)
    places = np.where(is_label, np.cumsum(is_label) - 1, -1)
    codes = np.append(places, -1)[_codes_of(chunk)]
    indices = pa.array(codes, mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, chunk.dictionary.drop_null())


def _codes_of(chunk: Any) -> NDArray[np.int64]:
    import pyarrow as pa  # noqa: PLC0415

    codes = chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return np.asarray(codes)


def _family_of(labels: tuple[Any, ...]) -> Family:
    """What the labels are: a category dtype may hold numbers."""
    if not labels:
        return "empty"
    if all(isinstance(label, str) for label in labels):
        return "text"
    is_number = all(isinstance(label, int | float | np.number | np.bool_) for label in labels)
    return "number" if is_number else "other"
