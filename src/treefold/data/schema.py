"""What the columns are: their names, families and categories.

A schema is made at fit (or with a `Table`) and holds what is needed to read other data the same way
and to say precisely how it differs. It knows nothing of the compiled core.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.data.columns import Column, Family, Kind
from treefold.exceptions import (
    CardinalityWarning,
    ColumnMismatchError,
    InputError,
    ParameterError,
    warn,
)

__all__ = [
    "MANY_LEVELS",
    "Schema",
    "describe_column",
    "find_categorical",
    "refuse_text",
    "warn_of_many_levels",
]

MANY_LEVELS = 20
FEW_ROWS_EACH = 2  # on average: categories are little more than names of rows
_FAMILY_NAMES = {
    "number": "numbers",
    "text": "text",
    "date": "dates",
    "duration": "durations",
    "other": "objects",
    "empty": "nothing but missing values",
}


@dataclass(frozen=True)
class Schema:
    """The columns that a tree was fitted on.

    Attributes
    ----------
    n_columns : int
        Number of columns.
    names : ndarray of str, or None
        Their names, if the data had any.
    categories : dict of int to tuple
        Labels of each categorical column, by column; a label's place is its number.
    families : dict of int to str
        What a column holds, where it is not numbers.
    kinds : dict of int to str
        Of numbers, which were "boolean"; of dates, which were "zoned". Trees do not care; SQL does.

    Examples
    --------
    >>> from treefold import Table
    >>> Table.from_data([["red", 1], ["blue", 2]], categorical_features=[0]).schema.categories
    {0: ('blue', 'red')}
    """

    n_columns: int
    names: NDArray[np.object_] | None = None
    categories: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    families: dict[int, Family] = field(default_factory=dict)
    kinds: dict[int, Kind] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether every column is a column of numbers."""
        return not self.categories and not self.families

    @property
    def special_columns(self) -> list[int]:
        """The columns that are not simply numbers."""
        return sorted(self.categories.keys() | self.families.keys())

    def describe(self, column: int) -> str:
        """Call a column what the user calls it."""
        return describe_column(self.names, column)

    def check_width(self, n_columns: int, owner: str) -> None:
        """Refuse data with another number of columns."""
        if n_columns != self.n_columns:
            raise ColumnMismatchError(
                f"X has {n_columns} features, but {owner} is expecting "
                f"{self.n_columns} features as input."
            )

    def check_names(self, names: NDArray[np.object_] | None, owner: str) -> None:
        """Compare names with those of the fit, in scikit-learn's words."""
        if self.names is None and names is None:
            return
        if self.names is None:
            warn(f"X has feature names, but {owner} was fitted without feature names")
        elif names is None:
            warn(f"X does not have valid feature names, but {owner} was fitted with feature names")
        elif not np.array_equal(self.names, names):
            raise ColumnMismatchError(_explain_names(list(self.names), list(names)))

    def check_family(self, index: int, family: Family, seen: str) -> None:
        """Refuse a column that holds something else than it did at fit."""
        fitted: Family = self.families.get(index, "number")
        if "empty" not in (fitted, family) and fitted != family:
            raise ColumnMismatchError(
                f"{self.describe(index)} held {_FAMILY_NAMES[fitted]} at fit, but holds "
                f"{_FAMILY_NAMES[family]} now ({seen}). Convert it to what it was at fit."
            )


def describe_column(names: NDArray[np.object_] | None, column: int) -> str:
    """Call a column by its name, or by its number."""
    return f"Column {column}" if names is None else f"Column {names[column]!r}"


def _explain_names(fitted: Sequence[str], seen: Sequence[str]) -> str:
    message = "The feature names should match those that were passed during fit.\n"
    unexpected = sorted(set(seen) - set(fitted))
    missing = sorted(set(fitted) - set(seen))
    if unexpected:
        message += "Feature names unseen at fit time:\n" + _list_names(unexpected)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _list_names(missing)
    if not unexpected and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _list_names(names: Sequence[str]) -> str:
    shown = "".join(f"- {name}\n" for name in names[:5])
    return shown + ("- ...\n" if len(names) > 5 else "")


def find_categorical(
    asked: Any, n_columns: int, names: NDArray[np.object_] | None, from_dtype: Iterable[int]
) -> set[int]:
    """Resolve `categorical_features` to column numbers."""
    if asked is None:
        return set()
    if isinstance(asked, str):
        if asked == "from_dtype":
            return set(from_dtype)
        raise ParameterError(
            "categorical_features must be 'from_dtype', None, a list of column numbers, a list of "
            f"names or a boolean mask. Got {asked!r} instead; did you mean [{asked!r}]?"
        )
    items = np.asarray(asked, dtype=object)
    if items.ndim != 1:
        raise ParameterError(
            f"categorical_features must be one-dimensional. Got {items.ndim} dimensions: {asked!r}."
        )
    if len(items) == 0:
        return set()
    if all(isinstance(item, bool | np.bool_) for item in items):
        return _from_mask(items.astype(bool), n_columns)
    if all(isinstance(item, str) for item in items):
        return _from_names(list(items), names)
    if all(isinstance(item, int | np.integer) and not isinstance(item, bool) for item in items):
        return _from_numbers([int(item) for item in items], n_columns)
    raise ParameterError(
        "categorical_features must hold column numbers only, names only, or booleans only. "
        f"Got {asked!r} instead."
    )


def _from_mask(mask: NDArray[np.bool_], n_columns: int) -> set[int]:
    if len(mask) != n_columns:
        raise ParameterError(
            f"categorical_features is a mask of {len(mask)} booleans, but X has {n_columns} "
            "columns. Give one boolean per column."
        )
    return {int(column) for column in np.flatnonzero(mask)}


def _from_names(asked: list[str], names: NDArray[np.object_] | None) -> set[int]:
    if names is None:
        raise ParameterError(
            f"categorical_features names columns ({asked[0]!r}), but X has no column names. "
            "Give column numbers, or a data frame."
        )
    places = {name: column for column, name in enumerate(names)}
    for name in asked:
        if name not in places:
            raise ParameterError(
                f"categorical_features names {name!r}, which is not a column of X. "
                f"The columns are {', '.join(map(repr, names[:8]))}"
                f"{', ...' if len(names) > 8 else ''}."
            )
    return {places[name] for name in asked}


def _from_numbers(asked: list[int], n_columns: int) -> set[int]:
    for column in asked:
        if not 0 <= column < n_columns:
            raise ParameterError(
                f"categorical_features names column {column}, but X has columns 0 to "
                f"{n_columns - 1}."
            )
    return set(asked)


def warn_of_many_levels(describe: str, n_levels: int, n_rows: int) -> None:
    """Warn of a column whose categories are known from a few rows each."""
    if n_levels > MANY_LEVELS and n_rows < FEW_ROWS_EACH * n_levels:
        warn(
            f"{describe} has {n_levels:,} categories in {n_rows:,} rows, {n_rows / n_levels:.1f} "
            "rows each on average. Drop it if it only names rows, or merge rare categories.",
            CardinalityWarning,
        )


def refuse_text(describe: str, column: Column) -> InputError:
    """Explain why a column of labels cannot be used as numbers."""
    return InputError(
        f"{describe} holds {_FAMILY_NAMES[column.family]} (dtype {column.dtype}), but "
        "categorical_features does not name it. Name it there, or turn it into numbers."
    )
