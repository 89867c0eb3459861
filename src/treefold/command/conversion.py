"""Columns of another file as a model knows them: in any order, among others, of other types.

What cannot be read is an error that names file, row and column. Rows are counted from one, without
the line of names.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, types

from treefold.command.mistakes import UserError
from treefold.command.triage import is_text

__all__ = ["Converter", "Place", "to_numbers"]

_SHOWN = 5
_TRUTHS = {"true": "1", "false": "0"}


@dataclass(slots=True)
class Converter:
    """Turns batches of a file into what a model's `predict` takes."""

    model: Any
    file: str
    decimal_point: str = "."
    unseen: dict[str, set[str]] = field(default_factory=dict)  # categories by column

    @property
    def schema(self) -> Any:
        """What the model knows of its columns; the trees of an ensemble know the same."""
        model = self.model.estimators_[0] if hasattr(self.model, "estimators_") else self.model
        return model.tree_.schema

    @property
    def names(self) -> list[str]:
        """Names of the columns that the model needs."""
        names = self.schema.names
        if names is None:
            raise UserError("The model was fitted without column names; predict with it in Python.")
        return [str(name) for name in names]

    def convert(self, batch: Any, first_row: int) -> Any:
        """Convert one batch; `first_row` is how many rows came before it."""
        given = dict(zip(batch.column_names, batch.columns, strict=True))
        self._check_names(given)
        columns = {
            name: self._convert(place, name, given[name], first_row)
            for place, name in enumerate(self.names)
        }
        return pa.table(columns)

    def _check_names(self, present: Collection[str]) -> None:
        missing = [name for name in self.names if name not in present]
        if missing:
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            listed = ", ".join(f"'{name}'" for name in missing[:_SHOWN])
            word = "column" if len(missing) == 1 else "columns"
            raise UserError(f"{self.file} lacks the {word} {listed}{more}, which the model needs.")

    def _convert(self, place: int, name: str, column: Any, first_row: int) -> Any:
        schema = self.schema
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        family = schema.families.get(place, "number")
        where = Place(self.file, name, first_row)
        if family == "text":
            column = column.cast("string")
        elif family == "number":
            column = to_numbers(column, where, self.decimal_point)
        elif family == "date" and is_text(column.type):
            column = _to_dates(column, where)
        if place in schema.categories:
            self._note_unseen(name, column, schema.categories[place])
        return column

    def _note_unseen(self, name: str, column: Any, categories: tuple[Any, ...]) -> None:
        new = set(column.unique().to_pylist()) - set(categories) - {None}
        if new:
            self.unseen.setdefault(name, set()).update(map(str, new))

    def list_unseen(self) -> list[str]:
        """Say which categories the model has never seen."""
        return [
            f"'{name}' has {len(labels):,} categories that the model has never seen (such as "
            f"'{min(labels)}'); they go where missing values go."
            for name, labels in self.unseen.items()
        ]


@dataclass(frozen=True, slots=True)
class Place:
    """Where values come from, for messages."""

    file: str
    column: str
    first_row: int

    def refuse(self, row: int, value: Any, wanted: str) -> UserError:
        """Say which value is not what it should be."""
        return UserError(
            f"{self.file}, row {self.first_row + row + 1:,}, column '{self.column}': "
            f"{value!r} is not {wanted}. Correct it, or leave the field empty."
        )


def to_numbers(column: Any, where: Place, decimal_point: str = ".") -> Any:
    """Read a column as numbers."""
    if types.is_boolean(column.type):
        return column.cast("int8")
    if is_text(column.type):
        column = _parse_numbers(column, where, decimal_point)
    elif not (types.is_integer(column.type) or types.is_null(column.type)):
        try:
            column = column.cast("float64")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise where.refuse(0, str(column[0]), f"a number (but {column.type})") from None
    if types.is_floating(column.type):
        is_infinite = compute.is_inf(column).combine_chunks().fill_null(False)
        if compute.any(is_infinite).as_py():
            row = int(np.flatnonzero(is_infinite.to_numpy(zero_copy_only=False))[0])
            raise where.refuse(row, column[row].as_py(), "finite")
    return column


def _parse_numbers(column: Any, where: Place, decimal_point: str) -> Any:
    text = compute.utf8_trim_whitespace(column)
    if decimal_point != ".":
        text = compute.replace_substring(text, decimal_point, ".")
    for kind in ("int64", "float64"):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    lower = compute.utf8_lower(text)
    for truth, number in _TRUTHS.items():
        lower = compute.if_else(compute.equal(lower, truth), number, lower)
    try:
        return lower.cast("float64")
    except pa.ArrowInvalid:
        row = _find_first(lower, "float64")
        raise where.refuse(row, column[row].as_py(), "a number") from None


def _to_dates(column: Any, where: Place) -> Any:
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    row = _find_first(column, pa.timestamp("us"))
    raise where.refuse(row, column[row].as_py(), "a date such as 2024-12-31") from None


def _find_first(column: Any, kind: Any) -> int:
    """Find the first row that cannot be cast, by halves."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column.slice(low, middle - low).cast(kind)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low
