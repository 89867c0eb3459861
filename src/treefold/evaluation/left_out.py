"""Leave-one-out: the answers of n trees without the trees.

A row that is left out asks one question of one tree. The core answers all of them in one growth
(`core/leave_one_out/`), if the trees have the same rules: rows are grouped by the rules that the
other rows make. Whatever needs more than answers (whole trees, pruning, the largest number of
leaves) is grown tree by tree (`growing`).
"""

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.evaluation.candidates import Run, Setting
from treefold.evaluation.dataset import Dataset, Training
from treefold.evaluation.judging import Judge, give_predictions
from treefold.evaluation.refusal import CannotServeError, cannot_serve
from treefold.evaluation.splits import Split
from treefold.exceptions import InputError, ParameterError
from treefold.rules import Cell
from treefold.scoring import metrics
from treefold.scoring.cells import Scoring, score_cells

__all__ = ["Left", "answer_rows", "can_be_left_out", "find_left_out", "judge_rows"]

_MOST_GROUPS = 64
_SHIFTED = (metrics.squared_error, metrics.absolute_error, metrics.root_squared_error)


def find_left_out(splits: Sequence[Split]) -> NDArray[np.int64] | None:
    """Name the row that each split holds out, if each holds out one and trains on all others."""
    if not splits or splits[0].n_rows < 2 or any(len(split.test) != 1 for split in splits):
        return None
    if any(split.listed_train is not None or split.left_out is not None for split in splits):
        return None
    return np.concatenate([split.test for split in splits]).astype(np.int64)


def can_be_left_out(run: Run, dataset: Dataset, rows: NDArray[np.int64]) -> bool:
    """Whether answers are enough, and come from few growths."""
    target = dataset.target
    for setting in run:
        cells = setting.list_cells(target.n_rows - 1)
        if any(cell.ccp_alpha > 0 or cell.max_leaf_nodes > 0 for cell in cells):
            return False
        if len(_group_rows(setting, dataset, rows)) > _MOST_GROUPS:
            return False
        class_weight = getattr(setting.tree, "class_weight", None)
        if isinstance(class_weight, dict) and 0 in class_weight.values():
            return False
    return True


@dataclass(frozen=True, slots=True)
class Left:
    """What some rows are told by the trees of one candidate, each by the one without it."""

    places: NDArray[np.int64]  # of their splits
    rows: NDArray[np.int64]
    values: NDArray[np.float64]  # one line per row
    training: Training  # of one of the trees; the others have the same rules and classes
    seconds: float


def answer_rows(
    setting: Setting, dataset: Dataset, rows: NDArray[np.int64]
) -> Iterator[tuple[int, Left, dict[str, Any]]]:
    """Answer all rows for each candidate: its place in the setting, answers, and the work."""
    for places in _group_rows(setting, dataset, rows):
        own = rows[places]
        others = np.delete(np.arange(dataset.n_rows, dtype=np.uint32), own[0])
        try:
            with cannot_serve(InputError, ParameterError):
                training = dataset.train(setting.tree, others)
        except CannotServeError:
            continue
        grown: dict[Cell, tuple[NDArray[np.float64], float]] = {}
        for place, cell in enumerate(setting.list_cells(training.target.n_rows)):
            work: dict[str, Any] = {}
            if cell not in grown:
                grown[cell], work = _grow(dataset, training, cell, own)
            yield place, Left(places, own, grown[cell][0], training, grown[cell][1]), work


def _grow(
    dataset: Dataset, training: Training, cell: Cell, rows: NDArray[np.int64]
) -> tuple[tuple[NDArray[np.float64], float], dict[str, Any]]:
    start = time.perf_counter()
    rules = copy.copy(training.rules)
    rules.max_depth, rules.min_samples_split = cell.max_depth, cell.min_samples_split
    rules.min_impurity_decrease = cell.min_impurity_decrease
    target = dataset.target
    values, work = _native.leave_one_out(
        dataset.table._native,
        target.values,
        target.n_classes,
        target.weights,
        rules,
        rows.astype(np.uint32),
        dataset.n_threads,
    )
    lines = values.reshape(dataset.n_rows, -1)[rows]
    return (lines, time.perf_counter() - start), {"mode": "leave-one-out", **work}


