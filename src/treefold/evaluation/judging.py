"""What the held-out rows say about each candidate of a full tree: scores, and predictions."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics._scorer import _BaseScorer

from treefold.evaluation.dataset import Side, Training
from treefold.evaluation.growing import FullTree
from treefold.evaluation.splits import Split
from treefold.evaluation.study import Study
from treefold.replay import Cell
from treefold.scoring.cells import Scoring, can_count, score_cells, score_counts

__all__ = ["Answers", "Counted", "Judge", "Method", "give_predictions"]

Floats = NDArray[np.float64]
Method = Literal["predict", "predict_proba", "predict_log_proba"]
_MOST_ANSWERS = 2**21  # cells times rows that are scored at one time: 16 MB
# What is said of held-out rows: the rows, the truth, the answers, and labels of classes.
Answers = tuple[NDArray[Any], NDArray[Any], Floats, NDArray[Any] | None]
Counted = tuple[list[float], float]  # scores of the cells of a tree on a split, and the seconds


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores every cell of a full tree, as scikit-learn would score the fitted estimator."""

    study: Study
    scoring: Scoring | None
    error_score: Any = np.nan
    train_score: bool = False
    predictions: Method | None = None
    pooled: frozenset[str] = frozenset()  # metrics of all held-out rows together (`single_rows`)

    @property
    def may_look_at_trees(self) -> bool:
        """Whether a scorer is anybody's function, which may look at more than predictions."""
        if self.scoring is None:
            return False
        return any(
            self.scoring.metrics[name] is None and not isinstance(scorer, _BaseScorer)
            for name, scorer in self.scoring.scorers.items()
        )

    # All cells of a tree ------------------------------------------------------------------------

    def count_correct(self, trees: Sequence[FullTree]) -> dict[tuple[int, int], Counted]:
        """Score the trees for which counts are enough, all at once, on all threads.

        Gives the scores by the place of the tree and the number of the split.
        """
        start = time.perf_counter()
        places, tasks = [], []
        for place, full in enumerate(trees):
            tests = {number: self._find_test(full, number) for number in full.job.splits}
            known = {number: test for number, test in tests.items() if test is not None}
            if known:
                places += [(place, number) for number in known]
                tasks.append((full.tree, full.cells, list(known.values())))
        if not tasks:
            return {}
        assert self.scoring is not None
        found = score_counts(self.scoring, tasks, self.study.n_threads)
        scores = [column.tolist() for cells in found for column in cells.T]
        seconds = (time.perf_counter() - start) / len(places)
        return {key: (own, seconds) for key, own in zip(places, scores, strict=True)}

    def judge(
        self, full: FullTree, number: int, counted: Counted | None = None
    ) -> dict[str, list[Any]]:
        """Judge all cells on a split: lists with one entry per cell. Scores may have been counted
        before.
        """
        split, cells = full.job.splits[number], full.cells
        start = time.perf_counter() - (0.0 if counted is None else counted[1])
        leaves = full.find_leaves(number)
        judged: dict[str, list[Any]] = {}
        if self.scoring is not None:
            judged["test_scores"] = (
                self._score_side(full, split, "test", leaves) if counted is None else counted[0]
            )
            if self.pooled:
                judged["answers"] = self._list_answers(full, split, leaves)
            judged["score_time"] = [(time.perf_counter() - start) / len(cells)] * len(cells)
        if self.train_score:
            train_leaves = full.dataset.find_side(full.tree, split, "train")
            judged["train_scores"] = self._score_side(full, split, "train", train_leaves)
        if self.predictions is not None:
            judged["predictions"] = [
                give_predictions(self.predictions, full.tree.value[nodes], full.training)
                for nodes in full.find_nodes(leaves, cells)
            ]
        return judged

    def _list_answers(
        self, full: FullTree, split: Split, leaves: NDArray[np.int64]
    ) -> list[Answers]:
        """Keep what each cell says of the held-out rows, to be scored with other splits'."""
        data, rows = full.dataset, split.test
        truth, value = data.read_truth(rows), data.spread(full.tree.value)
        every_node = full.find_nodes(leaves, full.cells)
        return [(rows, truth, value[nodes], data.classes) for nodes in every_node]

    def _score_side(
        self, full: FullTree, split: Split, side: Side, leaves: NDArray[np.int64]
    ) -> list[Any]:
        scoring = self.scoring
        assert scoring is not None
        if self.pooled and side == "test":
            names = scoring.scorers.keys() - self.pooled
            if not names:
                return [self.blank()] * len(full.cells)
            scoring = scoring.select(names)
        takes_X = self.may_look_at_trees and not self.study.is_table
        parts = self.score(
            scoring,
            full,
            split.rows(side),
            leaves,
            full.cells,
            present=full.dataset.list_classes(full.present),
            make_estimator=(lambda p: full.make_estimator(p, self.study.X)) if takes_X else None,
        )
        return [score for found in parts for score in self.arrange(found)]

    # Scores -------------------------------------------------------------------------------------

    def score(
        self,
        scoring: Scoring,
        full: FullTree,
        rows: NDArray[Any],
        leaves: NDArray[np.int64],
        cells: Sequence[Cell],
        *,
        present: NDArray[np.int64] | None = None,
        make_estimator: Callable[[int], Any] | None = None,
    ) -> Iterator[dict[str, Floats]]:
        """Score any cells of a full tree on some rows, given with their leaves; by metric.

        Gives the scores of the first cells, then those of the next ones, as memory lets.
        """
        truth = full.dataset.read_truth(rows)
        if self._can_count(scoring, full, truth):
            task = (full.tree, cells, [(leaves, truth)])
            yield {"score": score_counts(scoring, [task], self.study.n_threads)[0][:, 0]}
            return
        options = {"present": present, **self.list_options(scoring, rows)}
        value, classes = full.dataset.spread(full.tree.value), full.dataset.classes
        step = max(1, _MOST_ANSWERS // max(1, len(leaves)))
        for first in range(0, len(cells), step):
            nodes = full.find_nodes(leaves, cells[first : first + step])
            if make_estimator is not None:
                options["estimator_of"] = _shift(make_estimator, first)
            yield score_cells(scoring, truth, nodes, value, classes, **options)

    def list_options(self, scoring: Scoring, rows: NDArray[Any]) -> dict[str, Any]:
        """Cut what scorers see besides answers to some rows."""
        study = self.study
        takes_X = self.may_look_at_trees and not study.is_table
        takes_y = any(metric is None for metric in scoring.metrics.values())
        return {
            "X": study.take(rows)[0] if takes_X else None,
            "y": study.take_y(rows) if takes_y else None,
            "score_params": study.cut(study.score_params, rows) if study.score_params else None,
            "error_score": self.error_score,
        }

    def _find_test(
        self, full: FullTree, number: int
    ) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
        """Find leaves and truth of held-out rows, if they are known and counts are enough."""
        if number not in full.leaves or self.pooled or self.scoring is None:
            return None
        truth = full.dataset.read_truth(full.job.splits[number].test)
        return (full.leaves[number], truth) if self._can_count(self.scoring, full, truth) else None

    def _can_count(self, scoring: Scoring, full: FullTree, truth: NDArray[Any]) -> bool:
        """Whether counts score all cells as well as predictions of each row."""
        if scoring.is_multimetric or self.study.score_params or full.has_one_shape:
            return False
        return can_count(scoring, truth, full.tree, full.dataset.classes)

    # The form of scikit-learn's results ---------------------------------------------------------

    def blank(self) -> Any:
        """Leave the place of scores that are not there yet."""
        assert self.scoring is not None
        return (
            dict.fromkeys(self.scoring.scorers, np.nan) if self.scoring.is_multimetric else np.nan
        )

    def arrange(self, found: dict[str, Floats]) -> list[Any]:
        """Make one number per cell, or one dict if there are several metrics."""
        assert self.scoring is not None
        if not self.scoring.is_multimetric and found.keys() == {"score"}:
            scores: list[float] = found["score"].tolist()
            return scores
        columns = [scores.tolist() for scores in found.values()]
        return [dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True)]


def _shift(make_estimator: Callable[[int], Any], first: int) -> Callable[[int], Any]:
    return lambda cell: make_estimator(first + cell)


def give_predictions(method: Method, values: Floats, training: Training) -> NDArray[Any]:
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
