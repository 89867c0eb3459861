"""From candidates to scores, the choice and its evidence: all trees of a CV estimator.

    settings x (all rows + splits)  -> one full tree each, a *stem*, grown as families
    the stem of all rows            -> strengths of pruning: the candidates of its setting
    the stem of a split             -> the node of each held-out row for each candidate -> scores
    the choice                      -> final tree, predictions, baseline, stability

Stems are kept if they are few; else those of the chosen setting grow a second time, so that memory
does not depend on the number of splits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from treefold import _native
from treefold.estimator import BaseDecisionTree
from treefold.exceptions import ParameterError
from treefold.family import grow_family
from treefold.model import Tree
from treefold.model_selection.ground import Ground, Training
from treefold.model_selection.splits import Split
from treefold.progress import Progress
from treefold.replay import Cell, full_rules, make_cell, replay_nodes, replay_sizes, replay_tree
from treefold.scoring import Scoring, score_cells, score_rows
from treefold.stability import FoldTree, compute_stability
from treefold.tuning import Trials, expand, find_strengths, thin

__all__ = ["TUNABLE", "CrossFit", "Found", "Judge", "Setting", "become", "plan_settings"]

Floats = NDArray[np.float64]
Parameters = dict[str, Any]

TUNABLE = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "class_weight",
    "ccp_alpha",
)
_LIMITS = ("max_depth", "min_samples_split", "min_impurity_decrease", "max_leaf_nodes")
_NO_SPLIT = {
    "max_depth": None,
    "min_samples_split": 2,
    "min_impurity_decrease": 0.0,
    "max_leaf_nodes": None,
    "ccp_alpha": np.finfo(np.float64).max,
}
_MOST_ROWS = 2**25  # training rows of all trees that grow, and are kept, at one time
_MOST_ANSWERS = 2**21  # nodes of cells and rows that are scored at one time


@dataclass(frozen=True, slots=True)
class Setting:
    """Candidates that are cut from one full tree."""

    estimator: BaseDecisionTree  # with what they have in common
    fixed: Parameters
    limits: Sequence[Parameters]  # path parameters other than ccp_alpha
    ccp_alphas: Sequence[float] | None  # None: the pruning path of each tree


def plan_settings(
    parameters: Parameters, make_tree: Callable[[Parameters], BaseDecisionTree]
) -> list[Setting]:
    """Combine the parameters of an estimator, lists of candidates among them."""
    common = {name: value for name, value in parameters.items() if name not in _LIMITS}
    alphas = common.pop("ccp_alpha")
    is_path = isinstance(alphas, str) and alphas == "path"
    strengths = None if is_path else [each["ccp_alpha"] for each in expand({"ccp_alpha": alphas})]
    limits = list(expand({name: parameters[name] for name in _LIMITS}))
    settings = []
    for fixed in expand(common):
        for limit in limits:
            for strength in strengths or [0.0]:
                make_tree({**fixed, **limit, "ccp_alpha": strength})  # raises if it has no meaning
        tree = make_tree({**fixed, **limits[0], "ccp_alpha": 0.0})
        settings.append(Setting(tree, fixed, limits, strengths))
    return settings


@dataclass(frozen=True, slots=True)
class Stem:
    """The full tree of one setting on one training set."""

    setting: Setting
    training: Training
    tree: _native.Tree

    def cells(self, candidates: Iterable[Parameters]) -> list[Cell]:
        """Resolve candidates against the rows of this training set."""
        return [make_cell(params, self.training.target.n_rows) for params in candidates]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one setting, and the leaves of their trees of all rows."""

    params: list[Parameters]
    n_leaves: NDArray[np.int64]


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
        judge: "Judge",
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
        total = sum(split.n_train for split in self.splits) * len(self.settings)
        with Progress("cross-validation", total, self.verbose) as progress:
            for setting, number, stem in self._grow_all():
                if number is None:
                    self._finals[setting] = stem
                    self.candidates[setting] = _find_candidates(self.settings[setting], stem)
                    continue
                if self._keeps_stems:
                    self._stems[setting, number] = stem
                split, candidates = self.splits[number], self.candidates[setting]
                scores[setting][number] = self.judge.score(stem, split, candidates.params)
                progress.advance(split.n_train)
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

    def _grow_all(self) -> Iterator[tuple[int, int | None, Stem]]:
        """Grow all stems, those of all rows first. What is drawn at random grows apart."""
        runs: dict[Any, list[int]] = {}
        for setting, each in enumerate(self.settings):
            runs.setdefault(repr(each.estimator.max_features), []).append(setting)
        for run in runs.values():
            jobs: list[tuple[int, int | None]] = [(setting, None) for setting in run]
            jobs += [(setting, number) for number in range(len(self.splits)) for setting in run]
            yield from self._grow(jobs)

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
        self, jobs: Sequence[tuple[int, int | None]]
    ) -> Iterator[tuple[int, int | None, Stem]]:
        """Grow stems together, as many as memory allows."""
        waiting: list[tuple[int, int | None, Training]] = []
        n_rows = 0
        for setting, number in jobs:
            training = self._train(setting, number)
            waiting.append((setting, number, training))
            n_rows += len(training.rows)
            if n_rows > _MOST_ROWS:
                yield from self._grow_together(waiting)
                waiting, n_rows = [], 0
        if waiting:
            yield from self._grow_together(waiting)

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
        self, waiting: Sequence[tuple[int, int | None, Training]]
    ) -> Iterator[tuple[int, int | None, Stem]]:
        family = grow_family(
            self.ground.table._native,
            self.ground.target,
            [self.ground.member(training, None) for _, _, training in waiting],
            n_threads=self.judge.n_threads,
        )
        for (setting, number, training), tree in zip(waiting, family.trees, strict=True):
            yield setting, number, Stem(self.settings[setting], training, tree)


