"""How people write dates as text: 01.02.2024, 3/14/25 1:45 PM, 14-Mar-2025, 2024-01-02T13:45Z.

A column is read if all of its values can be, in one way only. Whether the day comes first must
follow from a value that has no 13th month, or from the user. Years of two digits are those of the
hundred years around the column: 63, 99 and 15 are 1963, 1999 and 2015. Trees know dates to the
microsecond: digits beyond are left out.
"""

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import compute

from treefold.command.notation import is_missing_word, trim

__all__ = [
    "DateForm",
    "Doubt",
    "clean_dates",
    "find_date_form",
    "look_like_dates",
    "name_form",
    "parse_dates",
]

_CLEAR_GAP = 20  # years without a value: there a century begins
_LAST_YEAR = 68  # of two digits in this century, if it is the last of a column, as in POSIX

_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    "(?P<name>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))[.]?"
)
_WEEKDAY = "^(?:(?i:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?i:day)?[.]?,? +)?"
_TIME = (
    "(?:(?:[ T]|, )(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    "(?::(?P<second>[0-9]{2})(?:(?P<fraction>[.][0-9]{1,6})[0-9]*)?)?"
    "(?: ?(?P<half>[AaPp])[.]?[Mm][.]?)?(?: ?(?P<zone>Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?))?)?$"
)
_TWO = "[0-9]{1,2}"
_YEAR = "(?P<year>[0-9]{4})"
_MODERN = "(?P<year>(?:1[89]|20)[0-9]{2})"  # where nothing else says that it is a date
_ANY_YEAR = "(?P<year>[0-9]{4}|'?[0-9]{2})"
_DAY = f"(?P<day>{_TWO})(?i:st|[nr]d|th)?"
_SHAPES = {
    "year first": f"{_YEAR}[./-](?P<month>{_TWO})[./-](?P<day>{_TWO})",
    "day first": f"(?P<day>{_TWO})[./-](?P<month>{_TWO})[./-]{_ANY_YEAR}",
    "month first": f"(?P<month>{_TWO})[./-](?P<day>{_TWO})[./-]{_ANY_YEAR}",
    "day, name, year": f"{_DAY}[.]?[ /-]?{_NAME},?[ /-]?{_ANY_YEAR}",
    "name, day, year": f"{_NAME}[ -]{_DAY}(?:,|,? |-) ?{_YEAR}",
    "year, name, day": f"{_YEAR},?[ /-]{_NAME}[ /-]{_DAY}",
    "year, name": f"{_MODERN},?[ /-]{_NAME}",
    "name, year": f"{_NAME}(?:,? |/|-)(?P<year>(?:1[89]|20)[0-9]{{2}}|'?[0-9]{{2}})",
    "year, month": f"{_MODERN}[/-](?P<month>{_TWO})",
    "month, year": f"(?P<month>{_TWO})[/-]{_MODERN}",
}
_ORDERS = {"day first": True, "month first": False}
_ANY_SHAPE = re.sub("[?]P<[a-z]+>", "?:", f"{_WEEKDAY}(?:{'|'.join(_SHAPES.values())}){_TIME}")
_PARTS = ("year", "month", "name", "day", "hour", "minute", "second", "fraction", "half", "zone")


