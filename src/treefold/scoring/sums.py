"""Scores of many candidates from sums over leaves: what a score costs does not depend on rows.

A metric that adds up a cost per row is known from the rows of each class (or their sum and number)
that reach each node: `replay_sums` adds up what the leaves of every candidate cost. That is several
times as fast as sending every row to its node. The sums are taken in another order than
scikit-learn's, so the last bits may differ: where scores are reported, `score_cells` computes them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.data.target import Target
from treefold.model.subtrees import add_up, count_rows
from treefold.replay import Cell, replay_sums
from treefold.scoring import metrics
from treefold.scoring.cells import Scoring
from treefold.scoring.scorers import Metric

__all__ = ["is_sum", "score_sums"]

Floats = NDArray[np.float64]
_MOST_STATISTICS = 2**22  # nodes times classes that are counted at once: 32 MB


def is_sum(scoring: Scoring, n_classes: int) -> bool:
    """Whether the score is a sum over rows that is known here; `n_classes` is 0 for numbers."""
    return _find_metric(scoring, n_classes)[0] is not None


def _find_metric(scoring: Scoring, n_classes: int) -> tuple[Metric | None, Any]:
    """Find the metric, if it is such a sum, and the function behind it."""
    metric = scoring.metrics.get("score")
    compute = getattr(metric, "compute", None)
    compute = getattr(compute, "func", compute)
    is_known = compute in _COSTS if n_classes else compute is metrics.squared_error
    return metric if is_known else None, compute


def score_sums(
    scoring: Scoring,
    target: Target,
    tree: _native.Tree,
    cells: Sequence[Cell],
    *,
    rows: NDArray[Any],
    weights: Floats | None,
    leaves: NDArray[np.int64],
    n_threads: int = 1,
) -> Floats | None:
    """Score every cell of a full tree on some rows, whose leaves are given.

    None if the score is not such a sum; then `treefold.scoring.cells.score_cells` has to be asked.
    """
    metric, compute = _find_metric(scoring, tree.n_classes)
    if metric is None or tree.node_count * max(1, tree.n_classes) > _MOST_STATISTICS:
        return None
    weights = np.ones(len(rows)) if weights is None else weights
    y = target.values[rows]
    if tree.n_classes:
        statistics = _add_up_classes(tree, leaves, y, weights, _COSTS[compute])
    else:
        statistics = _add_up_squares(tree, leaves, y, weights)
    sums = replay_sums(tree, cells, statistics, n_threads)[:, 0]
    means: Floats = metric.sign * np.maximum(sums, 0.0) / weights.sum()
    return means


def _add_up_classes(
    tree: _native.Tree,
    leaves: NDArray[np.int64],
    codes: NDArray[Any],
    weights: Floats,
    cost_of: Callable[[Floats], Floats],
) -> Floats:
    """What the rows that reach each node cost if they end there; of shape (n_nodes, 1)."""
    n_classes = tree.n_classes
    counts = np.bincount(leaves * n_classes + codes, weights, tree.node_count * n_classes)
    reached = add_up(tree, counts.reshape(-1, n_classes))
    return np.asarray((reached * cost_of(tree.value)).sum(axis=1, keepdims=True))


def _cost_accuracy(value: Floats) -> Floats:
    right = np.zeros_like(value)
    right[np.arange(len(value)), value.argmax(axis=1)] = 1.0
    return right


def _cost_brier(value: Floats) -> Floats:
    costs = metrics.square_errors(value)
    return costs * 0.5 if value.shape[1] == 2 else costs


def _cost_log_loss(value: Floats) -> Floats:
    eps = np.finfo(np.float64).eps
    return np.asarray(-np.log(np.clip(value, eps, 1 - eps)), dtype=np.float64)


_COSTS: dict[Callable[..., Any], Callable[[Floats], Floats]] = {
    metrics.accuracy: _cost_accuracy,
    metrics.brier: _cost_brier,
    metrics.log_loss: _cost_log_loss,
}


def _add_up_squares(
    tree: _native.Tree, leaves: NDArray[np.int64], y: Floats, weights: Floats
) -> Floats:
    """The squared error of the rows that reach each node; of shape (n_nodes, 1)."""
    center = float(np.average(y, weights=weights))
    centered, value = y - center, tree.value[:, 0] - center  # near zero: little is cancelled
    count = count_rows(tree, leaves, weights)
    total = count_rows(tree, leaves, weights * centered)
    squares = count_rows(tree, leaves, weights * centered**2)
    errors: Floats = squares - 2 * value * total + count * value**2
    return errors.reshape(-1, 1)
