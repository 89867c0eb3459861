"""A rule of choice: the simplest candidate that is not clearly worse than the best."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import ParameterError

__all__ = ["one_standard_error"]

# What makes a tree simpler, the most telling first: whether smaller or larger values do.
_SIMPLER = {
    "max_leaf_nodes": "smaller",
    "max_depth": "smaller",
    "min_samples_leaf": "larger",
    "min_weight_fraction_leaf": "larger",
    "min_samples_split": "larger",
    "ccp_alpha": "larger",
    "min_impurity_decrease": "larger",
    "min_samples_category": "larger",
}


def one_standard_error(cv_results: Mapping[str, Any], *, metric: str = "score") -> int:
    """Choose the simplest candidate whose score is within one standard error of the best.

    To be given as `refit` to a search of treefold or of scikit-learn. The standard error is that of
    the best candidate's mean score: the standard deviation over the splits (with `ddof=1`) divided
    by the square root of their number. Of two candidates the simpler one has the smaller
    `max_leaf_nodes`; if they do not differ in it, the smaller `max_depth`, then the larger
    `min_samples_leaf`, `min_weight_fraction_leaf`, `min_samples_split`, `ccp_alpha`,
    `min_impurity_decrease` or `min_samples_category`, in this order. Candidates that are
    equally simple are ranked by score, then by place. Parameters of a pipeline's tree count
    too.

    Parameters
    ----------
    cv_results : dict
        `cv_results_` of the search.
    metric : str, default="score"
        The metric to choose by, if there are several: give
        `functools.partial(one_standard_error, metric="accuracy")`.

    Returns
    -------
    int
        Index of the candidate.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier
    >>> from treefold.model_selection import GridSearchCV, one_standard_error
    >>> X, y = [[float(row)] for row in range(12)], [0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1]
    >>> grid = {"max_depth": [3, 2, 1]}
    >>> search = GridSearchCV(DecisionTreeClassifier(), grid, refit=one_standard_error, cv=3)
    >>> search.fit(X, y).best_params_
    {'max_depth': 1}
    """
    scores = _list_scores(cv_results, metric)
    means = np.asarray(cv_results[f"mean_test_{metric}"], dtype=np.float64)
    if np.isnan(means).all():
        return 0
    best = int(np.nanargmax(means))
    n_splits = scores.shape[1]
    error = float(np.std(scores[best], ddof=1)) / math.sqrt(n_splits) if n_splits > 1 else 0.0
    eligible = np.flatnonzero(means >= means[best] - error).tolist()
    params = cv_results["params"]
    return int(min(eligible, key=lambda index: (_complexity(params[index]), -means[index], index)))


def _list_scores(cv_results: Mapping[str, Any], metric: str) -> NDArray[np.float64]:
    """The score of each candidate on each split."""
    if f"mean_test_{metric}" not in cv_results:
        known = [name.removeprefix("mean_test_") for name in cv_results if "mean_test_" in name]
        raise ParameterError(
            f"one_standard_error cannot choose by the metric {metric!r}: the search has {known}. "
            "Give refit=functools.partial(one_standard_error, metric=...)."
        )
    columns: list[Any] = []
    while f"split{len(columns)}_test_{metric}" in cv_results:
        columns.append(cv_results[f"split{len(columns)}_test_{metric}"])
    return np.column_stack(columns)


def _complexity(params: Mapping[str, Any]) -> tuple[tuple[bool, float], ...]:
    """Turn parameters into a key that is smaller for simpler trees."""
    own = {name.rsplit("__", 1)[-1]: value for name, value in params.items()}
    return tuple(_measure(own.get(name), direction) for name, direction in _SIMPLER.items())


def _measure(value: Any, direction: str) -> tuple[bool, float]:
    if not isinstance(value, Real) or isinstance(value, bool):
        return True, math.inf  # no limit
    if direction == "smaller":
        return False, float(value)
    is_count = isinstance(value, Integral)  # a share of the rows is taken to be more than a count
    return is_count, -float(value)
