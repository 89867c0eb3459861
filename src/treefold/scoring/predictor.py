"""An estimator for one set of rows, whose answers are known: what a scorer is called with."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from treefold.scoring.metrics import Answers

__all__ = ["make_predictor"]


def make_predictor(answers: Answers, cell: int, X: Any) -> Any:
    """Make a fitted classifier or regressor that answers for X as one cell does."""
    nodes = answers.node_of[cell]
    if answers.classes is None:
        return _NumberPredictor(X, answers.value[:, 0].take(nodes))
    trained = answers.trained
    return _ClassPredictor(X, answers.value[nodes][:, trained], answers.classes[trained])


class _Predictor(BaseEstimator):  # type: ignore[misc]
    """A fitted estimator for one X, whose answers are known."""

    def __init__(self, X: Any = None, values: Any = None) -> None:
        self.X = X
        self.values = values

    def fit(self, X: Any, y: Any) -> "_Predictor":
        raise RuntimeError("This estimator stands for a fitted tree and cannot be fitted.")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _answers(self, X: Any) -> Any:
        if X is not self.X:
            raise ValueError(
                "A scorer asked for predictions of data other than the held-out rows. Search with "
                "scikit-learn's functions if a scorer needs that."
            )
        return self.values


class _ClassPredictor(ClassifierMixin, _Predictor):  # type: ignore[misc]
    def __init__(self, X: Any = None, values: Any = None, classes: Any = None) -> None:
        super().__init__(X, values)
        self.classes = classes

    @property
    def classes_(self) -> Any:
        return self.classes

    def predict_proba(self, X: Any) -> Any:
        return self._answers(X)

    def predict_log_proba(self, X: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(self._answers(X))

    def predict(self, X: Any) -> Any:
        return self.classes.take(self._answers(X).argmax(axis=1))


class _NumberPredictor(RegressorMixin, _Predictor):  # type: ignore[misc]
    def predict(self, X: Any) -> Any:
        return self._answers(X)
