"""What the held-out rows say about each cell of a tree: scores, and predictions."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as default
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics._scorer import _BaseScorer

from treefold.model_selection.fields import Data, Side
from treefold.model_selection.ground import Training
from treefold.model_selection.plants import Plant
from treefold.model_selection.splits import Split
from treefold.replay import Exam, ExamRows
from treefold.scoring import Scoring, can_count, score_cells, score_counts

__all__ = ["Counted", "Judge", "Method", "UnreadableRowsError", "give_predictions"]

Method = Literal["predict", "predict_proba", "predict_log_proba"]
_MOST_ANSWERS = 2**22  # cells times rows that are scored at one time: 32 MB


@dataclass(frozen=True, slots=True)
class Answers:
    """What one cell says of the held-out rows of one split."""

    rows: NDArray[Any]
    truth: NDArray[Any]
    values: NDArray[np.float64]
    classes: NDArray[Any] | None


@dataclass(frozen=True, slots=True)
class Counted:
    """Scores of all cells of a plant that were counted with those of others."""

    scores: list[float]
    seconds: float  # the plant's share


class UnreadableRowsError(ValueError):
    """The rows to be predicted cannot be read."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores every cell of a plant, as scikit-learn would score the fitted estimator."""

    data: Data
    scoring: Scoring | None
    score_params: Mapping[str, Any] = default(default_factory=dict)
    error_score: Any = np.nan
    train_score: bool = False
    predictions: Method | None = None
    pooled: frozenset[str] = frozenset()  # metrics of all held-out rows together (`pooling`)

    @property
    def may_look_at_trees(self) -> bool:
        """Whether a scorer is anybody's function, which may look at more than predictions."""
        if self.scoring is None:
            return False
        return any(
            self.scoring.metrics[name] is None and not isinstance(scorer, _BaseScorer)
            for name, scorer in self.scoring.scorers.items()
        )

    def count(self, plants: Sequence[Plant]) -> list[Counted | None]:
        """Score the plants for which counts are enough, all at once, on all threads.

        Twins, which follow each other, are cells of one tree.
        """
        start = time.perf_counter()
        held_out = {
            place: rows for place, plant in enumerate(plants) if (rows := self._find_rows(plant))
        }
        exams = []
        for _, twins in groupby(held_out, key=lambda place: id(plants[place].tree)):
            places = list(twins)
            plant = plants[places[0]]
            exams.append(Exam(plant.tree, plant.cells, [held_out[place] for place in places]))
        scores = [column.tolist() for cells in self._count(exams) for column in cells.T]
        seconds = (time.perf_counter() - start) / max(1, len(held_out))
        counted: list[Counted | None] = [None] * len(plants)
        for place, own in zip(held_out, scores, strict=True):
            counted[place] = Counted(own, seconds)
        return counted

    def judge(
        self, plant: Plant, split: Split, counted: Counted | None = None
    ) -> dict[str, list[Any]]:
        """Judge all cells: lists with one entry per cell. Scores may have been counted before."""
        n_cells = len(plant.cells)
        start = time.perf_counter() - (0.0 if counted is None else counted.seconds)
        leaves = _find_leaves(plant, split, "test") if plant.leaves is None else plant.leaves
        judged: dict[str, list[Any]] = {}
        if self.scoring is not None:
            judged["test_scores"] = (
                self._score(plant, split, "test", leaves) if counted is None else counted.scores
            )
            if self.pooled:
                judged["answers"] = self._list_answers(plant, split, leaves)
            judged["score_time"] = [(time.perf_counter() - start) / n_cells] * n_cells
        if self.train_score:
            train_leaves = _find_leaves(plant, split, "train")
            judged["train_scores"] = self._score(plant, split, "train", train_leaves)
        if self.predictions is not None:
            value, threads = plant.tree.value, self.data.n_threads
            judged["predictions"] = [
                give_predictions(self.predictions, value[nodes], plant.training)
                for nodes in plant.find_nodes(leaves, slice(None), threads)
            ]
        return judged

    def _list_answers(self, plant: Plant, split: Split, leaves: NDArray[np.int64]) -> list[Answers]:
        """Keep what each cell says of the held-out rows, to be scored with other splits'."""
        field = plant.field
        truth, value = field.read_truth(split, "test"), field.spread(plant.tree.value)
        every_node = plant.find_nodes(leaves, slice(None), self.data.n_threads)
        return [Answers(split.test, truth, value[nodes], field.classes) for nodes in every_node]

    def _score(
        self, plant: Plant, split: Split, side: Side, leaves: NDArray[np.int64]
    ) -> list[Any]:
        scoring = self.scoring
        assert scoring is not None
        if self.pooled and side == "test":
            names = scoring.scorers.keys() - self.pooled
            if not names:
                return [self.blank()] * len(plant.cells)
            scoring = scoring.select(names)
        truth = plant.field.read_truth(split, side)
        if self._can_count(plant, truth):
            exam = Exam(plant.tree, plant.cells, [ExamRows(leaves, truth)])
            scores: list[Any] = self._count([exam])[0][:, 0].tolist()
            return scores
        rows = split.rows(side)
        takes_X = self.may_look_at_trees and not self.data.is_table
        takes_y = any(metric is None for metric in scoring.metrics.values())
        arguments = {
            "present": plant.field.list_classes(plant.present),
            "X": self.data.take(rows)[0] if takes_X else None,
            "y": self.data.take_y(rows) if takes_y else None,
            "score_params": self.data.cut(self.score_params, rows) if self.score_params else None,
            "error_score": self.error_score,
        }
        value = plant.field.spread(plant.tree.value)
        step = max(1, _MOST_ANSWERS // max(1, len(leaves)))
        scores = []
        for first in range(0, len(plant.cells), step):
            nodes = plant.find_nodes(leaves, slice(first, first + step), self.data.n_threads)
            arguments["estimator_of"] = _shift(plant.make_estimator, first) if takes_X else None
            found = score_cells(scoring, truth, nodes, value, plant.field.classes, **arguments)
            scores += self.arrange(found, len(nodes))
        return scores

    def blank(self) -> Any:
        """Leave the place of scores that are not there yet."""
        assert self.scoring is not None
        return (
            dict.fromkeys(self.scoring.scorers, np.nan) if self.scoring.is_multimetric else np.nan
        )

    def _find_rows(self, plant: Plant) -> ExamRows | None:
        """Find the held-out rows of a plant, if they are known and counts are enough."""
        if plant.leaves is None or plant.seed.split is None or self.pooled:
            return None
        truth = plant.field.read_truth(plant.seed.split, "test")
        return ExamRows(plant.leaves, truth) if self._can_count(plant, truth) else None

    def _can_count(self, plant: Plant, truth: NDArray[Any]) -> bool:
        """Whether counts score all cells as well as predictions of each row."""
        if self.scoring is None or self.scoring.is_multimetric:
            return False
        if self.score_params or plant.has_one_shape:
            return False
        return can_count(self.scoring, truth, plant.tree, plant.field.classes)

    def _count(self, exams: Sequence[Exam]) -> list[NDArray[np.float64]]:
        if not exams:
            return []
        assert self.scoring is not None
        return score_counts(self.scoring, exams, self.data.n_threads)

    def arrange(self, found: dict[str, NDArray[np.float64]], n_cells: int) -> list[Any]:
        """Make one number per cell, or one dict if there are several metrics."""
        assert self.scoring is not None
        if not self.scoring.is_multimetric and found.keys() == {"score"}:
            scores: list[float] = found["score"].tolist()
            return scores
        columns = {name: scores.tolist() for name, scores in found.items()}
        return [{name: column[cell] for name, column in columns.items()} for cell in range(n_cells)]


def _shift(make_estimator: Callable[[int], Any], first: int) -> Callable[[int], Any]:
    return lambda cell: make_estimator(first + cell)


def _find_leaves(plant: Plant, split: Split, side: Side) -> NDArray[np.int64]:
    try:
        return plant.field.find_leaves(plant.tree, split, side)
    except ValueError as error:
        raise UnreadableRowsError(str(error)) from error


def give_predictions(
    method: Method, values: NDArray[np.float64], training: Training
) -> NDArray[Any]:
    """Turn the values of the nodes where rows end into predictions."""
    classes, present = training.classes, training.present
    if classes is None:
        return values[:, 0]
    shares = values[:, present]
    if method == "predict":
        return np.asarray(classes.take(shares.argmax(axis=1)))
    if method == "predict_proba":
        return shares
    with np.errstate(divide="ignore"):
        return np.log(shares)
