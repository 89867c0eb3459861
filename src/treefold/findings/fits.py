"""Everything about a fit as one document: `--json` prints it, `words` words it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.evaluation.fitting import Evidence
from treefold.evaluation.trials import Trials, summarise_trials
from treefold.findings.document import Choice, ColumnLoss, PathPoint, ScoreRow, Scores
from treefold.findings.folds import Splits
from treefold.findings.measures import Measure, define_extras, measure_answers, name_measure
from treefold.findings.nodes import list_nodes
from treefold.findings.target import Target
from treefold.findings.thresholds import Thresholds, compare_thresholds
from treefold.scoring.pooling import Pooling, summarise

__all__ = ["Answers", "Result", "describe_fit", "gather_answers", "recall_choice", "recall_scores"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Result:
    """A fitted model, what it was fitted to, and what was found out with it."""

    target: Target
    weights: Floats | None
    splits: Splits
    measure: Measure
    model: Any
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Answers:
    """What was predicted for held-out rows, which may come several times."""

    rows: NDArray[Any]
    values: Floats  # shares of classes, or numbers
    is_nested: bool  # they had no part in choosing either
    parts: list[NDArray[Any]]  # places among the above of each split


def describe_fit(result: Result) -> dict[str, Any]:
    """Gather scores, choice, path, tree, importance and thresholds."""
    model = result.model
    return {
        "scores": _describe_scores(result),
        "chosen": recall_choice(model),
        "path": _describe_path(model, result.measure.sign),
        "tree": list_nodes(model, result.target, result.weights),
        "importance": _rank_columns(result),
        "thresholds": _describe_thresholds(result),
    }


# Scores -----------------------------------------------------------------------------------------


def _describe_scores(result: Result) -> Scores:
    """All scores, over the same held-out rows, and how each of them comes about."""
    measure, evaluation = result.measure, result.model.evaluation_
    scores = recall_scores(result.model, measure)
    rows, definitions = scores.rows, scores.definitions
    if evaluation.predictions is not None:
        numbers = _list_compared(result)
        for name, answers in _gather_all(result).items():
            if name in rows:
                parts = [(result.splits[number][1], answers[number]) for number in numbers]
                extras = measure_answers(result.target, parts, result.weights, measure)
                rows[name] = replace(rows[name], extras=extras)
        tests = [result.splits[number][1] for number in numbers]
        definitions |= define_extras(result.target, tests, result.weights, measure)
    return replace(scores, definitions=definitions, rows=rows)


def recall_scores(model: Any, measure: Measure | None = None) -> Scores:
    """The scores that a model knows of itself, without the rows that they are about."""
    evaluation, summary = model.evaluation_, _find_summary(model)
    measure = name_measure(evaluation.scoring, None) if measure is None else measure
    rows = {name: _turn(row, measure.sign) for name, row in summary["rows"].items()}
    if "n_leaves" in evaluation.path:
        leaves = int(evaluation.path["n_leaves"][summary["best_index"]])
        rows["best_on_path"] = replace(rows["best_on_path"], leaves=leaves)
    definitions = {measure.title: summary["definition"]}
    return Scores(measure.name, measure.title, measure.direction, definitions, rows)


def _find_summary(model: Any) -> Any:
    """What the splits give together. Searches, and older files, know the mean over the splits."""
    evaluation, results = model.evaluation_, model.cv_results_
    if evaluation.summary is not None:
        return evaluation.summary
    scores = np.stack([value for name, value in results.items() if _is_of_split(name)], axis=1)
    plain = Pooling(np.ones(scores.shape[1]))
    trials = Trials(results["params"], np.zeros(len(scores), dtype=int), scores, plain)
    found = summarise_trials(trials, model.best_index_, evaluation.baseline, None)
    if evaluation.nested is not None:
        nested = np.asarray(evaluation.nested["test_score"])
        row = summarise(nested, Pooling(np.ones(len(nested))))
        found["rows"] = {"nested": row, **found["rows"]}
    return found


def _is_of_split(name: str) -> bool:
    return name.startswith("split") and name.endswith("_test_score")


def _turn(row: Mapping[str, Any], sign: int) -> ScoreRow:
    """Give an error its sign back; without a standard error it is None."""
    score, error = sign * float(row["score"]) + 0.0, _know(row["standard_error"])
    return ScoreRow(score, error, row["n_splits"])


def _list_compared(result: Result) -> list[int]:
    """The splits whose held-out rows the scores are about: those with a nested answer, or all."""
    return list(result.evidence.nested_predictions) or list(range(len(result.splits)))


def _gather_all(result: Result) -> dict[str, Mapping[int, Floats]]:
    """What was predicted for the held-out rows of each split."""
    predictions = result.model.evaluation_.predictions
    return {
        "nested": result.evidence.nested_predictions,
        "cross_validation": dict(enumerate(predictions)),
        "baseline": dict(enumerate(_answer_alike(result))),
    }


def _answer_alike(result: Result) -> Iterator[Floats]:
    """Give the same answer for every row of a split: what its training rows have on average."""
    target = result.target
    weights = np.ones(len(target.values)) if result.weights is None else result.weights
    codes = target.codes
    for train, test in result.splits:
        if codes is None:
            yield np.full(len(test), np.average(target.values[train], weights=weights[train]))
            continue
        shares = np.bincount(codes[train], weights[train], len(target.classes))
        yield np.tile(shares / shares.sum(), (len(test), 1))


def gather_answers(result: Result) -> Answers | None:
    """Gather the answers to held-out rows, nested ones if there are any; None: they are unknown."""
    predictions = result.model.evaluation_.predictions
    nested = result.evidence.nested_predictions
    if predictions is None:
        return None
    answers = nested or dict(enumerate(predictions))
    rows = np.concatenate([result.splits[number][1] for number in answers])
    ends = np.cumsum([len(each) for each in answers.values()])
    parts = np.split(np.arange(len(rows)), ends[:-1])
    return Answers(rows, np.concatenate(list(answers.values())), bool(nested), parts)


# The choice -------------------------------------------------------------------------------------


def recall_choice(model: Any) -> Choice:
    """The settings that were chosen, and the size of the tree that they gave."""
    tree = model.tree_
    return Choice(
        leaves=int(tree.n_leaves),
        depth=int(tree.max_depth),
        min_samples_leaf=model.best_params_["min_samples_leaf"],
        ccp_alpha=float(model.best_params_["ccp_alpha"]),
        max_depth=model.best_params_["max_depth"],
        class_weight=_name_weights(model.best_params_.get("class_weight")),
        rule=model.rule,
        candidates=len(model.cv_results_["params"]),
    )


def _name_weights(class_weight: Any) -> Any:
    """Class weights in words of JSON: "balanced", or by label; None if there are none."""
    if not isinstance(class_weight, dict):
        return class_weight
    return {str(label): float(weight) for label, weight in class_weight.items()}


def _describe_path(model: Any, sign: int) -> list[PathPoint]:
    """List the sizes of the chosen leaf size, from one leaf on, and the best candidate of all."""
    results, index = model.cv_results_, model.best_index_
    if "n_leaves" not in results:  # a search
        return []
    best = _find_summary(model)["best_index"]
    sizes = [params["min_samples_leaf"] for params in results["params"]]
    path = [
        PathPoint(
            leaves=int(results["n_leaves"][place]),
            min_samples_leaf=size,
            ccp_alpha=float(results["params"][place]["ccp_alpha"]),
            score=sign * float(results["mean_test_score"][place]) + 0.0,
            standard_error=_know(results["se_test_score"][place]),
            is_chosen=place == index,
            is_best=place == best,
        )
        for place, size in enumerate(sizes)
        if size == sizes[index] or place == best
    ]
    return sorted(path, key=lambda one: one.leaves)


def _know(error: float) -> float | None:
    return None if math.isnan(error) else float(error)


def _rank_columns(result: Result) -> list[ColumnLoss] | None:
    """Rank the columns by what the held-out score loses if they are shuffled; None: unknown."""
    losses = result.evidence.importance
    if losses is None:
        return None
    means = losses.mean(axis=1)
    n_splits = losses.shape[1]
    errors = losses.std(axis=1, ddof=1) / math.sqrt(n_splits) if n_splits > 1 else means * 0
    names = result.model.tree_.schema.names
    order = np.argsort(-means, kind="stable")
    return [
        ColumnLoss(
            f"feature_{column}" if names is None else str(names[column]),
            float(means[column]),
            float(errors[column]),
        )
        for column in order.tolist()
        if losses[column].any()
    ]


def _describe_thresholds(result: Result) -> Thresholds | None:
    """Compare one half with a better threshold, on nested answers if there are any.

    None where no threshold could do anything: a tree without a split gives all rows one share.
    """
    target, answers = result.target, gather_answers(result)
    if not target.is_binary or answers is None or result.model.tree_.n_leaves == 1:
        return None
    column = target.classes.index(target.positive)
    assert target.codes is not None
    is_positive = target.codes[answers.rows] == column
    weights = None if result.weights is None else result.weights[answers.rows]
    half, best = compare_thresholds(is_positive, answers.values[:, column], weights)
    return Thresholds(str(target.positive), half, best)
