"""Candidates of the estimators that are cross-validated in fit: which there are, which is chosen.

Nothing here grows a tree.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from treefold.exceptions import InputError, ParameterError
from treefold.scoring.pooling import POOLED, Pooling, summarise

__all__ = [
    "NestedScores",
    "Trials",
    "choose",
    "expand",
    "find_best",
    "find_strengths",
    "make_results",
    "show_nested",
    "summarise_trials",
    "thin",
    "write_results",
]

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
    scores: Floats  # (n_candidates, n_splits), as `pooling` wants them
    pooling: Pooling

    @property
    def means(self) -> Floats:
        """Score of each candidate on all splits together."""
        return self.pooling.pool(self.scores)


@dataclass(frozen=True, slots=True)
class NestedScores:
    """What the choices for outer splits score, which had no part in choosing."""

    test_score: Floats  # of each split; where rows are pooled there is one score of all
    best_params: list[dict[str, Any]]
    inner_score: Floats
    split: NDArray[Any]  # numbers of the outer splits


def choose(trials: Trials, rule: str) -> int:
    """Choose a candidate.

    "best": the highest score. "one_se": the simplest whose score is within one standard error of
    it. The simplest has the fewest leaves; of equals, the largest ccp_alpha, then the
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
    error = float(trials.pooling.measure_error(trials.scores[best]))
    if rule == "one_se" and not np.isnan(error):
        bar -= error
    eligible = np.flatnonzero(means >= bar).tolist()

    def simplicity(index: int) -> tuple[float, ...]:
        alpha = float(trials.params[index]["ccp_alpha"])
        return (int(trials.n_leaves[index]), -alpha, -means[index], index)

    return int(min(eligible, key=simplicity))


def find_best(trials: Trials, chosen: int) -> int:
    """Find the candidate with the highest score; of equals, the chosen one, then the first."""
    means = trials.means
    best = int(np.nanargmax(means))
    return chosen if means[chosen] == means[best] else best


def make_results(trials: Trials) -> dict[str, Any]:
    """Write the candidates in the form of scikit-learn's `cv_results_`.

    With `n_leaves`, and `se_test_score`: the standard error of the score.
    """
    scores, pooling = trials.pooling.show(trials.scores), trials.pooling
    means, errors = trials.means, pooling.measure_error(trials.scores)
    pooled = (means, _measure_spread(scores, means, pooling.sizes), errors)
    return write_results(trials.params, trials.n_leaves, scores, pooled)


def write_results(
    candidates: Sequence[Mapping[str, Any]],
    n_leaves: NDArray[np.integer[Any]],
    scores: Floats,
    pooled: Sequence[Floats],
) -> dict[str, Any]:
    """Write parameters, scores of the splits, and in `pooled` mean, spread and standard error."""
    results: dict[str, Any] = {}
    for name in candidates[0]:
        values = [params[name] for params in candidates]
        results[f"param_{name}"] = np.ma.MaskedArray(_as_array(values), mask=False)
    results["params"] = [dict(params) for params in candidates]
    for number, each in enumerate(scores.T):
        results[f"split{number}_test_score"] = each.copy()
    results |= dict(zip(POOLED, pooled, strict=True))
    results["rank_test_score"] = _rank(pooled[0])
    results["n_leaves"] = np.asarray(n_leaves, dtype=np.int64)
    return results


def _select_nested(trials: Trials, nested: NestedScores) -> NDArray[Any]:
    """The splits that have a nested score; where rows are pooled there is one score of all."""
    return np.zeros(1, dtype=int) if trials.scores.shape[1] == 1 else nested.split


def show_nested(trials: Trials, nested: NestedScores) -> dict[str, Any]:
    """Give the nested score of each split by itself."""
    pooling = trials.pooling.select(_select_nested(trials, nested))
    return {
        "test_score": pooling.show(nested.test_score),
        "best_params": nested.best_params,
        "inner_score": nested.inner_score,
        "split": nested.split,
    }


def summarise_trials(
    trials: Trials, index: int, baseline: Floats | None, nested: NestedScores | None
) -> dict[str, Any]:
    """Make one score of the splits: of the nested choices, of the choice, the best, and no split.

    All are over the same rows: those of the splits that have a nested score, if there are any.
    """
    splits = np.arange(trials.scores.shape[1])
    scores: dict[str, NDArray[Any]] = {}
    if nested is not None:
        splits = _select_nested(trials, nested)
        scores["nested"] = nested.test_score
    best = find_best(trials, index)
    scores["cross_validation"] = trials.scores[index][splits]
    scores["best_on_path"] = trials.scores[best][splits]
    if baseline is not None:
        scores["baseline"] = baseline[splits]
    pooling = trials.pooling.select(splits)
    rows = {name: summarise(each, pooling) for name, each in scores.items()}
    return {"definition": pooling.definition, "best_index": best, "rows": rows}


def _measure_spread(scores: Floats, means: Floats, sizes: Floats) -> Floats:
    """Standard deviation over the splits that have a score."""
    kept = sizes > 0 if (sizes > 0).any() else np.ones(len(sizes), dtype=bool)
    weights = None if (sizes[kept] == sizes[kept][0]).all() else sizes[kept]
    squares = (scores[:, kept] - means.reshape(-1, 1)) ** 2
    return np.asarray(np.sqrt(np.average(squares, axis=1, weights=weights)))


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
