"""Whether the rows of a file follow in an order that matters.

Shuffled folds hold out rows between others that are like them, if neighbours in the file are alike:
the next day, the same person. The chosen setting is cross-validated once more, on stretches of the
file. If it scores much worse there, shuffled folds say too much about rows to come.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.base_cv import Evidence
from treefold.command.drawing import show_score
from treefold.command.fitting import MOST_NESTED_FOLDS, Model, Study
from treefold.command.folds import Splits
from treefold.command.options import FitOptions
from treefold.command.target import Target

__all__ = ["check_order", "word_order"]

_ERRORS = 2  # standard errors of the difference that are no accident: other seeds differ by one
_ROUNDING = 1e-9


def check_order(study: Study, options: FitOptions, model: Model) -> dict[str, Any] | None:
    """Compare stretches of the file with shuffled folds; None if that would say nothing.

    It would not where folds are not shuffled, where the tree has no split, and where the rows are
    sorted by a target of numbers, of which each stretch has other ones.
    """
    n_folds = study.folds.n_folds
    is_asked = options.groups or options.time or options.folds
    if is_asked or n_folds > MOST_NESTED_FOLDS or model.get_n_leaves() < 2:
        return None
    order: dict[str, Any] = {"is_sorted": _is_sorted(study.target), "is_suspicious": False}
    splits = _cut(study.target, n_folds)
    if order["is_sorted"] or not _have_weight(splits, study.weights):
        return order
    names = model._get_param_names()
    chosen = {name: value for name, value in model.best_params_.items() if name in names}
    asked = {"cv": splits, "scoring": study.measure.scoring, "n_jobs": options.jobs}
    again = type(model)(**{**chosen, **asked}, store_cv_predictions=False)
    evidence = Evidence()
    again._fit_evidence(study.table, study.target.values, study.weights, {}, evidence)
    shuffled, error = _read_score(model)
    found, own_error = _read_score(again)
    bar = _ERRORS * math.hypot(error, own_error) + _ROUNDING
    return {
        **order,
        "score": study.measure.sign * found + 0.0,
        "shuffled_score": study.measure.sign * shuffled + 0.0,
        "standard_error": own_error,
        "shuffled_standard_error": error,
        "is_suspicious": bool(shuffled - found > bar),
        "trees": evidence.n_trees,
    }


def word_order(order: dict[str, Any], study: Study) -> tuple[str, str] | None:
    """Say what was found: a kind, "warnings" or "hints", and a text; None if nothing is to say."""
    cure = (
        "If they follow in time, give --time COLUMN; if neighbours belong together (a person, a "
        "day, a machine), --groups COLUMN."
    )
    if order["is_sorted"]:
        text = f"The rows are sorted by '{study.target.name}', so that their order tells nothing."
        return "hints", f"{text} {cure}"
    if not order["is_suspicious"]:
        return None
    parts = (("", "held out in stretches of the file"), ("shuffled_", "shuffled"))
    scores = [
        f"{show_score(order[f'{name}score'])} \u00b1 {order[f'{name}standard_error']:.4f} {how}"
        for name, how in parts
    ]
    return "warnings", (
        "Suspicious: the rows seem to follow in an order that matters. Their "
        f"{study.measure.title} is {', but '.join(scores)}, which may be too good. {cure}"
    )


def _is_sorted(target: Target) -> bool:
    """Whether the rows rise, or fall, with a target of numbers."""
    if target.is_class:
        return False
    steps = np.diff(target.values)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _cut(target: Target, n_folds: int) -> Splits:
    """Hold out one stretch of the file after the other; of classes, a stretch of each of them."""
    n_rows = len(target.values)
    strata = np.zeros(n_rows, dtype=np.int64) if target.codes is None else target.codes
    fold_of = np.empty(n_rows, dtype=np.int64)
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        fold_of[rows] = np.arange(len(rows)) * n_folds // len(rows)
    every = [fold_of == fold for fold in range(n_folds)]
    return [(np.flatnonzero(~inside), np.flatnonzero(inside)) for inside in every if inside.any()]


def _have_weight(splits: Splits, weights: NDArray[np.float64] | None) -> bool:
    """Whether every split has rows on both sides that count."""
    if weights is None:
        return True
    return all(bool(weights[rows].any()) for split in splits for rows in split)


def _read_score(model: Model) -> tuple[float, float]:
    """The cross-validated score of the chosen setting, and its standard error."""
    index = model.best_index_
    results = model.cv_results_
    return float(results["mean_test_score"][index]), float(results["se_test_score"][index])
