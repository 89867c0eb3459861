"""Candidates of the estimators that are cross-validated in fit: which there are, which is chosen.

Nothing here grows a tree.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from treefold.exceptions import InputError, ParameterError

__all__ = ["Trials", "choose", "expand", "find_strengths", "make_results", "thin"]

Floats = NDArray[np.float64]

_MOST_STRENGTHS = 100


def expand(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Combine the candidates of each parameter, the last one changing fastest.

    A list, a tuple or an array gives candidates; anything else is the only one.
    """
    choices = [_list_candidates(name, value) for name, value in parameters.items()]
    for combination in product(*choices):
        yield dict(zip(parameters, combination, strict=True))


def _list_candidates(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple | np.ndarray):
        return [value]
    values = value.tolist() if isinstance(value, np.ndarray) else list(value)
    if not isinstance(values, list) or not values:
        raise ParameterError(
            f"The {name!r} parameter holds no candidate. Give a value, or several. Got {value!r}."
        )
    distinct: list[Any] = []
    for one in values:
        if not any(type(one) is type(known) and one == known for known in distinct):
            distinct.append(one)
    return distinct


def find_strengths(
    ccp_alphas: Floats, n_leaves: NDArray[np.integer[Any]]
) -> tuple[Floats, NDArray[np.integer[Any]]]:
    """Find one strength of pruning for each tree of a pruning path, rising, and its leaves.

    The first leaves the tree as it is, with its splits of no gain, which any other takes away. The
    others are geometric midpoints of the alphas at which the tree changes and of the next ones,
    because the trees of the folds change elsewhere. The last is ten times the last alpha, close
    enough to infinity: no split is left in any fold.
    """
    alphas = np.unique(ccp_alphas)  # the first is zero
    sizes = n_leaves[np.searchsorted(ccp_alphas, alphas, side="right") - 1]
    sizes[0] = n_leaves[0]
    if len(alphas) == 1:
        return np.zeros(1), sizes
    low, high = alphas[1:-1], alphas[2:]
    middle = np.sqrt(low) * np.sqrt(high)
    middle = np.where((middle > low) & (middle < high), middle, low)  # rounding
    last = min(10 * float(alphas[-1]), float(np.finfo(np.float64).max))
    return np.concatenate(([0.0], middle, [last])), sizes


def thin(n_leaves: NDArray[np.integer[Any]], most: int = _MOST_STRENGTHS) -> NDArray[np.int64]:
    """Pick at most so many trees of a path, spread evenly over the logarithm of their leaves.

    The largest and the smallest are among them.
    """
    if len(n_leaves) <= most:
        return np.arange(len(n_leaves))
    sizes = np.log(n_leaves)
    wanted = np.linspace(sizes[0], sizes[-1], most)
    after = np.searchsorted(-sizes, -wanted).clip(1, len(sizes) - 1)  # sizes fall
    is_before = np.abs(sizes[after - 1] - wanted) < np.abs(sizes[after] - wanted)
    return np.unique(np.where(is_before, after - 1, after))


@dataclass(frozen=True, slots=True)
class Trials:
    """All candidates: parameters, leaves of the tree of all rows, and scores of each split."""

    params: Sequence[Mapping[str, Any]]
    n_leaves: NDArray[np.integer[Any]]
    scores: Floats  # (n_candidates, n_splits)

    @property
    def means(self) -> Floats:
        """Mean score of each candidate."""
        return np.asarray(np.average(self.scores, axis=1))


def choose(trials: Trials, rule: str) -> int:
    """Choose a candidate.

    "best": the highest mean score. "one_se": the simplest whose mean score is within one standard
    error of it. The simplest has the fewest leaves; of equals, the largest ccp_alpha, then the
    higher score, then the first.
    """
    means = trials.means
    if np.isnan(means).all():
        raise InputError(
            "No candidate has a score, so that none can be chosen: the metric is undefined in some "
            "split. Use another scoring, or a cv whose test sets have several rows of every class."
        )
    best = int(np.nanargmax(means))
    bar = means[best]
    if rule == "one_se" and trials.scores.shape[1] > 1:
        bar -= np.std(trials.scores[best], ddof=1) / math.sqrt(trials.scores.shape[1])
    eligible = np.flatnonzero(means >= bar).tolist()

    def simplicity(index: int) -> tuple[float, ...]:
        alpha = float(trials.params[index]["ccp_alpha"])
        return (int(trials.n_leaves[index]), -alpha, -means[index], index)

    return int(min(eligible, key=simplicity))


def make_results(trials: Trials) -> dict[str, Any]:
    """Write the candidates in the form of scikit-learn's `cv_results_`, with `n_leaves`."""
    means = trials.means
    results: dict[str, Any] = {}
    for name in trials.params[0]:
        values = [params[name] for params in trials.params]
        results[f"param_{name}"] = np.ma.MaskedArray(_as_array(values), mask=False)
    results["params"] = [dict(params) for params in trials.params]
    for number, scores in enumerate(trials.scores.T):
        results[f"split{number}_test_score"] = scores.copy()
    results["mean_test_score"] = means
    results["std_test_score"] = np.sqrt(
        np.average((trials.scores - means.reshape(-1, 1)) ** 2, axis=1)
    )
    results["rank_test_score"] = _rank(means)
    results["n_leaves"] = np.asarray(trials.n_leaves, dtype=np.int64)
    return results


def _as_array(values: list[Any]) -> NDArray[Any]:
    """Make an array of numbers if they all are, of objects otherwise."""
    kinds = {type(value) for value in values}
    if kinds <= {int} or kinds <= {float}:
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _rank(means: Floats) -> NDArray[np.int32]:
    if np.isnan(means).all():
        return np.ones(len(means), dtype=np.int32)
    worst = np.nan_to_num(means, nan=np.nanmin(means) - 1)
    return np.asarray(rankdata(-worst, method="min").astype(np.int32))
