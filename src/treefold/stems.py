"""One full tree per setting and training set, a *stem*, and the scores of what is cut from it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import get_scorer

from treefold import _native, metrics
from treefold.estimator import BaseDecisionTree
from treefold.exceptions import ParameterError
from treefold.model import Tree
from treefold.model_selection.ground import Ground, Training
from treefold.model_selection.splits import Split
from treefold.pooling import Kind, Pooling
from treefold.replay import Cell, make_cell, replay_nodes, replay_tree
from treefold.scorers import recognise
from treefold.scoring import Scoring, score_cells, score_rows, takes_weights
from treefold.sums import is_sum, score_sums
from treefold.tuning import expand

__all__ = [
    "TUNABLE",
    "Judge",
    "Options",
    "Parameters",
    "Setting",
    "Stem",
    "become",
    "plan_pooling",
    "plan_settings",
]

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
Options = Callable[[NDArray[Any]], Mapping[str, Any]]  # of `score_cells`, for some rows
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


def plan_pooling(scoring: Scoring) -> tuple[Scoring, Kind]:
    """Say what to score on each split, and what is to be made of it."""
    kind = _OF_SQUARES.get(_find_function(scoring), "mean")
    if kind == "mean":
        return scoring, kind
    squares = get_scorer("neg_mean_squared_error")
    metric = {"score": recognise(squares)}
    return replace(scoring, scorers={"score": squares}, metrics=metric), kind


def _weigh(options: Mapping[str, Any]) -> Floats | None:
    """What rows count for the scorer."""
    weights: Floats | None = options.get("weights")
    if weights is None:
        weights = (options.get("score_params") or {}).get("sample_weight")
    return weights


def _find_function(scoring: Scoring) -> Any:
    """Find the function of `treefold.metrics` behind a metric; None if it is not one of them."""
    compute = getattr(scoring.metrics["score"], "compute", None)
    return getattr(compute, "func", compute)


@dataclass(frozen=True, slots=True)
class Stem:
    """The full tree of one setting on one training set."""

    setting: Setting
    training: Training
    tree: _native.Tree

    def cells(self, candidates: Iterable[Parameters]) -> list[Cell]:
        """Resolve candidates against the rows of this training set."""
        known: dict[tuple[Any, ...], dict[str, Any]] = {}  # most differ in ccp_alpha only
        cells = []
        for params in candidates:
            limits = tuple([params[name] for name in _LIMITS])
            if limits not in known:
                cell = make_cell(params, self.training.target.n_rows)
                known[limits] = {name: getattr(cell, name) for name in _LIMITS}
            cells.append(Cell(**known[limits], ccp_alpha=float(params["ccp_alpha"])))
        return cells


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores candidates on held-out rows. Unlike a fold's own fit, it knows all classes."""

    ground: Ground
    scoring: Scoring
    options: Options
    is_pooled: bool = False
    n_threads: int = 1
    kind: Kind | None = "mean"  # None: each split has a score of its own, as for scikit-learn

    def score(self, stem: Stem, split: Split, candidates: Sequence[Parameters]) -> NDArray[Any]:
        """Score each candidate; if rows are pooled, give their values instead."""
        rows = self.list_rows(split)
        leaves = self.ground.find_leaves(stem.tree, rows, self.n_threads)
        step = max(1, _MOST_ANSWERS // len(leaves))
        parts = []
        for first in range(0, len(candidates), step):
            some = candidates[first : first + step]
            nodes = replay_nodes(stem.tree, leaves, stem.cells(some), self.n_threads)
            parts.append(self._score_nodes(stem, rows, nodes, some))
        return np.concatenate(parts)

    def estimate(self, stem: Stem, split: Split, candidates: Sequence[Parameters]) -> NDArray[Any]:
        """Score each candidate, up to rounding: to choose by, much faster for many metrics."""
        rows = self.list_rows(split)
        leaves = self.ground.find_leaves(stem.tree, rows, self.n_threads)
        found = score_sums(
            self.scoring,
            self.ground.target,
            stem.tree,
            stem.cells(candidates),
            rows=rows,
            weights=self._weigh(rows),
            leaves=leaves,
            n_threads=self.n_threads,
        )
        return self.score(stem, split, candidates) if found is None else found

    @property
    def has_sums(self) -> bool:
        """Whether `estimate` calls nobody's functions: it may then run in several threads."""
        return is_sum(self.scoring, self.ground.target.n_classes)

    def score_root(self, stem: Stem, split: Split) -> NDArray[Any]:
        """Score a tree without any split."""
        rows = self.list_rows(split)
        stump = {**stem.setting.fixed, **_NO_SPLIT}
        return self._score_nodes(stem, rows, np.zeros((1, len(rows)), dtype=np.int64), [stump])

    def score_values(
        self, rows: NDArray[Any], nodes: NDArray[np.int64], value: Floats
    ) -> NDArray[Any]:
        """Score what nodes of any tree predict for rows; nodes are of shape (n_cells, n_rows)."""
        target = self.ground.target
        if not self._count(rows):
            return np.full(len(nodes), np.nan)
        return score_cells(
            self.scoring, target.values[rows], nodes, value, target.classes, **self.options(rows)
        )["score"]

    def list_rows(self, split: Split) -> NDArray[Any]:
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
        if not self._count(rows):
            return np.full(len(nodes), np.nan)
        options = dict(self.options(rows))
        if options.get("X") is not None:  # of a Table nobody sees more than predictions
            options["estimator_of"] = lambda cell: self._make_estimator(stem, candidates[cell])
        found = score_cells(
            self.scoring, target.values[rows], nodes, value, target.classes, **options
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
        rows = np.concatenate([self.list_rows(split) for split in splits])
        target = self.ground.target
        found = score_rows(
            self.scoring,
            target.values[rows],
            np.concatenate(parts, axis=1),
            target.classes,
            **self.options(rows),
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
        if function in _OF_BOTH_CLASSES and self.ground.target.n_classes == 2:
            return "both"
        return "rows" if function in _OF_ROWS else "splits"

    def _count(self, rows: NDArray[Any]) -> float:
        """What the score of some held-out rows counts; 0 if they have none."""
        function, target = _find_function(self.scoring), self.ground.target
        if self.kind is None or self.is_pooled:
            return 1.0
        if self._over == "both":
            return float(len(np.unique(target.values[rows])) == 2)
        if function not in _OF_ROWS:
            return 1.0
        weights = self._weigh(rows)
        return float(len(rows) if weights is None else np.sum(weights))

    def _weigh(self, rows: NDArray[Any]) -> Floats | None:
        return _weigh(self.options(rows)) if takes_weights(self.scoring.scorer) else None


def become(estimator: Any, native: _native.Tree, ground: Ground, training: Training) -> Any:
    """Turn an estimator into one that has this tree."""
    table = ground.table
    tree = Tree(native, table.schema, np.flatnonzero(table._native.has_missing))
    return estimator._become(tree, ground.target.classes, training.rules.max_features)
