"""One column as it came: numbers, or codes into labels.

Holds the reading of numpy columns, the numbering of categories at fit and their look-up at predict.
Data frames turn their columns into the same `Column` (`treefold.data.frames`); which columns are
categories is decided elsewhere (`treefold.data.schema`).

family
    What kind of thing a column holds: "number" (booleans too), "text", "date", "duration", "other",
    or "empty" (nothing but missing values, which fits every family).
kind
    What a family does not tell, but databases do: "boolean" among numbers, "zoned" among dates.
code, label
    A column of labels stores each distinct label once, and per row its index; -1 is missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import InputError, InputTypeError

__all__ = [
    "EXACT",
    "Column",
    "Family",
    "Kind",
    "as_numbers",
    "days",
    "fill_masked",
    "find_missing",
    "is_exact_in_float64",
    "is_missing",
    "look_up",
    "number_distinct",
    "number_labels",
    "number_objects",
    "parse_objects",
    "read_array_column",
    "read_objects",
    "refuse_complex",
    "with_labels",
]

Family = Literal["number", "text", "date", "duration", "other", "empty"]
Kind = Literal["boolean", "zoned"]

# What the compiled core reads in place.
NATIVE_DTYPES = frozenset(
    np.dtype(name) for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
)
EXACT = 2.0**53  # float64 tells apart all whole numbers up to this
_TIMES = (np.datetime64, np.timedelta64)
_FLOATS = (float, np.floating)
_PER_DAY = {"D": 1.0, "us": 86_400_000_000.0, "ns": 86_400_000_000_000.0}
_FINE_UNITS = ("ns", "ps", "fs", "as")  # finer than microseconds


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one column: `values`, or `codes` and `labels`."""

    family: Family
    values: NDArray[Any] | None = None
    codes: NDArray[Any] | None = None
    labels: tuple[Any, ...] = ()
    is_ordered: bool = False  # the labels stand in an order that was declared: keep it
    dtype: str = ""  # as the user knows it, for messages
    # Whole numbers or booleans that missing values have made float64: gives them as they were.
    read_whole: Callable[[], "np.ma.MaskedArray[Any, Any]"] | None = None
    kind: Kind | None = None

    @property
    def has_labels(self) -> bool:
        """Whether the column came as labels: text, or a category dtype."""
        return self.codes is not None


def as_numbers(values: NDArray[Any], describe: str) -> NDArray[Any]:
    """Give an array of numbers a dtype that the core reads; no copy if it has one.

    `describe` is how messages call the array.
    """
    kind = values.dtype.kind
    if values.dtype in NATIVE_DTYPES:
        flags = values.flags
        is_regular = flags.forc or all(stride % values.itemsize == 0 for stride in values.strides)
        # The fields of packed records lie where the core cannot read them.
        return values if is_regular and flags.aligned else values.copy(order="K")
    refuse_complex(values, describe)
    if kind in "iu":
        return values.astype(values.dtype.newbyteorder("="))
    if kind == "f":  # half, long double, other byte order
        narrow = values.dtype.itemsize <= 4
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused later
            return values.astype(np.float32 if narrow else np.float64)
    if kind in "mM":
        return days(values, describe)
    raise InputTypeError(
        f"{describe} has dtype {values.dtype}, which is not a kind of number. "
        "Convert it to numbers, or declare the column as categorical."
    )


