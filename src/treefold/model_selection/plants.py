"""From settings and splits to full trees, and from a full tree to each of its cells."""

import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.family import Sharing, grow_family
from treefold.model_selection.candidates import Setting
from treefold.model_selection.fields import Field
from treefold.model_selection.fitted import make_fitted
from treefold.model_selection.ground import Training
from treefold.model_selection.splits import Split
from treefold.progress import Progress
from treefold.replay import Cell, full_rules, replay_nodes, replay_tree

__all__ = ["Growth", "Plant", "Seed", "count_scoring", "count_work"]

_MOST_ROWS = 2**24  # training rows of the trees that grow at one time, if they are many
_FEW_TREES = 32
_GROWING, _SCORING = 100, 1  # work per training row of a tree, per test row of a cell, about


@dataclass(frozen=True, slots=True)
class Seed:
    """A tree that is to grow: one setting on one split, or on all rows."""

    setting: Setting
    number: int | None = None  # of the split; None: all rows
    split: Split | None = None
    is_whole: bool = True  # every node may be looked at; else only what the test rows reach


@dataclass(frozen=True, slots=True)
class Plant:
    """The full tree of a seed. Each candidate of its setting is a cell of it."""

    seed: Seed
    field: Field
    training: Training
    cells: list[Cell]
    tree: _native.Tree
    seconds: float
    leaves: NDArray[np.int64] | None  # of the test rows; None: yet to be found

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

    def find_nodes(
        self, leaves: NDArray[np.int64], places: slice, n_threads: int
    ) -> NDArray[np.int64]:
        """Find where rows, given by their leaves, end in some of the cells."""
        cells = self.cells[places]
        if self.has_one_shape:
            one = leaves.reshape(1, -1)
            return one if len(cells) == 1 else np.broadcast_to(one, (len(cells), len(leaves)))
        return replay_nodes(self.tree, leaves, cells, n_threads)

    def make_estimator(self, place: int) -> Any:
        """Make what fitting the candidate on these rows gives."""
        split = self.seed.split
        native = self.tree
        if not self.has_one_shape:
            native = replay_tree(native, self.cells[place])
        ground, schema = self.field.ground, self.field.own_schema(split)
        tree = self.seed.setting.candidates[place].tree
        fitted = make_fitted(tree, native, ground, self.training, schema)
        return self.field.complete(fitted)


@dataclass(slots=True)
class Growth:
    """How plants are grown, and the work that it was."""

    sharing: Sharing
    n_threads: int
    work: dict[str, Any]

    def grow(
        self, field: Field, seeds: Sequence[Seed], progress: Progress | None = None
    ) -> Iterator[list[Plant]]:
        """Grow the trees of one run, as many at a time as memory lets. A seed whose fit would fail
        gives nothing.
        """
        waiting: list[_Sown] = []
        seconds, start = field.seconds, time.perf_counter()
        n_rows = 0
        for twins in _find_twins(seeds):
            rows = field.train_rows(twins[0].split)
            left_out = field.left_out_rows(twins[0].split)
            try:
                training = field.ground.train(twins[0].setting.tree, rows, left_out)
            except ValueError:
                continue
            cells = twins[0].setting.list_cells(training.target.n_rows)
            waiting.append(_Sown(twins, training, cells))
            n_rows += len(rows)
            if n_rows > _MOST_ROWS and len(waiting) >= _FEW_TREES:
                yield self._grow_together(field, waiting, start - seconds, progress)
                waiting, n_rows = [], 0
                seconds, start = 0.0, time.perf_counter()
        if waiting:
            yield self._grow_together(field, waiting, start - seconds, progress)

    def _grow_together(
        self, field: Field, waiting: Sequence["_Sown"], start: float, progress: Progress | None
    ) -> list[Plant]:
        ground = field.ground
        family = grow_family(
            ground.table._native,
            ground.target,
            [
                ground.member(_loosen(sown), _list_asked(field, sown), _is_whole(sown))
                for sown in waiting
            ],
            sharing=self.sharing,
            n_threads=self.n_threads,
            progress=progress,
            work_per_row=_GROWING,
        )
        self.add_work(family.work)
        share = (time.perf_counter() - start) / max(family.seconds.sum(), 1e-300)
        plants = []
        for sown, grown, leaves, seconds in zip(
            waiting, family.trees, family.leaves, family.seconds, strict=True
        ):
            tree = _prune(grown, sown.cells)
            own = float(seconds * share) / len(sown.seeds)
            for seed, found in zip(sown.seeds, _part_leaves(leaves, sown.seeds), strict=True):
                plants.append(Plant(seed, field, sown.training, sown.cells, tree, own, found))
        return plants

    def add_work(self, work: dict[str, Any]) -> None:
        """Add the counts of one growth; what is no count is that of the first growth."""
        for name, value in work.items():
            before = self.work.setdefault(name, value)
            if before is value:
                continue
            if name.startswith("peak"):
                self.work[name] = max(before, value)
            elif np.asarray(value).dtype.kind in "iu":
                self.work[name] = _add(before, value)


