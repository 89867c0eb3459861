"""The score that decides, as options name it."""

from typing import Any

from sklearn import metrics as theirs

from treefold.command.mistakes import UserError
from treefold.command.options import FitOptions
from treefold.findings.measures import Measure, name_measure
from treefold.findings.target import Target

__all__ = ["choose_measure", "suggest_scores"]

_OF_ONE_CLASS = {
    "f1": theirs.f1_score,
    "precision": theirs.precision_score,
    "recall": theirs.recall_score,
    "jaccard": theirs.jaccard_score,
}
_OF_SHARES = ("decision_function", "predict_proba")


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


def suggest_scores(target: Target) -> str:
    """Name scores that suit a target."""
    if not target.is_class:
        return "r2, neg_mean_absolute_error, neg_root_mean_squared_error"
    if target.is_binary:
        return "neg_brier_score, roc_auc, accuracy, balanced_accuracy, f1, neg_log_loss"
    return "neg_brier_score, accuracy, balanced_accuracy, f1_macro, neg_log_loss"
