"""How the scores of splits become one score, and its standard error.

    a mean over rows (Brier score, accuracy, ...)   over all held-out rows
    root mean squared error                         the root of the one of all held-out rows
    R2                                              1 - SSE / SSE of the mean of the training rows,
                                                    both sums over all held-out rows
    anything else (AUC, balanced accuracy, ...)     the mean over the splits that have it

All of them are sums over splits, divided: sum(part) / sum(size). The standard error is that of such
a ratio (the delta method): with e = part - ratio * size of each of k splits, it is the root of
k / (k - 1) * sum(e**2), over sum(size). If all sizes are equal, that is the standard deviation over
the root of k.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["POOLED", "Kind", "Pooling", "summarise"]

Floats = NDArray[np.float64]
Kind = Literal["mean", "root", "r2"]

POOLED = ("mean_test_score", "std_test_score", "se_test_score")  # of all splits, in `cv_results_`


@dataclass(frozen=True, slots=True)
class Pooling:
    """What each split counts. Scores come as (..., n_splits); of "root" and "r2", as -MSE."""

    counts: Floats  # weight of its held-out rows; 1 if the score is no mean over rows; 0: no score
    kind: Kind = "mean"
    naive: Floats | None = None  # of "r2": what one answer for all rows scores, as -MSE
    over: Literal["splits", "both", "rows"] = "splits"  # what "mean" is the mean of

    @property
    def sizes(self) -> Floats:
        """What the parts of the splits are divided by, all together."""
        return self.counts if self.naive is None else -self.counts * self.naive

    @property
    def n_splits(self) -> int:
        """Number of splits that have a score."""
        return int((self.counts > 0).sum())

    @property
    def definition(self) -> str:
        """How the one score comes about, in words."""
        if self.kind == "r2":
            return "1 - squared error / that of the training rows' mean, over all held-out rows"
        if self.kind == "root":
            return "root of the mean squared error of all held-out rows"
        if self.over == "rows":
            return "mean over all held-out rows"
        if len(self.counts) == 1:
            return "of all held-out rows together"
        more = "" if self.n_splits == len(self.counts) else f" of {len(self.counts)}"
        which = " with both classes" if self.over == "both" else ""
        return f"mean over {self.n_splits}{more} splits{which}"

    def select(self, splits: NDArray[Any]) -> "Pooling":
        """Keep some of the splits."""
        naive = None if self.naive is None else self.naive[splits]
        return replace(self, counts=self.counts[splits], naive=naive)

    def pool(self, scores: Floats) -> Floats:
        """Make one score of those of the splits."""
        if self.kind == "mean" and (self.counts == self.counts[0]).all():
            average: Floats = np.asarray(np.average(scores, axis=-1))  # bit for bit as usual
            return average if self.n_splits else np.full_like(average, np.nan)
        parts = self._divide(scores).sum(axis=-1)
        return self._present(_ratio(parts, self.sizes.sum()))

    def measure_error(self, scores: Floats) -> Floats:
        """Give the standard error; NaN if there are less than two splits."""
        parts, n_splits, total = self._divide(scores), self.n_splits, float(self.sizes.sum())
        if n_splits < 2 or total == 0:
            return np.full(scores.shape[:-1], np.nan)
        ratio = parts.sum(axis=-1) / total
        rest = parts - ratio[..., np.newaxis] * self.sizes
        error = np.sqrt((rest**2).sum(axis=-1) * (n_splits / (n_splits - 1))) / total
        if self.kind != "root":
            return np.asarray(error)
        root = np.sqrt(np.maximum(-ratio, 0.0))
        return _ratio(error, 2 * root)

    def show(self, scores: Floats) -> Floats:
        """Give the score of each split by itself; NaN where it has none."""
        if self.kind == "mean":
            return np.where(self.counts > 0, scores, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = self._divide(scores) / self.sizes
        return self._present(np.where(self.sizes > 0, ratio, np.nan))

    def lose(self, losses: Floats, scores: Floats) -> Floats:
        """Say what losses of splits, (n_columns, n_splits), are of the one score: in the mean."""
        parts = np.where(self.counts > 0, losses, 0.0) * self.counts
        found = _ratio(parts, float(self.sizes.mean()))
        if self.kind == "root":  # of b and a, which is b less a loss: b - a = (bb - aa) / (b + a)
            before = -self.pool(scores)
            after = np.sqrt(np.maximum(before**2 + found.mean(axis=1, keepdims=True), 0.0))
            found = _ratio(found, before + after)
        return found

    def _divide(self, scores: Floats) -> Floats:
        """The part of each split in the whole."""
        if self.naive is None:
            return np.asarray(np.where(self.counts > 0, scores, 0.0) * self.counts)
        return np.asarray(self.counts * (scores - self.naive))

    def _present(self, ratio: Floats) -> Floats:
        return np.asarray(-np.sqrt(np.maximum(-ratio, 0.0))) if self.kind == "root" else ratio


def _ratio(parts: Any, sizes: Any) -> Floats:
    """Divide; of nothing there is nothing."""
    parts, sizes = np.broadcast_arrays(np.asarray(parts, dtype=np.float64), sizes)
    found: Floats = np.divide(parts, sizes, out=np.zeros_like(parts), where=sizes != 0)
    return found


def summarise(scores: Floats, pooling: Pooling) -> dict[str, Any]:
    """Say what splits give together: a score, its standard error, and how many splits have it."""
    return {
        "score": float(pooling.pool(scores)),
        "standard_error": float(pooling.measure_error(scores)),
        "n_splits": pooling.n_splits,
    }