@dataclass(frozen=True, slots=True)
class DateForm:
    """How the dates of a column are written."""

    is_day_first: bool | None = None  # None: the year comes first
    first_year: int | None = None  # of the hundred that two digits stand for


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why dates cannot be read though they look like some, and what to do."""

    reason: str
    cure: str


def find_date_form(values: Any, is_day_first: bool | None) -> DateForm | Doubt | None:
    """Tell how distinct values are written if all are dates; None if they are none.

    `is_day_first` is what the user says. Where the day and the month are told apart otherwise, as
    by a year that comes first, the form says that the day comes first.
    """
    if not compute.all(look_like_dates(values)).as_py():
        return None
    century = _find_century(values)
    first_year = 2000 if isinstance(century, Doubt) else century
    read = _read_both(values, first_year)
    doubt = _doubt_names(values)
    if not read or isinstance(century, Doubt) or doubt is not None:
        return (century if isinstance(century, Doubt) else doubt) if read else None
    if is_day_first is None:
        doubt = _doubt_order(values, {**read, **_read_turned(values)})
    word = "month" if is_day_first is False else "day"
    return doubt or DateForm((word if word in read else next(iter(read))) == "day", first_year)


def look_like_dates(values: Any) -> Any:
    """Tell which values have the shape of a date, or say that there is none."""
    is_date = compute.match_substring_regex(trim(values), _ANY_SHAPE)
    return compute.or_(is_date, is_missing_word(values))


def _read_both(values: Any, first_year: int | None) -> dict[str, Any]:
    """Read dates by what comes first, the day or the month, or both if both can be."""
    forms = {"day": DateForm(True, first_year), "month": DateForm(False, first_year)}
    read = {word: parse_dates(clean_dates(values, form)) for word, form in forms.items()}
    return {word: days for word, days in read.items() if days is not None}


def _read_turned(values: Any) -> dict[str, Any]:
    """Read 24-01-31 with the year first, if all are such. Nobody writes 24/01/31 so."""
    is_short = compute.match_substring_regex(values, "^[0-9]{2}-[0-9]{2}-[0-9]{2}$")
    if not compute.all(is_short).as_py():
        return {}
    turned = compute.replace_substring_regex(values, "^(..)-(..)-(..)$", r"\3-\2-\1")
    century = _find_century(turned)
    read = {} if isinstance(century, Doubt) else _read_both(turned, century)
    return {"year": read["day"]} if "day" in read else {}


def _doubt_order(values: Any, read: dict[str, Any]) -> Doubt | None:
    """Say so if dates differ by what comes first: `read` has them by that."""
    (first, days), *others = read.items()
    for other, more in others:
        index = compute.index(compute.not_equal(days, more), True).as_py()
        if index >= 0:
            one, two = (str(each[index].as_py())[:10] for each in (days, more))
            reason = f"'{values[index]}' is {one} if the {first} comes first, but {two} if the"
            cure = "Say which: --day-first or --month-first."
            if other == "year":
                cure = f"Say --{first}-first, or write years with four digits."
            return Doubt(f"{reason} {other} does", cure)
    return None


def _find_century(values: Any) -> int | Doubt | None:
    """Find the first of the hundred years that years of two digits stand for; None: there are none.

    They are a circle, which is cut in the middle of its largest gap.
    """
    years = _list_short_years(values)
    if not years:
        return None
    after = [*years[1:], years[0] + 100]
    gap, last = max((then - now, now) for now, then in zip(years, after, strict=True))
    if gap < _CLEAR_GAP:
        return Doubt(
            "its years have two digits, and it is not clear of which century",
            "Write them with four digits to use them as dates.",
        )
    return (1900 if last > _LAST_YEAR else 2000) + last + gap // 2 - 99


def _list_short_years(values: Any) -> list[int]:
    found = [_extract(values, shape).field("year") for shape in _SHAPES]
    years = compute.utf8_ltrim(compute.coalesce(*found), "'")
    short = years.filter(compute.equal(compute.utf8_length(years), 2))
    return sorted(short.unique().cast(pa.int64()).to_pylist())


def _doubt_names(values: Any) -> Doubt | None:
    """Say so if Mar-24 may as well be a day of March: no number beside a name is beyond 31."""
    years = _extract(values, "name, year").field("year").drop_null()
    short = compute.utf8_ltrim(years, "'").cast(pa.int64())
    is_day = compute.and_(compute.greater(short, 0), compute.less_equal(short, 31))
    is_marked = compute.any(compute.starts_with(years, "'")).as_py()
    if len(years) == 0 or is_marked or not compute.all(is_day).as_py():
        return None
    return Doubt(
        f"'{values[0]}' may be a month of a year or a day of a month",
        "Write years with four digits to use them as dates.",
    )


def clean_dates(column: Any, form: DateForm) -> Any:
    """Write dates as YYYY-MM-DD, and times after them; leave what is no date of this form."""
    nothing = pa.scalar(None, pa.string())
    text = trim(column)
    text = compute.if_else(is_missing_word(text), nothing, text)
    cleaned = compute.if_else(compute.is_null(text), text, nothing)
    for shape in _SHAPES:
        if _ORDERS.get(shape, form.is_day_first) != form.is_day_first:
            continue
        parts = _extract(text, shape)
        if parts.null_count < len(parts):
            cleaned = compute.coalesce(cleaned, _write(parts, form))
            if cleaned.null_count == text.null_count:
                break
    return compute.coalesce(cleaned, text)


def _extract(column: Any, shape: str) -> Any:
    """Take dates of one shape apart, as text; null where they are not of it."""
    joined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found = compute.extract_regex(joined, _WEEKDAY + _SHAPES[shape] + _TIME)
    known = {one.name: found.field(place) for place, one in enumerate(found.type)}
    nothing = compute.if_else(found.is_valid(), "", None)
    is_none = found.is_null()
    parts = [
        compute.if_else(is_none, None, known[name]) if name in known else nothing for name in _PARTS
    ]
    return pa.StructArray.from_arrays(parts, list(_PARTS), mask=is_none)


def _write(parts: Any, form: DateForm) -> Any:
    """Write what was taken apart; null where a year is too short or an hour too late."""
    part = {name: parts.field(name) for name in _PARTS}
    year, month = _widen(part["year"], form.first_year), _number(part["name"], part["month"])
    day = _pad(_or(part["day"], "1"))
    date = compute.binary_join_element_wise(year, month, day, "-")
    half, zone = compute.utf8_lower(part["half"]), part["zone"]
    zone = compute.if_else(compute.is_in(zone, pa.array(["UTC", "GMT"])), "Z", zone)
    hour, minute = _count_hours(part["hour"], half), part["minute"]
    second = _or(part["second"], "00")
    time = compute.binary_join_element_wise(hour, minute, second, ":")
    whole = compute.binary_join_element_wise(date, " ", time, part["fraction"], zone, "")
    return compute.if_else(compute.equal(part["hour"], ""), date, whole)


def _or(text: Any, other: str) -> Any:
    return compute.if_else(compute.equal(text, ""), other, text)


def _pad(text: Any) -> Any:
    return compute.utf8_lpad(text, 2, "0")


def _look_up(text: Any, table: dict[str, str]) -> Any:
    """Replace text that is in a table; null where it is not."""
    places = compute.index_in(text, pa.array(table))
    return pa.array(table.values(), pa.string()).take(places)


def _widen(year: Any, first: int | None) -> Any:
    """Write years with four digits."""
    year = compute.utf8_ltrim(year, "'")
    years = range(first, first + 100) if first is not None else ()
    wide = _look_up(year, {f"{one % 100:02}": str(one) for one in years}) if years else None
    is_wide = compute.equal(compute.utf8_length(year), 4)
    return compute.if_else(is_wide, year, wide)


def _number(name: Any, month: Any) -> Any:
    """Give the number of a month that is named; else the number that stands there."""
    numbers = {name: f"{place:02}" for place, name in enumerate(_NAMES, 1)}
    by_name = _look_up(compute.utf8_slice_codeunits(compute.utf8_lower(name), 0, 3), numbers)
    return compute.if_else(compute.equal(name, ""), _pad(month), by_name)


def _count_hours(hour: Any, half: Any) -> Any:
    """Count hours from midnight, where they are counted twice from twelve to eleven."""
    hour = _pad(hour)
    for letter, begin in (("a", 0), ("p", 12)):
        table = {f"{one or 12:02}": f"{one + begin:02}" for one in range(12)}
        hour = compute.if_else(compute.equal(half, letter), _look_up(hour, table), hour)
    return hour


def parse_dates(text: Any) -> Any:
    """Read dates as days, or as moments if they have a time; None if one of them is none."""
    kinds = (pa.date32(), pa.timestamp("s"), pa.timestamp("us"))
    for kind in (*kinds, pa.timestamp("s", "UTC"), pa.timestamp("us", "UTC")):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def name_form(form: DateForm, values: Any) -> str:
    """Say what a form makes of distinct values."""
    order = "day first" if form.is_day_first else "month first"
    hows = {_WEEKDAY + _SHAPES[order]: order, "^[0-9]{4}": "year first", _NAME: "months by name"}
    found = (how for shape, how in hows.items() if _any_matches(values, shape))
    how = next(found, "month and year")
    if form.first_year is None:
        return how
    days = parse_dates(clean_dates(values, form))
    years = [str(one.as_py())[:4] for one in compute.min_max(days).values()]
    return f"{how}, years {' to '.join(dict.fromkeys(years))}"


def _any_matches(values: Any, shape: str) -> bool:
    return bool(compute.any(compute.match_substring_regex(values, shape)).as_py())