def _find_candidates(setting: Setting, final: Stem) -> Candidates:
    """List the candidates of a setting; their strengths of pruning may follow from its tree."""
    params: list[Parameters] = []
    sizes: list[NDArray[np.int64]] = []
    for limit in setting.limits:
        strengths = setting.ccp_alphas
        if strengths is None:
            unpruned = replay_tree(final.tree, final.cells([{**limit, "ccp_alpha": 0.0}])[0])
            strengths = find_strengths(unpruned.pruning_path()[0]).tolist()
        mine = [_sort({**setting.fixed, **limit, "ccp_alpha": each}) for each in strengths]
        n_leaves, _ = replay_sizes(final.tree, final.cells(mine))
        kept = thin(n_leaves) if setting.ccp_alphas is None else np.arange(len(mine))
        params += [mine[place] for place in kept]
        sizes.append(n_leaves[kept])
    return Candidates(params, np.concatenate(sizes))


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


# Scores -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores candidates on held-out rows. Unlike a fold's own fit, it knows all classes."""

    ground: Ground
    scoring: Scoring
    options: Callable[[NDArray[Any]], Mapping[str, Any]]  # of `score_cells`, for some rows
    is_pooled: bool = False
    n_threads: int = 1

    def score(self, stem: Stem, split: Split, candidates: Sequence[Parameters]) -> NDArray[Any]:
        """Score each candidate; if rows are pooled, give their values instead."""
        rows = self._list_rows(split)
        leaves = self.ground.find_leaves(stem.tree, rows, self.n_threads)
        step = max(1, _MOST_ANSWERS // len(leaves))
        parts = []
        for first in range(0, len(candidates), step):
            some = candidates[first : first + step]
            nodes = replay_nodes(stem.tree, leaves, stem.cells(some), self.n_threads)
            parts.append(self._score_nodes(stem, rows, nodes, some))
        return np.concatenate(parts)

    def score_root(self, stem: Stem, split: Split) -> NDArray[Any]:
        """Score a tree without any split."""
        rows = self._list_rows(split)
        stump = {**stem.setting.fixed, **_NO_SPLIT}
        return self._score_nodes(stem, rows, np.zeros((1, len(rows)), dtype=np.int64), [stump])

    def _list_rows(self, split: Split) -> NDArray[Any]:
        """List the held-out rows that exist."""
        weights = self.ground.target.weights
        return split.test if weights is None else split.test[weights[split.test] > 0]

    def _score_nodes(
        self,
        stem: Stem,
        rows: NDArray[Any],
        nodes: NDArray[np.int64],
        candidates: Sequence[Parameters],
    ) -> NDArray[Any]:
        value, target = stem.tree.value, self.ground.target
        if self.is_pooled:
            return value[nodes]
        found = score_cells(
            self.scoring,
            target.values[rows],
            nodes,
            value,
            target.classes,
            estimator_of=lambda cell: self._make_estimator(stem, candidates[cell]),
            **self.options(rows),
        )
        if found.keys() != {"score"}:
            raise ParameterError(
                f"scoring must give one number, but gave {sorted(found)}. Choose one of them."
            )
        return found["score"]

    def _make_estimator(self, stem: Stem, params: Parameters) -> Any:
        """Make a fitted tree of a candidate, for scorers that may look at more than predictions."""
        native = replay_tree(stem.tree, stem.cells([params])[0])
        estimator = clone(stem.setting.estimator).set_params(**params)
        return become(estimator, native, self.ground, stem.training)

    def combine(self, parts: Sequence[NDArray[Any]], splits: Sequence[Split]) -> Floats:
        """Give scores of shape (n_candidates, n_splits); one column if rows are pooled."""
        if not self.is_pooled:
            return np.stack(parts, axis=1)
        rows = np.concatenate([self._list_rows(split) for split in splits])
        target = self.ground.target
        found = score_rows(
            self.scoring,
            target.values[rows],
            np.concatenate(parts, axis=1),
            target.classes,
            **self.options(rows),
        )
        return found["score"].reshape(-1, 1)


def become(estimator: Any, native: _native.Tree, ground: Ground, training: Training) -> Any:
    """Turn an estimator into one that has this tree."""
    table = ground.table
    tree = Tree(native, table.schema, np.flatnonzero(table._native.has_missing))
    return estimator._become(tree, ground.target.classes, training.rules.max_features)
