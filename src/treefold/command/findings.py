"""Everything about a fit as one document of plain values: `--json` prints it, `words` words it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.base_cv import Evidence
from treefold.command.drawing import list_nodes
from treefold.command.folds import Splits
from treefold.command.measures import Measure, measure_answers
from treefold.command.target import Target
from treefold.command.thresholds import compare_thresholds
from treefold.command.triage import Chosen

__all__ = [
    "Answers",
    "Result",
    "describe_columns",
    "describe_fit",
    "describe_target",
    "gather_answers",
]

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


def describe_target(target: Target) -> dict[str, Any]:
    """Say what is predicted."""
    if target.is_class:
        counts = dict(zip(map(str, target.classes), target.counts, strict=True))
        positive = None if target.positive is None else str(target.positive)
        return {
            "name": target.name,
            "task": "classification",
            "classes": counts,
            "positive": positive,
        }
    values = target.values
    numbers = {"mean": values.mean(), "min": values.min(), "max": values.max()}
    plain = {name: float(value) for name, value in numbers.items()}
    return {"name": target.name, "task": "regression", **plain}


def describe_columns(chosen: Chosen) -> dict[str, Any]:
    """Say which columns are used, and why not the others."""
    return {
        "used": chosen.columns.column_names,
        "categorical": chosen.categorical,
        "left_out": chosen.left_out,
    }


def describe_fit(result: Result) -> dict[str, Any]:
    """Gather scores, choice, path, tree, importance and thresholds."""
    model = result.model
    return {
        "scores": _describe_scores(result),
        "chosen": _describe_choice(model),
        "path": _describe_path(model, result.measure.sign),
        "tree": list_nodes(model, result.target),
        "importance": _rank_columns(result),
        "thresholds": _describe_thresholds(result),
    }


# Scores -----------------------------------------------------------------------------------------


def _describe_scores(result: Result) -> dict[str, Any]:
    measure, evaluation = result.measure, result.model.evaluation_
    rows: dict[str, Any] = {}
    nested = evaluation.nested
    if nested is not None:
        answers = result.evidence.nested_predictions
        rows["nested"] = _summarise(nested["test_score"], measure.sign)
        if answers:
            rows["nested"].update(_measure(result, list(answers), list(answers.values())))
    scores = next(iter(evaluation.test_scores.values()))
    rows["cross_validation"] = _summarise(scores, measure.sign)
    if evaluation.predictions is not None:
        every = range(len(result.splits))
        rows["cross_validation"].update(_measure(result, every, evaluation.predictions))
    means = evaluation.path["mean_test_score"]
    best = int(np.nanargmax(means))
    own = [value[best] for name, value in result.model.cv_results_.items() if _is_of_split(name)]
    rows["best_on_path"] = _summarise(np.array(own), measure.sign)
    if "n_leaves" in evaluation.path:
        rows["best_on_path"]["leaves"] = int(evaluation.path["n_leaves"][best])
    if evaluation.baseline is not None:
        rows["baseline"] = _summarise(evaluation.baseline, measure.sign)
        if evaluation.predictions is not None:
            rows["baseline"].update(_measure_baseline(result))
    return {
        "measure": measure.name,
        "title": measure.title,
        "direction": measure.direction,
        "rows": rows,
    }


def _is_of_split(name: str) -> bool:
    return name.startswith("split") and name.endswith("_test_score")


def _summarise(scores: Any, sign: int) -> dict[str, Any]:
    scores = np.asarray(scores, dtype=np.float64)
    n_splits = len(scores)
    error = float(np.std(scores, ddof=1) / math.sqrt(n_splits)) if n_splits > 1 else None
    return {"score": sign * float(scores.mean()), "standard_error": error, "n_splits": n_splits}


def _measure(result: Result, numbers: Sequence[int], answers: Sequence[Floats]) -> Any:
    """Measure what was predicted for the held-out rows of some splits, all together."""
    rows = np.concatenate([result.splits[number][1] for number in numbers])
    return measure_answers(result.target, rows, np.concatenate(answers), result.weights)


def _measure_baseline(result: Result) -> Any:
    """Measure the same answer for every row of a split: what its training rows have on average."""
    target = result.target
    weights = np.ones(len(target.values)) if result.weights is None else result.weights
    codes = target.codes
    answers = []
    for train, test in result.splits:
        if codes is None:
            answers.append(
                np.full(len(test), np.average(target.values[train], weights=weights[train]))
            )
            continue
        shares = np.bincount(codes[train], weights[train], len(target.classes))
        answers.append(np.tile(shares / shares.sum(), (len(test), 1)))
    found = _measure(result, range(len(answers)), answers)
    if "AUC" in found:
        found["AUC"] = 0.5  # within a split; constants of several splits may differ
    return found


def gather_answers(result: Result) -> Answers | None:
    """Gather the answers to held-out rows, nested ones if there are any; None: they are unknown."""
    predictions = result.model.evaluation_.predictions
    nested = result.evidence.nested_predictions
    if predictions is None:
        return None
    answers = nested or dict(enumerate(predictions))
    rows = np.concatenate([result.splits[number][1] for number in answers])
    return Answers(rows, np.concatenate(list(answers.values())), bool(nested))


# The choice -------------------------------------------------------------------------------------


def _describe_choice(model: Any) -> dict[str, Any]:
    tree = model.tree_
    return {
        "leaves": int(tree.n_leaves),
        "depth": int(tree.max_depth),
        "min_samples_leaf": model.best_params_["min_samples_leaf"],
        "ccp_alpha": float(model.best_params_["ccp_alpha"]),
        "max_depth": model.best_params_["max_depth"],
        "rule": model.rule,
        "candidates": len(model.cv_results_["params"]),
    }


def _describe_path(model: Any, sign: int) -> list[dict[str, Any]]:
    """List the sizes of the chosen leaf size, from one leaf on."""
    results, index = model.cv_results_, model.best_index_
    if "n_leaves" not in results:  # a search
        return []
    means = results["mean_test_score"]
    sizes = [params["min_samples_leaf"] for params in results["params"]]
    same = [place for place, size in enumerate(sizes) if size == sizes[index]]
    best = max(same, key=lambda place: means[place])
    scores = np.stack([value for name, value in results.items() if _is_of_split(name)], axis=1)
    path = [
        {
            "leaves": int(results["n_leaves"][place]),
            "ccp_alpha": float(results["params"][place]["ccp_alpha"]),
            "score": sign * float(means[place]),
            "standard_error": _summarise(scores[place], sign)["standard_error"],
            "is_chosen": place == index,
            "is_best": place == best,
        }
        for place in same
    ]
    return sorted(path, key=lambda one: one["leaves"])


def _rank_columns(result: Result) -> list[dict[str, Any]] | None:
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
        {
            "column": f"feature_{column}" if names is None else str(names[column]),
            "loss": float(means[column]),
            "standard_error": float(errors[column]),
        }
        for column in order.tolist()
        if losses[column].any()
    ]


def _describe_thresholds(result: Result) -> dict[str, Any] | None:
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
    return {"positive": str(target.positive), "half": half.as_dict(), "best": best.as_dict()}
