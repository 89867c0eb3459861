"""From what each tree says to what the ensemble says.

Trees are added up in the order of their bags, row by row, so that the sum of a row does not depend
on the other rows: any division into batches gives the same bits.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ballot"]


class Ballot:
    """Collects the answers of all trees."""

    def __init__(self, n_rows: int, n_classes: int, voting: str = "soft") -> None:
        self._total = np.zeros((n_rows, max(1, n_classes)))
        self._is_hard = voting == "hard" and n_classes > 0

    def add(self, values: NDArray[np.float64], rows: NDArray[Any] | None = None) -> None:
        """Add what one tree says of all rows, or of some: class shares, or a number in a column.

        A hard vote goes to the most frequent class of the leaf; to the lowest if equal.
        """
        if self._is_hard:
            chosen = values.argmax(axis=1)
            values = np.zeros_like(values)
            values[np.arange(len(chosen)), chosen] = 1.0
        if rows is None:
            self._total += values
        else:
            self._total[rows] += values

    def count(self, n_trees: int) -> NDArray[np.float64]:
        """Give the mean over the trees."""
        return self._total / n_trees
