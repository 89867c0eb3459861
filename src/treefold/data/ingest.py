"""Arrays, sparse matrices and data frames -> a native `Source`, without copying what fits.

Each kind of input answers the same few questions (`ArrayData`, `SparseData`, `FrameData`), so that
reading for a fit and reading for a prediction are written once. Columns that the core can read
where they lie are borrowed; categories, dates, text and odd dtypes are converted column by column.
Nothing here changes what the user passed.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treefold import _native
from treefold.data.columns import (
    Column,
    Family,
    as_numbers,
    fill_masked,
    is_exact_in_float64,
    look_up,
    number_labels,
    parse_objects,
    read_array_column,
)
from treefold.data.frames import frame_names, is_frame, is_sparse_frame, read_frame
from treefold.data.schema import (
    Schema,
    describe_column,
    find_categorical,
    refuse_text,
    warn_of_many_levels,
)
from treefold.exceptions import InputError, InputTypeError

__all__ = ["Training", "read_rows", "read_training"]


@dataclass(frozen=True, slots=True)
class Training:
    """Data to be encoded, and what its columns are."""

    source: _native.Source
    schema: Schema
    # Columns of numbers that are categories: the core finds their labels while it encodes.
    label_dtypes: dict[int, np.dtype[Any]] = field(default_factory=dict)

    def name_categories(self, table: _native.Table) -> None:
        """Tell the schema the labels that encoding has found."""
        for index, dtype in self.label_dtypes.items():
            labels = tuple(table.labels(index).astype(dtype).tolist())
            warn_of_many_levels(self.schema.describe(index), len(labels), table.n_rows)
            self.schema.categories[index] = labels


def read_training(X: Any, categorical_features: Any) -> Training:
    """Open data to be encoded, and fix what its columns are."""
    data = _open(X)
    _check_shape(data)
    categorical = find_categorical(
        categorical_features, data.n_columns, data.names, data.label_columns()
    )
    source = _native.Source(data.n_rows, data.n_columns)
    data.add_numbers(source, categorical, by_rows=False)
    schema = Schema(data.n_columns, data.names)
    training = Training(source, schema)
    for index in range(data.n_columns) if data.is_columnar else sorted(categorical):
        _add_training_column(training, index, data.column(index), index in categorical)
    if isinstance(data, ArrayData) and data.family != "number":
        schema.families.update(dict.fromkeys(range(data.n_columns), data.family))
    if isinstance(data, ArrayData) and data.array.dtype.kind == "b":
        schema.kinds.update(dict.fromkeys(range(data.n_columns), "boolean"))
    return training


def _add_training_column(
    training: Training, index: int, column: Column, is_categorical: bool
) -> None:
    source, schema = training.source, training.schema
    describe = schema.describe(index)
    if column.family != "number":
        schema.families[index] = column.family
    if column.kind is not None:
        schema.kinds[index] = column.kind
    if not is_categorical:
        _add_column(source, index, _plain_numbers(column, describe))
    elif _has_labels_in_float64(column):
        schema.categories[index] = ()  # until they are known
        assert column.values is not None
        training.label_dtypes[index] = column.values.dtype
        _add_column(source, index, column.values)
        source.set_labels(index)
    else:
        labels, numbers = number_labels(column, describe)
        warn_of_many_levels(describe, len(labels), len(numbers))
        schema.categories[index] = labels
        _add_column(source, index, numbers)
        source.set_categories(index, max(1, len(labels)))


def _has_labels_in_float64(column: Column) -> bool:
    """Whether the core can find the labels of a column: numbers that float64 tells apart."""
    if column.values is None or column.read_whole is not None:
        return False
    return is_exact_in_float64(column.values)


def read_rows(X: Any, schema: Schema, owner: str) -> _native.Source:
    """Open data to be predicted, read the way the columns were at fit.

    `owner` is the name of the estimator, for messages.
    """
    data = _open(X)
    schema.check_names(data.names, owner)
    schema.check_width(data.n_columns, owner)
    _check_shape(data)
    source = _native.Source(data.n_rows, data.n_columns)
    special = schema.special_columns
    if isinstance(data, ArrayData) and data.family != "number":
        special = list(range(data.n_columns))
    data.add_numbers(source, set(special), by_rows=True)
    for index in range(data.n_columns) if data.is_columnar else special:
        column = data.column(index)
        schema.check_family(index, column.family, f"dtype {column.dtype}")
        _add_column(source, index, _numbers_at_fit(schema, index, column, data.n_rows))
    return source


def _numbers_at_fit(schema: Schema, index: int, column: Column, n_rows: int) -> NDArray[Any]:
    """The numbers that a column would have had at fit."""
    categories = schema.categories.get(index)
    if categories is not None:
        _refuse_infinity(column, schema.describe(index))
        return look_up(column, categories)
    if schema.families.get(index) == "empty":  # no node can split it: whatever it holds now
        return np.full(n_rows, np.nan)
    return _plain_numbers(column, schema.describe(index))


def _refuse_infinity(column: Column, describe: str) -> None:
    """Say what the core says of numbers: it does not see those that are looked up."""
    if column.values is not None and column.values.dtype.kind == "f":
        infinite = np.isinf(column.values)
        if infinite.any():
            raise InputError(f"{describe} has an infinite value in row {int(infinite.argmax())}.")


def _add_column(source: _native.Source, index: int, values: NDArray[Any]) -> None:
    source.add_dense(index, values.reshape(-1, 1))


def _plain_numbers(column: Column, describe: str) -> NDArray[Any]:
    """The numbers of a column that is not used as categories."""
    if column.values is not None:
        return column.values
    assert column.codes is not None
    if column.family not in ("number", "empty"):
        raise refuse_text(describe, column)
    numbers = np.array([*column.labels, np.nan], dtype=np.float64)  # code -1 finds the NaN
    looked_up: NDArray[np.float64] = numbers[column.codes]
    return looked_up


class Data(Protocol):
    """What reading needs to know about an input."""

    n_rows: int
    n_columns: int
    names: NDArray[np.object_] | None
    is_columnar: bool  # every column is asked for by `column`, none is added by `add_numbers`

    def label_columns(self) -> list[int]:
        """Columns whose dtype says that they are categories."""

    def add_numbers(self, source: _native.Source, skip: set[int], *, by_rows: bool) -> None:
        """Add the columns that are plainly numbers; those in `skip` will be replaced."""

    def column(self, index: int) -> Column:
        """Read one column."""


def _open(X: Any) -> Data:
    if isinstance(X, np.ndarray):
        return ArrayData(X)
    if sparse.issparse(X):
        return SparseData(X, None)
    if is_frame(X):
        if is_sparse_frame(X):
            return SparseData(X.sparse.to_coo(), frame_names(X))
        return FrameData(X)
    return ArrayData(_to_array(X))


def _to_array(X: Any) -> NDArray[Any]:
    """Make an array of lists, and of whatever else numpy understands."""
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not hasattr(X, "__array__"):
            array = np.asarray(X, dtype=object)  # [["red", 1.5]]: keep the number a number
    except ValueError as error:
        raise InputError(
            f"X could not be read as a table ({error}). Give every row the same number of values."
        ) from None
    if array.ndim == 0 and array.dtype == object:
        raise InputTypeError(
            f"X is of type {type(X).__name__}. Give a numpy array, a sparse matrix, a data frame, "
            "a list of rows or a treefold.Table."
        )
    return array


def _check_shape(data: Data) -> None:
    shape = (data.n_rows, data.n_columns)
    if data.n_rows == 0:
        raise InputError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required."
        )
    if data.n_columns == 0:
        raise InputError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )


class ArrayData:
    """A numpy array."""

    names: NDArray[np.object_] | None = None
    is_columnar = False

    def __init__(self, array: NDArray[Any]) -> None:
        if isinstance(array, np.matrix):
            raise InputTypeError("np.matrix is not supported. Convert it by np.asarray(X).")
        if isinstance(array, np.ma.MaskedArray):
            array = fill_masked(array)
        if array.ndim != 2:
            what = "scalar array" if array.ndim == 0 else f"{array.ndim}D array"
            raise InputError(
                f"Expected 2D array, got {what} instead (shape={array.shape}). Reshape your data "
                "either using array.reshape(-1, 1) if your data has a single feature or "
                "array.reshape(1, -1) if it contains a single sample."
            )
        self.array = array
        self.n_rows, self.n_columns = array.shape
        kind = array.dtype.kind
        self.family: Family = "date" if kind == "M" else "duration" if kind == "m" else "number"

    def label_columns(self) -> list[int]:
        """No dtype of an array declares categories."""
        return []

    def add_numbers(self, source: _native.Source, skip: set[int], *, by_rows: bool) -> None:
        """Add the whole array, borrowed if its dtype allows."""
        if self.array.dtype.kind in "OUS":
            source.add_dense(0, self._parse(skip))
        else:
            source.add_dense(0, as_numbers(self.array, "X"))

    def _parse(self, skip: set[int]) -> NDArray[np.float64]:
        numbers = np.zeros(self.array.shape, dtype=np.float64, order="F")
        for index in range(self.n_columns):
            if index not in skip:
                describe = describe_column(None, index)
                numbers[:, index] = parse_objects(self.array[:, index].astype(object), describe)
        return numbers

    def column(self, index: int) -> Column:
        """Read one column."""
        return read_array_column(self.array[:, index], describe_column(None, index))


class SparseData:
    """A scipy sparse matrix or array; absent entries are zeros."""

    is_columnar = False

    def __init__(self, matrix: Any, names: NDArray[np.object_] | None) -> None:
        if matrix.ndim != 2:
            raise InputError(
                f"Expected 2D input, got a sparse array of shape {matrix.shape}. Reshape your data."
            )
        if matrix.dtype.kind == "c":
            raise InputError(f"Complex data not supported: X has dtype {matrix.dtype}.")
        self.matrix = matrix
        self.names = names
        self.n_rows, self.n_columns = matrix.shape

    def label_columns(self) -> list[int]:
        """No dtype of a sparse matrix declares categories."""
        return []

    def add_numbers(self, source: _native.Source, skip: set[int], *, by_rows: bool) -> None:
        """Add the whole matrix: by columns to encode, by rows to predict."""
        matrix = _canonical(self.matrix, "csr" if by_rows else "csc")
        data = as_numbers(matrix.data, "X")
        if by_rows:
            source.add_csr(0, data, matrix.indices, matrix.indptr, self.n_columns)
        else:
            source.add_csc(0, data, matrix.indices, matrix.indptr)

    def column(self, index: int) -> Column:
        """Read one column, as a dense one."""
        dense = self.matrix.tocsc()[:, [index]].toarray().ravel()
        return read_array_column(dense, describe_column(self.names, index))


def _canonical(matrix: Any, wanted: str) -> Any:
    """Convert to CSR or CSC with sorted indices and no duplicates, on a copy where needed."""
    if matrix.format in ("csr", "csc"):
        _check_indices(matrix)
    converted = matrix.asformat(wanted)
    if not converted.has_canonical_format:
        converted = converted.copy() if converted is matrix else converted
        converted.sum_duplicates()
    if converted.indices.dtype != converted.indptr.dtype:
        converted = converted.copy()
        converted.indptr = converted.indptr.astype(np.int64)
        converted.indices = converted.indices.astype(np.int64)
    return converted


def _check_indices(matrix: Any) -> None:
    """Refuse a matrix whose index arrays point outside it: scipy does not check them."""
    indices, indptr = matrix.indices, matrix.indptr
    n_minor = matrix.shape[1] if matrix.format == "csr" else matrix.shape[0]
    is_sound = indptr[0] == 0 and indptr[-1] <= min(len(indices), len(matrix.data))
    is_sound = is_sound and bool(np.all(indptr[1:] >= indptr[:-1]))
    used = indices[: indptr[-1]] if is_sound else indices[:0]
    if not is_sound or (len(used) and (used.min() < 0 or used.max() >= n_minor)):
        raise InputError(
            "X is a sparse matrix whose indices or indptr are not consistent with its shape "
            f"{matrix.shape}. Build it anew, for instance by scipy.sparse.coo_array."
        )


class FrameData:
    """A data frame: pandas, polars or pyarrow."""

    is_columnar = True

    def __init__(self, frame: Any) -> None:
        self.names = frame_names(frame)
        self.n_rows, self.n_columns = frame.shape
        self._columns = read_frame(frame)

    def label_columns(self) -> list[int]:
        """Columns of text or of a category dtype."""
        return [index for index, column in enumerate(self._columns) if column.has_labels]

    def add_numbers(self, source: _native.Source, skip: set[int], *, by_rows: bool) -> None:
        """Add nothing: every column is read by itself."""

    def column(self, index: int) -> Column:
        """Read one column."""
        return self._columns[index]
