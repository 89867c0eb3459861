"""scikit-learn's common metrics for many candidates at once.

A candidate (a *cell* of a grid) sends each held-out row to a node of one tree, so what a row costs
is looked up in a table with one entry per node and class. Sums are then taken over the rows in the
order in which scikit-learn takes them: counts, means and R2 are equal to the last bit; what weights
make of a curve or of a confusion matrix is equal up to rounding.

A metric gives its scores and marks the cells that scikit-learn would warn of or refuse. Those, and
answers of an irregular shape (`None`), are left to scikit-learn itself: see `cells`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import warn

__all__ = [
    "Answers",
    "Scores",
    "absolute_error",
    "accuracy",
    "balanced_accuracy",
    "brier",
    "f1",
    "log_loss",
    "r2",
    "roc_auc",
    "root_squared_error",
    "square_errors",
    "squared_error",
]

Floats = NDArray[np.float64]
Scores = tuple[Floats, NDArray[np.bool_]]

_BLOCK = 2**17  # answers looked at together: 1 MB of node numbers stay in the cache
_EXACT_TABLE = 5e7  # additions to spend on a table of multi-class Brier scores


@dataclass(frozen=True, slots=True)
class Answers:
    """Where every cell sends the held-out rows, and what is true of them."""

    y: NDArray[Any]  # class numbers; float64 for regression
    node_of: NDArray[np.integer[Any]]  # (n_cells, n_rows)
    value: Floats  # (n_nodes, n_classes or 1)
    classes: NDArray[Any] | None = None
    present: NDArray[np.integer[Any]] | None = None  # class numbers of the training rows; all
    weights: Floats | None = None

    @property
    def trained(self) -> NDArray[np.integer[Any]]:
        """Numbers of the classes that the training rows have."""
        return np.arange(self.value.shape[1]) if self.present is None else self.present

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The class that each node predicts."""
        return np.asarray(self.value.argmax(axis=1))

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Cut the cells into blocks that fit the cache."""
        n_cells, n_rows = self.node_of.shape
        step = max(1, _BLOCK // max(1, n_rows))
        for start in range(0, n_cells, step):
            part = slice(start, min(start + step, n_cells))
            yield part, self.node_of[part]

    def average(self, cost_of: Callable[[NDArray[Any]], NDArray[Any]]) -> Floats:
        """Average what each row costs, cell by cell, as numpy.average does."""
        scores = np.empty(len(self.node_of))
        for part, nodes in self.blocks():
            costs = cost_of(nodes)
            if self.weights is None and costs.dtype == bool:
                scores[part] = np.count_nonzero(costs, axis=1) / costs.shape[1]
            elif self.weights is None:
                scores[part] = costs.mean(axis=1, dtype=np.float64)
            else:
                scores[part] = (costs * self.weights).sum(axis=1) / self.weights.sum()
        return scores


def _regular(scores: Floats) -> Scores:
    return scores, np.zeros(len(scores), dtype=bool)


# Predicted classes ------------------------------------------------------------------------------


def accuracy(answers: Answers) -> Scores:
    """Share of rows whose class is predicted."""
    predicted = answers.predicted.astype(answers.y.dtype)
    return _regular(answers.average(lambda nodes: predicted.take(nodes) == answers.y))


@dataclass(frozen=True, slots=True)
class _Confusion:
    """Weight of each class per cell: predicted, predicted rightly, and (of all cells) true."""

    true: Floats
    predicted: Floats
    right: Floats
    is_true: NDArray[np.bool_]  # by rows, whatever they weigh
    is_predicted: NDArray[np.bool_]


def _confuse(answers: Answers) -> _Confusion:
    n_cells, n_classes = len(answers.node_of), answers.value.shape[1]
    class_of = answers.predicted
    predicted, right = np.empty((n_cells, n_classes)), np.empty((n_cells, n_classes))
    is_predicted = np.empty((n_cells, n_classes), dtype=bool)
    for part, nodes in answers.blocks():
        shape = (len(nodes), n_classes)
        guesses = class_of.take(nodes)
        hits = guesses == answers.y
        guesses += np.arange(len(nodes)).reshape(-1, 1) * n_classes
        counts = _count_codes(guesses.ravel(), None, shape)
        is_predicted[part] = counts > 0
        if answers.weights is None:
            predicted[part] = counts
            right[part] = _count_codes(guesses[hits], None, shape)
        else:
            weights = np.broadcast_to(answers.weights, guesses.shape)
            predicted[part] = _count_codes(guesses.ravel(), weights.ravel(), shape)
            right[part] = _count_codes(guesses[hits], weights[hits], shape)
    true = np.bincount(answers.y, answers.weights, n_classes).astype(np.float64)
    is_true = np.bincount(answers.y, minlength=n_classes) > 0
    return _Confusion(true, predicted, right, is_true, is_predicted)


def _count_codes(
    codes: NDArray[np.int64], weights: Floats | None, shape: tuple[int, int]
) -> NDArray[Any]:
    return np.bincount(codes, weights, shape[0] * shape[1]).reshape(shape)


def balanced_accuracy(answers: Answers) -> Scores:
    """Mean over the true classes of the share that is predicted."""
    confusion = _confuse(answers)
    counted = np.flatnonzero(confusion.true > 0)
    if len(counted) == 0:
        return _regular(np.full(len(answers.node_of), np.nan))
    recalls = np.ascontiguousarray(confusion.right[:, counted]) / confusion.true[counted]
    labels = confusion.is_predicted | confusion.is_true
    for _ in range(int((labels & (confusion.true == 0)).any(axis=1).sum())):
        warn("y_pred contains classes not in y_true")
    return recalls.mean(axis=1), labels.sum(axis=1) == 1


def f1(answers: Answers, average: str, pos_label: Any) -> Scores | None:
    """Twice the right answers over true and predicted ones, averaged over classes."""
    confusion = _confuse(answers)
    hits = confusion.right
    true = hits + (confusion.true - hits)  # scikit-learn's roundings
    predicted = hits + (confusion.predicted - hits)
    if average not in ("binary", "macro", "micro", "weighted"):
        return None
    if average == "binary":
        place = _find_positive(answers, pos_label)
        if place is None:
            return None
        return _divide_f1(hits[:, place], true[:, place], predicted[:, place])
    scores = np.empty(len(hits))
    is_odd = np.zeros(len(hits), dtype=bool)
    labels = confusion.is_true | confusion.is_predicted
    patterns, pattern_of = np.unique(labels, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        cells = np.flatnonzero(pattern_of.ravel() == number)
        picked = np.ix_(cells, np.flatnonzero(pattern))
        parts = np.ascontiguousarray(hits[picked]), true[picked], predicted[picked]
        if average == "micro":
            scores[cells], is_odd[cells] = _divide_f1(*(part.sum(axis=1) for part in parts))
        else:
            each, is_undefined = _divide_f1(*parts)
            support = parts[1] if average == "weighted" else np.ones_like(parts[1])
            is_odd[cells] = is_undefined.any(axis=1) | (support.sum(axis=1) == 0)
            support[is_odd[cells]] = 1.0
            scores[cells] = (each * support).sum(axis=1) / support.sum(axis=1)
    return scores, is_odd


def _divide_f1(hits: Floats, true: Floats, predicted: Floats) -> Scores:
    total = true + predicted
    is_undefined = total == 0
    return 2.0 * hits / np.where(is_undefined, 1.0, total), is_undefined


def _find_positive(answers: Answers, pos_label: Any) -> int | None:
    """Find the class number of the positive label, if there are two classes and it is one."""
    assert answers.classes is not None
    trained = answers.trained
    if len(trained) != 2 or not np.isin(answers.y, trained).all():
        return None
    labels = answers.classes[trained].tolist()
    if pos_label is None:
        return int(trained[-1])
    return int(trained[labels.index(pos_label)]) if pos_label in labels else None


# Probabilities ----------------------------------------------------------------------------------


def _probabilities(answers: Answers, positive: int | None = None) -> tuple[Floats, NDArray[Any]]:
    """Give the shares that scikit-learn sees, and each row's column of them.

    Of two classes it sees only the positive one and subtracts it from one.
    """
    trained = answers.trained
    if len(trained) == 2:
        positive = int(trained[-1]) if positive is None else positive
        share = answers.value[:, positive]
        return np.stack((1 - share, share), axis=1), (answers.y == positive).astype(np.int64)
    column_of = np.zeros(answers.value.shape[1], dtype=np.int64)
    column_of[trained] = np.arange(len(trained))
    return np.ascontiguousarray(answers.value[:, trained]), column_of[answers.y]


def _knows_all_labels(answers: Answers, labels: Any) -> bool:
    """Whether scikit-learn can match the columns of probabilities with labels."""
    assert answers.classes is not None
    trained = answers.trained
    if len(trained) < 2:
        return False
    if labels is None:
        return np.array_equal(np.unique(answers.y), trained)
    return np.array_equal(labels, answers.classes[trained]) and bool(
        np.isin(answers.y, trained).all()
    )


def _average_table(answers: Answers, table: Floats, column: NDArray[Any]) -> Floats:
    flat, width = table.ravel(), table.shape[1]
    return answers.average(lambda nodes: flat.take(nodes * width + column))


def log_loss(answers: Answers, labels: Any) -> Scores | None:
    """Mean of minus the logarithm of the share of the true class."""
    if not _knows_all_labels(answers, labels):
        return None
    shares, column = _probabilities(answers)
    eps = np.finfo(np.float64).eps
    # numpy's logarithm, as scikit-learn 1.9 takes it. On some machines scipy's, which earlier ones
    # took, differs in the last bit.
    losses = np.asarray(-np.log(np.clip(shares, eps, 1 - eps)), dtype=np.float64)
    return _regular(_average_table(answers, losses, column))


def brier(answers: Answers, pos_label: Any, labels: Any) -> Scores | None:
    """Mean squared error of the shares; half of it if there are two classes."""
    assert answers.classes is not None
    positive = None
    if len(answers.trained) == 2:
        positive = _find_positive(answers, pos_label)
        needs_pos_label = answers.classes.dtype.kind in "OUS" or len(np.unique(answers.y)) < 2
        if positive is None or (pos_label is None and needs_pos_label):
            return None
    elif not _knows_all_labels(answers, labels):
        return None
    shares, column = _probabilities(answers, positive)
    scores = _average_table(answers, square_errors(shares), column)
    return _regular(scores * 0.5 if shares.shape[1] == 2 else scores)


def square_errors(shares: Floats) -> Floats:
    """Brier score of a row of each class in each node."""
    n_nodes, n_classes = shares.shape
    squares = shares**2
    if n_nodes * n_classes**2 > _EXACT_TABLE:
        return np.asarray(squares.sum(axis=1, keepdims=True) - squares + (1 - shares) ** 2)
    table = np.empty_like(shares)
    for number in range(n_classes):
        kept = squares[:, number].copy()
        squares[:, number] = (1 - shares[:, number]) ** 2
        table[:, number] = squares.sum(axis=1)
        squares[:, number] = kept
    return table


# Ranking ----------------------------------------------------------------------------------------


def roc_auc(answers: Answers, multi_class: str, average: str) -> Scores | None:
    """Area under the curve of two classes, or the average over classes or pairs of them."""
    if not _knows_all_labels(answers, None) or average not in ("macro", "weighted"):
        return None
    trained = answers.trained
    true = np.bincount(answers.y, answers.weights, answers.value.shape[1])[trained]
    if (true <= 0).any():
        return None
    if len(trained) == 2:
        trained, combine = trained[-1:], _take_only
    elif multi_class == "ovr":
        combine = partial(_average_ovr, true if average == "weighted" else None)
    elif multi_class == "ovo" and answers.weights is None:
        combine = partial(_average_ovo, true, average == "weighted")
    else:
        return None
    rankings = [_Ranking(answers, int(number)) for number in trained]
    scores = np.array(
        [combine([one.count(nodes) for one in rankings]) for nodes in answers.node_of]
    )
    return _regular(scores)


class _Ranking:
    """Nodes in the order of the share of one class, those of equal share together."""

    def __init__(self, answers: Answers, number: int) -> None:
        is_visited = np.zeros(len(answers.value), dtype=bool)
        for _, nodes in answers.blocks():
            is_visited[nodes] = True
        shares, levels = np.unique(-answers.value[is_visited, number], return_inverse=True)
        columns = np.searchsorted(answers.trained, answers.y)
        self._columns, self._weights = columns, answers.weights
        self._shape = (len(shares), len(answers.trained))
        self._level_of = np.zeros(len(answers.value), dtype=np.int64)
        self._level_of[is_visited] = levels.ravel() * self._shape[1]

    def count(self, nodes: NDArray[Any]) -> NDArray[Any]:
        """Count the rows of each class, from the highest share to the lowest."""
        codes = self._level_of.take(nodes) + self._columns
        size = self._shape[0] * self._shape[1]
        counts = np.bincount(codes, self._weights, size).reshape(self._shape)
        return counts


def _take_only(counts: list[NDArray[Any]]) -> float:
    return _area(counts[0][:, 1], counts[0][:, 0])


def _average_ovr(weights: Floats | None, counts: list[NDArray[Any]]) -> float:
    areas = [
        _area(each[:, column], each.sum(axis=1) - each[:, column])
        for column, each in enumerate(counts)
    ]
    return float(np.average(areas, weights=weights))


def _average_ovo(true: Floats, is_weighted: bool, counts: list[NDArray[Any]]) -> float:
    areas, shares = [], []
    for a, b in combinations(range(len(counts)), 2):
        first = _area(counts[a][:, a], counts[a][:, b])
        second = _area(counts[b][:, b], counts[b][:, a])
        areas.append((first + second) / 2)
        shares.append((true[a] + true[b]) / true.sum())
    return float(np.average(areas, weights=shares if is_weighted else None))


def _area(positive: NDArray[Any], negative: NDArray[Any]) -> float:
    """Area under the curve by scikit-learn's arithmetic, from counts in falling order of score."""
    has_rows = np.flatnonzero((positive > 0) | (negative > 0))
    true = np.cumsum(positive[has_rows], dtype=np.float64)
    false = np.cumsum(negative[has_rows], dtype=np.float64)
    if len(false) > 2:  # points on a straight line are left out
        bends = (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0)
        kept = np.concatenate(([True], bends, [True]))
        false, true = false[kept], true[kept]
    x = np.append(0.0, false) / false[-1]
    y = np.append(0.0, true) / true[-1]
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2.0).sum())


