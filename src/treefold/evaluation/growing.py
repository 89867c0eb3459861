"""From settings and splits to full trees, and from a full tree to each of its cells.

    setting, splits of the same training rows    a job
    jobs, as many at a time as memory lets       one family -> their full trees

A full tree is grown with the loosest limits of its candidates. Each candidate is a *cell* of it.
"""

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.evaluation.candidates import Setting
from treefold.evaluation.dataset import Dataset, Training
from treefold.evaluation.fitted import make_fitted
from treefold.evaluation.refusal import CannotServeError
from treefold.evaluation.splits import Split
from treefold.family import Sharing, grow_family
from treefold.progress import Progress
from treefold.replay import Cell, full_rules, replay_nodes, replay_tree

__all__ = ["GROWING", "FullTree", "TreeJob", "add_work", "count_scoring", "count_work"]
__all__ += ["grow", "plan_jobs", "train"]

GROWING, _SCORING = 100, 1  # work per training row of a tree, per test row of a cell, about
_MOST_ROWS = 2**24  # training rows of the trees that grow at one time, if they are many
_FEW_TREES = 32


@dataclass(frozen=True, slots=True)
class TreeJob:
    """A tree that is to grow: one setting on splits with the same training rows, or on all rows."""

    setting: Setting
    splits: Mapping[int, Split] = field(default_factory=dict)  # by number; none: all rows
    is_whole: bool = True  # every node may be looked at; else only what the test rows reach

    @property
    def split(self) -> Split | None:
        """One of the splits, for its training rows; None: all rows."""
        return next(iter(self.splits.values()), None)


def plan_jobs(
    setting: Setting, splits: Mapping[int, Split], whole: Callable[[int], bool]
) -> list[TreeJob]:
    """Bring together the splits of one setting that give the same tree."""
    groups: dict[Hashable, dict[int, Split]] = {}
    for number, split in splits.items():
        key = ("alone", number) if split.twins is None else ("twins", split.twins)
        groups.setdefault(key, {})[number] = split
    return [TreeJob(setting, own, any(map(whole, own))) for own in groups.values()]


@dataclass(frozen=True, slots=True)
class FullTree:
    """The full tree of a job. Each candidate of its setting is a cell of it."""

    job: TreeJob
    dataset: Dataset
    training: Training
    cells: list[Cell]
    tree: _native.Tree
    seconds: float  # for each split
    leaves: Mapping[int, NDArray[np.int64]]  # of the test rows of splits, where they are known

    @property
    def has_one_shape(self) -> bool:
        """Whether the tree is already the tree of every cell."""
        return _are_equal(self.cells)

    @property
    def present(self) -> NDArray[np.int64] | None:
        """Numbers of the classes that the training rows have; None for regression."""
        target = self.training.target
        if target.classes is None or target.weights is not None or target.multipliers is not None:
            return self.training.present  # what has no weight, or next to none, has a class too
        return np.flatnonzero(self.tree.value[0])

    def find_leaves(self, number: int) -> NDArray[np.int64]:
        """Find the leaves of the test rows of a split."""
        if number in self.leaves:
            return self.leaves[number]
        return self.dataset.find_side(self.tree, self.job.splits[number], "test")

    def find_nodes(self, leaves: NDArray[np.int64], cells: Sequence[Cell]) -> NDArray[np.int64]:
        """Find where rows, given by their leaves, end in some cells."""
        if cells[0] == self.cells[0] and self.has_one_shape and _are_equal(cells):
            one = leaves.reshape(1, -1)
            return one if len(cells) == 1 else np.broadcast_to(one, (len(cells), len(leaves)))
        return replay_nodes(self.tree, leaves, cells, self.dataset.n_threads)

    def make_estimator(self, place: int, X: Any) -> Any:
        """Make what fitting a candidate of the setting on these rows of X gives."""
        native = self.tree
        if not self.has_one_shape:
            native = replay_tree(native, self.cells[place])
        estimator = self.job.setting.trees[place]
        schema = self.dataset.read_schema(X, self.job.setting.tree, self.job.split)
        fitted = make_fitted(estimator, native, self.dataset, self.training, schema)
        return self.dataset.complete(fitted)


_Waiting = tuple[TreeJob, Training, list[Cell]]


def train(dataset: Dataset, job: TreeJob) -> Training:
    """Make the rules of a job; raises what a fit on its training rows would raise."""
    rows, left_out = dataset.list_train(job.split), dataset.list_left_out(job.split)
    return dataset.train(job.setting.tree, rows, left_out)


