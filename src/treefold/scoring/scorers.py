"""Which scorer of scikit-learn computes which metric, and of what."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn import metrics as theirs
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics._scorer import _PassthroughScorer, _Scorer
from sklearn.pipeline import Pipeline

from treefold.scoring import metrics
from treefold.scoring.metrics import Scores

__all__ = ["Metric", "has_single_rows", "recognise"]

_PROBA = ("predict_proba", ("decision_function", "predict_proba"))


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of `treefold.scoring.metrics` and the arguments that it shares with scikit-learn's.

    `compute` gives None where scikit-learn has to be asked.
    """

    compute: Callable[..., Scores | None]
    defaults: Mapping[str, Any]
    responses: tuple[Any, ...] = ("predict",)
    is_for_classes: bool = True
    sign: int = 1


def _numeric(compute: Callable[..., Scores | None]) -> Metric:
    return Metric(compute, {}, is_for_classes=False)


_METRICS = {
    theirs.accuracy_score: Metric(metrics.accuracy, {}),
    theirs.balanced_accuracy_score: Metric(metrics.balanced_accuracy, {}),
    theirs.f1_score: Metric(metrics.f1, {"average": "binary", "pos_label": 1}),
    theirs.log_loss: Metric(metrics.log_loss, {"labels": None}, _PROBA),
    theirs.brier_score_loss: Metric(metrics.brier, {"pos_label": None, "labels": None}, _PROBA),
    theirs.roc_auc_score: Metric(
        metrics.roc_auc, {"multi_class": "raise", "average": "macro"}, _PROBA
    ),
    theirs.r2_score: _numeric(metrics.r2),
    theirs.mean_squared_error: _numeric(metrics.squared_error),
    theirs.mean_absolute_error: _numeric(metrics.absolute_error),
    theirs.root_mean_squared_error: _numeric(metrics.root_squared_error),
}


def recognise(scorer: Any) -> Metric | None:
    """Find the metric that a scorer of scikit-learn computes; None if it is not one of ours."""
    if isinstance(scorer, _PassthroughScorer):
        return _METRICS.get(_find_own_score(scorer._estimator))
    if type(scorer) is not _Scorer:
        return None
    metric = _METRICS.get(_name_function(scorer))
    if metric is None or scorer._response_method not in metric.responses:
        return None
    if not scorer._kwargs.keys() <= metric.defaults.keys():
        return None
    arguments = {**metric.defaults, **scorer._kwargs}
    return Metric(
        partial(metric.compute, **arguments) if arguments else metric.compute,
        arguments,
        metric.responses,
        metric.is_for_classes,
        scorer._sign,
    )


def _name_function(scorer: Any) -> Hashable:
    """Tell what a scorer computes; what has no hash is nothing that we know."""
    function = scorer._score_func
    return function if isinstance(function, Hashable) else None


def _find_own_score(estimator: Any) -> Any:
    """Find what the `score` method computes that classifiers and regressors inherit."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    score = getattr(type(estimator), "score", None)
    if score is ClassifierMixin.score:
        return theirs.accuracy_score
    return theirs.r2_score if score is RegressorMixin.score else None


# Metrics that a single row does not have: of it, scikit-learn gives NaN or an error.
_OF_MANY_ROWS = {
    theirs.d2_absolute_error_score,
    theirs.d2_brier_score,
    theirs.d2_log_loss_score,
    theirs.d2_pinball_score,
    theirs.d2_tweedie_score,
    theirs.r2_score,
    theirs.roc_auc_score,
}
_OF_MANY_ROWS_WITHOUT_LABELS = {theirs.log_loss, theirs.top_k_accuracy_score}
_OF_MANY_CLASSES_WITHOUT_LABELS = {theirs.average_precision_score, theirs.brier_score_loss}


def has_single_rows(scorer: Any, n_classes: int) -> bool:
    """Whether a single row has a score."""
    if isinstance(scorer, _PassthroughScorer):
        return _find_own_score(scorer._estimator) not in _OF_MANY_ROWS
    if not isinstance(scorer, _Scorer):
        return True
    function, labels = _name_function(scorer), scorer._kwargs.get("labels")
    if function in _OF_MANY_ROWS:
        return False
    lacks_labels = function in _OF_MANY_ROWS_WITHOUT_LABELS or (
        n_classes > 2 and function in _OF_MANY_CLASSES_WITHOUT_LABELS
    )
    return labels is not None or not lacks_labels
