"""`scoring=` as scikit-learn reads it, for all candidates of a fold at once.

The common metrics come from `metrics`. Any other scorer, and any cell that scikit-learn would warn
of or refuse, is handed to the scorer itself, which sees an estimator that answers for the held-out
rows: warnings, errors and NaN are scikit-learn's own.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import brier_score_loss, check_scoring, log_loss, make_scorer
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection._validation import _score
from sklearn.utils import get_tags
from sklearn.utils._metadata_requests import _routing_enabled
from sklearn.utils.metadata_routing import process_routing

from treefold import _native
from treefold.replay import CountTask, count_correct
from treefold.scoring import metrics
from treefold.scoring.metrics import Answers, Scores
from treefold.scoring.predictor import make_predictor
from treefold.scoring.scorers import Metric, has_single_rows, recognise

__all__ = [
    "Scoring",
    "can_count",
    "name_all_classes",
    "name_scoring",
    "resolve_scoring",
    "score_cells",
    "score_counts",
    "score_rows",
    "takes_weights",
]

_LABEL_KINDS = "iufbU"  # dtypes of labels that scikit-learn's metrics take
_MOST_COUNTS = 2**22  # nodes times classes that are counted at once: 32 MB


# scoring= ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scoring:
    """What `scoring=` asks for."""

    scorer: Any  # as scikit-learn resolves it
    scorers: dict[str, Any]  # one, named "score", unless several metrics were asked for
    metrics: dict[str, Metric | None]  # those that are computed here

    @property
    def is_multimetric(self) -> bool:
        """Whether several metrics were asked for by name."""
        return isinstance(self.scorer, _MultimetricScorer)

    def route(self, score_params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Tell which scorer gets which of the parameters of scoring, as scikit-learn does."""
        if not self.is_multimetric:
            return {"score": dict(score_params)}
        if _routing_enabled():
            routed = process_routing(self.scorer, "score", **score_params)
            return {name: dict(routed[name].score) for name in self.scorers}
        return {
            name: {
                key: value
                for key, value in score_params.items()
                if key != "sample_weight" or (value is not None and takes_weights(scorer))
            }
            for name, scorer in self.scorers.items()
        }

    def needs_pooling(self, test_sizes: Iterable[int], n_classes: int) -> list[str]:
        """Name the metrics that no fold has, because each fold holds out a single row."""
        if any(size != 1 for size in test_sizes):
            return []
        return [name for name, one in self.scorers.items() if not has_single_rows(one, n_classes)]

    def select(self, names: Collection[str]) -> "Scoring":
        """Keep some of the metrics."""
        return replace(
            self,
            scorers={name: one for name, one in self.scorers.items() if name in names},
            metrics={name: one for name, one in self.metrics.items() if name in names},
        )


def resolve_scoring(estimator: Any, scoring: Any = None, error_score: Any = np.nan) -> Scoring:
    """Read `scoring=`: None, a name, a callable, several names, or a dict of scorers."""
    raises = isinstance(error_score, str) and error_score == "raise"
    if scoring is None and isinstance(estimator, BaseEstimator) and hasattr(estimator, "score"):
        scorer = _PassthroughScorer(estimator)  # as check_scoring would, in a tenth of the time
    else:
        scorer = check_scoring(estimator, scoring=scoring, raise_exc=raises)
    scorers = scorer._scorers if isinstance(scorer, _MultimetricScorer) else {"score": scorer}
    is_classifier = get_tags(estimator).estimator_type == "classifier"
    found = {name: recognise(one) for name, one in scorers.items()}
    for name, metric in found.items():
        if metric is not None and metric.is_for_classes != is_classifier:
            found[name] = None
    return Scoring(scorer, scorers, found)


def name_scoring(scoring: Any, estimator: Any) -> str:
    """Name the metric that `scoring=` asks for, if it is one."""
    if scoring is None:
        return "accuracy" if get_tags(estimator).estimator_type == "classifier" else "r2"
    if isinstance(scoring, str):
        return scoring
    return str(getattr(scoring, "__name__", scoring))


