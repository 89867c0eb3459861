"""scikit-learn's functions of cross-validation, with all trees grown together."""

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection as theirs
from sklearn.metrics import check_scoring
from sklearn.model_selection._validation import (
    _aggregate_score_dicts,
    _check_is_permutation,
    _enforce_prediction_order,
    _insert_error_scores,
    _normalize_score_results,
    _warn_or_raise_about_fit_failures,
)
from sklearn.preprocessing import LabelEncoder
from sklearn.utils._param_validation import StrOptions, make_constraint, validate_params

from treefold.evaluation.candidates import find_tree
from treefold.evaluation.engine import Engine, Result
from treefold.evaluation.judging import Judge
from treefold.evaluation.lazy_engine import LazyEngine, is_lazy
from treefold.evaluation.splits import Split
from treefold.family import Sharing
from treefold.model_selection.other_estimators import ask_scikit_learn
from treefold.model_selection.study import open_study
from treefold.scoring.cells import resolve_scoring

__all__ = ["cross_val_predict", "cross_val_score", "cross_validate", "validation_curve"]

_EXTRAS: dict[str, list[Any]] = {
    "return_predictions": [StrOptions({"predict", "predict_proba"}), None],
    "return_final_estimator": ["boolean"],
    "return_work": ["boolean"],
    "sharing": [StrOptions({"auto", "folds", "overlap", "none"})],
}
Arguments = dict[str, Any]


