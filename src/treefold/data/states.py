"""States: what pickles and model files hold, in plain Python and arrays.

A state may come from anywhere. Whatever is taken out of it is checked first; what is wrong raises
ModelFileError. What a tree's state holds is said in `treefold.model.tree`.
"""

from typing import Any, cast, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treefold.data.columns import Family, Kind
from treefold.data.schema import Schema
from treefold.exceptions import ModelFileError

__all__ = ["schema_from_state", "schema_to_state", "take", "take_array", "take_count"]

_FAMILIES, _KINDS = get_args(Family), get_args(Kind)


def take(state: Any, name: str, *kinds: type) -> Any:
    """Take a field that has exactly one of these types: a bool is not an int."""
    if not isinstance(state, dict) or name not in state:
        raise ModelFileError(f"the field {name!r} is missing")
    value = state[name]
    kind = np.ndarray if isinstance(value, np.ndarray) else type(value)  # joblib maps memory
    if kind not in kinds:
        wanted = " or ".join(wanted.__name__ for wanted in kinds)
        raise ModelFileError(f"the field {name!r} holds {kind.__name__}, not {wanted}")
    return value


def take_count(state: Any, name: str, low: int, high: int) -> int:
    """Take a whole number of this range."""
    value: int = take(state, name, int)
    if not low <= value <= high:
        raise ModelFileError(f"the field {name!r} is {value}, not in the range {low} to {high}")
    return value


def take_array(state: Any, name: str, dtype: DTypeLike, length: int | None) -> NDArray[Any]:
    """Take an array of one dimension, of this dtype and, if given, this length."""
    array: NDArray[Any] = take(state, name, np.ndarray)
    is_wanted = array.dtype == dtype and array.ndim == 1
    if not is_wanted or (length is not None and len(array) != length):
        raise ModelFileError(
            f"the array {name!r} has dtype {array.dtype} and shape {array.shape}, not "
            f"{np.dtype(dtype)} and {'one dimension' if length is None else (length,)}"
        )
    return array


def schema_to_state(schema: Schema) -> dict[str, Any]:
    """Say what the columns are."""
    state: dict[str, Any] = {
        "n_columns": schema.n_columns,
        "names": None if schema.names is None else [str(name) for name in schema.names],
        "categories": [[column, list(labels)] for column, labels in schema.categories.items()],
        "families": [[column, family] for column, family in schema.families.items()],
    }
    if schema.kinds:
        state["kinds"] = [[column, kind] for column, kind in schema.kinds.items()]
    return state


def schema_from_state(state: Any) -> Schema:
    """Make the schema of a state."""
    n_columns = take_count(state, "n_columns", 1, 2**31 - 1)
    names = take(state, "names", list, type(None))
    if names is not None:
        if len(names) != n_columns or len(_distinct(names)) < n_columns:
            raise ModelFileError(f"the {n_columns} columns have not one name each")
        if not all(type(name) is str for name in names):
            raise ModelFileError("a name of a column is not text")
        names = np.array(names, dtype=object)
    schema = Schema(n_columns, names)
    for column, labels in _pairs(state, "categories", n_columns):
        if type(labels) is not list or len(_distinct(labels)) < len(labels):
            raise ModelFileError(f"the categories of column {column} are not distinct labels")
        schema.categories[column] = tuple(labels)
    for column, family in _pairs(state, "families", n_columns):
        if type(family) is not str or family not in _FAMILIES:
            raise ModelFileError(f"column {column} holds {family!r}, which is not known")
        schema.families[column] = cast(Family, family)
    for column, kind in _pairs(state, "kinds", n_columns) if "kinds" in state else ():
        if type(kind) is not str or kind not in _KINDS:
            raise ModelFileError(f"column {column} is of kind {kind!r}, which is not known")
        schema.kinds[column] = cast(Kind, kind)
    return schema


def _pairs(state: Any, name: str, n_columns: int) -> list[tuple[int, Any]]:
    """Take a list of pairs of a column and what is said of it; each column comes once."""
    pairs = take(state, name, list)
    for pair in pairs:
        is_pair = type(pair) in (list, tuple) and len(pair) == 2 and type(pair[0]) is int
        if not is_pair or not 0 <= pair[0] < n_columns:
            raise ModelFileError(f"the field {name!r} names columns that do not exist")
    if len({column for column, _ in pairs}) < len(pairs):
        raise ModelFileError(f"the field {name!r} names a column twice")
    return [(column, value) for column, value in pairs]


def _distinct(labels: list[Any]) -> set[Any]:
    try:
        distinct = {label for label in labels if label == label}  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):
        raise ModelFileError("a label is a list, a dict or an array") from None
    return distinct
