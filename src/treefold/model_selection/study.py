"""What every function here does first: check the arguments, route `params`, ask for the splits."""

from collections.abc import Mapping
from typing import Any

from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from treefold.data.table import Table
from treefold.evaluation.candidates import find_tree
from treefold.evaluation.splits import read_splits
from treefold.evaluation.study import Study, rows_only
from treefold.exceptions import InputError, ParameterError
from treefold.model_selection.routing import route
from treefold.threads import effective_n_jobs

__all__ = ["check_lengths", "count_threads", "open_study"]


def open_study(owner: str, asked: Mapping[str, Any], scorer: Any = None) -> Study:
    """Read what the caller of the function `owner` asked for, by the names of its arguments."""
    estimator = asked["estimator"]
    X, y = check_lengths(asked["X"], asked["y"])
    cv = check_cv(asked["cv"], y, classifier=is_classifier(estimator))
    split_params, fit_params, score_params = route(
        owner, asked["params"], asked["groups"], cv=cv, estimator=estimator, scorer=scorer
    )
    n_threads = count_threads(asked["n_jobs"], estimator)
    rows = rows_only(X)
    splits = read_splits(cv, rows, y, _num_samples(X), **split_params)
    if not splits:
        raise InputError(f"{cv!r} gives no split of these data, so that nothing can be fitted.")
    return Study(X, y, splits, fit_params, score_params, n_threads)


def check_lengths(X: Any, y: Any) -> tuple[Any, Any]:
    """Make sure that rows can be taken from X and y, as scikit-learn does."""
    if isinstance(X, Table):
        indexable(rows_only(X), y)
        return X, y
    checked_X, checked_y = indexable(X, y)
    return checked_X, checked_y


def count_threads(n_jobs: Any, estimator: Any) -> int:
    """Count the threads that the call or the tree asks for, whichever is more."""
    threads = effective_n_jobs(n_jobs)
    tree = find_tree(estimator)
    try:
        return max(threads, effective_n_jobs(None if tree is None else tree.n_jobs))
    except ParameterError:  # the tree's own: what its fit says of it
        return threads
