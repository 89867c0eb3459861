"""Scores in the words of people: names, signs, and what else is worth knowing of held-out rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics as theirs

from treefold.command.mistakes import UserError
from treefold.command.options import FitOptions
from treefold.command.target import Target

__all__ = ["Measure", "choose_measure", "measure_answers", "name_measure", "suggest_scores"]

Floats = NDArray[np.float64]

_NAMES = {
    "neg_brier_score": "Brier score",
    "r2": "R2",
    "roc_auc": "AUC",
    "f1": "F1",
    "neg_root_mean_squared_error": "root mean squared error",
}
_OF_ONE_CLASS = {
    "f1": theirs.f1_score,
    "precision": theirs.precision_score,
    "recall": theirs.recall_score,
    "jaccard": theirs.jaccard_score,
}
_OF_SHARES = ("decision_function", "predict_proba")


@dataclass(frozen=True, slots=True)
class Measure:
    """By what candidates are compared, and how that is called."""

    name: str  # scikit-learn's
    scoring: Any  # its scorer, where the name does not say it all
    title: str
    sign: int  # -1 where scikit-learn turns an error around

    @property
    def direction(self) -> str:
        """Which way is better."""
        return "lower is better" if self.sign < 0 else "higher is better"


def choose_measure(target: Target, options: FitOptions) -> Measure:
    """Choose the score that decides."""
    name = options.scoring
    if name is None:
        by_default = "neg_brier_score" if options.class_weight is None else "balanced_accuracy"
        name = by_default if target.is_class else "r2"
    if name not in theirs.get_scorer_names():
        raise UserError(
            f"--scoring: there is no score called '{name}'. Take one of scikit-learn's, such as "
            f"{suggest_scores(target)}."
        )
    scoring: Any = name
    if name in _OF_ONE_CLASS and target.is_binary:
        scoring = theirs.make_scorer(
            _OF_ONE_CLASS[name], pos_label=target.positive, zero_division=0.0
        )
    if name == "average_precision" and target.is_binary:
        scoring = theirs.make_scorer(
            theirs.average_precision_score, response_method=_OF_SHARES, pos_label=target.positive
        )
    return name_measure(name, scoring)


def name_measure(name: str, scoring: Any) -> Measure:
    """Say how a score is called, and which way is better."""
    title = _NAMES.get(name, name.removeprefix("neg_").replace("_", " "))
    return Measure(name, scoring, title, -1 if name.startswith("neg_") else 1)


def suggest_scores(target: Target) -> str:
    """Name scores that suit a target."""
    if not target.is_class:
        return "r2, neg_mean_absolute_error, neg_root_mean_squared_error"
    if target.is_binary:
        return "neg_brier_score, roc_auc, accuracy, balanced_accuracy, f1, neg_log_loss"
    return "neg_brier_score, accuracy, balanced_accuracy, f1_macro, neg_log_loss"


def measure_answers(
    target: Target, rows: NDArray[Any], answers: Floats, weights: Floats | None
) -> dict[str, float]:
    """Measure all answers to held-out rows together."""
    counts = np.ones(len(rows)) if weights is None else weights[rows]
    if target.codes is None:
        errors = target.values[rows] - answers
        squared = float(np.average(errors**2, weights=counts))
        return {
            "MAE": float(np.average(np.abs(errors), weights=counts)),
            "RMSE": float(np.sqrt(squared)),
        }
    truth = target.codes[rows]
    is_right = answers.argmax(axis=1) == truth
    found = {"accuracy": float(np.average(is_right, weights=counts))}
    if target.is_binary:
        found["AUC"] = _measure_auc(truth == 1, answers[:, 1], counts)
    else:
        total = np.bincount(truth, counts)
        right = np.bincount(truth, counts * is_right)
        found["balanced accuracy"] = float((right[total > 0] / total[total > 0]).mean())
    return found


def _measure_auc(is_second: NDArray[np.bool_], shares: Floats, counts: Floats) -> float:
    """Chance that a row of the second class has the larger share; ties count half.

    Trees give few different shares: the rows of each are added up.
    """
    levels, places = np.unique(shares, return_inverse=True)
    second = np.bincount(places, counts * is_second, len(levels))
    first = np.bincount(places, counts * ~is_second, len(levels))
    total = float(second.sum()) * float(first.sum())
    below = np.cumsum(first) - first
    return float(second @ (below + first / 2)) / total if total > 0 else float("nan")
