"""Out of bag: what the trees say of the rows that they have not seen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from treefold.data.target import Target
from treefold.estimators.bags import Bags
from treefold.estimators.ballot import Ballot
from treefold.exceptions import warn

__all__ = ["OutOfBag"]


class OutOfBag:
    """Collects, for each training row, the answers of the trees whose bag it is not in."""

    def __init__(self, bags: Bags, voting: str) -> None:
        self._target = bags.target
        self._ballot = Ballot(bags.table.n_rows, bags.target.n_classes, voting)
        self._n_trees = np.zeros(bags.table.n_rows, dtype=np.int64)

    def add(self, values: NDArray[np.float64], rows: NDArray[Any]) -> None:
        """Add what one tree says of the rows that are not in its bag."""
        self._ballot.add(values, rows)
        self._n_trees[rows] += 1

    def summarise(self) -> dict[str, Any]:
        """Give what an estimator knows of it: answers of all rows (NaN: none), and their score."""
        with np.errstate(invalid="ignore"):
            answers = self._ballot.count(self._n_trees)
        is_answered = self._n_trees > 0
        if not is_answered.all():
            warn(
                f"Some inputs do not have OOB scores: {np.count_nonzero(~is_answered)} of "
                f"{len(is_answered)} rows are in every bag. Their answers are NaN, and they have "
                "no part in oob_score_. Give more trees (n_estimators), or a smaller max_samples."
            )
        if self._target.weights is not None:
            is_answered &= self._target.weights != 0
        score = _score(self._target, answers, np.flatnonzero(is_answered))
        if self._target.n_classes:
            return {"oob_decision_function_": answers, "oob_score_": score}
        return {"oob_prediction_": answers[:, 0], "oob_score_": score}


def _score(target: Target, answers: NDArray[np.float64], rows: NDArray[Any]) -> float:
    """Accuracy, or R2; each row counts once, as in scikit-learn."""
    if not len(rows):
        return float("nan")
    truth, answers = target.values[rows], answers[rows]
    if target.n_classes:
        return float((answers.argmax(axis=1) == truth).mean())
    exponent = np.frexp(np.abs(truth).max())[1]  # R2 has no unit; the squares of huge numbers do
    return float(r2_score(np.ldexp(truth, -exponent), np.ldexp(answers[:, 0], -exponent)))
