"""scikit-learn's searches, where candidates that can share a tree do."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sklearn import get_config
from sklearn import model_selection as theirs
from sklearn.base import is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv
from sklearn.model_selection._validation import (
    _insert_error_scores,
    _warn_or_raise_about_fit_failures,
)
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_method_params, _num_samples

from treefold.evaluation.candidates import find_tree
from treefold.evaluation.engine import Engine, Result
from treefold.evaluation.judging import Judge
from treefold.evaluation.splits import read_splits
from treefold.evaluation.study import Study, rows_only
from treefold.model_selection.study import check_lengths, count_threads
from treefold.scoring.cells import resolve_scoring

__all__ = ["GridSearchCV", "RandomizedSearchCV", "tabulate"]


class _SharedSearch:
    """Replaces the loop over candidates and splits; everything else is scikit-learn's."""

    def _list_candidates(self) -> Iterable[Mapping[str, Any]]:
        raise NotImplementedError

    def __sklearn_tags__(self: Any) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags

    def fit(self: Any, X: Any, y: Any = None, **params: Any) -> Any:
        """Evaluate all candidates, and fit the best one to all rows.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The data.
        y : array of shape (n_rows,), default=None
            The targets.
        **params
            Passed to `fit` of the estimator (such as `sample_weight`), to the scorer and to the
            splitter (`groups`), as in scikit-learn.

        Returns
        -------
        self
            The fitted search.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> from treefold.model_selection import GridSearchCV
        >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
        >>> search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2)
        >>> search.fit(X, [0, 0, 1, 0, 0, 1]).best_params_
        {'max_depth': 1}
        """
        if find_tree(self.estimator) is None or getattr(self, "_skl_callbacks", None):
            super().fit(X, y, **params)  # type: ignore[misc]
            self.work_ = {"mode": "scikit-learn"}
            return self
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()
        found = _Search(self, X, y, params).run()
        self.__dict__.update(found)  # all at once: an interrupted search leaves nothing behind
        return self


class _Search:
    """One call of `fit`: reads the arguments, evaluates, and gives the attributes to be set."""

    def __init__(self, search: Any, X: Any, y: Any, params: Mapping[str, Any]) -> None:
        self.search = search
        search._get_scorers()  # refuses a `refit` that does not fit the metrics
        self.scoring = resolve_scoring(search.estimator, search.scoring, search.error_score)
        X, y = check_lengths(X, y)
        routed = search._get_routed_params_for_fit(_check_method_params(X, params=params))
        cv = check_cv(search.cv, y, classifier=is_classifier(search.estimator))
        n_threads = count_threads(search.n_jobs, search.estimator)
        rows = rows_only(X)
        self.n_splits = cv.get_n_splits(rows, y, **routed.splitter.split)
        splits = read_splits(cv, rows, y, _num_samples(X), **routed.splitter.split)
        if len(splits) != self.n_splits:
            raise ValueError(
                "cv.split and cv.get_n_splits return inconsistent results. "
                f"Expected {self.n_splits} splits, got {len(splits)}"
            )
        self.study = Study(X, y, splits, routed.estimator.fit, routed.scorer.score, n_threads)
        self.cv = cv

    def run(self) -> dict[str, Any]:
        """Evaluate, choose and refit."""
        search = self.search
        engine = self._make_engine()
        candidates = list(search._list_candidates())
        if search.verbose > 0:
            n_fits = len(candidates) * self.n_splits
            print(
                f"Fitting {self.n_splits} folds for each of {len(candidates)} candidates, "
                f"totalling {n_fits} fits"
            )
        results = engine.evaluate(candidates)
        table = tabulate(search, candidates, results)
        found = {
            "_checked_cv_orig": self.cv,
            "n_splits_": self.n_splits,
            "multimetric_": isinstance(results[0]["test_scores"], dict),
            "scorer_": self.scoring.scorers if self.scoring.is_multimetric else self.scoring.scorer,
            "cv_results_": table,
            "work_": engine.work,
        }
        found |= self._choose(table, results[0]["test_scores"])
        if search.refit:
            found |= _refit(engine, found["best_index_"])
        return found

    def _make_engine(self) -> Engine:
        search = self.search
        judge = Judge(self.study, self.scoring, search.error_score, search.return_train_score)
        keep = [None] if search.refit else []
        return Engine(search.estimator, judge, keep=keep, verbose=search.verbose)

    def _choose(self, table: dict[str, Any], scores: Any) -> dict[str, Any]:
        search = self.search
        is_multimetric = isinstance(scores, dict)
        if callable(search.scoring) and is_multimetric:
            search._check_refit_for_multimetric(scores)
        if not (search.refit or not is_multimetric):
            return {}
        metric = search.refit if is_multimetric else "score"
        best = search._select_best_index(search.refit, metric, table)
        chosen = {"best_index_": best, "best_params_": table["params"][best]}
        if not callable(search.refit):
            chosen["best_score_"] = table[f"mean_test_{metric}"][best]
        return chosen