def grow(
    dataset: Dataset,
    jobs: Iterable[TreeJob],
    *,
    train: Callable[[Dataset, TreeJob], Training] = train,
    sharing: Sharing = "auto",
    progress: Progress | None = None,
    work: dict[str, Any] | None = None,
) -> Iterator[list[FullTree]]:
    """Grow the trees of jobs that draw alike, as many at a time as memory lets.

    A job that cannot be served, as `train` may say, gives nothing. What the growth cost is added to
    `work`.
    """
    options = {"sharing": sharing, "progress": progress}
    waiting: list[_Waiting] = []
    start = time.perf_counter() - dataset.charge()
    n_rows = 0
    for job in jobs:
        try:
            training = train(dataset, job)
        except CannotServeError:
            continue
        waiting.append((job, training, job.setting.list_cells(training.target.n_rows)))
        n_rows += len(training.rows)
        if n_rows > _MOST_ROWS and len(waiting) >= _FEW_TREES:
            yield _grow_together(dataset, waiting, start, work, options)
            waiting, n_rows, start = [], 0, time.perf_counter()
    if waiting:
        yield _grow_together(dataset, waiting, start, work, options)


def _grow_together(
    dataset: Dataset,
    waiting: Sequence[_Waiting],
    start: float,
    work: dict[str, Any] | None,
    options: Mapping[str, Any],
) -> list[FullTree]:
    members = []
    for job, training, cells in waiting:
        loose = replace(training, rules=full_rules(training.rules, cells))
        is_whole = job.is_whole or any(cell.ccp_alpha > 0 or cell.max_leaf_nodes for cell in cells)
        members.append(dataset.make_member(loose, _list_asked(dataset, job, cells), is_whole))
    family = grow_family(
        dataset.table._native,
        dataset.target,
        members,
        n_threads=dataset.n_threads,
        work_per_row=GROWING,
        **options,
    )
    if work is not None:
        add_work(work, family.work)
    share = (time.perf_counter() - start) / max(family.seconds.sum(), 1e-300)
    grown = zip(waiting, family.trees, family.leaves, family.seconds, strict=True)
    return [
        FullTree(
            job,
            dataset,
            training,
            cells,
            _prune(tree, cells),
            float(seconds * share) / max(1, len(job.splits)),
            _part_leaves(leaves, job),
        )
        for (job, training, cells), tree, leaves, seconds in grown
    ]


def _list_asked(dataset: Dataset, job: TreeJob, cells: list[Cell]) -> NDArray[np.uint32] | None:
    """Name the test rows, if the trees know them and stay as they grow."""
    if not job.splits or _is_pruned(cells):
        return None
    asked = []
    for split in job.splits.values():
        rows = dataset.list_asked(split)
        if rows is None:
            return None
        asked.append(rows)
    return np.concatenate(asked)


def _part_leaves(leaves: NDArray[np.int64], job: TreeJob) -> dict[int, NDArray[np.int64]]:
    """Give each split the leaves of its own test rows, if these have asked."""
    if len(leaves) == 0:
        return {}
    ends = np.cumsum([len(split.test) for split in job.splits.values()])
    return dict(zip(job.splits, np.split(leaves, ends[:-1]), strict=True))


def _prune(tree: _native.Tree, cells: list[Cell]) -> _native.Tree:
    """Finish the tree if it is that of every cell: growth knows all limits but this one."""
    return tree.prune(cells[0].ccp_alpha) if _is_pruned(cells) else tree


def _is_pruned(cells: list[Cell]) -> bool:
    return cells[0].ccp_alpha > 0 and _are_equal(cells)


def _are_equal(cells: Sequence[Cell]) -> bool:
    return all(cell == cells[0] for cell in cells)


# Work -------------------------------------------------------------------------------------------


def add_work(total: dict[str, Any], work: Mapping[str, Any]) -> None:
    """Add the counts of one growth; what is no count is that of the first growth."""
    for name, value in work.items():
        before = total.setdefault(name, value)
        if before is value:
            continue
        if name.startswith("peak"):
            total[name] = max(before, value)
        elif np.asarray(value).dtype.kind in "iu":
            total[name] = _add(before, value)


def _add(one: Any, other: Any) -> Any:
    """Add counts, or arrays of counts of which one may be longer."""
    if np.ndim(one) == 0:
        return one + other
    total = np.zeros(max(len(one), len(other)), dtype=np.int64)
    for counts in (one, other):
        total[: len(counts)] += np.asarray(counts, dtype=np.int64)
    return total


def count_work(jobs: Iterable[TreeJob], n_rows: int, train_score: bool) -> int:
    """Count the work of growing and scoring, in the unit by which a bar advances."""
    return sum(
        GROWING * (n_rows if job.split is None else job.split.n_train)
        + sum(count_scoring(job, split, train_score) for split in job.splits.values())
        for job in jobs
    )


def count_scoring(job: TreeJob, split: Split, train_score: bool) -> int:
    """Count the work of scoring all cells of a tree on a split."""
    n_scored = len(split.test) + (split.n_train if train_score else 0)
    return _SCORING * n_scored * len(job.setting.trees)
