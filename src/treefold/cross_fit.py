"""From candidates to scores, the choice and its evidence: all trees of a CV estimator.

    settings x (all rows + splits)  -> one full tree each, a *stem*, grown as families
    the stem of all rows            -> strengths of pruning: the candidates of its setting
    the stem of a split             -> the node of each held-out row for each candidate -> scores
    the choice                      -> final tree, predictions, baseline, stability

Stems are kept if they are few; else those of the chosen setting grow a second time, so that memory
does not depend on the number of splits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.family import grow_family
from treefold.importance import measure_importance
from treefold.model_selection.ground import Ground, Training
from treefold.model_selection.splits import Split
from treefold.progress import Progress
from treefold.replay import full_rules, make_cell, replay_sizes, replay_tree
from treefold.stability import FoldTree, compute_stability
from treefold.stems import TUNABLE, Judge, Parameters, Setting, Stem
from treefold.tuning import Trials, find_strengths, thin

__all__ = ["Candidates", "CrossFit", "Found", "find_candidates", "predict_nodes"]

Floats = NDArray[np.float64]

_GROWING, _SCORING = 4, 1  # work per training row of a tree, about
_ALL_ROWS = -1  # in the place of the number of a split
_MOST_ROWS = 2**25  # training rows of all trees that grow, and are kept, at one time


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one setting, and the leaves of their trees of all rows."""

    params: list[Parameters]
    n_leaves: NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to be known of the chosen candidate."""

    native: _native.Tree
    training: Training
    baseline: Floats
    predictions: list[Floats] | None
    stability: dict[str, NDArray[Any]]
    importance: Floats | None  # (n_columns, n_splits): what the score loses without a column


class CrossFit:
    """Grows, scores and compares all candidates of an estimator."""

    def __init__(
        self,
        ground: Ground,
        settings: Sequence[Setting],
        splits: Sequence[Split],
        judge: Judge,
    ) -> None:
        self.ground, self.settings, self.splits, self.judge = ground, settings, splits, judge
        self.candidates: dict[int, Candidates] = {}  # by setting
        self.naive: dict[int, float] = {}  # by split, if R2 is asked for
        self._finals: dict[int, Stem] = {}
        self._stems: dict[tuple[int, int], Stem] = {}  # by setting and split
        n_rows = sum(split.n_train for split in splits) * len(settings)
        self._keeps_stems = n_rows <= _MOST_ROWS

    @property
    def work(self) -> int:
        """How much `evaluate` does, in the unit by which it advances a bar."""
        n_trained = sum(split.n_train for split in self.splits)
        return self.count_work(n_trained + self.ground.n_rows)

    def count_work(self, n_rows: int) -> int:
        """How much it is to grow and score, in every setting, trees of so many rows in all."""
        return n_rows * len(self.settings) * (_GROWING + _SCORING)

    def evaluate(self, progress: Progress) -> Trials:
        """Score every candidate on every split."""
        scores: list[list[Any]] = [[None] * len(self.splits) for _ in self.settings]
        keys = [_ALL_ROWS, *range(len(self.splits))]
        for setting, number, stem in self.grow(keys, self._list_rows, progress):
            if number == _ALL_ROWS:
                self._finals[setting] = stem
                self.candidates[setting] = find_candidates(self.settings[setting], stem)
                continue
            if self._keeps_stems:
                self._stems[setting, number] = stem
            split, candidates = self.splits[number], self.candidates[setting]
            scores[setting][number] = self.judge.score(stem, split, candidates.params)
            if self.judge.kind == "r2":
                self.naive[number] = float(self.judge.score_root(stem, split)[0])
        found = [self.judge.combine(each, self.splits) for each in scores]
        everything = [self.candidates[setting] for setting in range(len(self.settings))]
        params = [params for candidates in everything for params in candidates.params]
        n_leaves = np.concatenate([candidates.n_leaves for candidates in everything])
        pooling = self.judge.make_pooling(self.splits, self.naive)
        return Trials(params, n_leaves, np.concatenate(found), pooling)

    def finish(self, index: int, store_predictions: bool, n_permutations: int = 0) -> Found:
        """Gather what is to be known of the candidate that was chosen."""
        setting = 0
        while index >= len(self.candidates[setting].params):
            index -= len(self.candidates[setting].params)
            setting += 1
        params = self.candidates[setting].params[index]
        final = self._finals[setting]
        native = replay_tree(final.tree, final.cells([params])[0])
        roots: list[Any] = []
        predictions: list[Floats] = []
        losses: list[Floats] = []

        def follow() -> Iterator[FoldTree]:
            for number, stem in self.grow_again(setting):
                split = self.splits[number]
                tree = replay_tree(stem.tree, stem.cells([params])[0])
                if n_permutations:
                    losses.append(measure_importance(self.judge, tree, split, n_permutations))
                leaves = self._find_leaves(tree)
                roots.append(self.judge.score_root(stem, split))
                predictions.append(predict_nodes(tree, leaves[split.test]))
                yield FoldTree(tree, leaves, split.test)

        target = self.ground.target
        weights = _weigh(final.training)
        stability = compute_stability(
            native, self._find_leaves(native), follow(), target.values, weights
        )
        baseline = self.judge.combine(roots, self.splits)[0]
        kept = predictions if store_predictions else None
        importance = np.stack(losses, axis=1) if losses else None
        return Found(native, final.training, baseline, kept, stability, importance)

    def _find_leaves(self, tree: _native.Tree) -> NDArray[np.int64]:
        rows = np.arange(self.ground.n_rows)
        return self.ground.find_leaves(tree, rows, self.judge.n_threads)

    # Growth -------------------------------------------------------------------------------------

    def grow(
        self,
        keys: Sequence[int],
        rows_of: Callable[[int], NDArray[np.uint32]],
        progress: Progress | None = None,
    ) -> Iterator[tuple[int, int, Stem]]:
        """Grow one stem per setting and training set, together as far as memory allows.

        They come training set by training set, all settings of the first before those of the
        second; but settings that draw columns at random grow apart.
        """
        runs: dict[Any, list[int]] = {}
        for setting, each in enumerate(self.settings):
            runs.setdefault(repr(each.estimator.max_features), []).append(setting)
        for run in runs.values():
            yield from self._grow_run(run, keys, rows_of, progress)

    def grow_again(self, setting: int) -> Iterator[tuple[int, Stem]]:
        """Give the stems of one setting on all splits."""
        numbers = range(len(self.splits))
        if self._keeps_stems:
            yield from ((number, self._stems[setting, number]) for number in numbers)
            return
        for _, number, stem in self._grow_run([setting], numbers, self._list_rows):
            yield number, stem

    def _list_rows(self, number: int) -> NDArray[np.uint32]:
        if number == _ALL_ROWS:
            return np.arange(self.ground.n_rows, dtype=np.uint32)
        return self.splits[number].train_rows()

    def _grow_run(
        self,
        run: Sequence[int],
        keys: Sequence[int],
        rows_of: Callable[[int], NDArray[np.uint32]],
        progress: Progress | None = None,
    ) -> Iterator[tuple[int, int, Stem]]:
        waiting: list[tuple[int, int, Training]] = []
        n_rows = 0
        for key in keys:
            rows = rows_of(key)
            waiting += [(setting, key, self._train(setting, rows)) for setting in run]
            n_rows += len(rows) * len(run)
            if n_rows > _MOST_ROWS:
                yield from self._grow_together(waiting, progress)
                waiting, n_rows = [], 0
        if waiting:
            yield from self._grow_together(waiting, progress)

    def _train(self, setting: int, rows: NDArray[np.uint32]) -> Training:
        each = self.settings[setting]
        training = self.ground.train(each.estimator, rows)
        cells = [
            make_cell({**limit, "ccp_alpha": 0.0}, training.target.n_rows) for limit in each.limits
        ]
        return replace(training, rules=full_rules(training.rules, cells))

    def _grow_together(
        self, waiting: Sequence[tuple[int, int, Training]], progress: Progress | None
    ) -> Iterator[tuple[int, int, Stem]]:
        family = grow_family(
            self.ground.table._native,
            self.ground.target,
            [self.ground.member(training) for _, _, training in waiting],
            n_threads=self.judge.n_threads,
            progress=progress,
            work_per_row=_GROWING,
        )
        for (setting, key, training), tree in zip(waiting, family.trees, strict=True):
            yield setting, key, Stem(self.settings[setting], training, tree)
            if progress is not None:
                progress.advance(_SCORING * len(training.rows))


def find_candidates(setting: Setting, final: Stem) -> Candidates:
    """List the candidates of a setting; their strengths of pruning may follow from its tree."""
    params: list[Parameters] = []
    sizes: list[NDArray[np.integer[Any]]] = []
    for limit in setting.limits:
        if setting.ccp_alphas is None:
            strengths, n_leaves = _find_strengths(final, limit)
        else:
            strengths = setting.ccp_alphas
            cells = final.cells({**limit, "ccp_alpha": each} for each in strengths)
            n_leaves, _ = replay_sizes(final.tree, cells)
        params += [_sort({**setting.fixed, **limit, "ccp_alpha": each}) for each in strengths]
        sizes.append(n_leaves)
    return Candidates(params, np.concatenate(sizes))


def _find_strengths(
    final: Stem, limit: Parameters
) -> tuple[Sequence[float], NDArray[np.integer[Any]]]:
    """Find the strengths of pruning that make different trees, and the leaves of these."""
    unpruned = replay_tree(final.tree, final.cells([{**limit, "ccp_alpha": 0.0}])[0])
    alphas, _, n_leaves = unpruned.pruning_path()
    strengths, sizes = find_strengths(alphas, n_leaves)
    kept = thin(sizes)
    return strengths[kept].tolist(), sizes[kept]


def _sort(params: Parameters) -> Parameters:
    """Write parameters in the order in which estimators have them."""
    return {name: params[name] for name in TUNABLE if name in params}


def predict_nodes(tree: _native.Tree, nodes: NDArray[np.int64]) -> Floats:
    """Give what nodes predict: class shares, or one number each."""
    values: Floats = tree.value[nodes]
    return values if tree.n_classes else values[:, 0]


def _weigh(training: Training) -> Floats | None:
    """Weights of rows, times those of their classes."""
    target = training.target
    if target.multipliers is None:
        return target.weights
    factors: Floats = target.multipliers[target.values]
    return factors if target.weights is None else target.weights * factors
