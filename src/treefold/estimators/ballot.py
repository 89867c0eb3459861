"""From what each tree says to what the ensemble says.

Trees are added up in the order of their bags, row by row, so that the sum of a row does not depend
on the other rows: any division into batches gives the same bits. The sum of a row that float64
does not hold goes on in a smaller unit, a power of two, so that no bit of the mean is lost.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ballot"]

_UNIT = 2.0**-64  # room for the sum of 2**64 numbers of any size
_LARGEST = float(np.finfo(np.float64).max)


class Ballot:
    """Collects the answers of all trees."""

    def __init__(self, n_rows: int, n_classes: int, voting: str = "soft") -> None:
        self._total = np.zeros((n_rows, max(1, n_classes)))
        self._is_hard = voting == "hard" and n_classes > 0
        self._may_overflow = n_classes == 0  # shares of classes do not
        self._is_scaled = np.zeros(0, dtype=bool)  # rows whose sum is in the smaller unit, if any

    def add(self, values: NDArray[np.float64], rows: NDArray[Any] | None = None) -> None:
        """Add what one tree says of all rows, or of some: class shares, or a number in a column.

        A hard vote goes to the most frequent class of the leaf; to the lowest if equal.
        """
        if self._is_hard:
            chosen = values.argmax(axis=1)
            values = np.zeros_like(values)
            values[np.arange(len(chosen)), chosen] = 1.0
        place: Any = slice(None) if rows is None else rows
        if not self._may_overflow:
            self._total[place] += values
            return
        with np.errstate(over="ignore"):
            total = self._total[place] + self._scale(values, place)
        if not np.isfinite(total).all():
            total = self._change_unit(values, place, ~np.isfinite(total[:, 0]))
        self._total[place] = total

    def count(self, n_trees: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the mean over the trees: as many for all rows, or a number for each."""
        mean: NDArray[np.float64] = self._total / np.reshape(n_trees, (-1, 1))
        if self._is_scaled.any():
            rows = np.flatnonzero(self._is_scaled)
            with np.errstate(over="ignore"):  # by the last bit of a mean of largest numbers
                mean[rows] = np.clip(mean[rows] / _UNIT, -_LARGEST, _LARGEST)
        return mean

    def _scale(self, values: NDArray[np.float64], place: Any) -> NDArray[np.float64]:
        """Give values in the unit of the sum of their row."""
        if not self._is_scaled.any():
            return values
        return values * np.where(self._is_scaled[place], _UNIT, 1.0)[:, np.newaxis]

    def _change_unit(
        self, values: NDArray[np.float64], place: Any, is_over: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Let the sums of some rows go on in the smaller unit; add the values."""
        if not len(self._is_scaled):
            self._is_scaled = np.zeros(len(self._total), dtype=bool)
        before = self._total[place] * np.where(is_over, _UNIT, 1.0)[:, np.newaxis]
        self._is_scaled[place] |= is_over
        total: NDArray[np.float64] = before + self._scale(values, place)
        return total