@dataclass(frozen=True, slots=True)
class _Sown:
    """Seeds of one setting that have the same training rows, and what is known of their tree."""

    seeds: list[Seed]
    training: Training
    cells: list[Cell]


def count_work(seeds: Sequence[Seed], n_rows: int, train_score: bool) -> int:
    """Count the work of growing and scoring, in the unit by which a bar advances."""
    n_grown = sum(
        n_rows if twins[0].split is None else twins[0].split.n_train for twins in _find_twins(seeds)
    )
    return _GROWING * n_grown + sum(count_scoring(seed, train_score) for seed in seeds)


def count_scoring(seed: Seed, train_score: bool) -> int:
    """Count the work of scoring all cells of a tree."""
    split = seed.split
    if split is None:
        return 0
    n_scored = len(split.test) + (split.n_train if train_score else 0)
    return _SCORING * n_scored * len(seed.setting.candidates)


def _find_twins(seeds: Sequence[Seed]) -> list[list[Seed]]:
    """Bring together the seeds that give the same tree."""
    groups: dict[Hashable, list[Seed]] = {}
    for place, seed in enumerate(seeds):
        twins = None if seed.split is None else seed.split.twins
        key = ("alone", place) if twins is None else ("twins", id(seed.setting), twins)
        groups.setdefault(key, []).append(seed)
    return list(groups.values())


def _list_asked(field: Field, sown: _Sown) -> NDArray[np.uint32] | None:
    """Name the test rows, if the trees know them and stay as they grow."""
    if _is_pruned(sown.cells):
        return None
    asked = []
    for seed in sown.seeds:
        rows = None if seed.split is None else field.asked_rows(seed.split)
        if rows is None:
            return None
        asked.append(rows)
    return np.concatenate(asked)


def _is_whole(sown: _Sown) -> bool:
    """Whether more is looked at than what the test rows reach."""
    needs_all = any(cell.ccp_alpha > 0 or cell.max_leaf_nodes > 0 for cell in sown.cells)
    return needs_all or any(seed.is_whole for seed in sown.seeds)


def _part_leaves(
    leaves: NDArray[np.int64], seeds: Sequence[Seed]
) -> Iterator[NDArray[np.int64] | None]:
    """Give each seed the leaves of its own test rows, if these have asked."""
    begin = 0
    for seed in seeds:
        end = begin + (0 if seed.split is None else len(seed.split.test))
        yield leaves[begin:end] if len(leaves) > 0 else None
        begin = end


def _add(one: Any, other: Any) -> Any:
    """Add counts, or arrays of counts of which one may be longer."""
    if np.ndim(one) == 0:
        return one + other
    total = np.zeros(max(len(one), len(other)), dtype=np.int64)
    for counts in (one, other):
        total[: len(counts)] += np.asarray(counts, dtype=np.int64)
    return total


def _loosen(sown: _Sown) -> Training:
    if _are_equal(sown.cells):
        return sown.training
    return replace(sown.training, rules=full_rules(sown.training.rules, sown.cells))


def _prune(tree: _native.Tree, cells: list[Cell]) -> _native.Tree:
    """Finish the tree if it is that of every cell: growth knows all limits but this one."""
    return tree.prune(cells[0].ccp_alpha) if _is_pruned(cells) else tree


def _is_pruned(cells: list[Cell]) -> bool:
    return cells[0].ccp_alpha > 0 and _are_equal(cells)


def _are_equal(cells: list[Cell]) -> bool:
    return all(cell == cells[0] for cell in cells)
