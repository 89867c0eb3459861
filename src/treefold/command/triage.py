"""Which columns a tree is grown from, and a word on each of those that are left out."""

import re
import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, types

from treefold.command.dates import look_like_dates
from treefold.command.mistakes import UserError
from treefold.command.notation import are_numbers
from treefold.command.options import FitOptions
from treefold.command.recognition import MOSTLY_NUMBERS
from treefold.command.target import decode, list_columns, require_column
from treefold.command.timing import find_time
from treefold.data.schema import MANY_LEVELS

__all__ = ["Chosen", "choose_columns", "describe_columns", "is_text"]

_FEW_ROWS = 20  # too few to call a column an identifier by its values
_IDENTIFIER = re.compile(
    r"(^|[_\s.-])(id|uuid|guid|index|key|rownum)$|^unnamed_\d+$", re.IGNORECASE
)
_CAMEL_IDENTIFIER = re.compile(r"[a-z](ID|Id|UUID)$")
_NAMES_THINGS = re.compile(r"(^|[_\s.-])(?i:id|uuid|guid)$|[a-z](ID|Id|UUID)$")
_FEW_THINGS = 10  # so many values are kinds rather than names
_MOST_ROWS_EACH = 50  # on average
_DISTINCT_TEXT = 0.95  # share of rows with text of their own: an identifier, or free text
_FEW_ROWS_EACH = 10  # per category, on average


_KINDS = (
    (types.is_time, "times of day"),
    (types.is_list, "lists"),
    (types.is_struct, "records"),
    (types.is_binary, "bytes"),
)


@dataclass(slots=True)
class Chosen:
    """The columns in use, and what there is to say."""

    columns: Any  # a pyarrow table
    categorical: list[str] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)  # by reason
    missing: dict[str, float] = field(default_factory=dict)  # share of rows, largest first
    hints: list[str] = field(default_factory=list)
    doubtful: set[str] = field(default_factory=set)  # columns with a hint
    times: list[str] = field(default_factory=list)  # by which the rows of the file stand in order

    def leave_out(self, reason: str, name: str) -> None:
        """Remember why a column is not used."""
        self.left_out.setdefault(reason, []).append(name)


def choose_columns(
    table: Any, options: FitOptions, whole: Any, doubtful: Collection[str] = ()
) -> Chosen:
    """Choose the columns of a table, from which rows without a target are gone.

    What names or numbers the rows does so for all rows of the file, the `whole`. Of the categories
    of `doubtful` columns, which have a hint already, nothing more is said.
    """
    chosen = Chosen(None, doubtful={*doubtful})
    _apply_roles(chosen, table, options)
    apart = {name for names in chosen.left_out.values() for name in names} | {options.target}
    used: dict[str, Any] = {}
    for name, given in zip(table.column_names, table.columns, strict=True):
        if name in apart:
            continue
        column = _simplify(given)
        reason = _find_fault(column)
        is_asked = name in options.categorical
        if reason is None and not is_asked and _is_identifier(name, _simplify(whole[name])):
            reason = "identifier"
        if reason is not None:
            chosen.leave_out(reason, name)
            continue
        used[name] = column
        if is_text(column.type) or name in options.categorical:
            chosen.categorical.append(name)
        _note_mixture(chosen, name, column)
    if not used:
        raise UserError(
            f"Nothing to learn from: beside '{options.target}' there is no column with values that "
            f"differ{_list_faults(chosen)}."
        )
    if not (options.time or options.groups or options.folds):
        chosen.times = find_time(whole, apart)
    chosen.columns = pa.table(used)
    chosen.missing = _count_missing(used, table.num_rows)
    _note_rarity(chosen, used)
    _note_things(chosen, used, options)
    return chosen


def _apply_roles(chosen: Chosen, table: Any, options: FitOptions) -> None:
    """Set apart what other options name."""
    for name in options.categorical:
        require_column(table, name, "--categorical")
        if name == options.target:
            raise UserError(f"--categorical: '{name}' is the target; use --task classification.")
    roles: list[tuple[str, str, Iterable[str | None]]] = [
        ("dropped", "--drop", options.drop),
        ("weights", "--weights", [options.weights]),
        ("identifier", "--id", [options.id]),
        ("groups", "--groups", [options.groups]),
        ("order in time", "--time", _list_times(table, options)[:1]),
        ("folds", "--folds", [options.folds]),
    ]
    for role, option, names in roles:
        for name in filter(None, names):
            require_column(table, name, option)
            if name == options.target:
                raise UserError(f"{option}: '{name}' is the target.")
            chosen.leave_out(role, name)


def _list_times(table: Any, options: FitOptions) -> list[str]:
    """List the columns of `--time`. The first does not come again; others, as months, recur."""
    return [] if options.time is None else list_columns(table, options.time, "--time")


def _simplify(column: Any) -> Any:
    """Give a column a type that trees know, where that loses nothing."""
    if not is_text(column.type):
        return decode(column)
    if types.is_string_view(column.type):
        return column.cast("string")
    return column


