"""Whole numbers with zeros in front, such as the ZIP code 00123: they are names, not numbers.

01 to 12 and other pairs of digits, as months and hours have them, are numbers all the same, but
not as labels to predict or where the user asks for categories: there every digit counts.
"""

from typing import Any

import numpy as np
from pyarrow import compute, types

from treefold.command.mistakes import UserError
from treefold.command.notation import is_missing_word, trim
from treefold.command.options import FitOptions
from treefold.command.reading import Rows, read_text
from treefold.command.target import require_column

__all__ = ["are_codes", "keep_codes"]

_BLOCK = 2**22


def keep_codes(table: Any, rows: Rows, options: FitOptions) -> Any:
    """Give columns of a CSV file that were read as numbers, but are codes, as the text they are."""
    for name in options.numeric:
        require_column(table, name, "--numeric")
        if name in options.categorical:
            raise UserError(f"--numeric: '{name}' is --categorical, too; it can be only one.")
    if rows.kind != "csv":
        return table
    apart = {*options.drop, options.id, options.weights, options.folds, *options.numeric}
    apart |= {options.time, *(options.time or "").split(",")}
    whole = [
        one.name for one in table.schema if types.is_integer(one.type) and one.name not in apart
    ]
    if not whole or not _has_zeros(rows):
        return table
    texts = read_text(rows, whole)
    for name in whole:
        values = trim(texts[name]).unique()
        if are_codes(values.filter(compute.invert(is_missing_word(values))), name, options):
            table = table.set_column(table.column_names.index(name), name, texts[name])
    return table


def are_codes(values: Any, name: str, options: FitOptions) -> bool:
    """Whether distinct values, trimmed and none missing, are digits, and some begin with a zero."""
    if name in options.numeric or len(values) == 0:
        return False
    is_label = name == options.target or name in options.categorical
    zeros = "^0[0-9]+$" if is_label else "^0[0-9]{2,}$"
    if not compute.any(compute.match_substring_regex(values, zeros)).as_py():
        return False
    return bool(compute.all(compute.match_substring_regex(values, "^[0-9]+$")).as_py())


def _has_zeros(rows: Rows) -> bool:
    """Whether a field of a file may begin with a zero and go on with a digit."""
    starts = np.frombuffer(f'{rows.form.delimiter}\n\r" '.encode(), np.uint8)
    file, before = rows.open(), b"\n"
    while data := file.read(_BLOCK):
        letters = np.frombuffer(before + data, np.uint8)
        zeros = np.flatnonzero(letters[1:-1] == ord("0")) + 1
        after = letters[zeros + 1]
        is_code = (after >= ord("0")) & (after <= ord("9")) & np.isin(letters[zeros - 1], starts)
        if is_code.any():
            return True
        before = (before + data)[-2:]
    return False