def _group_rows(
    setting: Setting, dataset: Dataset, rows: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Group the rows without which the others make the same rules, and have the same classes."""
    target, tree = dataset.target, setting.tree
    keys: list[NDArray[Any]] = []
    if target.weights is not None:
        weights = target.weights[rows]
        keys.append(weights if float(tree.min_weight_fraction_leaf) > 0 else weights > 0)
    if target.classes is not None:
        numbers = target.values[rows]
        is_only_one = np.bincount(target.values, minlength=target.n_classes)[numbers] == 1
        weighs_classes = getattr(tree, "class_weight", None) is not None
        keys.append(numbers if weighs_classes else np.where(is_only_one, numbers, -1))
    group = np.zeros(len(rows), dtype=np.int64)
    for key in keys:
        if (key != key[0]).any():
            found, place = np.unique(key, return_inverse=True)
            group = group * len(found) + place
    if not group.any():
        return [np.arange(len(rows))]
    _, group = np.unique(group, return_inverse=True)
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group))[:-1])


# Scores -----------------------------------------------------------------------------------------


def judge_rows(judge: Judge, dataset: Dataset, left: Left) -> dict[str, list[Any]]:
    """Judge each row on its own: lists with one entry per row."""
    start = time.perf_counter()
    n_rows = len(left.rows)
    judged: dict[str, list[Any]] = {}
    if judge.scoring is not None:
        truth: NDArray[Any] = dataset.target.values[left.rows]
        judged["test_scores"] = _score(judge, dataset, left, truth)
        if judge.pooled:
            judged["answers"] = [
                (left.rows[[k]], truth[[k]], left.values[[k]], dataset.classes)
                for k in range(n_rows)
            ]
        judged["score_time"] = [(time.perf_counter() - start) / n_rows] * n_rows
    if judge.predictions is not None:
        predictions = give_predictions(judge.predictions, left.values, left.training)
        judged["predictions"] = [predictions[k : k + 1] for k in range(n_rows)]
    return judged


def _score(judge: Judge, dataset: Dataset, left: Left, truth: NDArray[Any]) -> list[Any]:
    scoring = judge.scoring
    assert scoring is not None
    names = scoring.scorers.keys() - judge.pooled
    if not names:
        return [judge.blank()] * len(truth)
    own = scoring.select(names)
    scores: list[Any] = [None] * len(truth)
    for places, y, values in _group_alike(judge, dataset, own, left.values, truth):
        arguments = _list_arguments(judge, dataset, left, places)
        itself = np.arange(len(places)).reshape(-1, 1)
        found = score_cells(own, y, itself, values, dataset.classes, **arguments)
        for place, score in zip(places, judge.arrange(found), strict=True):
            scores[place] = score
    return scores


def _group_alike(
    judge: Judge,
    dataset: Dataset,
    scoring: Scoring,
    values: NDArray[np.float64],
    truth: NDArray[Any],
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float64]]]:
    """Group the rows that can be scored in one call: those with the same truth.

    Errors do not change if the same number is taken from truth and prediction, so that all numbers
    can be made alike.
    """
    every_place = np.arange(len(truth))
    known = [metric.compute for metric in scoring.metrics.values() if metric is not None]
    is_known = len(known) == len(scoring.metrics) and not judge.study.score_params
    if is_known and dataset.classes is not None:
        for number in np.unique(truth):
            places = np.flatnonzero(truth == number)
            yield places, truth[places[:1]], values[places]
    elif is_known and all(compute in _SHIFTED for compute in known):
        yield every_place, np.zeros(1), values - truth.reshape(-1, 1)
    else:
        for place in every_place:
            yield every_place[place : place + 1], truth[[place]], values[[place]]


def _list_arguments(
    judge: Judge, dataset: Dataset, left: Left, places: NDArray[np.int64]
) -> Mapping[str, Any]:
    rows, study = left.rows[places[:1]], judge.study
    params = study.score_params
    return {
        "present": dataset.list_classes(left.training.present),
        "y": study.take_y(rows),
        "score_params": study.cut(params, rows) if params else None,
        "error_score": judge.error_score,
    }
