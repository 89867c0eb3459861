"""All candidates on all splits, from as few growths as there can be.

    candidates           -> runs of settings        (`candidates`)
    data                 -> encoded tables          (`fields`, `pipelines`, `ground`)
    settings and splits  -> one full tree each      (`plants`), or only answers (`left_out`)
    held-out rows        -> scores of each cell     (`judging`, `pooling`)

Results are those of scikit-learn's own loop, in its order and form. What a shared growth cannot
give (parameters without meaning, a training set without rows, rows that come twice) is left to
that loop, one fit at a time, so that errors and warnings are its own.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection._validation import _fit_and_score
from sklearn.pipeline import Pipeline

from treefold.exceptions import InputError
from treefold.family import Sharing
from treefold.model_selection.candidates import (
    Candidate,
    Parameters,
    Run,
    apply_parameters,
    find_tree,
    group_candidates,
    is_sound,
    plan_runs,
)
from treefold.model_selection.fields import Batch, Data, Field, SharedBatch, rows_only
from treefold.model_selection.judging import Counted, Judge, UnreadableRowsError
from treefold.model_selection.left_out import (
    answer_rows,
    can_be_left_out,
    find_left_out,
    judge_rows,
)
from treefold.model_selection.pipelines import PipelineBatch, read_truth
from treefold.model_selection.plants import Growth, Plant, Seed, count_scoring, count_work
from treefold.model_selection.pooling import find_pooled, pool_scores, warn_of_pooling
from treefold.model_selection.routing import refuses_to_score
from treefold.model_selection.splits import Split
from treefold.progress import Progress

__all__ = ["Engine", "Result"]

Result = dict[str, Any]  # of one candidate on one split, as scikit-learn's `_fit_and_score` has it


class Engine:
    """Evaluates candidates of one estimator on the splits of one data set."""

    def __init__(
        self,
        estimator: Any,
        splits: Sequence[Split],
        judge: Judge,
        *,
        return_estimator: bool = False,
        keep: Collection[int | None] = (),
        sharing: Sharing = "auto",
        verbose: int = 0,
    ) -> None:
        self.data: Data = judge.data
        self.work: dict[str, Any] = {}
        self._estimator = estimator
        self._splits = splits
        pooled = find_pooled(judge.scoring, splits, judge.data.y)
        self._judge = replace(judge, pooled=pooled)
        self._return_estimator = return_estimator
        self._keep = frozenset(keep)  # splits whose trees are kept; None: that of all rows
        self._verbose = verbose
        left_out = find_left_out(splits)
        self._regular: Sequence[int] = (
            [number for number, split in enumerate(splits) if split.is_regular]
            if left_out is None
            else range(len(splits))
        )
        self._shared = SharedBatch(self.data, self._regular)
        needs_whole = return_estimator or judge.train_score or judge.may_look_at_trees
        self._needs_whole = needs_whole
        self._growth = Growth(sharing, self.data.n_threads, self.work)
        wants_answers = not needs_whole and self._keep <= {None} and sharing == "auto"
        self._left_out = left_out if wants_answers else None
        self._kept: dict[tuple[int, int | None], tuple[Plant, int]] = {}  # with the cell's place
        self._parameters: Sequence[Parameters] = ()

    def evaluate(self, parameters: Sequence[Parameters], pools: bool = True) -> list[Result]:
        """Fit and score every candidate on every split; results come candidate by candidate.

        Unless the caller wants to `pool` the rows of some splits only, those of all are pooled.
        """
        self._parameters = parameters
        self._kept.clear()
        results: list[Result | None] = [None] * (len(parameters) * len(self._splits))
        self._grow_together(parameters, results)
        self.work.setdefault("mode", "scikit-learn")
        everything = self._fit_the_rest(results)
        if self._judge.pooled:
            self.work["pooled"] = sorted(self._judge.pooled)
            warn_of_pooling(self._judge.pooled)
        return self._pool_all(everything) if pools else everything

    def _grow_together(
        self, parameters: Sequence[Parameters], results: list[Result | None]
    ) -> None:
        """Fill in the results that shared growth can give."""
        groups = [
            (candidates[0], plan_runs(candidates))
            for candidates in group_candidates(self._estimator, parameters).values()
        ]
        with self._show_progress([run for _, runs in groups for run in runs]) as progress:
            for first, runs in groups:
                with_final = self._grows_final(runs)
                for batch in self._make_batches(first):
                    for run in runs:
                        self._evaluate_run(batch, run, with_final, results, progress)

    def _show_progress(self, runs: Sequence[Run]) -> Progress:
        total = 0
        if self._verbose:
            with_final = self._grows_final(runs)
            seeds = (self._make_seeds(run, self._regular, with_final) for run in runs)
            total = sum(map(self._count_work, seeds))
        return Progress("growing trees", total, self._verbose)

    def _count_work(self, seeds: Sequence[Seed]) -> int:
        return count_work(seeds, self.data.n_rows, self._judge.train_score)

    def pool(
        self, results: Sequence[Result], score_params: Mapping[str, Any] | None = None
    ) -> list[Result]:
        """Give the results of some splits the scores of all their rows, where single rows have
        none; `score_params` are those of the judge unless others are given.
        """
        if not self._judge.pooled:
            return list(results)
        params = self._judge.score_params if score_params is None else score_params
        scores = pool_scores(self._judge, results, params)
        pooled = [
            {**result, "test_scores": score} for result, score in zip(results, scores, strict=True)
        ]
        for result in pooled:
            result.pop("answers", None)
        return pooled

    def _pool_all(self, results: list[Result]) -> list[Result]:
        n_splits = len(self._splits)
        return [
            result
            for first in range(0, len(results), n_splits or 1)
            for result in self.pool(results[first : first + n_splits])
        ]

    def fit(self, number: int, split_number: int | None = None) -> tuple[Any, float]:
        """Fit a candidate to a split, or to all rows: the estimator, and the seconds it took."""
        key = (number, split_number)
        if key not in self._kept and split_number is None:
            self._grow_final(number)
        start = time.perf_counter()
        if key in self._kept:
            plant, place = self._kept[key]
            estimator = plant.make_estimator(place)
            return estimator, plant.seconds + time.perf_counter() - start
        estimator = apply_parameters(self._estimator, self._parameters[number])
        X, y, params = self._take_training(split_number)
        estimator.fit(X, **params) if y is None else estimator.fit(X, y, **params)
        return estimator, time.perf_counter() - start

    def _take_training(self, split_number: int | None) -> tuple[Any, Any, Mapping[str, Any]]:
        if split_number is None:
            return self.data.X, self.data.y, self.data.fit_params
        train = self._splits[split_number].train
        return *self.data.take(train), self.data.cut(self.data.fit_params, train)

    # Shared growth ------------------------------------------------------------------------------

    def _make_batches(self, candidate: Candidate) -> Iterable[Batch]:
        if not isinstance(self._estimator, Pipeline):
            return [self._shared]
        estimator = apply_parameters(self._estimator, self._parameters[candidate.number])
        scoring = self._judge.scoring
        try:
            truth = read_truth(candidate.tree, self.data.y)
        except ValueError:
            return []
        if scoring and refuses_to_score(estimator, scoring.scorer, self._judge.score_params):
            return []
        return (
            PipelineBatch(self.data, truth, number, self._splits[number], estimator)
            for number in self._regular
        )

    def _grows_final(self, runs: Sequence[Run]) -> bool:
        """Whether the tree of all rows grows with the others: its setting must be known."""
        is_bare = not isinstance(self._estimator, Pipeline)
        return is_bare and None in self._keep and len(runs) == 1 and len(runs[0]) == 1

    def _make_seeds(self, run: Run, numbers: Sequence[int], with_final: bool) -> list[Seed]:
        seeds = [
            Seed(setting, number, self._splits[number], self._needs_whole or number in self._keep)
            for setting in run
            for number in numbers
        ]
        return [*seeds, Seed(run[0])] if with_final else seeds

    def _evaluate_run(
        self,
        batch: Batch,
        run: Run,
        with_final: bool,
        results: list[Result | None],
        progress: Progress,
    ) -> None:
        done = 0.0
        if self._verbose:
            seeds = self._make_seeds(run, batch.numbers, with_final)
            done = progress.done + self._count_work(seeds)
        try:
            field = batch.open(run[0].tree)
        except Exception:  # whatever it is, scikit-learn's loop will meet it
            return progress.reach(done)
        rows = self._left_out
        if rows is not None and batch is self._shared and can_be_left_out(run, field, rows):
            n_answers = len(rows) * sum(len(setting.candidates) for setting in run)
            work_per_answer = max(0.0, done - progress.done) / n_answers
            for n_given in self._answer_run(field, run, rows, results):
                progress.advance(work_per_answer * n_given)
            return progress.reach(done)
        seeds = self._make_seeds(run, batch.numbers, with_final)
        for plants in self._growth.grow(field, seeds, progress):
            for plant, counted in zip(plants, self._judge.count(plants), strict=True):
                if plant.seed.number in self._keep or plant.seed.split is None:
                    self._keep_plant(plant)
                if plant.seed.split is not None:
                    self._record(plant, plant.seed.split, counted, results)
                    progress.advance(count_scoring(plant.seed, self._judge.train_score))
        progress.reach(done)
        if isinstance(self._estimator, Pipeline):
            self.work["mode"] = "pipeline"

    def _answer_run(
        self, field: Field, run: Run, rows: NDArray[Any], results: list[Result | None]
    ) -> Iterator[int]:
        """Leave one out: answers without trees. Gives the number of answers as they come."""
        reading = field.seconds
        for setting in run:
            for place, left, cost in answer_rows(setting, field, rows, self.data.n_threads):
                judged = judge_rows(self._judge, field, left)
                self._growth.add_work(cost)
                seconds = (left.seconds + reading) / len(left.rows) / len(setting.candidates)
                first = setting.candidates[place].number * len(self._splits)
                reading = 0.0
                names = (*judged, "fit_error", "fit_time", "n_test_samples")
                columns = (*judged.values(), repeat(None), repeat(seconds), repeat(1))
                lines = zip(*columns, strict=False)
                for number, line in zip(left.places.tolist(), lines, strict=True):
                    results[first + number] = dict(zip(names, line, strict=True))
                yield len(left.rows)

    def _keep_plant(self, plant: Plant) -> None:
        plant = replace(plant, leaves=None)  # which were for the scores
        for place, candidate in enumerate(plant.seed.setting.candidates):
            self._kept[candidate.number, plant.seed.number] = (plant, place)

    def _grow_final(self, number: int) -> None:
        """Grow the tree of all rows from the table that is there, if that can be done."""
        estimator = apply_parameters(self._estimator, self._parameters[number])
        tree = find_tree(estimator)
        if tree is None or tree is not estimator:
            return
        for run in plan_runs([Candidate(number, tree.get_params(deep=False), tree)]):
            total = self._count_work(self._make_seeds(run, (), True))
            with Progress("growing the tree of all rows", total, self._verbose) as progress:
                self._evaluate_run(self._shared.without_splits(), run, True, [], progress)

    def _record(
        self, plant: Plant, split: Split, counted: Counted | None, results: list[Result | None]
    ) -> None:
        try:
            judged = self._judge.judge(plant, split, counted)
        except UnreadableRowsError:
            return
        assert plant.seed.number is not None
        candidates = plant.seed.setting.candidates
        for place, candidate in enumerate(candidates):
            result = {name: values[place] for name, values in judged.items()}
            result["fit_error"] = None
            result["fit_time"] = plant.seconds / len(candidates)
            result["n_test_samples"] = len(split.test)
            if self._return_estimator:
                result["estimator"] = plant.make_estimator(place)
            results[candidate.number * len(self._splits) + plant.seed.number] = result

    # One fit at a time --------------------------------------------------------------------------

    def _fit_the_rest(self, results: Sequence[Result | None]) -> list[Result]:
        """Fit what shared growth did not give."""
        everything: list[Result] = []
        with Progress("fitting one by one", results.count(None), self._verbose) as progress:
            for place, result in enumerate(results):
                everything.append(self._fit_alone(place) if result is None else result)
                if result is None:
                    progress.advance()
        return everything

    def _fit_alone(self, place: int) -> Result:
        number, split_number = divmod(place, len(self._splits))
        split, judge = self._splits[split_number], self._judge
        if self.data.is_table:
            self._refuse_table(number, split_number)
        scorer = _give_nothing if judge.scoring is None else judge.scoring.scorer
        result: Result = _fit_and_score(
            clone(self._estimator),
            rows_only(self.data.X),
            self.data.y,
            scorer=scorer,
            train=split.train,
            test=split.test,
            verbose=self._verbose,
            parameters=self._parameters[number],
            fit_params=dict(self.data.fit_params),
            score_params=dict(judge.score_params),
            return_train_score=judge.train_score,
            return_n_test_samples=True,
            return_times=True,
            return_estimator=self._return_estimator or judge.predictions is not None,
            split_progress=(split_number, len(self._splits)),
            candidate_progress=(number, len(self._parameters)),
            error_score=judge.error_score,
        )
        if judge.predictions is not None:
            result["predictions"] = self._predict_alone(result, split)
        return result

    def _refuse_table(self, number: int, split_number: int) -> None:
        """Tell why rows of a Table are needed, unless `fit` says more before it looks at them."""
        if isinstance(self._estimator, Pipeline):
            raise InputError(
                "A Table cannot go through a pipeline: it is encoded already. Pass the data."
            )
        tree = find_tree(apply_parameters(self._estimator, self._parameters[number]))
        if tree is None or is_sound(tree):
            raise InputError(
                f"Split {split_number} cannot be cut out of a Table: it has no training rows, no "
                "test rows, or training rows that come twice. Pass the data instead."
            )

    def _predict_alone(self, result: Result, split: Split) -> Any:
        if result["fit_error"] is not None:
            return None
        X, _ = self.data.take(split.test)
        return getattr(result["estimator"], str(self._judge.predictions))(X)


def _give_nothing(estimator: Any, X: Any, y: Any = None) -> float:
    return 0.0
