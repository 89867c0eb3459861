"""How people write numbers as text: $45,000.00, 12%, 1.234,56.

A value that can be read in two ways is never guessed: 1,234 is a thousand where the decimal mark is
a point, and little more than one where it is a comma. What the marks are, a column says by its
other values, or the file by other columns, or the user.
"""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import compute

__all__ = [
    "MISSING",
    "NumberForm",
    "are_numbers",
    "clean_numbers",
    "find_mark",
    "find_number_form",
    "is_missing_word",
    "trim",
]

MISSING = ("?", "-", "--", "\u2013", "\u2014", "n/a", "N/A", "NA", "NaN", "nan", "null", "NULL", "")
MARKS = (".", ",")
_CURRENCY = r"(?:[A-Z]{0,3}[$€£¥₹]|USD|EUR|GBP|CHF|JPY)"
_SPACES = "\u00a0\u202f "
_DIGITS = {  # by decimal mark; groups are of three digits, and none begins with a zero
    ".": r"(?:[0-9]+|[1-9][0-9]{0,2}(?:[,'\x{2019}][0-9]{3})+)(?:\.[0-9]*)?|\.[0-9]+",
    ",": rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:[.'\x{{2019}}{_SPACES}][0-9]{{3}})+)(?:,[0-9]+)?|,[0-9]+",
}
_SCALES = {"k": "e3", "thousand": "e3", "m": "e6", "mn": "e6", "million": "e6"}
_SCALES |= {"b": "e9", "bn": "e9", "billion": "e9"}
_DOLLARS = ("$", "US$", "£")  # whose thousands have a comma; there is no thousandth of a cent


@dataclass(frozen=True, slots=True)
class NumberForm:
    """How the numbers of a column are written."""

    mark: str | None = None  # the decimal mark; None: no value of the column tells
    unit: str = ""  # a currency, or %


def trim(column: Any) -> Any:
    """Strip the spaces around text, also those that do not break."""
    return compute.utf8_trim(column, " \t\r\n\u00a0\u202f\u200b\ufeff")


def is_missing_word(column: Any) -> Any:
    """Tell which values only say that there is none."""
    return compute.is_in(column, pa.array(MISSING, pa.string()))


# Numbers ----------------------------------------------------------------------------------------


def find_mark(values: Any) -> str | None:
    """Tell the decimal mark of a column of numbers; None if it is none, or if both would do."""
    found = find_number_form(values, None)
    return found.mark if isinstance(found, NumberForm) else None


def find_number_form(values: Any, mark: str | None) -> NumberForm | str | None:
    """Tell how distinct values, trimmed and none missing, are written if all are numbers.

    None: they are no numbers. Text: why it cannot be told which. `mark` is that of the file.
    """
    read = {
        one: _read(values, one) for one in MARKS if _read(values.slice(0, 100), one) is not None
    }
    read = {one: parts for one, parts in read.items() if parts is not None}
    if not read:
        return None
    units = set(next(iter(read.values())).field("unit").unique().to_pylist())
    mixture = _find_mixture(units)
    if mixture is not None:
        return mixture
    point, comma = (read[one].field("number") if one in read else None for one in MARKS)
    if point is None or comma is None or mark is not None or point.equals(comma):
        return NumberForm(_choose_mark(point, comma, mark), max(units))
    if _are_plain(values):  # as everywhere
        return NumberForm()
    index = compute.index(compute.not_equal(point, comma), True).as_py()
    return (
        f"'{values[index]}' is {point[index]} if the decimal mark is a point, but {comma[index]} "
        "if it is a comma"
    )


def _are_plain(values: Any) -> bool:
    try:
        values.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _find_mixture(units: set[str]) -> str | None:
    """Say why units cannot be those of one column."""
    currencies = sorted(units - {"", "%"})
    if "%" in units and len(units) > 1:
        return "some of its values have a % and others have none"
    if len(currencies) > 1:
        return f"its values are in several currencies ({', '.join(currencies[:3])})"
    return None


def _choose_mark(point: Any, comma: Any, mark: str | None) -> str | None:
    """Choose the mark by which the numbers can be read, or that of the file if both will do."""
    if point is None:
        return ","
    if comma is None:
        return "."
    return None if point.equals(comma) else mark


def clean_numbers(column: Any, mark: str | None, unit: str) -> Any:
    """Write numbers as computers do; leave what is no number of this form as it is.

    Plain numbers are what they are; without a mark, so is what can be read in one way only.
    """
    marks = MARKS if mark is None else (mark,)
    read = [_take_apart(column, one) for one in marks]
    cleaned, *others = (
        compute.if_else(_has_unit(parts, unit), parts.field("number"), None) for parts in read
    )
    for other in others:
        is_double = compute.fill_null(compute.not_equal(cleaned, other), False)
        cleaned = compute.if_else(is_double, None, compute.coalesce(cleaned, other))
    cleaned = compute.coalesce(cleaned, column)
    return compute.if_else(is_missing_word(column), pa.scalar(None, pa.string()), cleaned)


def are_numbers(values: Any) -> Any:
    """Tell which values are numbers, by either mark, or say that there is none."""
    point, comma = (_take_apart(values, one).field("number").is_valid() for one in MARKS)
    return compute.or_(compute.or_(point, comma), is_missing_word(_join(values)))


def _has_unit(parts: Any, unit: str) -> Any:
    return compute.is_in(parts.field("unit"), pa.array({unit, ""}, pa.string()))


def _read(values: Any, mark: str) -> Any:
    """Take all values apart; None if one of them is no number."""
    parts = _take_apart(values, mark)
    return None if parts.field("number").null_count else parts


def _take_apart(column: Any, mark: str) -> Any:
    """Give the unit and the number of each value, as plain text; null where it is no number."""
    found = compute.extract_regex(
        _join(column),
        r"^(?P<open>\(?)(?P<sign>[-+\x{2212}]?)(?P<front>"
        + _CURRENCY
        + r"?)\s?(?P<inner>[-+\x{2212}]?)"
        r"(?P<digits>" + _DIGITS[mark] + r")(?P<power>(?:[eE][-+]?[0-9]+)?)\s?"
        r"(?P<scale>(?:(?i:k|mn?|bn?|thousand|million|billion))?)\s?"
        r"(?P<back>(?:%|" + _CURRENCY + r")?)(?P<close>\)?)$",
    )
    names = ["open", "sign", "front", "inner", "digits", "power", "scale", "back", "close"]
    part = {name: found.field(place) for place, name in enumerate(names)}
    for name in names:
        part[name] = compute.if_else(found.is_valid(), part[name], pa.scalar(None, pa.string()))
    unit = compute.binary_join_element_wise(part["front"], part["back"], "")
    number = _write_plain(part, mark)
    is_good = _is_sound(part, unit, mark)
    none = pa.scalar(None, pa.string())
    columns = [compute.if_else(is_good, one, none) for one in (number, unit)]
    return pa.StructArray.from_arrays(columns, ["number", "unit"])


def _join(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _is_sound(part: dict[str, Any], unit: Any, mark: str) -> Any:
    """Refuse two signs, two units, half a parenthesis, a scale of nothing."""
    empty = {name: compute.equal(one, "") for name, one in part.items()}
    is_money = compute.invert(compute.or_(compute.equal(unit, ""), compute.equal(unit, "%")))
    good = compute.or_(empty["front"], empty["back"])
    for one, other in (("sign", "inner"), ("open", "sign"), ("open", "inner")):
        good = compute.and_(good, compute.or_(empty[one], empty[other]))
    good = compute.and_(good, compute.equal(empty["open"], empty["close"]))
    good = compute.and_(good, compute.or_(empty["open"], is_money))
    good = compute.and_(good, compute.or_(empty["scale"], compute.and_(is_money, empty["power"])))
    if mark == ",":
        is_dollar = compute.is_in(unit, pa.array(_DOLLARS))
        is_group = compute.match_substring_regex(part["digits"], "^[0-9]{1,3},[0-9]{3}$")
        good = compute.and_(good, compute.invert(compute.and_(is_dollar, is_group)))
    return good


def _write_plain(part: dict[str, Any], mark: str) -> Any:
    """Write a number with a point, without groups."""
    groups = rf"[{',' if mark == '.' else '.'}'\x{{2019}}{_SPACES}]"
    digits = compute.replace_substring_regex(part["digits"], groups, "")
    digits = compute.replace_substring(digits, mark, ".")
    sign = compute.binary_join_element_wise(part["sign"], part["inner"], part["open"], "")
    sign = compute.replace_substring_regex(sign, r"[-\x{2212}(]", "-")
    sign = compute.replace_substring(sign, "+", "")
    power = compute.utf8_lower(part["scale"])
    for word in sorted(_SCALES, key=len, reverse=True):
        power = compute.if_else(compute.equal(power, word), _SCALES[word], power)
    return compute.binary_join_element_wise(sign, digits, part["power"], power, "")
