"""Which text columns of a table are numbers or dates, and how a model remembers it.

The values of a column decide, all of them: see `treefold.command.notation`. What stays text though
it looks like numbers or dates gets a hint.
"""

import shlex
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import compute, types

from treefold.command.codes import are_codes, keep_codes
from treefold.command.dates import (
    DateForm,
    Doubt,
    clean_dates,
    find_date_form,
    name_form,
    parse_dates,
)
from treefold.command.mistakes import UserError
from treefold.command.notation import (
    MARKS,
    NumberForm,
    are_numbers,
    clean_numbers,
    find_number_form,
    is_missing_word,
    trim,
)
from treefold.command.options import FitOptions, Task
from treefold.command.reading import Rows
from treefold.command.sniffing import Layout

__all__ = ["MOSTLY_NUMBERS", "Reading", "Recognised", "recognise"]

MOSTLY_NUMBERS = 0.9  # share of values from which on the others look like mistakes
_MANY_CLASSES = 20


@dataclass(slots=True)
class Reading:
    """How a model's file was written: other files are read alike."""

    numbers: dict[str, NumberForm] = field(default_factory=dict)  # by column
    dates: dict[str, DateForm] = field(default_factory=dict)
    layout: Layout = field(default_factory=Layout)
    widths: list[int] = field(default_factory=list)  # without names: possible numbers of columns

    def to_state(self, names: Collection[str]) -> dict[str, Any]:
        """Write what these columns need as plain values."""
        state = asdict(self)
        state["layout"]["missing"] = list(self.layout.missing)
        for kind in ("numbers", "dates"):
            state[kind] = {name: one for name, one in state[kind].items() if name in names}
        return state

    @classmethod
    def from_state(cls, state: Any, file: str) -> "Reading":
        """Read what `to_state` wrote; None: nothing was written."""
        if state is None:
            return cls()
        try:
            numbers = {str(name): NumberForm(**one) for name, one in state["numbers"].items()}
            dates = {str(name): _read_form(one) for name, one in state["dates"].items()}
            layout = Layout(**{**state["layout"], "missing": tuple(state["layout"]["missing"])})
            texts = [layout.decimal, layout.comment, *layout.missing]
            texts += [text for one in numbers.values() for text in (one.mark, one.unit)]
            widths = [int(width) for width in state["widths"]]
            marks = {one.mark for one in numbers.values()} | {layout.decimal}
            if (
                all(isinstance(text, str | None) for text in texts)
                and marks <= {*MARKS, None}
                and isinstance(layout.has_names, bool)
            ):
                return cls(numbers, dates, layout, widths)
        except (KeyError, TypeError, ValueError, AttributeError):
            pass
        raise UserError(f"{file} does not say how its columns are read; write it again by fit.")


def _read_form(state: Any) -> DateForm:
    """Read how dates are written; older files only say whether the day comes first."""
    form = DateForm(state) if isinstance(state, bool) else DateForm(**state)
    if not isinstance(form.is_day_first, bool) or not isinstance(form.first_year, int | None):
        raise TypeError
    return form


@dataclass(slots=True)
class Recognised:
    """A table whose text has become numbers and dates, and what there is to say of it."""

    table: Any
    reading: Reading
    numbers: dict[str, str] = field(default_factory=dict)  # what is said of each: its unit
    dates: dict[str, str] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)  # columns by word
    codes: list[str] = field(default_factory=list)  # columns of digits that stay text
    hints: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)  # columns with a hint

    def describe(self) -> dict[str, Any]:
        """Say what was read as what."""
        return {
            "numbers": self.numbers,
            "dates": self.dates,
            "codes": self.codes,
            "missing_words": self.missing,
        }


def recognise(table: Any, rows: Rows, layout: Layout, options: FitOptions) -> Recognised:
    """Look at all columns of text but those that are left out anyway."""
    table = keep_codes(table, rows, options)
    done = Recognised(table, Reading(layout=layout))
    if not layout.has_names and rows.kind == "csv":
        n_columns = table.num_columns
        is_last = options.target == table.column_names[-1]  # others keep their places without it
        done.reading.widths = [n_columns - 1, n_columns] if is_last else [n_columns]
    apart = {*options.drop, options.id}
    for place, name in enumerate(table.column_names):
        column = table[name]
        if name in apart or not (
            types.is_string(column.type) or types.is_large_string(column.type)
        ):
            continue
        column = trim(column.cast(pa.string()))
        if rows.kind == "csv":
            words = pa.array(rows.form.null_values, pa.string())
            is_word = compute.is_in(column, words)
            column = compute.if_else(is_word, pa.scalar(None, pa.string()), column)
        values = column.combine_chunks().unique().drop_null()
        values = values.filter(compute.invert(is_missing_word(values)))
        if len(values):
            done.table = done.table.set_column(place, name, column)
            column = _recognise(done, name, values, rows, options)
            if name in options.numeric and types.is_string(column.type):
                raise _refuse_text(done, name, values)
        done.table = done.table.set_column(place, name, column)
    return done


