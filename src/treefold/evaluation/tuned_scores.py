"""Candidates of an estimator that is tuned in fit: what they are cut from, and their scores.

A score is that of all classes, over the held-out rows that exist, and says how those of splits
become one; otherwise it is `judging`'s.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import get_scorer

from treefold import _native
from treefold.estimators.base import BaseDecisionTree
from treefold.evaluation.candidates import Setting
from treefold.evaluation.dataset import Dataset, Training
from treefold.evaluation.growing import FullTree
from treefold.evaluation.judging import Judge
from treefold.evaluation.splits import Split
from treefold.evaluation.trials import expand
from treefold.exceptions import ParameterError
from treefold.model.tree import Tree
from treefold.replay import Cell, make_cell, replay_tree
from treefold.scoring import metrics
from treefold.scoring.cells import Scoring, score_cells, score_rows, takes_weights
from treefold.scoring.pooling import Kind, Pooling
from treefold.scoring.scorers import recognise
from treefold.scoring.sums import is_sum, score_sums

__all__ = ["TUNABLE", "Parameters", "TunedScores", "Tuning"]
__all__ += ["become", "make_cells", "plan_pooling", "plan_tunings"]

Floats = NDArray[np.float64]
Parameters = dict[str, Any]

TUNABLE = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_samples_category",
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
# Metrics that are means over rows, and those that are made of the mean squared error of all rows.
_OF_ROWS = {
    metrics.accuracy,
    metrics.brier,
    metrics.log_loss,
    metrics.squared_error,
    metrics.absolute_error,
}
_OF_BOTH_CLASSES = {metrics.roc_auc, metrics.balanced_accuracy}  # no sums over rows of all splits
_OF_SQUARES: dict[Any, Kind] = {metrics.r2: "r2", metrics.root_squared_error: "root"}


@dataclass(frozen=True, slots=True)
class Tuning:
    """Candidates that are cut from one full tree; those of a pruning path are yet to be found."""

    setting: Setting  # of their limits, without pruning: what the full tree has to hold
    fixed: Parameters
    limits: Sequence[Parameters]  # path parameters other than ccp_alpha
    ccp_alphas: Sequence[float] | None  # None: the pruning path of each tree


def plan_tunings(
    parameters: Parameters, make_tree: Callable[[Parameters], BaseDecisionTree]
) -> list[Tuning]:
    """Combine the parameters of an estimator, lists of candidates among them."""
    common = {name: value for name, value in parameters.items() if name not in _LIMITS}
    alphas = common.pop("ccp_alpha")
    is_path = isinstance(alphas, str) and alphas == "path"
    strengths = None if is_path else [each["ccp_alpha"] for each in expand({"ccp_alpha": alphas})]
    limits = list(expand({name: parameters[name] for name in _LIMITS}))
    tunings = []
    for fixed in expand(common):
        for limit in limits:
            for strength in strengths or [0.0]:
                make_tree({**fixed, **limit, "ccp_alpha": strength})  # raises if it has no meaning
        trees = [make_tree({**fixed, **limit, "ccp_alpha": 0.0}) for limit in limits]
        setting = Setting(list(range(len(trees))), trees)
        tunings.append(Tuning(setting, fixed, limits, strengths))
    return tunings


def make_cells(full: FullTree, candidates: Iterable[Parameters]) -> list[Cell]:
    """Resolve candidates against the training rows of a full tree."""
    known: dict[tuple[Any, ...], dict[str, Any]] = {}  # most differ in ccp_alpha only
    cells = []
    for params in candidates:
        limits = tuple([params[name] for name in _LIMITS])
        if limits not in known:
            cell = make_cell(params, full.training.target.n_rows)
            known[limits] = {name: getattr(cell, name) for name in _LIMITS}
        cells.append(Cell(**known[limits], ccp_alpha=float(params["ccp_alpha"])))
    return cells


def plan_pooling(scoring: Scoring) -> tuple[Scoring, Kind]:
    """Say what to score on each split, and what is to be made of it."""
    kind = _OF_SQUARES.get(_find_function(scoring), "mean")
    if kind == "mean":
        return scoring, kind
    squares = get_scorer("neg_mean_squared_error")
    metric = {"score": recognise(squares)}
    return replace(scoring, scorers={"score": squares}, metrics=metric), kind


def _find_function(scoring: Scoring) -> Any:
    """Find the function of `scoring.metrics` behind a metric; None if it is not one of them."""
    compute = getattr(scoring.metrics["score"], "compute", None)
    return getattr(compute, "func", compute)


@dataclass(frozen=True, slots=True)
class TunedScores:
    """Scores candidates on held-out rows. Unlike a fold's own fit, it knows all classes."""

    judge: Judge
    dataset: Dataset
    is_pooled: bool = False
    kind: Kind | None = "mean"  # None: each split has a score of its own, as for scikit-learn

    @property
    def scoring(self) -> Scoring:
        """What candidates are compared by."""
        assert self.judge.scoring is not None
        return self.judge.scoring

    def score(
        self, full: FullTree, number: int, tuning: Tuning, candidates: Sequence[Parameters]
    ) -> NDArray[Any]:
        """Score each candidate; if rows are pooled, give their values instead."""
        rows, leaves = self._find_leaves(full, number)
        cells = make_cells(full, candidates)
        if self.is_pooled:
            return full.tree.value[full.find_nodes(leaves, cells)]
        if not self._count(rows):
            return np.full(len(cells), np.nan)

        def make_estimator(place: int) -> Any:
            """Make the fitted tree of a candidate, for scorers that look at more than answers."""
            estimator = clone(tuning.setting.tree).set_params(**candidates[place])
            native = replay_tree(full.tree, cells[place])
            return become(estimator, native, self.dataset, full.training)

        sees_trees = self.judge.may_look_at_trees and not self.judge.study.is_table
        seen = make_estimator if sees_trees else None
        parts = self.judge.score(self.scoring, full, rows, leaves, cells, make_estimator=seen)
        return np.concatenate([_take_score(found) for found in parts])

    def estimate(
        self,
        full: FullTree,
        number: int,
        tuning: Tuning,
        candidates: Sequence[Parameters],
        n_threads: int = 1,
    ) -> NDArray[Any]:
        """Score each candidate, up to rounding: to choose by, much faster for many metrics."""
        rows, leaves = self._find_leaves(full, number)
        found = score_sums(
            self.scoring,
            self.dataset.target,
            full.tree,
            make_cells(full, candidates),
            rows=rows,
            weights=self._weigh(rows),
            leaves=leaves,
            n_threads=n_threads,
        )
        return self.score(full, number, tuning, candidates) if found is None else found

    @property
    def has_sums(self) -> bool:
        """Whether `estimate` calls nobody's functions: it may then run in several threads."""
        return is_sum(self.scoring, self.dataset.target.n_classes)

    def score_root(self, full: FullTree, split: Split, tuning: Tuning) -> NDArray[Any]:
        """Score a tree without any split."""
        rows = self.list_rows(split)
        nodes = np.zeros((1, len(rows)), dtype=np.int64)
        if self.is_pooled:
            return full.tree.value[nodes]

        def make_estimator(_: int) -> Any:
            params = {**tuning.fixed, **_NO_SPLIT}
            native = replay_tree(full.tree, make_cells(full, [params])[0])
            estimator = clone(tuning.setting.tree).set_params(**params)
            return become(estimator, native, self.dataset, full.training)

        return self.score_nodes(rows, nodes, full.tree.value, make_estimator)

    def score_nodes(
        self,
        rows: NDArray[Any],
        nodes: NDArray[np.int64],
        value: Floats,
        make_estimator: Callable[[int], Any] | None = None,
    ) -> NDArray[Any]:
        """Score what nodes of any tree predict for rows; nodes are of shape (n_cells, n_rows)."""
        target = self.dataset.target
        if not self._count(rows):
            return np.full(len(nodes), np.nan)
        options = self.judge.list_options(self.scoring, rows)
        if options["X"] is not None:  # of a Table nobody sees more than predictions
            options["estimator_of"] = make_estimator
        truth = target.values[rows]
        return _take_score(
            score_cells(self.scoring, truth, nodes, value, target.classes, **options)
        )

    def list_rows(self, split: Split) -> NDArray[Any]:
        """List the held-out rows that exist."""
        weights = self.dataset.target.weights
        return split.test if weights is None else split.test[weights[split.test] > 0]

    def _find_leaves(self, full: FullTree, number: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Find the held-out rows that exist, and their leaves."""
        rows, leaves = full.job.splits[number].test, full.find_leaves(number)
        weights = self.dataset.target.weights
        if weights is None:
            return rows, leaves
        exists = weights[rows] > 0
        return rows[exists], leaves[exists]

    def combine(self, parts: Sequence[NDArray[Any]], splits: Sequence[Split]) -> Floats:
        """Give scores of shape (n_candidates, n_splits); one column if rows are pooled."""
        if not self.is_pooled:
            return np.stack(parts, axis=1)
        rows = np.concatenate([self.list_rows(split) for split in splits])
        target = self.dataset.target
        found = score_rows(
            self.scoring,
            target.values[rows],
            np.concatenate(parts, axis=1),
            target.classes,
            **self.judge.list_options(self.scoring, rows),
        )
        return found["score"].reshape(-1, 1)

    def make_pooling(self, splits: Sequence[Split], naive: Mapping[int, float]) -> Pooling:
        """Say how the scores of splits become one; `naive` are those of one answer, if needed."""
        if self.is_pooled:
            return Pooling(np.ones(1))
        counts = np.array([self._count(self.list_rows(split)) for split in splits])
        if self.kind == "r2":
            return Pooling(counts, "r2", np.array([naive[place] for place in range(len(splits))]))
        return Pooling(counts, self.kind or "mean", None, self._over)

    @property
    def _over(self) -> Any:
        """What the score is a mean over."""
        function = _find_function(self.scoring)
        if self.kind != "mean":
            return "splits"
        if function in _OF_BOTH_CLASSES and self.dataset.target.n_classes == 2:
            return "both"
        return "rows" if function in _OF_ROWS else "splits"

    def _count(self, rows: NDArray[Any]) -> float:
        """What the score of some held-out rows counts; 0 if they have none."""
        function, target = _find_function(self.scoring), self.dataset.target
        if self.kind is None or self.is_pooled:
            return 1.0
        if self._over == "both":
            return float(len(np.unique(target.values[rows])) == 2)
        if function not in _OF_ROWS:
            return 1.0
        weights = self._weigh(rows)
        return float(len(rows) if weights is None else np.sum(weights))

    def _weigh(self, rows: NDArray[Any]) -> Floats | None:
        """What rows count for the scorer."""
        weights = self.judge.study.score_params.get("sample_weight")
        if weights is None or not takes_weights(self.scoring.scorer):
            return None
        cut: Floats = self.judge.study.cut({"sample_weight": weights}, rows)["sample_weight"]
        return cut


def _take_score(found: Mapping[str, Floats]) -> Floats:
    if found.keys() != {"score"}:
        raise ParameterError(
            f"scoring must give one number, but gave {sorted(found)}. Choose one of them."
        )
    return found["score"]


def become(estimator: Any, native: _native.Tree, dataset: Dataset, training: Training) -> Any:
    """Turn an estimator into one that has this tree."""
    table = dataset.table
    tree = Tree(native, table.schema, np.flatnonzero(table._native.has_missing))
    return estimator._become(tree, dataset.target.classes, training.rules.max_features)
