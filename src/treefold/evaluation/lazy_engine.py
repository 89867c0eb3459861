"""Cross-validation of lazy estimators: one table; only what held-out rows ask for is grown."""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from treefold.estimators.asking import LazyEnsemble, split_batches
from treefold.estimators.bags import Bags, Work
from treefold.estimators.ballot import Ballot
from treefold.evaluation.candidates import Parameters
from treefold.evaluation.dataset import refuse_other_params
from treefold.evaluation.engine import Engine, Result
from treefold.evaluation.refusal import CannotServeError, cannot_serve
from treefold.evaluation.splits import Split
from treefold.exceptions import InputError, ParameterError
from treefold.progress import Progress
from treefold.scoring.cells import score_cells

__all__ = ["LazyEngine", "is_lazy"]


def is_lazy(estimator: Any) -> bool:
    """Whether an estimator is one of our lazy ones."""
    return isinstance(estimator, LazyEnsemble)


class LazyEngine(Engine):
    """Evaluates a lazy estimator. What needs more than answers is fitted split by split."""

    def _grow_together(
        self, parameters: Sequence[Parameters], results: list[Result | None]
    ) -> None:
        if self._needs_whole or self._keep - {None}:
            return
        try:
            bags = self._open_bags()
        except CannotServeError:
            return
        work = Work()
        n_rows = sum(self._splits[number].n_train for number in self._regular)
        with Progress("growing where rows ask", n_rows, self._verbose) as progress:
            for number in self._regular:
                split = self._splits[number]
                try:
                    results[number] = self._evaluate_split(bags, split, work)
                except CannotServeError:
                    continue
                finally:
                    progress.advance(split.n_train)
        self.work.update(mode="lazy", **work.counts)

    def _open_bags(self) -> Bags:
        study = self.study
        estimator: Any = clone(self._estimator)
        with cannot_serve(ValueError, TypeError):
            refuse_other_params(study.fit_params)
            weights = study.fit_params.get("sample_weight")
            bags: Bags = estimator._open(study.X, study.y, weights, study.n_threads)
        return bags

    def _evaluate_split(self, bags: Bags, split: Split, work: Work) -> Result:
        start = time.perf_counter()
        with cannot_serve(InputError, ParameterError):
            values = self._ask(replace(bags, rows=split.train), split.test, work)
        grown = time.perf_counter()
        target, judge = bags.target, self._judge
        present = None
        if target.classes is not None:
            present = np.flatnonzero(np.bincount(target.values[split.train]))
        truth: NDArray[Any] = target.values[split.test]
        result: Result = {"fit_error": None, "n_test_samples": len(split.test)}
        if judge.scoring is not None:
            result["test_scores"] = self._score(split, values, truth, target.classes, present)
        if judge.pooled:
            result["answers"] = (split.test, truth, values, target.classes)
        if judge.predictions is not None:
            result["predictions"] = _predict(
                str(judge.predictions), values, target.classes, present
            )
        result["fit_time"] = grown - start
        result["score_time"] = time.perf_counter() - grown
        return result

    def _ask(self, bags: Bags, rows: NDArray[Any], work: Work) -> NDArray[np.float64]:
        n_threads = self.study.n_threads
        ballot = Ballot(len(rows), bags.target.n_classes, self._estimator.voting)
        asked = np.ascontiguousarray(rows, dtype=np.uint32)
        places = split_batches(len(rows), self._estimator.strategy)
        answers = bags.ask([asked[each] for each in places], n_threads, work)
        for place, values in zip(cycle(places), answers, strict=False):
            ballot.add(values, place)
        return ballot.count(bags.n_bags)

    def _score(
        self,
        split: Split,
        values: NDArray[np.float64],
        truth: NDArray[Any],
        classes: NDArray[Any] | None,
        present: NDArray[np.int64] | None,
    ) -> Any:
        judge = self._judge
        assert judge.scoring is not None
        names = judge.scoring.scorers.keys() - judge.pooled
        if not names:
            return judge.blank()
        params = self.study.score_params
        found = score_cells(
            judge.scoring.select(names),
            truth,
            np.arange(len(truth)).reshape(1, -1),
            values,
            classes,
            present=present,
            y=self.study.take_y(split.test),
            score_params=self.study.cut(params, split.test) if params else None,
            error_score=judge.error_score,
        )
        return judge.arrange(found)[0]


def _predict(
    method: str,
    values: NDArray[np.float64],
    classes: NDArray[Any] | None,
    present: NDArray[np.int64] | None,
) -> NDArray[Any]:
    if classes is None:
        return values[:, 0]
    shares = values[:, present]
    if method == "predict":
        return np.asarray(classes[present].take(shares.argmax(axis=1)))
    return shares
