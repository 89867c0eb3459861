"""Columns of another file as a model knows them: in any order, among others, of other types.

What cannot be read is an error that names file, row and column. Rows are counted from one, without
the line of names.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, types

from treefold.command.dates import DateForm, clean_dates
from treefold.command.mistakes import Place, UserError
from treefold.command.notation import NumberForm, clean_numbers, trim
from treefold.command.recognition import Reading
from treefold.command.target import decode
from treefold.command.triage import is_text
from treefold.findings.numbers import count

__all__ = ["Converter", "check_finite", "parse_numbers", "to_numbers", "to_text"]

_SHOWN = 5
_TRUTHS = {"true": "1", "false": "0"}


@dataclass(slots=True)
class Converter:
    """Turns batches of a file into what a model's `predict` takes."""

    model: Any
    file: str
    mark: str | None = None  # of the decimals of the file, if it tells
    reading: Reading = field(default_factory=Reading)
    unseen: dict[str, set[str]] = field(default_factory=dict)  # categories by column

    @property
    def trees(self) -> list[Any]:
        """The tree of the model, or those of an ensemble."""
        return [one.tree_ for one in getattr(self.model, "estimators_", [self.model])]

    @property
    def schema(self) -> Any:
        """What the model knows of its columns; the trees of an ensemble know the same."""
        return self.trees[0].schema

    @property
    def names(self) -> list[str]:
        """Names of the columns that the model was fitted on."""
        names = self.schema.names
        if names is None:
            raise UserError("The model was fitted without column names; predict with it in Python.")
        return [str(name) for name in names]

    def find_form(self, name: str) -> NumberForm:
        """Say how numbers are written: with the mark of the file, or with that of the fit."""
        fitted = self.reading.numbers.get(name, NumberForm())
        return replace(fitted, mark=self.mark or fitted.mark)

    def convert(self, batch: Any, rows: Any) -> Any:
        """Convert one batch; `rows` says where its rows stand in the file, from zero."""
        given = dict(zip(batch.column_names, batch.columns, strict=True))
        nothing = pa.nulls(batch.num_rows)
        columns = {
            name: self._convert(place, name, given.get(name, nothing), rows)
            for place, name in enumerate(self.names)
        }
        return pa.table(columns)

    def check_names(self, present: Collection[str]) -> None:
        """Refuse a file that lacks a column that a tree asks for, before its rows are read."""
        widths = self.reading.widths
        if widths and len(present) not in widths:
            raise UserError(
                f"{self.file} has {len(present)} columns, but the model, which was fitted with "
                f"--no-header, knows them by their places among {widths[-1]}; give all of them."
            )
        names = self.names
        asked = {place for tree in self.trees for place in tree.feature.tolist()} - {-2}
        missing = [names[place] for place in sorted(asked) if names[place] not in present]
        if missing:
            word = "column" if len(missing) == 1 else "columns"
            raise UserError(
                f"{self.file} lacks the {word} {_list(missing)}, which the model needs. "
                f"It has {_list(list(present))}; rename them, or give the file that was meant."
            )

    def _convert(self, place: int, name: str, column: Any, rows: Any) -> Any:
        schema, column = self.schema, decode(column)
        family = schema.families.get(place, "number")
        where = Place(self.file, name, rows)
        if types.is_null(column.type):
            return column
        if family == "text":
            column = to_text(column, where, schema.categories.get(place, ()))
        elif family == "number":
            column = to_numbers(column, where, self.find_form(name))
        elif family == "date" and is_text(column.type):
            column = _to_dates(column, where, self.reading.dates.get(name, DateForm()))
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
            f"'{name}' has {count(len(labels), 'category', 'categories')} that the model has never "
            f"seen (such as '{min(labels)}'); they go with rare categories, or where missing "
            "values go."
            for name, labels in self.unseen.items()
        ]


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"'{name}'" for name in names[:_SHOWN]) + more


def to_numbers(column: Any, where: Place, form: NumberForm) -> Any:
    """Read a column as finite numbers."""
    column = parse_numbers(column, where, form)
    check_finite(column, where)
    return column


def check_finite(column: Any, where: Place) -> None:
    """Refuse infinities, which trees cannot tell from what is beyond all thresholds."""
    if types.is_floating(column.type):
        is_infinite = np.isinf(np.asarray(column.to_numpy()))
        if is_infinite.any():
            row = int(np.flatnonzero(is_infinite)[0])
            raise where.refuse(row, column[row].as_py(), "finite")


def to_text(column: Any, where: Place, labels: Collection[Any]) -> Any:
    """Read a column as text, without spaces around it unless labels have some."""
    try:
        text = decode(column).cast("string")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise where.refuse(0, str(column[0]), f"text (but {column.type})") from None
    return text if any(label != label.strip() for label in labels) else trim(text)


def parse_numbers(column: Any, where: Place, form: NumberForm) -> Any:
    """Read a column as numbers, infinite ones included."""
    column = decode(column)
    if types.is_boolean(column.type):
        return column.cast("int8")
    if is_text(column.type):
        return _parse_text(column, where, form)
    if types.is_integer(column.type) or types.is_null(column.type):
        return column
    try:
        return column.cast("float64")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise where.refuse(0, str(column[0]), f"a number (but {column.type})") from None


def _parse_text(column: Any, where: Place, form: NumberForm) -> Any:
    plain = trim(column)
    # Plain numbers, which most are, need no second look, unless their point divides thousands.
    found = None if form.mark == "," else _cast_numbers(plain)
    if found is not None:
        return found
    text = clean_numbers(plain.cast(pa.string()), form.mark, form.unit)
    found = _cast_numbers(text)
    if found is not None:
        return found
    lower = compute.utf8_lower(text)
    for truth, number in _TRUTHS.items():
        lower = compute.if_else(compute.equal(lower, truth), number, lower)
    try:
        return lower.cast("float64")
    except pa.ArrowInvalid:
        row = _find_first(lower, "float64")
        raise where.refuse(row, column[row].as_py(), "a number") from None


def _cast_numbers(text: Any) -> Any:
    for kind in ("int64", "float64"):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _to_dates(column: Any, where: Place, form: DateForm) -> Any:
    text = clean_dates(column.cast(pa.string()), form)
    kinds = (pa.timestamp("us"), pa.timestamp("us", "UTC"))
    for kind in kinds:
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    row = max(_find_first(text, kind) for kind in kinds)
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
