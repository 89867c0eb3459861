"""Two classes: what a threshold on the share of the positive one finds, and a better threshold."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Found", "Thresholds", "choose_by_cost", "compare_thresholds", "list_thresholds"]

from treefold.findings.document import Finding

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Found(Finding):
    """What is called positive at one threshold."""

    threshold: float
    n_called: float  # rows, or their weight
    n_right: float
    n_positive: float

    @property
    def recall(self) -> float:
        """Share of the positive rows that is found."""
        return self.n_right / self.n_positive if self.n_positive else 0.0

    @property
    def precision(self) -> float:
        """Share of what is called positive that is."""
        return self.n_right / self.n_called if self.n_called else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * self.n_right / (self.n_called + self.n_positive) if self.n_positive else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Everything, by name."""
        return {
            **asdict(self),
            "recall": self.recall,
            "precision": self.precision,
            "f1": self.f1,
        }


@dataclass(frozen=True, slots=True)
class Thresholds(Finding):
    """One half, and a better threshold."""

    positive: str
    half: Found
    best: Found


def compare_thresholds(
    is_positive: NDArray[np.bool_], shares: Floats, weights: Floats | None = None
) -> tuple[Found, Found]:
    """Tell what is found at one half, and at the threshold with the highest F1 on these rows."""
    found = list_thresholds(is_positive, shares, weights)
    # Of equals, the one closest to one half: others may be equal by the grid alone.
    best = max(found, key=lambda one: (one.f1, -abs(one.threshold - 0.5)))
    return found[49], best


def choose_by_cost(found: Sequence[Found], ratio: float) -> Found:
    """Choose the cheapest threshold, if a positive row that is missed costs `ratio` false calls."""

    def cost(one: Found) -> float:
        return (one.n_positive - one.n_right) * ratio + one.n_called - one.n_right

    return min(found, key=lambda one: (cost(one), abs(one.threshold - 0.5)))


def list_thresholds(
    is_positive: NDArray[np.bool_], shares: Floats, weights: Floats | None = None
) -> list[Found]:
    """Tell what is found at every threshold from 0.01 to 0.99.

    A row is called positive if its share is at least the threshold. Thresholds are whole
    hundredths, because nobody quotes more digits.
    """
    counts = np.ones(len(shares)) if weights is None else weights
    grid = np.arange(1, 100) / 100
    # Rows with at least a share: of the grid's places, all up to the last that is not larger.
    places = np.searchsorted(grid, shares, side="right")
    called = np.bincount(places, counts, len(grid) + 1)
    right = np.bincount(places, counts * is_positive, len(grid) + 1)
    n_called = called[::-1].cumsum()[::-1][1:]
    n_right = right[::-1].cumsum()[::-1][1:]
    n_positive = float((counts * is_positive).sum())
    return [
        Found(float(threshold), float(a), float(b), n_positive)
        for threshold, a, b in zip(grid, n_called, n_right, strict=True)
    ]
