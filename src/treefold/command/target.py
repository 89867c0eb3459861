"""What is to be predicted: classes or numbers, and which rows have it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from treefold.command.mistakes import Place, UserError
from treefold.command.options import Task
from treefold.findings.target import Target

__all__ = ["decode", "list_columns", "read_target", "require_column", "to_float64"]

# A target of whole numbers with more distinct values, or fewer rows of each, is a quantity.
_MOST_CLASSES = 20
_ROWS_EACH = 10  # on average; two values are classes however few the rows
_SHOWN_COLUMNS = 12


def decode(column: Any) -> Any:
    """Give categories as what they stand for."""
    is_coded = types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_coded else column


def require_column(table: Any, name: str, option: str) -> Any:
    """Give a column that an option names."""
    names = table.column_names
    if name in names:
        return table[name]
    alike = [one for one in names if one.lower() == name.lower()]
    more = f" Did you mean '{alike[0]}'?" if alike else ""
    shown = ", ".join(names[:_SHOWN_COLUMNS]) + (", ..." if len(names) > _SHOWN_COLUMNS else "")
    raise UserError(f"{option}: there is no column '{name}'.{more} The columns are: {shown}.")


def list_columns(table: Any, names: str, option: str) -> list[str]:
    """List the columns that an option names, one or several with commas between them."""
    listed = [names] if names in table.column_names else names.split(",")
    for name in listed:
        require_column(table, name, option)
    if len(set(listed)) < len(listed):
        raise UserError(f"{option}: a column is named twice in '{names}'.")
    return listed


def read_target(column: Any, where: Place, task: Task, positive: str | None) -> Target:
    """Decide what the target is, and make it an array of labels or of numbers.

    `column` has no missing values.
    """
    given, name = decode(column), where.column
    column = _narrow(given)
    is_whole = types.is_integer(column.type)
    is_number = is_whole or types.is_floating(column.type) or types.is_decimal(column.type)
    _check_kind(column, name, task, is_number)
    n_values = len(column.unique())
    if len(column) == 1:
        raise UserError(f"Only one row has a target '{name}'; a tree takes two rows or more.")
    if n_values == 1:
        raise UserError(f"Target '{name}' is {column[0]} in every row: nothing to learn.")
    is_class = not is_number or (is_whole and _are_classes(n_values, len(column)))
    if task is not Task.AUTO:
        is_class = task is Task.CLASSIFICATION
    if not is_class:
        return _read_numbers(given, where)
    encoded = (column if is_whole else column.cast("string")).combine_chunks().dictionary_encode()
    labels = np.array(encoded.dictionary.to_pylist())
    order = np.argsort(labels)
    codes = np.argsort(order)[np.asarray(encoded.indices)]
    classes = labels[order]
    counts = tuple(np.bincount(codes).tolist())
    target = Target(name, classes[codes], tuple(classes.tolist()), counts, codes=codes)
    return _with_positive(target, positive)


def _are_classes(n_values: int, n_rows: int) -> bool:
    """Whether so many whole numbers stand for classes."""
    return n_values == 2 or n_values <= min(_MOST_CLASSES, n_rows / _ROWS_EACH)


def _narrow(column: Any) -> Any:
    """Give whole numbers as such: pandas writes 0.0 and 1.0 where a value is missing."""
    if not types.is_floating(column.type):
        return column
    try:
        return column.cast("int64")
    except pa.ArrowInvalid:
        return column


def to_float64(column: Any) -> NDArray[np.float64]:
    """Give numbers as float64: whole numbers beyond 2**53 become the nearest."""
    return np.asarray(column.cast("float64", safe=False).to_numpy())


def _check_kind(column: Any, name: str, task: Task, is_number: bool) -> None:
    is_label = types.is_boolean(column.type) or types.is_string(column.type)
    is_label = is_label or types.is_large_string(column.type)
    if not is_number and not is_label:
        raise UserError(f"Target '{name}' holds {column.type} values: neither classes nor numbers.")
    if is_label and task is Task.REGRESSION:
        raise UserError(f"Target '{name}' holds text, not numbers; use --task classification.")


def _read_numbers(column: Any, where: Place) -> Target:
    values = to_float64(column)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise where.refuse(row, float(values[row]), "finite")
    return Target(where.column, values)


def _with_positive(target: Target, positive: str | None) -> Target:
    found = target.classes[1] if target.is_binary else None
    if positive is not None:
        if not target.is_binary:
            raise UserError(
                f"--positive is for two classes, but target '{target.name}' has "
                f"{len(target.classes)}."
            )
        alike = [label for label in target.classes if str(label) == positive]
        if not alike:
            first, second = target.classes
            raise UserError(
                f"--positive: target '{target.name}' is never {positive!r}; "
                f"its classes are '{first}' and '{second}'."
            )
        found = alike[0]
    return replace(target, positive=found)
