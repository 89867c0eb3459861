"""From candidates to scores, the choice and its evidence: all trees of a CV estimator.

    settings x (all rows + splits)  -> one full tree each, a *stem*, grown as families
    the stem of all rows            -> strengths of pruning: the candidates of its setting
    the stem of a split             -> the node of each held-out row for each candidate -> scores
    the choice                      -> final tree, predictions, baseline, stability

Stems are kept if they are few; else those of the chosen setting grow a second time, so that memory
does not depend on the number of splits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.family import grow_family
from treefold.model_selection.ground import Ground, Training
from treefold.model_selection.splits import Split
from treefold.progress import Progress
from treefold.replay import full_rules, make_cell, replay_sizes, replay_tree
from treefold.stability import FoldTree, compute_stability
from treefold.stems import TUNABLE, Judge, Parameters, Setting, Stem
from treefold.tuning import Trials, find_strengths, thin

__all__ = ["CrossFit", "Found"]

Floats = NDArray[np.float64]

_GROWING, _SCORING = 4, 1  # work per training row of a tree, about
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


class CrossFit:
    """Grows, scores and compares all candidates of an estimator."""

    def __init__(
        self,
        ground: Ground,
        settings: Sequence[Setting],
        splits: Sequence[Split],
        judge: Judge,
        verbose: int = 0,
    ) -> None:
        self.ground, self.settings, self.splits, self.judge = ground, settings, splits, judge
        self.verbose = verbose
        self.candidates: dict[int, Candidates] = {}  # by setting
        self._finals: dict[int, Stem] = {}
        self._stems: dict[tuple[int, int], Stem] = {}  # by setting and split
        n_rows = sum(split.n_train for split in splits) * len(settings)
        self._keeps_stems = n_rows <= _MOST_ROWS

    def evaluate(self) -> Trials:
        """Score every candidate on every split."""
        n_splits = len(self.splits)
        scores: list[list[Any]] = [[None] * n_splits for _ in self.settings]
        n_trained = sum(split.n_train for split in self.splits)
        total = (n_trained + self.ground.n_rows) * len(self.settings) * (_GROWING + _SCORING)
        with Progress("cross-validation", total, self.verbose) as progress:
            for setting, number, stem in self._grow_all(progress):
                progress.advance(_SCORING * len(stem.training.rows))
                if number is None:
                    self._finals[setting] = stem
                    self.candidates[setting] = _find_candidates(self.settings[setting], stem)
                    continue
                if self._keeps_stems:
                    self._stems[setting, number] = stem
                split, candidates = self.splits[number], self.candidates[setting]
                scores[setting][number] = self.judge.score(stem, split, candidates.params)
        found = [self.judge.combine(each, self.splits) for each in scores]
        everything = [self.candidates[setting] for setting in range(len(self.settings))]
        params = [params for candidates in everything for params in candidates.params]
        n_leaves = np.concatenate([candidates.n_leaves for candidates in everything])
        return Trials(params, n_leaves, np.concatenate(found))

    def finish(self, index: int, store_predictions: bool) -> Found:
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

        def follow() -> Iterator[FoldTree]:
            for number, stem in self._grow_again(setting):
                split = self.splits[number]
                tree = replay_tree(stem.tree, stem.cells([params])[0])
                leaves = self._find_leaves(tree)
                roots.append(self.judge.score_root(stem, split))
                predictions.append(_predict(tree, leaves[split.test]))
                yield FoldTree(tree, leaves, split.test)

        target = self.ground.target
        weights = _weigh(final.training)
        stability = compute_stability(
            native, self._find_leaves(native), follow(), target.values, weights
        )
        baseline = self.judge.combine(roots, self.splits)[0]
        kept = predictions if store_predictions else None
        return Found(native, final.training, baseline, kept, stability)

    def _find_leaves(self, tree: _native.Tree) -> NDArray[np.int64]:
        rows = np.arange(self.ground.n_rows)
        return self.ground.find_leaves(tree, rows, self.judge.n_threads)

    # Growth -------------------------------------------------------------------------------------

    def _grow_all(self, progress: Progress) -> Iterator[tuple[int, int | None, Stem]]:
        """Grow all stems, those of all rows first. What is drawn at random grows apart."""
        runs: dict[Any, list[int]] = {}
        for setting, each in enumerate(self.settings):
            runs.setdefault(repr(each.estimator.max_features), []).append(setting)
        for run in runs.values():
            jobs: list[tuple[int, int | None]] = [(setting, None) for setting in run]
            jobs += [(setting, number) for number in range(len(self.splits)) for setting in run]
            yield from self._grow(jobs, progress)

    def _grow_again(self, setting: int) -> Iterator[tuple[int, Stem]]:
        """Give the stems of one setting on all splits."""
        if self._keeps_stems:
            for number in range(len(self.splits)):
                yield number, self._stems[setting, number]
            return
        jobs = [(setting, number) for number in range(len(self.splits))]
        for place, (_, _, stem) in enumerate(self._grow(jobs)):
            yield place, stem

    def _grow(
        self, jobs: Sequence[tuple[int, int | None]], progress: Progress | None = None
    ) -> Iterator[tuple[int, int | None, Stem]]:
        """Grow stems together, as many as memory allows."""
        waiting: list[tuple[int, int | None, Training]] = []
        n_rows = 0
        for setting, number in jobs:
            training = self._train(setting, number)
            waiting.append((setting, number, training))
            n_rows += len(training.rows)
            if n_rows > _MOST_ROWS:
                yield from self._grow_together(waiting, progress)
                waiting, n_rows = [], 0
        if waiting:
            yield from self._grow_together(waiting, progress)

    def _train(self, setting: int, number: int | None) -> Training:
        if number is None:
            rows = np.arange(self.ground.n_rows, dtype=np.uint32)
        else:
            rows = self.splits[number].train_rows()
        each = self.settings[setting]
        training = self.ground.train(each.estimator, rows)
        cells = [
            make_cell({**limit, "ccp_alpha": 0.0}, training.target.n_rows) for limit in each.limits
        ]
        return replace(training, rules=full_rules(training.rules, cells))

    def _grow_together(
        self, waiting: Sequence[tuple[int, int | None, Training]], progress: Progress | None
    ) -> Iterator[tuple[int, int | None, Stem]]:
        family = grow_family(
            self.ground.table._native,
            self.ground.target,
            [self.ground.member(training, None) for _, _, training in waiting],
            n_threads=self.judge.n_threads,
        )
        if progress is not None:
            progress.advance(_GROWING * sum(len(training.rows) for _, _, training in waiting))
        for (setting, number, training), tree in zip(waiting, family.trees, strict=True):
            yield setting, number, Stem(self.settings[setting], training, tree)


def _find_candidates(setting: Setting, final: Stem) -> Candidates:
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


def _predict(tree: _native.Tree, leaves: NDArray[np.int64]) -> Floats:
    values = tree.value[leaves]
    return values if tree.n_classes else values[:, 0]


def _weigh(training: Training) -> Floats | None:
    """Weights of rows, times those of their classes."""
    target = training.target
    if target.multipliers is None:
        return target.weights
    factors: Floats = target.multipliers[target.values]
    return factors if target.weights is None else target.weights * factors