def is_exact_in_float64(values: NDArray[Any]) -> bool:
    """Whether float64 tells all values of a native dtype apart: long integers may be too large."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or len(values) == 0:
        return True
    return int(values.min()) >= -EXACT and int(values.max()) <= EXACT


def days(values: NDArray[Any], describe: str) -> NDArray[np.float64]:
    """Turn dates (days since 1970) or durations into days as float64; NaT becomes NaN.

    Dates count as microseconds, as SQL has them; durations as nanoseconds where they need it.
    """
    missing = np.isnat(values)
    unit = _unit_of_dates(values) if values.dtype.kind == "M" else _unit_of_durations(values)
    counted = values.astype(f"{values.dtype.kind}8[{unit}]")
    is_finer = np.datetime_data(values.dtype)[0] in _FINE_UNITS
    if not is_finer and not (missing | (counted.astype(values.dtype) == values)).all():
        raise InputError(
            f"{describe} holds dates or durations (dtype {values.dtype}) that are too long ago, "
            "too late or too long to count in microseconds: more than about 292,000 years. "
            "Repair them, or turn them into numbers."
        )
    result = counted.view(np.int64) / _PER_DAY[unit]
    result[missing] = np.nan
    return result


def _unit_of_dates(values: NDArray[Any]) -> str:
    return "D" if np.datetime_data(values.dtype)[0] in ("Y", "M", "W", "D") else "us"


def _unit_of_durations(values: NDArray[Any]) -> str:
    """The unit to count in: nanoseconds only where microseconds would not do."""
    unit = np.datetime_data(values.dtype)[0]
    if unit in ("W", "D"):
        return "D"
    if unit in _FINE_UNITS:
        counts = values[~np.isnat(values)].astype("m8[ns]").view(np.int64)
        return "ns" if (counts % 1_000 != 0).any() else "us"
    return "us"


def fill_masked(array: NDArray[Any]) -> NDArray[Any]:
    """Turn a masked array into a plain one; on a copy, where what is masked becomes missing."""
    values: NDArray[Any] = np.ma.getdata(array)
    if not np.ma.is_masked(array) or values.dtype.kind == "c":  # which is refused
        return values
    missing: Any = np.nan
    if values.dtype.kind in "biu":
        values = values.astype(np.float64)
    elif values.dtype.kind in "mM":
        values, missing = values.copy(), np.array("NaT", dtype=values.dtype)
    elif values.dtype.kind in "OUS":
        values, missing = values.astype(object), None
    else:
        values = values.copy()
    values[np.ma.getmaskarray(array)] = missing
    return values


def read_array_column(values: NDArray[Any], describe: str) -> Column:
    """Read one column of a numpy array, of any dtype."""
    kind = values.dtype.kind
    if kind in "OUS":
        return read_objects(values.astype(object), describe)
    family: Family = {"M": "date", "m": "duration"}.get(kind, "number")  # type: ignore[assignment]
    found: Kind | None = "boolean" if kind == "b" else None
    return Column(family, as_numbers(values, describe), dtype=str(values.dtype), kind=found)


def read_objects(values: NDArray[Any], describe: str) -> Column:
    """Read a column of Python objects: all numbers, all dates, or labels."""
    missing = find_missing(values)
    present = values[~missing]
    if len(present) == 0:
        return Column("empty", np.full(len(values), np.nan), dtype="object")
    types = set(map(type, present))
    if all(issubclass(type_, Number | np.bool_) for type_ in types):
        kind: Kind | None = "boolean" if types <= {bool, np.bool_} else None
        return Column("number", _parse(values, missing, describe), dtype="object", kind=kind)
    if all(hasattr(type_, "toordinal") or type_ is np.datetime64 for type_ in types):
        numbers = np.full(len(values), np.nan)
        # numpy's own dates keep their unit: `days` sees which of them are too large.
        dates = np.array(present.tolist()) if types == {np.datetime64} else present.astype("M8[us]")
        numbers[~missing] = days(dates, describe)
        is_zoned = any(getattr(value, "tzinfo", None) is not None for value in present)
        return Column("date", numbers, dtype="object", kind="zoned" if is_zoned else None)
    codes, labels = number_objects(values, missing, describe)
    is_text = all(issubclass(type_, str) for type_ in types)
    return Column("text" if is_text else "other", codes=codes, labels=labels, dtype="object")


def parse_objects(values: NDArray[Any], describe: str) -> NDArray[np.float64]:
    """Read a column of Python objects as numbers; text that spells numbers counts."""
    refuse_complex(values, describe)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        missing = find_missing(values)
        return _parse(values, missing, describe)


def _parse(values: NDArray[Any], missing: NDArray[np.bool_], describe: str) -> NDArray[np.float64]:
    numbers = np.full(len(values), np.nan)
    try:
        numbers[~missing] = values[~missing].astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        _refuse_non_numbers(values, missing, describe)
    return numbers


def _refuse_non_numbers(values: NDArray[Any], missing: NDArray[np.bool_], describe: str) -> None:
    bad = []
    reason: Exception | None = None
    for row in np.flatnonzero(~missing):
        try:
            float(values[row])
        except (TypeError, ValueError, OverflowError) as error:
            bad.append(row)
            reason = reason or error
    count = f"{len(bad)} value{'s' if len(bad) > 1 else ''}"
    error_type = InputTypeError if isinstance(reason, TypeError) else InputError
    raise error_type(
        f"{describe} has {count} that {'are not numbers' if len(bad) > 1 else 'is not a number'} "
        f"(first: {values[bad[0]]!r}, row {bad[0]}: {reason}). "
        "Declare it in categorical_features, or clean it."
    )


def refuse_complex(values: NDArray[Any], describe: str) -> None:
    """Refuse complex numbers: a cast to float64 would drop what is imaginary of them."""
    advice = "Give real numbers, such as the real part."
    if values.dtype.kind == "c":
        raise InputError(
            f"Complex data not supported: {describe} has dtype {values.dtype}. {advice}"
        )
    if values.dtype.kind == "O":
        for row, value in enumerate(values.flat):
            if isinstance(value, complex | np.complexfloating):
                raise InputError(
                    f"Complex data not supported: {describe} holds {value!r} (row {row}). {advice}"
                )


def find_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the objects that stand for missing values."""
    return np.fromiter(map(is_missing, values), dtype=bool, count=len(values))


