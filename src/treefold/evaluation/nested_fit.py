"""Nested cross-validation of an estimator that is cross-validated in fit.

For each split, the *outer* one, the same procedure runs on its training rows alone: their tree
gives the candidates, and the *inner* splits, which are the other splits whose held-out rows it
trains on, choose among them. The chosen candidate is scored on the rows that the outer split holds
out, which no part of this has seen. An inner split trains on the rows that both splits train on, so
that with folds each inner tree (all rows without two folds) serves two outer splits.

Trees grow with the square of the splits. Many splits are merged into a few *blocks*, which take
their place: what is chosen without the rows of a block is scored on each split of the block. Two
folds leave each other nothing to choose by: *parts* of them are held out in their place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.evaluation.cross_fit import Candidates, CrossFit, find_candidates, predict_nodes
from treefold.evaluation.growing import FullTree
from treefold.evaluation.splits import Split
from treefold.evaluation.trials import NestedScores, Trials, choose
from treefold.evaluation.tuned_scores import make_cells
from treefold.exceptions import InputError
from treefold.progress import Progress
from treefold.threads import map_in_threads

__all__ = ["NestedFit"]

Floats = NDArray[np.float64]


@dataclass(slots=True)
class _Outer:
    """What is found out for one outer split."""

    inner: list[int]  # numbers of the inner splits
    candidates: list[Candidates] = field(default_factory=list)  # of each tuning
    scores: dict[tuple[int, int], Floats] = field(default_factory=dict)  # by tuning and inner
    naive: dict[int, float] = field(default_factory=dict)  # by inner, if R2 is asked for
    place: int = -1  # of the tuning of the chosen candidate
    params: dict[str, Any] = field(default_factory=dict)
    score: dict[int, Floats] = field(default_factory=dict)  # of it, by split of the block
    inner_score: float = np.nan
    answers: dict[int, Floats] = field(default_factory=dict)


class NestedFit:
    """All inner trees of a `CrossFit`, and the scores of what they choose."""

    def __init__(
        self,
        cross_fit: CrossFit,
        blocks: Sequence[Sequence[int]] | None = None,
        parts: Sequence[Split] | None = None,
    ) -> None:
        self._splits, self._scores = cross_fit.splits, cross_fit.scores
        self._blocks = [[number] for number in range(len(self._splits))]
        self._fit = cross_fit
        if blocks is not None:
            self._blocks = [list(block) for block in blocks]
            merged = [_merge([self._splits[number] for number in block]) for block in blocks]
            scores = replace(self._scores, is_pooled=False)  # blocks hold out several rows each
            self._fit = CrossFit(scores, cross_fit.tunings, merged)
        self._is_merged = blocks is not None
        self._inners = self._fit.splits if parts is None else parts
        self._outers, self._pairs, self._trainings = _pair_up(self._fit.splits, self._inners)

    @property
    def work(self) -> int:
        """How much `evaluate` does, in the unit of `CrossFit.work`."""
        n_rows = sum(_first(training).n_train for training in self._trainings)
        return self._fit.count_work(n_rows) + (self._fit.work if self._is_merged else 0)

    @property
    def n_trainings(self) -> int:
        """Number of training sets that grow trees."""
        return len(self._trainings) + (1 + len(self._blocks) if self._is_merged else 0)

    def evaluate(self, rule: str, progress: Progress) -> NestedScores | None:
        """Choose for each outer split and score the choice; None if there is no way to.

        Splits that train on no other split's held-out rows, such as the first one in time, are left
        out.
        """
        if not self._outers:
            return None
        if self._is_merged:
            self._fit.evaluate(progress)
        self._find_candidates()
        grown = self._fit.grow(self._trainings, progress)
        n_all = self._fit.dataset.n_threads
        n_threads = n_all if self._fit.scores.has_sums else 1
        for _ in map_in_threads(
            lambda each: self._estimate(*each, n_all // n_threads), grown, n_threads
        ):
            pass
        try:
            for outer in self._outers.values():
                self._choose(outer, rule)
        except InputError:  # no candidate has a score: too few rows are left
            return None
        self._try_out()
        scored = [(outer, number) for outer in self._outers.values() for number in outer.score]
        numbers = [number for _, number in scored]
        parts = [outer.score[number] for outer, number in scored]
        scores = self._scores.combine(parts, [self._splits[number] for number in numbers])[0]
        return NestedScores(
            scores,
            [outer.params for outer, _ in scored],
            np.array([outer.inner_score for outer, _ in scored]),
            np.array(numbers[: len(scores)]),
        )

    def _estimate(self, place: int, full: FullTree, n_threads: int) -> None:
        """Score the candidates of the outer splits that an inner tree serves."""
        scores, tuning = self._fit.scores, self._fit.tunings[place]
        for pair, split in full.job.splits.items():
            number, inner = self._pairs[pair]
            outer = self._outers[number]
            params = outer.candidates[place].params
            outer.scores[place, inner] = scores.estimate(full, pair, tuning, params, n_threads)
            if scores.kind == "r2":
                outer.naive[inner] = float(scores.score_root(full, split, tuning)[0])

    @property
    def predictions(self) -> dict[int, Floats]:
        """What was chosen for an outer split predicts there, by the number of the split."""
        return {
            number: answers
            for outer in self._outers.values()
            for number, answers in outer.answers.items()
        }

    def _try_out(self) -> None:
        """Score what was chosen for each outer split on its held-out rows."""
        for place in sorted({outer.place for outer in self._outers.values()}):
            tuning = self._fit.tunings[place]
            for block, full in self._fit.grow_again(place):
                outer = self._outers.get(block)
                if outer is None or outer.place != place:
                    continue
                own = {number: self._splits[number] for number in self._blocks[block]}
                whole = replace(full, job=replace(full.job, splits=own), leaves={})
                for number in own:
                    score = self._scores.score(whole, number, tuning, [outer.params])
                    outer.score[number] = score
                    outer.answers[number] = _predict(whole, number, outer.params)

    def _find_candidates(self) -> None:
        for place, tuning in enumerate(self._fit.tunings):
            for number, full in self._fit.grow_again(place):
                if number in self._outers:
                    self._outers[number].candidates.append(find_candidates(tuning, full))

    def _choose(self, outer: _Outer, rule: str) -> None:
        by_tuning = [
            np.stack([outer.scores[place, inner] for inner in outer.inner], axis=1)
            for place in range(len(self._fit.tunings))
        ]
        naive = {outer.inner.index(inner): score for inner, score in outer.naive.items()}
        splits = [self._inners[inner] for inner in outer.inner]
        trials = Trials(
            [params for each in outer.candidates for params in each.params],
            np.concatenate([each.n_leaves for each in outer.candidates]),
            np.concatenate(by_tuning),
            self._fit.scores.make_pooling(splits, naive),
        )
        index = choose(trials, rule)
        outer.params = dict(trials.params[index])
        ends = np.cumsum([len(each.params) for each in outer.candidates])
        outer.place = int(np.searchsorted(ends, index, side="right"))
        outer.inner_score = float(trials.means[index])


def _predict(full: FullTree, number: int, params: dict[str, Any]) -> Floats:
    """Give what a candidate says of the held-out rows of a split."""
    nodes = full.find_nodes(full.find_leaves(number), make_cells(full, [params]))[0]
    return predict_nodes(full.tree, nodes)


def _first(splits: Mapping[int, Split]) -> Split:
    return next(iter(splits.values()))


def _merge(splits: Sequence[Split]) -> Split:
    """Hold out what one of the splits holds out, and train on what all of them train on."""
    n_rows = splits[0].n_rows
    trains = [_pack(split.train_rows(), n_rows) for split in splits]
    both = np.unpackbits(np.bitwise_and.reduce(trains), count=n_rows)
    tests = np.unique(np.concatenate([split.test for split in splits]))
    return Split(n_rows, tests, np.flatnonzero(both))


def _pair_up(
    splits: Sequence[Split], inners: Sequence[Split]
) -> tuple[dict[int, _Outer], list[tuple[int, int]], list[dict[int, Split]]]:
    """Pair outer and inner splits, and group the pairs that have the same training rows."""
    outers: dict[int, _Outer] = {}
    pairs: list[tuple[int, int]] = []
    groups: dict[bytes, dict[int, Split]] = {}
    trains = [_pack(split.train_rows(), split.n_rows) for split in splits]
    insides = trains
    if inners is not splits:
        insides = [_pack(split.train_rows(), split.n_rows) for split in inners]
    tests = [_pack(split.test, split.n_rows) for split in inners]
    for outer, train in enumerate(trains):
        for inner, test in enumerate(tests):
            packed = train & insides[inner]
            is_trained_on = not (test & ~train).any()
            if insides[inner] is train or not is_trained_on or not packed.any():
                continue
            outers.setdefault(outer, _Outer([])).inner.append(inner)
            own = Split(inners[inner].n_rows, inners[inner].test, packed_train=packed)
            groups.setdefault(packed.tobytes(), {})[len(pairs)] = own
            pairs.append((outer, inner))
    return outers, pairs, list(groups.values())


def _pack(rows: NDArray[Any], n_rows: int) -> NDArray[np.uint8]:
    mask = np.zeros(n_rows, dtype=bool)
    mask[rows] = True
    return np.packbits(mask)