def _check_as(function: Any, **extras: list[Any]) -> Any:
    """Check arguments by the rules of scikit-learn's function, and in its words.

    Its own check reads the rules anew at each call, in a quarter of a millisecond: it is left to
    find the words for what does not pass.
    """
    rules = {**function._skl_parameter_constraints, **extras}
    ready = {
        name: [make_constraint(rule) for rule in allowed]
        for name, allowed in rules.items()
        if not isinstance(allowed, str)  # "no_validation"
    }

    def are_sound(arguments: Arguments) -> bool:
        return all(
            any(rule.is_satisfied_by(value) for rule in ready[name])
            for name, value in arguments.items()
            if name in ready
        )

    def decorate(run: Any) -> Any:
        refuse = validate_params(rules, prefer_skip_nested_validation=False)(run)
        signature = inspect.signature(run)

        @functools.wraps(run)
        def check(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            return (run if are_sound(given) else refuse)(*args, **kwargs)

        return check

    return decorate


@_check_as(theirs.cross_validate, **_EXTRAS)  # type: ignore[untyped-decorator]
def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: Mapping[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
    return_predictions: Literal["predict", "predict_proba"] | None = None,
    return_final_estimator: bool = False,
    return_work: bool = False,
    sharing: Sharing = "auto",
) -> dict[str, Any]:
    """Evaluate an estimator by cross-validation: scores and times of every split.

    The trees of all splits grow together from one encoded table, and each is, node by node, the
    tree that fitting to the split's training rows gives. Arguments and results are those of
    `sklearn.model_selection.cross_validate`; the last four arguments are new. Pipelines that end in
    a tree have their transformers fitted once per split; other estimators are handed to
    scikit-learn.

    Parameters
    ----------
    estimator : estimator
        A tree of treefold, lazy or not, a pipeline that ends in one, or any other estimator.
    X : array, sparse matrix, data frame, list of rows or Table
        The data; missing values allowed.
    y : array of shape (n_rows,), default=None
        The targets.
    groups : array of shape (n_rows,), default=None
        Groups of rows, for splitters that keep them together.
    scoring : str, callable, list, tuple, dict or None, default=None
        What to score by; None for the estimator's own `score`.
    cv : int, splitter, iterable of splits or None, default=None
        How to split; None for five folds.
    n_jobs : int, default=None
        Threads. None means one, or what the estimator says; -1 all cores.
    verbose : int, default=0
        1 shows on a terminal how much of the work is done.
    params : dict, default=None
        Passed to `fit` (such as `sample_weight`), or routed to fit, scorers and splitter if
        scikit-learn's metadata routing is enabled.
    pre_dispatch : int or str, default="2*n_jobs"
        Used by scikit-learn for estimators of other libraries.
    return_train_score, return_estimator, return_indices : bool, default=False
        Whether to return scores on training rows, the fitted estimators, the rows of each split.
    error_score : "raise" or number, default=nan
        The score of a split whose fit fails.
    return_predictions : {"predict", "predict_proba"}, default=None
        Return the predictions of each split's test rows, as a list in the order of the splits.
        None stands for a split whose fit failed.
    return_final_estimator : bool, default=False
        Return the estimator fitted to all rows, which grows with those of the splits.
    return_work : bool, default=False
        Return what the growth cost; `work["mode"]` tells how much was shared.
    sharing : {"auto", "folds", "overlap", "none"}, default="auto"
        How trees share work. The trees are the same.

    Returns
    -------
    dict
        `fit_time` (each tree's share of the growth), `score_time` and `test_score`, one value per
        split, or `test_<name>` for several metrics; and what else was asked for: `train_score`,
        `estimator`, `indices`, `predictions`, `final_estimator`, `work`. With leave-one-out, a
        metric that single rows do not have (ROC AUC, R2) is that of all held-out rows together, the
        same for every split; a `PooledScoreWarning` and `work["pooled"]` say so.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier
    >>> from treefold.model_selection import cross_validate
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = [0, 1, 0, 1, 1, 1]
    >>> results = cross_validate(
    ...     DecisionTreeClassifier(), X, y, cv=2, return_predictions="predict"
    ... )
    >>> sorted(results)
    ['fit_time', 'predictions', 'score_time', 'test_score']
    >>> results["test_score"].round(2).tolist()
    [0.33, 0.67]
    """
    asked = dict(locals())
    if find_tree(estimator) is None and not is_lazy(estimator):
        return ask_scikit_learn(asked)
    if return_predictions is not None and not hasattr(estimator, return_predictions):
        raise AttributeError(
            f"{type(estimator).__name__!r} has no {return_predictions!r}, which "
            'return_predictions asks for. Ask a regressor for "predict".'
        )
    scorers = resolve_scoring(estimator, scoring, error_score)
    study = open_study("cross_validate", asked, scorers.scorer)
    engine = (LazyEngine if is_lazy(estimator) else Engine)(
        estimator,
        Judge(study, scorers, error_score, return_train_score, return_predictions),
        return_estimator=return_estimator,
        keep=[None] if return_final_estimator else (),
        sharing=sharing,
        verbose=verbose,
    )
    results = engine.evaluate([None])
    times, scores = _summarise(results, scoring, error_score)
    answer = times
    if return_estimator:
        answer["estimator"] = [result["estimator"] for result in results]
    if return_indices:
        answer["indices"] = _list_indices(study.splits)
    answer |= scores
    if return_predictions is not None:
        answer["predictions"] = [result["predictions"] for result in results]
    if return_final_estimator:
        answer["final_estimator"] = engine.fit(0)[0]
    if return_work:
        answer["work"] = engine.work
    return answer


def _summarise(
    results: list[Result], scoring: Any, error_score: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Turn the results of splits into one array per name, as scikit-learn does."""
    _warn_or_raise_about_fit_failures(results, error_score)
    if callable(scoring):
        _insert_error_scores(results, error_score)
    columns = _aggregate_score_dicts(results)
    times = {name: columns[name] for name in ("fit_time", "score_time")}
    scores: dict[str, Any] = {}
    test = _normalize_score_results(columns["test_scores"])
    train = _normalize_score_results(columns["train_scores"]) if "train_scores" in columns else {}
    for name in test:
        scores[f"test_{name}"] = test[name]
        if train:
            scores[f"train_{name}"] = train[name]
    return times, scores


def _list_indices(splits: Sequence[Split]) -> dict[str, tuple[Any, ...]]:
    train, test = zip(*(split.pair for split in splits), strict=True)
    return {"train": train, "test": test}


@_check_as(theirs.cross_val_score)  # type: ignore[untyped-decorator]
def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: Mapping[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    error_score: Any = np.nan,
) -> NDArray[np.float64]:
    """Score an estimator by cross-validation.

    As `sklearn.model_selection.cross_val_score`, from one growth for all splits.

    Parameters
    ----------
    estimator, X, y, groups, scoring, cv, n_jobs, verbose, params, pre_dispatch, error_score
        As in `cross_validate`; `scoring` is a single metric.

    Returns
    -------
    ndarray of shape (n_splits,)
        The scores.

    Examples
    --------
    >>> from treefold import DecisionTreeRegressor
    >>> from treefold.model_selection import cross_val_score
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = [0.0, 0.0, 0.0, 9.0, 9.0, 9.0]
    >>> cv = [([0, 2, 3, 5], [1, 4]), ([1, 2, 4, 5], [0, 3])]
    >>> cross_val_score(DecisionTreeRegressor(), X, y, cv=cv)
    array([ 1., -1.])
    """
    asked = dict(locals())
    scorer = check_scoring(estimator, scoring=scoring)  # refuses several metrics
    scores: NDArray[np.float64] = cross_validate(**{**asked, "scoring": {"score": scorer}})[
        "test_score"
    ]
    return scores


@_check_as(theirs.cross_val_predict)  # type: ignore[untyped-decorator]
def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: Mapping[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    method: Any = "predict",
) -> Any:
    """Predict every row by the tree that did not see it.

    As `sklearn.model_selection.cross_val_predict`, from one growth for all splits.

    Parameters
    ----------
    estimator, X, y, groups, cv, n_jobs, verbose, params, pre_dispatch
        As in `cross_validate`; each row must be held out exactly once.
    method : {"predict", "predict_proba", "predict_log_proba"}, default="predict"
        What to predict.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        The predictions. A class that a split's training rows lack has probability 0 there. Other
        libraries' estimators may answer otherwise: by a sparse matrix, or a list of arrays.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier
    >>> from treefold.model_selection import cross_val_predict
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> cross_val_predict(DecisionTreeClassifier(), X, [0, 0, 1, 1], cv=2).tolist()
    [0, 0, 0, 1]
    """
    asked = dict(locals())
    if find_tree(estimator) is None or not hasattr(estimator, method):
        return theirs.cross_val_predict(**asked)
    study = open_study("cross_val_predict", asked)
    held_out = np.concatenate([split.test for split in study.splits])
    if not _check_is_permutation(held_out, study.n_rows):
        raise ValueError("cross_val_predict only works for partitions")
    judge = Judge(study, None, error_score="raise", predictions=method)
    results = Engine(estimator, judge, verbose=verbose).evaluate([None])
    predictions = [result["predictions"] for result in results]
    if method != "predict":
        predictions = _order_classes(predictions, study.y, study.splits, method)
    place_of = np.empty(len(held_out), dtype=np.intp)
    place_of[held_out] = np.arange(len(held_out))
    return np.asarray(np.concatenate(predictions)[place_of])


def _order_classes(
    predictions: list[NDArray[np.float64]], y: Any, splits: Sequence[Split], method: str
) -> list[NDArray[np.float64]]:
    """Give the predictions of each split a column for every class."""
    numbers = LabelEncoder().fit_transform(np.asarray(y).ravel())
    counts = np.bincount(numbers)

    def list_present(split: Split) -> NDArray[np.int64]:
        if split.listed_train is not None or split.left_out is not None:
            return np.unique(numbers[split.train])
        held_out = np.bincount(numbers[split.test], minlength=len(counts))
        return np.flatnonzero(counts > held_out)

    return [
        _enforce_prediction_order(list_present(split), shares, len(counts), method)
        for shares, split in zip(predictions, splits, strict=True)
    ]


@_check_as(theirs.validation_curve)  # type: ignore[untyped-decorator]
def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param_name: str,
    param_range: Sequence[Any],
    groups: Any = None,
    cv: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    pre_dispatch: Any = "all",
    verbose: int = 0,
    error_score: Any = np.nan,
    params: Mapping[str, Any] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score an estimator for each value of one parameter, on training and on test rows.

    As `sklearn.model_selection.validation_curve`. A curve over `max_depth`, `min_samples_split`,
    `min_impurity_decrease`, `max_leaf_nodes` or `ccp_alpha` needs one growth for all its values.

    Parameters
    ----------
    estimator, X, y, groups, cv, scoring, n_jobs, pre_dispatch, verbose, error_score, params
        As in `cross_validate`; `scoring` is a single metric.
    param_name : str
        The parameter.
    param_range : sequence
        Its values.

    Returns
    -------
    train_scores, test_scores : ndarray of shape (n_values, n_splits)
        The scores.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier
    >>> from treefold.model_selection import validation_curve
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = [0, 1, 0, 1, 0, 1]
    >>> train, test = validation_curve(
    ...     DecisionTreeClassifier(), X, y, param_name="max_depth", param_range=[1, 2, 3], cv=3
    ... )
    >>> train.mean(axis=1).round(2).tolist()
    [0.75, 0.75, 1.0]
    """
    asked = dict(locals())
    if find_tree(estimator) is None:
        train, test = theirs.validation_curve(**asked)
        return train, test
    check_scoring(estimator, scoring=scoring)  # refuses several metrics
    scorers = resolve_scoring(estimator, scoring, error_score)
    study = open_study("validation_curve", asked, scorers.scorer)
    judge = Judge(study, scorers, error_score, train_score=True)
    engine = Engine(estimator, judge, verbose=verbose)
    results = engine.evaluate([{param_name: value} for value in param_range])
    shape = (len(param_range), len(study.splits))
    train, test = (
        np.asarray([result[name] for result in results]).reshape(shape)
        for name in ("train_scores", "test_scores")
    )
    return train, test