def is_text(kind: Any) -> bool:
    """Whether a type is text, plain or as categories."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _find_fault(column: Any) -> str | None:
    """Say why a column cannot be used; None if it can."""
    kind = column.type
    if column.null_count == len(column):
        return "no values"
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_moment = types.is_date(kind) or types.is_timestamp(kind) or types.is_duration(kind)
    if not (is_number or is_moment or is_text(kind) or types.is_boolean(kind)):
        return next((words for is_it, words in _KINDS if is_it(kind)), f"{kind} values")
    n_values = len(column.unique()) - (column.null_count > 0)
    return "one value only" if n_values == 1 and column.null_count == 0 else None


def _is_identifier(name: str, column: Any) -> bool:
    """Whether (almost) every row has a value of its own that only names it."""
    n_values = len(column.unique()) - (column.null_count > 0)
    n_valid = len(column) - column.null_count
    if n_valid < _FEW_ROWS:
        return False
    if is_text(column.type):
        return bool(n_values >= _DISTINCT_TEXT * n_valid)
    if not types.is_integer(column.type) or n_values < n_valid:
        return False
    if _IDENTIFIER.search(name) or _CAMEL_IDENTIFIER.search(name):
        return True
    steps = np.diff(column.drop_null().to_numpy().astype(np.float64))
    return bool((steps == 1).all())  # row numbers


def _note_mixture(chosen: Chosen, name: str, column: Any) -> None:
    """Point at text that is numbers, or dates, but for a few values."""
    if not is_text(column.type) or types.is_dictionary(column.type):
        return
    values = column.drop_null()
    text = values.cast("string")
    for noun, nouns, is_it in (
        ("a number", "numbers", are_numbers(text)),  # or says that there is none
        ("a date", "dates", look_like_dates(text)),
    ):
        others = values.filter(compute.invert(is_it))
        if 0 < len(others) <= (1 - MOSTLY_NUMBERS) * len(values):
            first = str(others[0])
            cure = f"To take it for missing: --missing {shlex.quote(first)}"
            if len(others.unique()) > 1:
                cure = f"Correct them, or leave them empty, to use it as {nouns}."
            words = f"value is not {noun}" if len(others) == 1 else f"values are not {nouns}"
            chosen.doubtful.add(name)
            chosen.hints.append(
                f"'{name}' is read as categories, because {len(others):,} {words} "
                f"(first: '{first}'). {cure}"
            )


def _note_rarity(chosen: Chosen, used: dict[str, Any]) -> None:
    """Point at categories of which little can be learnt, because each has few rows."""
    found = []
    for name in chosen.categorical:
        if name in chosen.doubtful:
            continue
        n_valid = len(used[name]) - used[name].null_count
        n_values = len(used[name].unique()) - (used[name].null_count > 0)
        if n_values > MANY_LEVELS and n_valid < _FEW_ROWS_EACH * n_values:
            found.append((name, n_values, n_valid / n_values))
    if not found:
        return
    drops = " ".join(f"--drop {shlex.quote(name)}" for name, *_ in found)
    chosen.hints.append(
        f"{_word_rarity(found)}: little is known of each, and new rows may have others. The rarest "
        f"go together. Without: {drops}"
    )


def _word_rarity(found: list[tuple[str, int, float]]) -> str:
    """Say how many rows categories have, of one column or of several."""
    if len(found) == 1:
        name, n_values, each = found[0]
        return f"'{name}' has {n_values:,} categories of {each:.1f} rows on average"
    *names, last = (f"'{name}'" for name, *_ in found)
    low, high = (f"{pick(each for *_, each in found):.1f}" for pick in (min, max))
    rows = f"{low} rows" if low == high else f"{low} to {high} rows"
    return f"{', '.join(names)} and {last} have {rows} per category on average"


def _note_things(chosen: Chosen, used: dict[str, Any], options: FitOptions) -> None:
    """Point at names of persons or things that have several rows each."""
    for name, column in used.items():
        if not _NAMES_THINGS.search(name) or name in options.categorical:
            continue
        n_valid = len(column) - column.null_count
        n_values = len(column.unique()) - (column.null_count > 0)
        is_known = is_text(column.type) or types.is_integer(column.type)
        if is_known and n_values > _FEW_THINGS and n_valid < _MOST_ROWS_EACH * n_values:
            group = "" if options.groups else f"--groups {shlex.quote(name)} keeps them together; "
            chosen.hints.append(
                f"'{name}' seems to name what has {n_valid / n_values:.1f} rows on average, which "
                f"a tree may learn by heart. {group}--drop {shlex.quote(name)} leaves it out"
            )


def _count_missing(columns: dict[str, Any], n_rows: int) -> dict[str, float]:
    shares = {name: column.null_count / n_rows for name, column in columns.items()}
    some = [(share, name) for name, share in shares.items() if share > 0]
    return {name: share for share, name in sorted(some, key=lambda pair: -pair[0])}


def _list_faults(chosen: Chosen) -> str:
    words = [f"{reason}: {', '.join(names[:5])}" for reason, names in chosen.left_out.items()]
    return f" ({'; '.join(words)})" if words else ""


def describe_columns(chosen: Chosen) -> dict[str, Any]:
    """Say which columns are used, and why not the others."""
    return {
        "used": chosen.columns.column_names,
        "categorical": chosen.categorical,
        "left_out": chosen.left_out,
    }
