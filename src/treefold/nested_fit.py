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

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.cross_fit import Candidates, CrossFit, find_candidates, predict_nodes
from treefold.exceptions import InputError
from treefold.model_selection.splits import Split
from treefold.progress import Progress
from treefold.replay import replay_nodes
from treefold.stems import Judge, Stem
from treefold.threads import map_in_threads
from treefold.tuning import Trials, choose

__all__ = ["NestedFit"]

Floats = NDArray[np.float64]


@dataclass(slots=True)
class _Outer:
    """What is found out for one outer split."""

    inner: list[int]  # numbers of the inner splits
    candidates: list[Candidates] = field(default_factory=list)  # of each setting
    scores: dict[tuple[int, int], Floats] = field(default_factory=dict)  # by setting and inner
    naive: dict[int, float] = field(default_factory=dict)  # by inner, if R2 is asked for
    setting: int = -1  # of the chosen candidate
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
        self._splits, self._judge = cross_fit.splits, cross_fit.judge
        self._blocks = [[number] for number in range(len(self._splits))]
        self._fit = cross_fit
        if blocks is not None:
            self._blocks = [list(block) for block in blocks]
            merged = [_merge([self._splits[number] for number in block]) for block in blocks]
            judge = replace(self._judge, is_pooled=False)  # blocks hold out several rows each
            self._fit = CrossFit(cross_fit.ground, cross_fit.settings, merged, judge)
        self._is_merged = blocks is not None
        self._inners = self._fit.splits if parts is None else parts
        self._outers, self._trainings = _pair_up(self._fit.splits, self._inners)

    @property
    def work(self) -> int:
        """How much `evaluate` does, in the unit of `CrossFit.work`."""
        n_rows = sum(_count_rows(training.packed) for training in self._trainings)
        return self._fit.count_work(n_rows) + (self._fit.work if self._is_merged else 0)

    @property
    def n_trainings(self) -> int:
        """Number of training sets that grow trees."""
        return len(self._trainings) + (1 + len(self._blocks) if self._is_merged else 0)

    def evaluate(self, rule: str, progress: Progress) -> dict[str, Any] | None:
        """Choose for each outer split and score the choice; None if there is no way to.

        Gives `test_score`, `best_params` and `inner_score` of the outer splits, and `split`, their
        numbers: without those that train on no other split's held-out rows, such as the first
        one in time. Where rows are pooled there is one score.
        """
        if not self._outers:
            return None
        if self._is_merged:
            self._fit.evaluate(progress)
        self._find_candidates()
        grown = self._fit.grow(range(len(self._trainings)), self._list_rows, progress)
        n_threads = self._fit.judge.n_threads if self._fit.judge.has_sums else 1
        judge = replace(self._fit.judge, n_threads=self._fit.judge.n_threads // n_threads)
        for _ in map_in_threads(lambda each: self._estimate(judge, *each), grown, n_threads):
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
        scores = self._judge.combine(parts, [self._splits[number] for number in numbers])[0]
        return {
            "test_score": scores,
            "best_params": [outer.params for outer, _ in scored],
            "inner_score": np.array([outer.inner_score for outer, _ in scored]),
            "split": np.array(numbers[: len(scores)]),
        }

    def _estimate(self, judge: Judge, setting: int, key: int, stem: Stem) -> None:
        """Score the candidates of the outer splits that an inner tree serves."""
        for number, inner in self._trainings[key].pairs:
            outer = self._outers[number]
            params = outer.candidates[setting].params
            split = self._inners[inner]
            outer.scores[setting, inner] = judge.estimate(stem, split, params)
            if judge.kind == "r2":
                outer.naive[inner] = float(judge.score_root(stem, split)[0])

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
        for setting in sorted({outer.setting for outer in self._outers.values()}):
            for block, stem in self._fit.grow_again(setting):
                outer = self._outers.get(block)
                if outer is None or outer.setting != setting:
                    continue
                for number in self._blocks[block]:
                    split = self._splits[number]
                    outer.score[number] = self._judge.score(stem, split, [outer.params])
                    outer.answers[number] = self._predict(stem, number, outer.params)

    def _predict(self, stem: Stem, number: int, params: dict[str, Any]) -> Floats:
        n_threads = self._fit.judge.n_threads
        rows = self._splits[number].test
        leaves = self._fit.ground.find_leaves(stem.tree, rows, n_threads)
        nodes = replay_nodes(stem.tree, leaves, stem.cells([params]), n_threads)[0]
        return predict_nodes(stem.tree, nodes)

    def _find_candidates(self) -> None:
        for setting, each in enumerate(self._fit.settings):
            for number, stem in self._fit.grow_again(setting):
                if number not in self._outers:
                    continue
                self._outers[number].candidates.append(find_candidates(each, stem))

    def _choose(self, outer: _Outer, rule: str) -> None:
        by_setting = [
            np.stack([outer.scores[setting, inner] for inner in outer.inner], axis=1)
            for setting in range(len(self._fit.settings))
        ]
        naive = {outer.inner.index(inner): score for inner, score in outer.naive.items()}
        splits = [self._inners[inner] for inner in outer.inner]
        trials = Trials(
            [params for each in outer.candidates for params in each.params],
            np.concatenate([each.n_leaves for each in outer.candidates]),
            np.concatenate(by_setting),
            self._fit.judge.make_pooling(splits, naive),
        )
        index = choose(trials, rule)
        outer.params = dict(trials.params[index])
        ends = np.cumsum([len(each.params) for each in outer.candidates])
        outer.setting = int(np.searchsorted(ends, index, side="right"))
        outer.inner_score = float(trials.means[index])

    def _list_rows(self, key: int) -> NDArray[np.uint32]:
        bits = np.unpackbits(self._trainings[key].packed, count=self._fit.ground.n_rows)
        return np.flatnonzero(bits).astype(np.uint32)


@dataclass(slots=True)
class _Training:
    """Training rows, one bit each, and the (outer, inner) splits that they serve."""

    packed: NDArray[np.uint8]
    pairs: list[tuple[int, int]]


def _merge(splits: Sequence[Split]) -> Split:
    """Hold out what one of the splits holds out, and train on what all of them train on."""
    n_rows = splits[0].n_rows
    trains = [_pack(split.train_rows(), n_rows) for split in splits]
    both = np.unpackbits(np.bitwise_and.reduce(trains), count=n_rows)
    tests = np.unique(np.concatenate([split.test for split in splits]))
    return Split(n_rows, tests, np.flatnonzero(both))


def _pair_up(
    splits: Sequence[Split], inners: Sequence[Split]
) -> tuple[dict[int, _Outer], list[_Training]]:
    outers: dict[int, _Outer] = {}
    trainings: dict[bytes, _Training] = {}
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
            training = trainings.setdefault(packed.tobytes(), _Training(packed, []))
            training.pairs.append((outer, inner))
    return outers, list(trainings.values())


def _pack(rows: NDArray[Any], n_rows: int) -> NDArray[np.uint8]:
    mask = np.zeros(n_rows, dtype=bool)
    mask[rows] = True
    return np.packbits(mask)


def _count_rows(packed: NDArray[np.uint8]) -> int:
    return int(np.unpackbits(packed).sum())