def name_all_classes(scoring: Any, classes: NDArray[Any]) -> Any:
    """Let a score of probabilities know all classes, because a fold may lack some of them."""
    labels = classes.tolist()
    names: dict[str, Any] = {"labels": classes}
    if isinstance(scoring, str) and scoring in ("neg_brier_score", "neg_log_loss"):
        is_brier = scoring == "neg_brier_score"
        if is_brier and len(labels) == 2:
            names = {"pos_label": labels[1]}
        return make_scorer(
            brier_score_loss if is_brier else log_loss,
            greater_is_better=False,
            response_method="predict_proba",
            **names,
        )
    return scoring


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer knows what a sample weight is."""
    accepts = getattr(scorer, "_accept_sample_weight", None)
    return accepts is not None and bool(accepts())


# Scores -----------------------------------------------------------------------------------------


def score_cells(
    scoring: Scoring,
    y_test: NDArray[Any],
    node_of: NDArray[np.integer[Any]],
    value: NDArray[np.float64],
    classes: NDArray[Any] | None,
    *,
    weights: NDArray[np.float64] | None = None,
    present: NDArray[np.integer[Any]] | None = None,
    X: Any = None,
    y: Any = None,
    score_params: Mapping[str, Any] | None = None,
    error_score: Any = "raise",
    estimator_of: Callable[[int], Any] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Score every cell on the held-out rows of one tree.

    Parameters
    ----------
    scoring : Scoring
        From `resolve_scoring`.
    y_test : array of shape (n_rows,)
        Class numbers of the held-out rows, or float64.
    node_of : int array of shape (n_cells, n_rows)
        The node where each row ends.
    value : float64 array of shape (n_nodes, n_classes or 1)
        What each node predicts.
    classes : array of labels, or None for regression
        The label of each class number.
    weights : float64 array of shape (n_rows,), default=None
        Given to the scorers that take a sample weight.
    present : int array, default=None
        Numbers of the classes of the training rows, ascending, to which a fitted estimator would be
        limited; None for all.
    X, y : default=None
        The held-out rows as the caller holds them, for scorers that are called.
    score_params : dict, default=None
        What scikit-learn would pass to the scorer, cut to the held-out rows.
    error_score : "raise" or number, default="raise"
        The score of a cell whose scorer fails; a number warns too.
    estimator_of : callable, default=None
        Makes a fitted estimator of a cell, for scorers that may do more than predict X.

    Returns
    -------
    dict
        Name of the metric ("score" if there is one) to scores of shape (n_cells,).
    """
    given = dict(score_params or {})
    if weights is not None and (scoring.is_multimetric or takes_weights(scoring.scorer)):
        given["sample_weight"] = weights
    answers = Answers(y_test, node_of, value, classes, present)
    rows = _Rows(answers, X, y, estimator_of, error_score)
    scores: dict[str, NDArray[np.float64]] = {}
    for name, params in scoring.route(given).items():
        scores.update(_score_one(name, scoring, rows, params))
    return scores


def can_count(
    scoring: Scoring,
    y_test: NDArray[np.integer[Any]],
    tree: _native.Tree,
    classes: NDArray[Any] | None,
) -> bool:
    """Whether `score_counts` gives the scores of a tree's cells: accuracy, and nothing unusual."""
    metric, n_classes = scoring.metrics.get("score"), tree.n_classes
    if metric is None or metric.compute is not metrics.accuracy or len(y_test) == 0:
        return False
    is_usual = _are_plain_labels(classes) and classes is not None and len(classes) == n_classes
    return is_usual and tree.node_count * n_classes <= _MOST_COUNTS


def score_counts(
    scoring: Scoring, tasks: Sequence[CountTask], n_threads: int = 1
) -> list[NDArray[np.float64]]:
    """Score every cell on every test by accuracy: of shape (n_cells, n_tests), of each task.

    The rows that each node would predict rightly are counted once and added up over the leaves of
    each cell: three times as fast as sending every row to its node. The scores are those of
    `score_cells`, to the last bit.
    """
    metric = scoring.metrics["score"]
    assert metric is not None
    return [
        metric.sign * correct / [len(truth) for _, truth in tests]
        for (_, _, tests), correct in zip(tasks, count_correct(tasks, n_threads), strict=True)
    ]


def score_rows(
    scoring: Scoring,
    y_test: NDArray[Any],
    values: NDArray[np.float64],
    classes: NDArray[Any] | None,
    **options: Any,
) -> dict[str, NDArray[np.float64]]:
    """Score every cell from what each row is given, of shape (n_cells, n_rows, n_classes or 1).

    This pools rows that different trees answered for. Options are those of `score_cells`.
    """
    itself = np.arange(len(y_test)).reshape(1, -1)
    each = [score_cells(scoring, y_test, itself, value, classes, **options) for value in values]
    return {name: np.concatenate([scores[name] for scores in each]) for name in each[0]}


