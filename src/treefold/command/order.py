"""Whether the rows of a file follow in an order that matters.

Shuffled folds hold out rows between others that are like them, if neighbours in the file are alike:
the next day, the same person. The chosen setting is cross-validated once more, on stretches of the
file. If it scores much worse there, shuffled folds say too much about rows to come.
"""

import math
from typing import Any

import numpy as np

from treefold.command.fitting import Model, Rescored, Study, read_score, score_again
from treefold.command.folds import follow_time
from treefold.command.mistakes import UserError
from treefold.command.options import FitOptions
from treefold.findings.folds import MOST_NESTED_FOLDS, Splits
from treefold.findings.numbers import show_score
from treefold.findings.target import Target

__all__ = ["check_order", "compare_times", "score_in_time", "word_order"]

_ERRORS = 2  # standard errors of the difference that are no accident: other seeds differ by one
_ROUNDING = 1e-9


def score_in_time(study: Study, model: Model, columns: Any, times: list[str]) -> Rescored | None:
    """Score the chosen setting on what is later than the rows that train; None: no such folds."""
    try:
        folds = follow_time(columns, ",".join(times), None)
    except UserError:  # too few different times
        return None
    return score_again(study, model, folds.splits)


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
    if order["is_sorted"]:
        return order
    splits = _cut(study.target, n_folds)
    again = score_again(study, model, splits)
    if again is None:
        return order
    shuffled = read_score(study, model)
    return {**order, **_compare(study, shuffled, again), "trees": again.n_trees}


def compare_times(
    study: Study, shuffled: Rescored, later: Rescored, naive: float
) -> dict[str, Any]:
    """Compare shuffled folds with later rows: suspicious if more than half of the gain is gone.

    Some of it always is, because the first stretches of time have few rows before them. How much
    scores of later rows vary does not count: they do so most where they are worst.
    """
    gain, rest = (study.measure.sign * (one.score - naive) for one in (shuffled, later))
    is_clear = gain - rest > _ERRORS * shuffled.standard_error + _ROUNDING
    return {**_compare(study, shuffled, later), "is_suspicious": is_clear and rest < gain / 2}


def _compare(study: Study, shuffled: Rescored, held: Rescored) -> dict[str, Any]:
    """Compare shuffled folds with others, which are suspicious if they score clearly lower."""
    bar = _ERRORS * math.hypot(shuffled.standard_error, held.standard_error) + _ROUNDING
    return {
        "score": held.score,
        "shuffled_score": shuffled.score,
        "standard_error": held.standard_error,
        "shuffled_standard_error": shuffled.standard_error,
        "is_suspicious": study.measure.sign * (shuffled.score - held.score) > bar,
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