def _recognise(done: Recognised, name: str, values: Any, rows: Rows, options: FitOptions) -> Any:
    """Give one column as what it is; `values` are its distinct ones."""
    column = done.table[name]
    if are_codes(values, name, options):
        if name == options.target and options.task is Task.AUTO and len(values) > _MANY_CLASSES:
            raise UserError(
                f"Target '{name}' holds digits with zeros in front, such as "
                f"'{compute.min(values)}'. Say "
                f"--numeric {shlex.quote(name)} if they are numbers, or --task classification."
            )
        _note_missing(done, name, column)
        done.codes += [name] if rows.kind == "csv" else []
        return compute.if_else(is_missing_word(column), pa.scalar(None, pa.string()), column)
    found = find_number_form(values, rows.form.mark)
    if isinstance(found, NumberForm):
        kind = _name_form(found, values, rows.form.mark)
        is_asked = rows.kind == "csv" or name in options.numeric
        if not kind and not is_asked:  # text that somebody wrote as text, such as codes
            return column
        done.reading.numbers[name] = found
        if kind:
            done.numbers[name] = kind
        _note_missing(done, name, column)
        text = clean_numbers(column, found.mark, found.unit)
        return _to_numbers(text)
    form = find_date_form(values, options.day_first)
    if isinstance(form, DateForm):
        done.reading.dates[name] = form
        done.dates[name] = name_form(form, values)
        _note_missing(done, name, column)
        return parse_dates(clean_dates(column, form))
    doubt = form if found is None else Doubt(found, _find_cure(found))
    if doubt is not None:
        if name == options.target and found is not None and options.task is Task.AUTO:
            raise UserError(f"Target '{name}' holds numbers, but {doubt.reason}. {doubt.cure}")
        done.hints.append(f"'{name}' is left as text: {doubt.reason}. {doubt.cure}")
        done.doubtful.append(name)
    elif name == options.target and options.task is Task.AUTO:
        _refuse_mixture(name, column, values)
    return column


def _refuse_text(done: Recognised, name: str, values: Any) -> UserError:
    """Say why a column that is to be numeric stays text."""
    if name in done.doubtful:
        return UserError(f"--numeric: {done.hints[-1]}")
    first = values.filter(compute.invert(are_numbers(values)))
    shown = f" (first: '{first[0]}')" if len(first) else ""
    return UserError(f"--numeric: '{name}' holds text that is no number{shown}.")


def _find_cure(doubt: str) -> str:
    if "decimal mark" in doubt:
        return "Say which: --decimal . or --decimal ,"
    return "Write them alike to use them as numbers."


def _to_numbers(text: Any) -> Any:
    for kind in (pa.int64(), pa.float64()):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    raise AssertionError("every value was read as a number before")


def _name_form(form: NumberForm, values: Any, usual: str | None) -> str:
    """Say what makes the numbers of a column special; nothing if nothing does."""
    words = [form.unit] if form.unit else []
    if form.mark == "," != usual:
        words.append("decimal comma")
    groups = ".\u00a0\u202f " if form.mark == "," else ","
    is_grouped = compute.match_substring_regex(values, f"[0-9]['\u2019{groups}][0-9]{{3}}")
    if not form.unit and compute.any(is_grouped).as_py():
        words.append("thousands separators")
    return ", ".join(words)


def _note_missing(done: Recognised, name: str, column: Any) -> None:
    words = column.filter(compute.fill_null(is_missing_word(column), False)).unique()
    for word in words.to_pylist():
        if word:
            done.missing.setdefault(word, []).append(name)


def _refuse_mixture(name: str, column: Any, values: Any) -> None:
    """Refuse to take numbers for hundreds of classes because a few values are none."""
    present = column.drop_null()
    is_number = are_numbers(present)
    n_other = len(present) - (compute.sum(is_number).as_py() or 0)
    if len(values) <= _MANY_CLASSES or n_other > (1 - MOSTLY_NUMBERS) * len(present):
        return
    first = present.filter(compute.invert(is_number))[0].as_py()
    words = "one value is" if n_other == 1 else f"{n_other:,} values are"
    raise UserError(
        f"Target '{name}' holds numbers, but {words} not a number (first: '{first}'). Correct it, "
        f"say --missing '{first}' to leave such rows out, or --task classification."
    )