def is_missing(value: Any) -> bool:
    """Whether an object stands for a missing value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, _TIMES):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, _FLOATS) and bool(np.isnan(value))


def number_objects(
    values: NDArray[Any], missing: NDArray[np.bool_], describe: str
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Number the distinct objects in order of appearance."""
    index: dict[Any, int] = {}
    try:
        codes = [
            -1 if absent else index.setdefault(value, len(index))
            for value, absent in zip(values, missing, strict=True)
        ]
    except TypeError as error:  # unhashable
        raise InputTypeError(
            f"{describe} holds objects that are neither numbers nor labels ({error}). "
            "Turn them into numbers or text."
        ) from None
    return np.array(codes, dtype=np.int64), tuple(index)


def with_labels(column: Column) -> Column:
    """Turn a column of numbers into one of labels, to be used as categories."""
    if column.has_labels:
        return column
    values, missing = _tell_missing(column)
    distinct, inverse = number_distinct(values[~missing])
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[~missing] = inverse
    return Column(column.family, None, codes, tuple(distinct.tolist()), True, column.dtype)


def _tell_missing(column: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Give the values of a column of numbers, and which of them are missing."""
    if column.read_whole is not None:
        whole = column.read_whole()
        return whole.data, np.ma.getmaskarray(whole)
    assert column.values is not None
    is_float = column.values.dtype.kind == "f"
    return column.values, np.isnan(column.values) if is_float else np.zeros(
        len(column.values), dtype=bool
    )


def number_distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Sort the distinct values, without NaN, and number every row by its value."""
    if _are_close(values):
        # Few possible whole numbers: count instead of sort, about ten times faster on 100,000 rows.
        whole = np.uint64 if values.dtype.kind == "u" else np.int64
        low = values.min().astype(whole)
        offsets = (values.astype(whole) - low).view(np.int64)
        if values.dtype.kind != "f" or (values == offsets + low).all():
            present = np.bincount(offsets) > 0
            number_of = (np.cumsum(present) - 1).astype(np.int32)
            distinct = np.flatnonzero(present).astype(whole) + low
            return distinct.astype(values.dtype), number_of[offsets]
    distinct, numbers = np.unique(values, return_inverse=True)
    return distinct, numbers.astype(np.int32)


def _are_close(values: NDArray[Any]) -> bool:
    """Whether there are numbers, and few whole numbers from the least to the largest."""
    kind = values.dtype.kind
    if kind not in "iufb" or len(values) == 0:
        return False
    low, high = values.min(), values.max()
    if kind == "f" and not -EXACT <= low <= high <= EXACT:
        return False
    return int(high) - int(low) <= 4 * len(values) + 1_000


def number_labels(
    column: Column, describe: str
) -> tuple[tuple[Any, ...], NDArray[np.floating[Any]]]:
    """Fix the categories of a column at fit: declared order, else sorted. Returns their numbers."""
    column = with_labels(column)
    labels = column.labels
    if not column.is_ordered:
        try:
            labels = tuple(sorted(labels))
        except TypeError:
            names = sorted({type(label).__name__ for label in labels})
            raise InputTypeError(
                f"{describe} mixes labels that cannot be ordered ({', '.join(names)}). "
                "Give all labels one type, for instance text."
            ) from None
    return labels, look_up(column, labels)


def look_up(column: Column, categories: Sequence[Any]) -> NDArray[np.floating[Any]]:
    """Give every row the number of its label in `categories`; NaN where it is missing.

    Labels that are not among them get the number behind the last one.
    """
    column = with_labels(column)
    assert column.codes is not None
    unknown = len(categories)
    dtype = np.float32 if unknown < 2**24 else np.float64
    number_of = {label: number for number, label in enumerate(categories)}
    # One more place, last, so that code -1 finds NaN.
    numbers = np.full(len(column.labels) + 1, np.nan, dtype=dtype)
    for code, label in enumerate(column.labels):
        numbers[code] = number_of.get(label, unknown)
    looked_up: NDArray[np.floating[Any]] = numbers[column.codes]
    return looked_up