@dataclass(frozen=True, slots=True)
class _Rows:
    """The held-out rows of one call."""

    answers: Answers
    X: Any
    y: Any
    estimator_of: Callable[[int], Any] | None
    error_score: Any

    @property
    def labels(self) -> Any:
        """The truth, as the caller holds it."""
        if self.y is not None:
            return self.y
        answers = self.answers
        return answers.y if answers.classes is None else answers.classes[answers.y]


def _score_one(
    name: str, scoring: Scoring, rows: _Rows, params: dict[str, Any]
) -> dict[str, NDArray[np.float64]]:
    metric = scoring.metrics[name]
    computed = None if metric is None else _compute(metric, rows.answers, params)
    if metric is None or computed is None:
        cells: Iterable[int] = range(len(rows.answers.node_of))
        return _call(name, scoring, rows, params, cells)
    scores, is_odd = computed
    scores = metric.sign * scores
    cells = np.flatnonzero(is_odd).tolist()
    if cells:
        scores[cells] = _call(name, scoring, rows, params, cells)[name]
    return {name: scores}


def _compute(metric: Metric, answers: Answers, params: dict[str, Any]) -> Scores | None:
    """Compute a metric for all cells, if nothing about the rows is unusual."""
    if len(answers.y) == 0 or not params.keys() <= {"sample_weight"}:
        return None
    if metric.is_for_classes and not _are_plain_labels(answers.classes):
        return None
    weights = params.get("sample_weight")
    if weights is None:
        return metric.compute(answers)
    weights = np.asarray(weights)
    if not _are_plain_weights(weights, len(answers.y)):
        return None
    return metric.compute(replace(answers, weights=weights.astype(np.float64)))


def _are_plain_weights(weights: NDArray[Any], n_rows: int) -> bool:
    if weights.shape != (n_rows,) or not (weights.dtype.kind in "iu" or weights.dtype == "f8"):
        return False
    return bool(np.isfinite(weights).all() and (weights >= 0).all() and weights.any())


def _are_plain_labels(classes: NDArray[Any] | None) -> bool:
    if classes is None:
        return False
    if classes.dtype.kind == "O":
        return all(isinstance(label, str) for label in classes)
    return classes.dtype.kind in _LABEL_KINDS


def _call(
    name: str, scoring: Scoring, rows: _Rows, params: dict[str, Any], cells: Iterable[int]
) -> dict[str, NDArray[np.float64]]:
    """Call a scorer once per cell; once per distinct answer if it can see nothing else."""
    scorer = scoring.scorers[name]
    X = np.empty((len(rows.answers.y), 0)) if rows.X is None else rows.X
    only_predicts = isinstance(scorer, _BaseScorer) or rows.estimator_of is None
    known: dict[bytes, Any] = {}
    found = []
    for cell in cells:
        key = rows.answers.node_of[cell].tobytes() if only_predicts else cell.to_bytes(8, "little")
        if key not in known:
            estimator = (
                make_predictor(rows.answers, cell, X)
                if only_predicts or rows.estimator_of is None
                else rows.estimator_of(cell)
            )
            known[key] = _score(estimator, X, rows.labels, scorer, params, rows.error_score)
        found.append(known[key])
    if scoring.is_multimetric:
        _refuse_dicts(name, found)
    return _arrange(name, found, rows.error_score)


def _refuse_dicts(name: str, found: list[Any]) -> None:
    """Refuse several numbers for one name, in scikit-learn's words."""
    for scores in found:
        if isinstance(scores, dict):
            raise ValueError(
                f"scoring must return a number, got {scores} ({type(scores)}) instead. "
                f"(scorer={name})"
            )


def _arrange(name: str, found: list[Any], error_score: Any) -> dict[str, NDArray[np.float64]]:
    """Turn numbers, or the dicts that a callable may give, into one array per name."""
    names = next((list(scores) for scores in found if isinstance(scores, dict)), None)
    if names is None:
        return {name: np.array(found)}
    failed = dict.fromkeys(names, error_score)
    rows = [scores if isinstance(scores, dict) else failed for scores in found]
    return {name: np.array([scores[name] for scores in rows]) for name in names}
