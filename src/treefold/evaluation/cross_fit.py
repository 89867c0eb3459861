"""From candidates to scores, the choice and its evidence: all trees of a CV estimator.

    tunings x (all rows + splits)   -> one full tree each (`growing`)
    the full tree of all rows       -> strengths of pruning: the candidates of its tuning
    the full tree of a split        -> the scores of the candidates (`tuned_scores`)
    the choice                      -> final tree, predictions, baseline, stability

Full trees are kept if they are few; else those of the chosen setting grow a second time, so that
memory does not depend on the number of splits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.evaluation.dataset import Training
from treefold.evaluation.growing import GROWING, FullTree, TreeJob, grow
from treefold.evaluation.importance import measure_importance
from treefold.evaluation.splits import Split
from treefold.evaluation.stability import FoldTree, compute_stability
from treefold.evaluation.trials import Trials, find_strengths, thin
from treefold.evaluation.tuned_scores import TUNABLE, Parameters, TunedScores, Tuning, make_cells
from treefold.progress import Progress
from treefold.replay import replay_sizes, replay_tree

__all__ = ["Candidates", "CrossFit", "Found", "find_candidates", "predict_nodes"]

Floats = NDArray[np.float64]

_SCORING = GROWING // 4  # work per training row of a tree whose candidates are yet to be found
_MOST_KEPT = 2**25  # training rows of all trees that are kept


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one tuning, and the leaves of their trees of all rows."""

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
        self, scores: TunedScores, tunings: Sequence[Tuning], splits: Sequence[Split]
    ) -> None:
        self.scores, self.tunings, self.splits = scores, tunings, splits
        self.dataset = scores.dataset
        self.candidates: dict[int, Candidates] = {}  # by tuning
        self.naive: dict[int, float] = {}  # by split, if R2 is asked for
        self._finals: dict[int, FullTree] = {}
        self._trees: dict[tuple[int, int], FullTree] = {}  # by tuning and split
        n_rows = sum(split.n_train for split in splits) * len(tunings)
        self._keeps_trees = n_rows <= _MOST_KEPT

    @property
    def work(self) -> int:
        """How much `evaluate` does, in the unit by which it advances a bar."""
        n_trained = sum(split.n_train for split in self.splits)
        return self.count_work(n_trained + self.dataset.n_rows)

    def count_work(self, n_rows: int) -> int:
        """How much it is to grow and score, in every setting, trees of so many rows in all."""
        return n_rows * len(self.tunings) * (GROWING + _SCORING)

    def evaluate(self, progress: Progress) -> Trials:
        """Score every candidate on every split."""
        found: list[list[Any]] = [[None] * len(self.splits) for _ in self.tunings]
        everything = [{}, *({number: split} for number, split in enumerate(self.splits))]
        for place, full in self.grow(everything, progress):
            tuning = self.tunings[place]
            if not full.job.splits:
                self._finals[place] = full
                self.candidates[place] = find_candidates(tuning, full)
            for number, split in full.job.splits.items():
                if self._keeps_trees:
                    self._trees[place, number] = full
                params = self.candidates[place].params
                found[place][number] = self.scores.score(full, number, tuning, params)
                if self.scores.kind == "r2":
                    self.naive[number] = float(self.scores.score_root(full, split, tuning)[0])
        scores = [self.scores.combine(each, self.splits) for each in found]
        candidates = [self.candidates[place] for place in range(len(self.tunings))]
        params = [params for each in candidates for params in each.params]
        n_leaves = np.concatenate([each.n_leaves for each in candidates])
        pooling = self.scores.make_pooling(self.splits, self.naive)
        return Trials(params, n_leaves, np.concatenate(scores), pooling)

    def finish(self, index: int, store_predictions: bool, n_permutations: int = 0) -> Found:
        """Gather what is to be known of the candidate that was chosen."""
        place = 0
        while index >= len(self.candidates[place].params):
            index -= len(self.candidates[place].params)
            place += 1
        params = self.candidates[place].params[index]
        final = self._finals[place]
        native = replay_tree(final.tree, make_cells(final, [params])[0])
        roots: list[Any] = []
        predictions: list[Floats] = []
        losses: list[Floats] = []

        def follow() -> Iterator[FoldTree]:
            for number, full in self.grow_again(place):
                split = self.splits[number]
                tree = replay_tree(full.tree, make_cells(full, [params])[0])
                if n_permutations:
                    losses.append(measure_importance(self.scores, tree, split, n_permutations))
                leaves = self._find_leaves(tree)
                roots.append(self.scores.score_root(full, split, self.tunings[place]))
                predictions.append(predict_nodes(tree, leaves[split.test]))
                yield FoldTree(tree, leaves, split.test)

        values, weights = self.dataset.target.values, _weigh(final.training)
        stability = compute_stability(native, self._find_leaves(native), follow(), values, weights)
        baseline = self.scores.combine(roots, self.splits)[0]
        kept = predictions if store_predictions else None
        importance = np.stack(losses, axis=1) if losses else None
        return Found(native, final.training, baseline, kept, stability, importance)

    def _find_leaves(self, tree: _native.Tree) -> NDArray[np.int64]:
        return self.dataset.find_leaves(tree, np.arange(self.dataset.n_rows))

    # Growth -------------------------------------------------------------------------------------

    def grow(
        self, trainings: Sequence[Mapping[int, Split]], progress: Progress | None = None
    ) -> Iterator[tuple[int, FullTree]]:
        """Grow one full tree per tuning and training set: splits with the same training rows, or
        none for all rows. They come with the place of their tuning.

        They come training set by training set, all tunings of the first before those of the
        second; but tunings that draw columns at random grow apart.
        """
        runs: dict[Any, list[int]] = {}
        for place, tuning in enumerate(self.tunings):
            runs.setdefault(repr(tuning.setting.tree.max_features), []).append(place)
        for run in runs.values():
            yield from self._grow_run(run, trainings, progress)

    def grow_again(self, place: int) -> Iterator[tuple[int, FullTree]]:
        """Give the full trees of one tuning on all splits."""
        if self._keeps_trees:
            for number in range(len(self.splits)):
                yield number, self._trees[place, number]
            return
        trainings = [{number: split} for number, split in enumerate(self.splits)]
        for _, full in self._grow_run([place], trainings):
            yield from ((number, full) for number in full.job.splits)

    def _grow_run(
        self,
        run: Sequence[int],
        trainings: Sequence[Mapping[int, Split]],
        progress: Progress | None = None,
    ) -> Iterator[tuple[int, FullTree]]:
        jobs = (TreeJob(self.tunings[place].setting, own) for own in trainings for place in run)
        place_of = {id(self.tunings[place].setting): place for place in run}
        for trees in grow(self.dataset, jobs, progress=progress):
            for full in trees:
                yield place_of[id(full.job.setting)], full
                if progress is not None:
                    progress.advance(_SCORING * len(full.training.rows))


def find_candidates(tuning: Tuning, final: FullTree) -> Candidates:
    """List the candidates of a tuning; their strengths of pruning may follow from its tree."""
    params: list[Parameters] = []
    sizes: list[NDArray[np.integer[Any]]] = []
    for limit in tuning.limits:
        if tuning.ccp_alphas is None:
            strengths, n_leaves = _find_strengths(final, limit)
        else:
            strengths = tuning.ccp_alphas
            cells = make_cells(final, ({**limit, "ccp_alpha": each} for each in strengths))
            n_leaves, _ = replay_sizes(final.tree, cells)
        params += [_sort({**tuning.fixed, **limit, "ccp_alpha": each}) for each in strengths]
        sizes.append(n_leaves)
    return Candidates(params, np.concatenate(sizes))


def _find_strengths(
    final: FullTree, limit: Parameters
) -> tuple[Sequence[float], NDArray[np.integer[Any]]]:
    """Find the strengths of pruning that make different trees, and the leaves of these."""
    unpruned = replay_tree(final.tree, make_cells(final, [{**limit, "ccp_alpha": 0.0}])[0])
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
