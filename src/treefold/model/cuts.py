"""How a threshold is written, everywhere: with as many digits as it takes to tell rows apart.

A cut lies between two values of a column. Those have few digits in most files, and then the middle
between them has few as well: it is written as it is. Others are rounded, but never to zero, nor to
another cut of the same column, nor in front of the decimal point.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["count_microseconds", "is_in_calendar", "show_date", "show_number"]

_FEWEST = 6  # digits of what is rounded
_SHORT, _NOISY, _ALL = 12, 15, 17  # digits: of what is written as it is; without noise; of float64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = (datetime.min - datetime(1970, 1, 1)).days
_LAST_DAY = (datetime.max - datetime(1970, 1, 1)).days + 1
_MICROSECONDS_PER_DAY = 86_400_000_000.0
_HALF_SECOND = 500_000


def show_number(
    value: float, decimals: int = 0, others: Sequence[float] | NDArray[Any] = ()
) -> str:
    """Write a number so that it differs from others; `decimals` is the least number of decimals.

    `others` are rising.
    """
    if not math.isfinite(value):  # a cut beyond all numbers
        return str(float(value))
    number = _round(value, _choose_digits(value, others)) + 0.0  # without a minus before zero
    text = repr(number).removesuffix(".0")
    if "e" in text:  # very large or very small
        return text
    whole, _, fraction = text.partition(".")
    fraction = fraction.ljust(decimals, "0")
    return f"{whole}.{fraction}" if fraction else whole


def _choose_digits(value: float, others: Sequence[float] | NDArray[Any]) -> int:
    """The least number of digits that tells a number from its neighbours among others."""
    is_short = _round(value, _SHORT) == _round(value, _NOISY)
    n_whole = 1 + math.floor(math.log10(abs(value))) if value else 0
    digits = _SHORT if is_short else min(_ALL, max(_FEWEST, n_whole + 1))
    place = int(np.searchsorted(others, value))
    near = [other for other in others[max(0, place - 1) : place + 2] if other != value]
    while digits < _ALL and any(_round(value, digits) == _round(one, digits) for one in near):
        digits += 1
    return digits


def _round(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


# Dates ------------------------------------------------------------------------------------------


def is_in_calendar(days: float) -> bool:
    """Whether a number of days since 1970 lies in the years 1 to 9999."""
    return _FIRST_DAY <= days < _LAST_DAY


def count_microseconds(days: float) -> int:
    """Count up to the last microsecond whose number of days, in float64, is at most this one."""
    count = math.floor(days * _MICROSECONDS_PER_DAY)
    while (count + 1) / _MICROSECONDS_PER_DAY <= days:
        count += 1
    while count / _MICROSECONDS_PER_DAY > days:
        count -= 1
    return count


def show_date(days: float, decimals: int = 0) -> str:
    """Write a number of days since 1970 as a date, with the time if there is any."""
    if not is_in_calendar(days):
        return f"day {show_number(days, decimals)}"
    count = count_microseconds(days)
    # The middle between two whole seconds may miss its place by the last bit of its days.
    is_near = (count + 1) / _MICROSECONDS_PER_DAY - days <= math.ulp(days)
    if is_near and (count + 1) % _HALF_SECOND == 0:
        count += 1
    moment = _EPOCH + timedelta(microseconds=count)
    if days.is_integer():
        return str(moment.date())
    parts = f"{moment:.%f}".rstrip("0") if moment.microsecond else ""
    return f"{moment.date()} {moment:%H:%M:%S}{parts}"
