"""What every function here does first: check the arguments, route `params`, ask for the splits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from treefold.exceptions import InputError, ParameterError
from treefold.model_selection.candidates import find_tree
from treefold.model_selection.fields import Data, rows_only
from treefold.model_selection.routing import Routed, route
from treefold.model_selection.splits import Split, read_splits
from treefold.table import Table
from treefold.threads import effective_n_jobs

__all__ = ["Study", "check_lengths", "make_data", "open_study"]


@dataclass(frozen=True, slots=True)
class Study:
    """Data, its splits, and who gets which parameters."""

    data: Data
    splits: list[Split]
    routed: Routed


def open_study(owner: str, asked: Mapping[str, Any], scorer: Any = None) -> Study:
    """Read what the caller of the function `owner` asked for, by the names of its arguments."""
    estimator = asked["estimator"]
    X, y = check_lengths(asked["X"], asked["y"])
    cv = check_cv(asked["cv"], y, classifier=is_classifier(estimator))
    routed = route(
        owner, asked["params"], asked["groups"], cv=cv, estimator=estimator, scorer=scorer
    )
    data = make_data(X, y, routed.fit, estimator, asked["n_jobs"])
    splits = read_splits(cv, rows_only(X), y, data.n_rows, **routed.split)
    if not splits:
        raise InputError(f"{cv!r} gives no split of these data, so that nothing can be fitted.")
    return Study(data, splits, routed)


def check_lengths(X: Any, y: Any) -> tuple[Any, Any]:
    """Make sure that rows can be taken from X and y, as scikit-learn does."""
    if isinstance(X, Table):
        indexable(rows_only(X), y)
        return X, y
    checked_X, checked_y = indexable(X, y)
    return checked_X, checked_y


def make_data(X: Any, y: Any, fit_params: Mapping[str, Any], estimator: Any, n_jobs: Any) -> Data:
    """Put together what the caller passed."""
    return Data(X, y, fit_params, _count_threads(n_jobs, estimator))


def _count_threads(n_jobs: Any, estimator: Any) -> int:
    """Count the threads that the call or the tree asks for, whichever is more."""
    threads = effective_n_jobs(n_jobs)
    tree = find_tree(estimator)
    try:
        return max(threads, effective_n_jobs(None if tree is None else tree.n_jobs))
    except ParameterError:  # the tree's own: what its fit says of it
        return threads