# Numbers ----------------------------------------------------------------------------------------


def squared_error(answers: Answers) -> Scores:
    """Mean squared error."""
    means = answers.value[:, 0]
    return _regular(answers.average(lambda nodes: (answers.y - means.take(nodes)) ** 2))


def root_squared_error(answers: Answers) -> Scores:
    """Root of the mean squared error."""
    return _regular(np.sqrt(squared_error(answers)[0]))


def absolute_error(answers: Answers) -> Scores:
    """Mean absolute error."""
    means = answers.value[:, 0]
    return _regular(answers.average(lambda nodes: np.abs(means.take(nodes) - answers.y)))


def r2(answers: Answers) -> Scores | None:
    """Share of the variance that is explained."""
    if len(answers.y) < 2:
        return None
    means, weights = answers.value[:, 0], answers.weights
    left = np.empty(len(answers.node_of))
    for part, nodes in answers.blocks():
        errors = (answers.y - means.take(nodes)) ** 2
        left[part] = (errors if weights is None else weights * errors).sum(axis=1)
    spread = (answers.y - np.average(answers.y, weights=weights)) ** 2
    total = (spread if weights is None else weights * spread).sum()
    if total == 0:
        return _regular(np.where(left == 0, 1.0, 0.0))
    return _regular(np.where(left == 0, 1.0, 1 - left / total))
