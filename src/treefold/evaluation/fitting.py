"""A fit of an estimator that is cross-validated: a request, and what it finds out.

It reads everything, grows and chooses (`cross_fit`, `nested_fit`), and only then changes the
estimator, so that an error or an interrupt leaves it as it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils import indexable

from treefold.data.table import Table
from treefold.evaluation.cross_fit import CrossFit
from treefold.evaluation.dataset import Dataset, open_dataset
from treefold.evaluation.judging import Judge
from treefold.evaluation.nested_fit import NestedFit
from treefold.evaluation.splits import Split
from treefold.evaluation.study import Study
from treefold.evaluation.trials import (
    NestedScores,
    Trials,
    choose,
    make_results,
)
from treefold.evaluation.tuned_scores import (
    TunedScores,
    become,
    plan_pooling,
)
from treefold.progress import Progress
from treefold.scoring.cells import Scoring, takes_weights
from treefold.threads import effective_n_jobs

__all__ = ["Evidence", "Request", "Routed", "fit_with_evidence"]


@dataclass(frozen=True, slots=True)
class Routed:
    """Who gets which of the arguments of `fit`; `score` is None if scorers get the weights."""

    split: Mapping[str, Any]
    score: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Request:
    """What a fit is given, and what it is to find out on top of what every fit does."""

    X: Any
    y: Any
    sample_weight: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)  # for the splitter, or routed
    nested: bool = False
    blocks: list[list[int]] | None = None  # splits that take part in nested scores as one
    n_permutations: int = 0
    parts: list[Split] | None = None  # the inner splits, instead of the other splits


@dataclass(slots=True)
class Evidence:
    """What a fit has found out that an `Evaluation` lacks."""

    importance: NDArray[np.float64] | None = None  # (n_columns, n_splits)
    nested_predictions: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)  # by split
    n_trees: int = 0  # that were grown; who grows more for the same model adds them
    blocks: list[list[int]] | None = None  # splits that took part in nested scores as one


def fit_with_evidence(estimator: Any, request: Request) -> Evidence:
    """Fit one of these estimators, and find out what is requested besides."""
    cross_fit, fixed = _prepare(estimator, request)
    trials, nested, evidence = _evaluate(estimator, cross_fit, request)
    index = choose(trials, estimator.rule)
    has_shuffles = max(len(split.test) for split in cross_fit.splits) > 1  # one row is its shuffle
    n_permutations = request.n_permutations if has_shuffles else 0
    found = cross_fit.finish(index, estimator.store_cv_predictions, n_permutations)
    if found.importance is not None:
        importance = trials.pooling.lose(found.importance, trials.scores[index])
        evidence = replace(evidence, importance=importance)
    dataset = cross_fit.dataset
    kept = dataset.target.own() if estimator.store_cv_predictions else None
    facts = {
        "scorer_": cross_fit.scores.scoring.scorer,
        "n_splits_": len(cross_fit.splits),
        "best_index_": index,
        "best_params_": {**trials.params[index], **fixed},
        "best_score_": float(trials.means[index]),
        "cv_results_": make_results(trials),
        "stability_": found.stability,
        "evaluation_": replace(
            estimator._evaluate(trials, index, found, cross_fit.splits, nested),
            truth=None if kept is None else kept.values,
            weights=None if kept is None else kept.weights,
        ),
    }
    become(estimator, found.native, dataset, found.training)
    estimator.__dict__.update(facts)
    return evidence


def _prepare(estimator: Any, request: Request) -> tuple[CrossFit, dict[str, Any]]:
    """Read everything: what there is to fit, and the parameters that all candidates share."""
    X, y, weights = request.X, request.y, request.sample_weight
    tunings, fixed = estimator._plan()
    n_threads = effective_n_jobs(estimator.n_jobs)
    dataset = open_dataset(tunings[0].setting.tree, X, y, weights, n_threads)
    cv = estimator._make_splitter(dataset, fixed["random_state"])
    routed = estimator._route(weights, dict(request.params))
    splits = estimator._split(cv, dataset, request, routed)
    scoring = estimator._make_scoring(dataset.target.classes)
    study = _make_study(dataset, scoring, request, splits, routed)
    kind = None
    if estimator._is_pooling:
        scoring, kind = plan_pooling(scoring)
    sizes = [len(split.test) for split in splits]
    is_pooled = bool(scoring.needs_pooling(sizes, dataset.target.n_classes))
    scores = TunedScores(Judge(study, scoring, "raise"), dataset, is_pooled, kind)
    return CrossFit(scores, tunings, splits), fixed


def _evaluate(
    estimator: Any, cross_fit: CrossFit, request: Request
) -> tuple[Trials, NestedScores | None, Evidence]:
    """Grow and score everything: all candidates, and the nested scores if they are wanted."""
    is_pooled = cross_fit.scores.is_pooled and request.blocks is None
    is_nested = request.nested and not is_pooled
    nested_fit = NestedFit(cross_fit, request.blocks, request.parts) if is_nested else None
    total = cross_fit.work + (0 if nested_fit is None else nested_fit.work)
    n_inner = 0 if nested_fit is None else nested_fit.n_trainings
    n_trees = len(cross_fit.tunings) * (1 + len(cross_fit.splits) + n_inner)
    with Progress("cross-validation", total, estimator.verbose) as progress:
        trials = cross_fit.evaluate(progress)
        nested = None if nested_fit is None else nested_fit.evaluate(estimator.rule, progress)
    predictions = {} if nested is None or nested_fit is None else nested_fit.predictions
    return trials, nested, Evidence(None, predictions, n_trees, request.blocks)


def _make_study(
    dataset: Dataset, scoring: Scoring, request: Request, splits: list[Split], routed: Routed
) -> Study:
    """Say what scorers see: anybody's function everything, those of scikit-learn answers only."""
    is_known = scoring.metrics["score"] is not None or isinstance(scoring.scorer, _BaseScorer)
    score_params = routed.score
    if score_params is None:
        weights = dataset.target.weights
        has_weights = weights is not None and takes_weights(scoring.scorer)
        score_params = {"sample_weight": weights} if has_weights else {}
    seen = request.X if isinstance(request.X, Table) else indexable(request.X)[0]
    return Study(seen, None if is_known else request.y, splits, {}, score_params, dataset.n_threads)
