"""Scores in the words of people: names, signs, and what else is worth knowing of held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.findings.target import Target
from treefold.scoring.pooling import Pooling

__all__ = ["Measure", "define_extras", "measure_answers", "name_measure"]

Floats = NDArray[np.float64]

_NAMES = {
    "neg_brier_score": "Brier score",
    "r2": "R2",
    "roc_auc": "AUC",
    "f1": "F1",
    "neg_root_mean_squared_error": "RMSE",
    "neg_mean_absolute_error": "MAE",
}


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


def name_measure(name: str, scoring: Any) -> Measure:
    """Say how a score is called, and which way is better."""
    title = _NAMES.get(name, name.removeprefix("neg_").replace("_", " "))
    return Measure(name, scoring, title, -1 if name.startswith("neg_") else 1)


def measure_answers(
    target: Target,
    parts: Sequence[tuple[NDArray[Any], Floats]],
    weights: Floats | None,
    measure: Measure,
) -> dict[str, float]:
    """Measure the answers to the held-out rows of some splits by what is not the measure itself.

    AUC and balanced accuracy are means over the splits that have them; all others are of all rows.
    """
    rows, answers = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    counts = np.ones(len(rows)) if weights is None else weights[rows]
    if target.codes is None:
        errors = target.values[rows] - answers
        squared = float(np.average(errors**2, weights=counts))
        absolute = float(np.average(np.abs(errors), weights=counts))
        found = {"MAE": absolute, "RMSE": float(np.sqrt(squared))}
    else:
        truth = target.codes[rows]
        is_right = answers.argmax(axis=1) == truth
        found = {"accuracy": float(np.average(is_right, weights=counts))}
        measure_split = _measure_auc if target.is_binary else _measure_recall
        of_splits = [measure_split(target, *part, weights) for part in parts]
        known = [one for one in of_splits if not np.isnan(one)]
        name = "AUC" if target.is_binary else "balanced accuracy"
        found[name] = float(np.mean(known)) if known else float("nan")
    return {name: value for name, value in found.items() if name != measure.title}


def define_extras(
    target: Target, tests: Sequence[NDArray[Any]], weights: Floats | None, measure: Measure
) -> dict[str, str]:
    """Say how each number of `measure_answers` comes about."""
    rows, root = Pooling(np.ones(2), over="rows"), Pooling(np.ones(2), "root")
    found = {"MAE": rows, "RMSE": root}
    if target.codes is not None:
        codes = target.codes
        existing = [test if weights is None else test[weights[test] > 0] for test in tests]
        has_both = np.array([len(np.unique(codes[one])) == 2 for one in existing], dtype=float)
        found = {"accuracy": rows}
        if target.is_binary:
            found["AUC"] = Pooling(has_both, over="both")
        else:
            found["balanced accuracy"] = Pooling(np.ones(len(tests)))
    return {name: one.definition for name, one in found.items() if name != measure.title}


def _measure_recall(
    target: Target, rows: NDArray[Any], answers: Floats, weights: Floats | None
) -> float:
    """Mean over the classes that a split holds of the share that is right."""
    assert target.codes is not None
    truth = target.codes[rows]
    counts = np.ones(len(rows)) if weights is None else weights[rows]
    total = np.bincount(truth, counts)
    right = np.bincount(truth, counts * (answers.argmax(axis=1) == truth))
    return float((right[total > 0] / total[total > 0]).mean())


def _measure_auc(
    target: Target, rows: NDArray[Any], answers: Floats, weights: Floats | None
) -> float:
    """Chance that a row of the second class has the larger share; ties count half.

    Trees give few different shares: the rows of each are added up. NaN without both classes.
    """
    assert target.codes is not None
    is_second = target.codes[rows] == 1
    counts = np.ones(len(rows)) if weights is None else weights[rows]
    levels, places = np.unique(answers[:, 1], return_inverse=True)
    second = np.bincount(places, counts * is_second, len(levels))
    first = np.bincount(places, counts * ~is_second, len(levels))
    total = float(second.sum()) * float(first.sum())
    below = np.cumsum(first) - first
    return float(second @ (below + first / 2)) / total if total > 0 else float("nan")
