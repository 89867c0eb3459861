"""Numbers behind the charts of held-out rows. Rows may have weights."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Bin",
    "average_curves",
    "calibrate",
    "confuse",
    "find_curve",
    "measure_area",
    "thin",
]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_MOST_POINTS = 200
_BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows with similar predicted shares: what was said, what came, and how sure that is."""

    said: float
    came: float
    low: float
    high: float
    rows: float


def find_curve(is_positive: Flags, shares: Floats, counts: Floats) -> dict[str, Floats]:
    """Find what is called positive, and rightly so, at every share from the largest on."""
    levels, places = np.unique(-shares, return_inverse=True)
    right = np.bincount(places, counts * is_positive, len(levels)).cumsum()
    called = np.bincount(places, counts, len(levels)).cumsum()
    n_positive = float((counts * is_positive).sum())
    n_negative = float(counts.sum()) - n_positive
    wrong = called - right
    return {
        "threshold": -levels,
        "recall": right / n_positive if n_positive else right * 0,
        "false_alarms": wrong / n_negative if n_negative else wrong * 0,
        "precision": right / np.maximum(called, 1e-300),
    }


def average_curves(curves: list[dict[str, Floats]]) -> dict[str, Floats]:
    """Average the recall of several curves at the same false alarms: its area is their mean area.

    Where a curve goes straight up, both ends of that are kept.
    """
    x = [np.append(0.0, curve["false_alarms"]) for curve in curves]
    y = [np.append(0.0, curve["recall"]) for curve in curves]
    grid = np.unique(np.concatenate(x))
    ends = np.zeros((len(grid), 2))
    for own_x, own_y in zip(x, y, strict=True):
        between = np.interp(grid, own_x, own_y)
        first = np.searchsorted(own_x, grid, "left").clip(max=len(own_x) - 1)
        last = np.searchsorted(own_x, grid, "right") - 1
        for side, places in enumerate((first, last)):
            ends[:, side] += np.where(own_x[places] == grid, own_y[places], between)
    places = np.column_stack((np.repeat(grid, 2), ends.ravel() / len(curves)))
    kept = np.append(True, (np.diff(places, axis=0) != 0).any(axis=1))
    return {"false_alarms": places[kept, 0], "recall": places[kept, 1]}


def measure_area(curve: dict[str, Floats]) -> float:
    """Area under a curve of recall over false alarms."""
    x, y = curve["false_alarms"], curve["recall"]
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())


def thin(curve: dict[str, Floats]) -> dict[str, Floats]:
    """Keep so many points as a chart can show."""
    n_points = len(curve["recall"])
    if n_points <= _MOST_POINTS:
        return curve
    kept = np.unique(np.linspace(0, n_points - 1, _MOST_POINTS).astype(np.int64))
    return {name: values[kept] for name, values in curve.items()}


def calibrate(is_right: Flags, shares: Floats, counts: Floats) -> list[Bin]:
    """Compare what was said with what came, in bins of about the same number of rows.

    The interval is Wilson's, of 95%. Rows with the same share stay together.
    """
    levels, places = np.unique(shares, return_inverse=True)
    weight = np.bincount(places, counts, len(levels))
    before = weight.cumsum() - weight
    bins = np.minimum((before * _BINS / weight.sum()).astype(np.int64), _BINS - 1)
    found = []
    for number in np.unique(bins).tolist():
        inside = bins[places] == number
        total = float(counts[inside].sum())
        if total > 0:
            said = float(np.average(shares[inside], weights=counts[inside]))
            came = float(np.average(is_right[inside], weights=counts[inside]))
            found.append(Bin(said, came, *_interval(came, total), total))
    return found


def _interval(share: float, n_rows: float) -> tuple[float, float]:
    z = 1.96
    middle = (share + z**2 / (2 * n_rows)) / (1 + z**2 / n_rows)
    spread = share * (1 - share) / n_rows + z**2 / (4 * n_rows**2)
    half = z * math.sqrt(spread) / (1 + z**2 / n_rows)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def confuse(
    truth: NDArray[np.int64], answers: NDArray[np.int64], n_classes: int, counts: Floats
) -> Floats:
    """Count the rows of each class (down) by what was said of them (across)."""
    codes = truth * n_classes + answers
    table = np.bincount(codes, counts, n_classes**2).astype(np.float64)
    return table.reshape(n_classes, n_classes)
