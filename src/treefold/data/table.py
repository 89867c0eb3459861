"""The encoded table: columns sorted once, to be used in many fits."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.data.ingest import read_rows, read_training
from treefold.data.schema import Schema, find_categorical
from treefold.exceptions import InputError, ParameterError
from treefold.threads import effective_n_jobs

__all__ = ["Table", "encode", "named_columns", "open_rows"]


class Table:
    """Data whose columns are sorted and encoded, ready to grow trees from.

    Sorting is the larger part of a small fit. A table is made once by `Table.from_data` and is
    accepted wherever X is: in `fit`, `predict`, `score` and the rest. It never changes and may be
    shared between threads.

    Attributes
    ----------
    n_rows, n_columns : int
        Its shape.
    feature_names : ndarray of str, or None
        Names of the columns, if the data had any.
    nbytes : int
        Memory that the encoded columns take.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier, Table
    >>> table = Table.from_data([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
    >>> table
    Table(n_rows=3, n_columns=2)
    >>> DecisionTreeClassifier().fit(table, [0, 1, 1]).predict(table)
    array([0, 1, 1])
    """

    def __init__(self, native: _native.Table, schema: Schema) -> None:
        self._native = native
        self.schema = schema

    @classmethod
    def from_data(
        cls, X: Any, *, categorical_features: Any = "from_dtype", n_jobs: int | None = None
    ) -> "Table":
        """Sort and encode the columns of X.

        Parameters
        ----------
        X : array, sparse matrix, data frame or list of rows
            The data; missing values allowed.
        categorical_features : "from_dtype", None, list of int, list of str or mask
            Which columns are categories. By default text and category dtypes of data frames.
        n_jobs : int or None, default=None
            Threads to use; None means one, -1 all cores.

        Returns
        -------
        Table
            The encoded data.

        Examples
        --------
        >>> from treefold import Table
        >>> Table.from_data([["a", 1], ["b", 2]], categorical_features=[0]).n_columns
        2
        """
        return encode(X, categorical_features, effective_n_jobs(n_jobs))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._native.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self._native.n_columns

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, self.n_columns

    @property
    def feature_names(self) -> NDArray[np.object_] | None:
        """Names of the columns, if the data had any."""
        return self.schema.names

    @property
    def nbytes(self) -> int:
        """Memory that the encoded columns take."""
        return self._native.nbytes

    def __repr__(self) -> str:
        n_categorical = len(self.schema.categories)
        more = f", n_categorical={n_categorical}" if n_categorical else ""
        return f"Table(n_rows={self.n_rows}, n_columns={self.n_columns}{more})"

    def __copy__(self) -> "Table":
        return self  # it never changes

    def __deepcopy__(self, memo: object) -> "Table":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("A Table cannot be pickled. Send the data and call Table.from_data there.")


def encode(X: Any, categorical_features: Any, n_threads: int, *, may_borrow: bool = False) -> Table:
    """Encode X; a table is taken as it is, if its categories are those asked for.

    With `may_borrow` the table is good for growing one whole tree while X is there: it may leave
    values in X.
    """
    if isinstance(X, Table):
        _check_same_categories(X.schema, categorical_features)
        return X
    training = read_training(X, categorical_features)
    with named_columns(training.schema):
        native = _native.Table(training.source, n_threads, may_borrow)
    training.name_categories(native)
    return Table(native, training.schema)


def _check_same_categories(schema: Schema, categorical_features: Any) -> None:
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return
    asked = find_categorical(categorical_features, schema.n_columns, schema.names, ())
    if asked != set(schema.categories):
        raise ParameterError(
            f"categorical_features={categorical_features!r} differs from what the Table was made "
            f"with (columns {sorted(schema.categories)}). Give it to Table.from_data instead."
        )


def open_rows(X: Any, schema: Schema, owner: str) -> _native.Source:
    """Open data to be predicted; X may be a table."""
    if not isinstance(X, Table):
        return read_rows(X, schema, owner)
    schema.check_names(X.schema.names, owner)
    schema.check_width(X.n_columns, owner)
    for column in sorted(schema.families.keys() | X.schema.families.keys()):
        schema.check_family(column, X.schema.families.get(column, "number"), "in a Table")
    source = _native.Source(X.n_rows, X.n_columns)
    source.add_table(X._native)
    for column in sorted(schema.categories.keys() | X.schema.categories.keys()):
        if schema.categories.get(column) != X.schema.categories.get(column):
            source.add_dense(column, _renumber(X, schema, column).reshape(-1, 1))
            source.set_categories(column, max(1, len(schema.categories[column])))
    return source


def _renumber(table: Table, schema: Schema, column: int) -> NDArray[np.float64]:
    """Give the labels of a table's column the numbers that they had at fit."""
    fitted, seen = schema.categories.get(column), table.schema.categories.get(column)
    if fitted is None or seen is None:
        was, now = ("categories", "numbers") if seen is None else ("numbers", "categories")
        raise InputError(
            f"{schema.describe(column)} held {was} at fit, but holds {now} in this Table. "
            "Make the Table with the categorical_features of the fit."
        )
    number_of = {label: number for number, label in enumerate(fitted)}
    numbers = np.array([*(number_of.get(label, np.nan) for label in seen), np.nan])
    return numbers[np.minimum(table._native.codes(column), len(seen))]


@contextmanager
def named_columns(schema: Schema) -> Iterator[None]:
    """Let the core's messages, which number columns, name them."""
    try:
        yield
    except ValueError as error:

        def name(match: re.Match[str]) -> str:
            column = int(match.group(2))
            if schema.names is None or column >= schema.n_columns:
                return match.group(0)
            return f"{match.group(1)}olumn {schema.names[column]!r}"

        raise InputError(re.sub(r"\b([Cc])olumn (\d+)", name, str(error))) from None