def tabulate(
    search: Any, candidates: Sequence[Mapping[str, Any]], results: list[Result]
) -> dict[str, Any]:
    """Warn of fits that failed, and write `cv_results_`."""
    if not results:
        raise ValueError(
            "No fits were performed. Was the CV iterator empty? Were there no candidates?"
        )
    _warn_or_raise_about_fit_failures(results, search.error_score)
    if callable(search.scoring):
        _insert_error_scores(results, search.error_score)
    n_splits = len(results) // len(candidates)
    table: dict[str, Any] = search._format_results(candidates, n_splits, results)
    return table


def _refit(engine: Engine, best: int) -> dict[str, Any]:
    estimator, seconds = engine.fit(best)
    found = {"best_estimator_": estimator, "refit_time_": seconds}
    if hasattr(estimator, "feature_names_in_"):
        found["feature_names_in_"] = estimator.feature_names_in_
    return found


class GridSearchCV(_SharedSearch, theirs.GridSearchCV):  # type: ignore[misc]
    """Search a grid of parameters by cross-validation, growing as few trees as there can be.

    As `sklearn.model_selection.GridSearchCV`, with the same attributes and the same values in them.
    Values of `max_depth`, `min_samples_split`, `min_impurity_decrease`, `max_leaf_nodes` and
    `ccp_alpha` are read off one tree per split; values of `min_samples_leaf`,
    `min_weight_fraction_leaf`, `criterion` and `class_weight` grow together; other parameters take
    a growth for each value. The estimator may be a pipeline that ends in a tree; estimators of
    other libraries are handed to scikit-learn.

    Parameters
    ----------
    estimator : estimator
        A decision tree of treefold, a pipeline that ends in one, or any other estimator.
    param_grid : dict, or list of dicts
        Values of each parameter.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in scikit-learn; `n_jobs` counts threads. `refit` may be `one_standard_error`.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, cv_results_, scorer_, n_splits_
        As in scikit-learn.
    refit_time_ : float
        Seconds for the tree of all rows: its share, where it grew with the others.
    work_ : dict
        What the growth cost; `work_["mode"]` tells how much was shared, `work_["pooled"]` which
        metrics are those of all held-out rows (leave-one-out, ROC AUC and the like).

    Examples
    --------
    >>> from treefold import DecisionTreeRegressor
    >>> from treefold.model_selection import GridSearchCV
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = [1.0, 1.0, 1.0, 5.0, 5.0, 9.0]
    >>> grid = {"max_depth": [1, 2, 3], "ccp_alpha": [0.0, 0.1]}
    >>> search = GridSearchCV(DecisionTreeRegressor(), grid, cv=3).fit(X, y)
    >>> len(search.cv_results_["params"])
    6
    """

    def _list_candidates(self) -> Iterable[Mapping[str, Any]]:
        candidates: Iterable[Mapping[str, Any]] = ParameterGrid(self.param_grid)
        return candidates


class RandomizedSearchCV(_SharedSearch, theirs.RandomizedSearchCV):  # type: ignore[misc]
    """Search random combinations of parameters by cross-validation.

    As `sklearn.model_selection.RandomizedSearchCV`; see `GridSearchCV` for what is shared.

    Parameters
    ----------
    estimator : estimator
        A decision tree of treefold, a pipeline that ends in one, or any other estimator.
    param_distributions : dict, or list of dicts
        Values, or a distribution, of each parameter.
    n_iter : int, default=10
        Number of candidates.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, random_state, error_score, return_train_score
        As in scikit-learn; `n_jobs` counts threads.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, cv_results_, scorer_, n_splits_
        As in scikit-learn.
    refit_time_, work_
        As in `GridSearchCV`.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier
    >>> from treefold.model_selection import RandomizedSearchCV
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> search = RandomizedSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": range(1, 9)}, n_iter=3, cv=2, random_state=0
    ... )
    >>> len(search.fit(X, [0, 0, 1, 0, 0, 1]).cv_results_["params"])
    3
    """

    def _list_candidates(self) -> Iterable[Mapping[str, Any]]:
        candidates: Iterable[Mapping[str, Any]] = ParameterSampler(
            self.param_distributions, self.n_iter, random_state=self.random_state
        )
        return candidates
