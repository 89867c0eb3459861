"""Estimators of other libraries: scikit-learn evaluates them; what it does not give is added."""

import inspect
from collections.abc import Mapping
from typing import Any

from sklearn import model_selection as theirs
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.metaestimators import _safe_split

from treefold.model_selection.routing import route
from treefold.scoring.cells import resolve_scoring

__all__ = ["ask_scikit_learn"]


def ask_scikit_learn(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Let scikit-learn evaluate an estimator that is not ours, and add what it does not give."""
    method = asked["return_predictions"]
    known = inspect.signature(theirs.cross_validate).parameters
    passed = {name: value for name, value in asked.items() if name in known}
    passed["return_estimator"] |= method is not None
    passed["return_indices"] |= method is not None
    answer: dict[str, Any] = theirs.cross_validate(**passed)
    if method is not None:
        answer["predictions"] = _predict_each(answer, asked["X"], method)
    for name in ("estimator", "indices"):
        if not asked[f"return_{name}"]:
            answer.pop(name, None)
    if asked["return_final_estimator"]:
        answer["final_estimator"] = clone(asked["estimator"]).fit(
            asked["X"], asked["y"], **_route_fit(asked)
        )
    if asked["return_work"]:
        answer["work"] = {"mode": "scikit-learn"}
    return answer


def _predict_each(answer: dict[str, Any], X: Any, method: str) -> list[Any]:
    """Predict the test rows of each split; None where the fit has failed."""
    (rows,) = indexable(X)
    predictions: list[Any] = []
    splits = zip(answer["indices"]["train"], answer["indices"]["test"], strict=True)
    for fitted, (train, test) in zip(answer["estimator"], splits, strict=True):
        held_out, _ = _safe_split(fitted, rows, None, test, train)
        try:
            predictions.append(getattr(fitted, method)(held_out))
        except NotFittedError:
            predictions.append(None)
    return predictions


def _route_fit(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    estimator = asked["estimator"]
    cv = check_cv(asked["cv"], asked["y"], classifier=is_classifier(estimator))
    scorer = resolve_scoring(estimator, asked["scoring"], asked["error_score"]).scorer
    options = {"cv": cv, "estimator": estimator, "scorer": scorer}
    _, fit_params, _ = route("cross_validate", asked["params"], asked["groups"], **options)
    return fit_params
