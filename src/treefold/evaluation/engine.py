"""All candidates on all splits, in the form of scikit-learn's own loop and in its order.

    candidates           -> runs of settings        (`candidates`)
    data                 -> encoded tables          (`dataset`, `pipelines`)
    settings and splits  -> one full tree each      (`growing`), or only answers (`left_out`)
    held-out rows        -> scores of each cell     (`judging`, `single_rows`)

What shared growth cannot serve (parameters without meaning, a training set without rows, rows that
come twice) is left to scikit-learn, one fit at a time, so that errors and warnings are its own.
`CannotServeError` says so, and is all that is caught: anything else is a bug, and surfaces.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection._validation import _fit_and_score
from sklearn.pipeline import Pipeline

from treefold.estimators.base import BaseDecisionTree
from treefold.evaluation.candidates import (
    Parameters,
    Run,
    apply_parameters,
    find_tree,
    freeze,
    group_candidates,
    is_sound,
    plan_runs,
)
from treefold.evaluation.dataset import Dataset, Training, open_dataset, refuse_other_params
from treefold.evaluation.growing import (
    FullTree,
    TreeJob,
    add_work,
    count_scoring,
    count_work,
    grow,
    plan_jobs,
    train,
)
from treefold.evaluation.judging import Counted, Judge
from treefold.evaluation.left_out import answer_rows, can_be_left_out, find_left_out, judge_rows
from treefold.evaluation.pipelines import make_opener, read_truth, refuses_to_score
from treefold.evaluation.refusal import CannotServeError, cannot_serve
from treefold.evaluation.single_rows import find_pooled, pool_scores, warn_of_pooling
from treefold.evaluation.splits import Split
from treefold.evaluation.study import rows_only
from treefold.exceptions import InputError, ParameterError
from treefold.family import Sharing
from treefold.progress import Progress

__all__ = ["Engine", "Result"]

Result = dict[str, Any]  # of one candidate on one split, as scikit-learn's `_fit_and_score` has it
_Open = Callable[[BaseDecisionTree], Dataset]  # encodes data as a tree would


class Engine:
    """Evaluates candidates of one estimator on the splits of a study."""

    def __init__(
        self,
        estimator: Any,
        judge: Judge,
        *,
        return_estimator: bool = False,
        keep: Collection[int | None] = (),
        sharing: Sharing = "auto",
        verbose: int = 0,
    ) -> None:
        self.study = judge.study
        self.work: dict[str, Any] = {}
        self._estimator = estimator
        self._splits = splits = judge.study.splits
        pooled = find_pooled(judge.scoring, splits, judge.study.y)
        self._judge = replace(judge, pooled=pooled)
        self._return_estimator = return_estimator
        self._keep = frozenset(keep)  # splits whose trees are kept; None: that of all rows
        self._sharing, self._verbose = sharing, verbose
        left_out = find_left_out(splits)
        self._regular: Sequence[int] = (
            [number for number, split in enumerate(splits) if split.is_regular]
            if left_out is None
            else range(len(splits))
        )
        self._needs_whole = return_estimator or judge.train_score or judge.may_look_at_trees
        self._is_bare = not isinstance(estimator, Pipeline)
        wants_answers = self._is_bare and not self._needs_whole and self._keep <= {None}
        self._left_out = left_out if wants_answers and sharing == "auto" else None
        self._datasets: dict[Any, Dataset] = {}  # of all rows
        self._kept: dict[tuple[int, int | None], tuple[FullTree, int]] = {}  # and the cell's place
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
            (group, plan_runs(group)) for group in group_candidates(self._estimator, parameters)
        ]
        with self._show_progress([run for _, runs in groups for run in runs]) as progress:
            for group, runs in groups:
                with_final = self._grows_final(runs)
                for numbers, open_data in self._list_tables(next(iter(group.items()))):
                    for run in runs:
                        plan = partial(self._plan_jobs, run, numbers, with_final)
                        self._evaluate_run(open_data, run, plan, results, progress)

    def _show_progress(self, runs: Sequence[Run]) -> Progress:
        total = 0
        if self._verbose:
            with_final = self._grows_final(runs)
            jobs = (self._plan_jobs(run, self._regular, with_final) for run in runs)
            total = sum(map(self._count_work, jobs))
        return Progress("growing trees", total, self._verbose)

    def _count_work(self, jobs: Sequence[TreeJob]) -> int:
        return count_work(jobs, self.study.n_rows, self._judge.train_score)

    def pool(
        self, results: Sequence[Result], score_params: Mapping[str, Any] | None = None
    ) -> list[Result]:
        """Give the results of some splits the scores of all their rows, where single rows have
        none; `score_params` are those of the study unless others are given.
        """
        if not self._judge.pooled:
            return list(results)
        params = self.study.score_params if score_params is None else score_params
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
            full, place = self._kept[key]
            estimator = full.make_estimator(place, self.study.X)
            return estimator, full.seconds + time.perf_counter() - start
        estimator = apply_parameters(self._estimator, self._parameters[number])
        X, y, params = self._take_training(split_number)
        estimator.fit(X, **params) if y is None else estimator.fit(X, y, **params)
        return estimator, time.perf_counter() - start

    def _take_training(self, split_number: int | None) -> tuple[Any, Any, Mapping[str, Any]]:
        study = self.study
        if split_number is None:
            return study.X, study.y, study.fit_params
        rows = self._splits[split_number].train
        return *study.take(rows), study.cut(study.fit_params, rows)

    # Shared growth ------------------------------------------------------------------------------

    def _list_tables(
        self, candidate: tuple[int, BaseDecisionTree]
    ) -> Iterable[tuple[Sequence[int], _Open]]:
        """List splits that are rows of one table, and how it is read: all of a bare tree."""
        if self._is_bare:
            return [(self._regular, self._open)]
        number, tree = candidate
        estimator = apply_parameters(self._estimator, self._parameters[number])
        scoring, study = self._judge.scoring, self.study
        try:
            with cannot_serve(ValueError):
                truth = read_truth(tree, study.y)
        except CannotServeError:
            return []
        if scoring and refuses_to_score(estimator, scoring.scorer, study.score_params):
            return []
        return (
            ([number], make_opener(study, truth, self._splits[number], estimator))
            for number in self._regular
        )

    def _open(self, tree: BaseDecisionTree) -> Dataset:
        """Encode the rows of all splits, unless that has been done."""
        study, key = self.study, freeze(tree.categorical_features)
        with cannot_serve(ValueError, TypeError):
            refuse_other_params(study.fit_params)
            if key not in self._datasets:
                weights = study.fit_params.get("sample_weight")
                self._datasets[key] = open_dataset(tree, study.X, study.y, weights, study.n_threads)
        return self._datasets[key]

    def _grows_final(self, runs: Sequence[Run]) -> bool:
        """Whether the tree of all rows grows with the others: its setting must be known."""
        return self._is_bare and None in self._keep and len(runs) == 1 and len(runs[0]) == 1

    def _plan_jobs(self, run: Run, numbers: Sequence[int], with_final: bool) -> list[TreeJob]:
        splits = {number: self._splits[number] for number in numbers}
        jobs = [
            job
            for setting in run
            for job in plan_jobs(setting, splits, lambda n: self._needs_whole or n in self._keep)
        ]
        return [*jobs, TreeJob(run[0])] if with_final else jobs

    def _evaluate_run(
        self,
        open_data: _Open,
        run: Run,
        plan: Callable[[], list[TreeJob]],  # asked only where trees grow: it may name thousands
        results: list[Result | None],
        progress: Progress,
    ) -> None:
        done = progress.done + self._count_work(plan()) if self._verbose else 0.0
        try:
            dataset = open_data(run[0].tree)
        except CannotServeError:
            return progress.reach(done)
        rows = self._left_out if results else None  # none: the tree of all rows
        if rows is not None and can_be_left_out(run, dataset, rows):
            n_answers = len(rows) * sum(len(setting.trees) for setting in run)
            work_per_answer = max(0.0, done - progress.done) / n_answers
            for n_given in self._answer_run(dataset, run, rows, results):
                progress.advance(work_per_answer * n_given)
        else:
            self._grow_run(dataset, plan(), results, progress)
        if not self._is_bare:
            self.work["mode"] = "pipeline"
        progress.reach(done)

    def _grow_run(
        self,
        dataset: Dataset,
        jobs: Sequence[TreeJob],
        results: list[Result | None],
        progress: Progress,
    ) -> None:
        options: Any = {"sharing": self._sharing, "progress": progress, "work": self.work}
        for trees in grow(dataset, jobs, train=_train, **options):
            counted = self._judge.count_correct(trees)
            for place, full in enumerate(trees):
                self._keep_tree(full)
                for number, split in full.job.splits.items():
                    self._record(full, number, counted.get((place, number)), results)
                    progress.advance(count_scoring(full.job, split, self._judge.train_score))

    def _answer_run(
        self, dataset: Dataset, run: Run, rows: NDArray[Any], results: list[Result | None]
    ) -> Iterator[int]:
        """Leave one out: answers without trees. Gives the number of answers as they come."""
        reading = dataset.charge()
        for setting in run:
            for place, left, cost in answer_rows(setting, dataset, rows):
                judged = judge_rows(self._judge, dataset, left)
                add_work(self.work, cost)
                seconds = (left.seconds + reading) / len(left.rows) / len(setting.trees)
                first = setting.numbers[place] * len(self._splits)
                reading = 0.0
                names = (*judged, "fit_error", "fit_time", "n_test_samples")
                columns = (*judged.values(), repeat(None), repeat(seconds), repeat(1))
                lines = zip(*columns, strict=False)
                for number, line in zip(left.places.tolist(), lines, strict=True):
                    results[first + number] = dict(zip(names, line, strict=True))
                yield len(left.rows)

    def _keep_tree(self, full: FullTree) -> None:
        numbers: list[int | None] = [*self._keep.intersection(full.job.splits)]
        for number in numbers if full.job.splits else [None]:
            split = {} if number is None else {number: full.job.splits[number]}
            own = replace(full, job=replace(full.job, splits=split), leaves={})  # used for scores
            for place, candidate in enumerate(full.job.setting.numbers):
                self._kept[candidate, number] = (own, place)

    def _grow_final(self, number: int) -> None:
        """Grow the tree of all rows from the table that is there, if that can be done."""
        estimator = apply_parameters(self._estimator, self._parameters[number])
        tree = find_tree(estimator)
        if tree is None or tree is not estimator:
            return
        for run in plan_runs({number: tree}):
            jobs = [TreeJob(run[0])]
            total = self._count_work(jobs)
            with Progress("growing the tree of all rows", total, self._verbose) as progress:
                self._evaluate_run(self._open, run, partial(list, jobs), [], progress)

    def _record(
        self, full: FullTree, number: int, counted: Counted | None, results: list[Result | None]
    ) -> None:
        try:
            judged = self._judge.judge(full, number, counted)
        except CannotServeError:
            return
        setting = full.job.setting
        for place, candidate in enumerate(setting.numbers):
            result = {name: values[place] for name, values in judged.items()}
            result["fit_error"] = None
            result["fit_time"] = full.seconds / len(setting.numbers)
            result["n_test_samples"] = len(full.job.splits[number].test)
            if self._return_estimator:
                result["estimator"] = full.make_estimator(place, self.study.X)
            results[candidate * len(self._splits) + number] = result

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
        if self.study.is_table:
            self._refuse_table(number, split_number)
        scorer = _give_nothing if judge.scoring is None else judge.scoring.scorer
        result: Result = _fit_and_score(
            clone(self._estimator),
            rows_only(self.study.X),
            self.study.y,
            scorer=scorer,
            train=split.train,
            test=split.test,
            verbose=self._verbose,
            parameters=self._parameters[number],
            fit_params=dict(self.study.fit_params),
            score_params=dict(self.study.score_params),
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
        if not self._is_bare:
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
        X, _ = self.study.take(split.test)
        return getattr(result["estimator"], str(self._judge.predictions))(X)


def _give_nothing(estimator: Any, X: Any, y: Any = None) -> float:
    return 0.0


def _train(dataset: Dataset, job: TreeJob) -> Training:
    """Make the rules of a job, if a fit on its rows would not fail."""
    with cannot_serve(InputError, ParameterError):
        return train(dataset, job)
