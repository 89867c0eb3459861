"""Everything about a fit as one document of plain values: `--json` prints it, `words` words it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.base_cv import Evidence
from treefold.command.drawing import list_nodes
from treefold.command.fitting import Study
from treefold.command.measures import measure_answers
from treefold.command.target import Target
from treefold.command.thresholds import compare_thresholds
from treefold.command.triage import Chosen

__all__ = ["Result", "describe_columns", "describe_fit", "describe_target"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Result:
    """A fitted model, and what was found out with it."""

    study: Study
    model: Any
    evidence: Evidence


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
    study, model = result.study, result.model
    return {
        "scores": _describe_scores(result),
        "chosen": _describe_choice(model),
        "path": _describe_path(model, study.measure.sign),
        "tree": list_nodes(model, study.target),
        "importance": _rank_columns(result),
        "thresholds": _describe_thresholds(result),
    }


# Scores -----------------------------------------------------------------------------------------


def _describe_scores(result: Result) -> dict[str, Any]:
    measure, evaluation = result.study.measure, result.model.evaluation_
    rows: dict[str, Any] = {}
    nested = evaluation.nested
    if nested is not None:
        numbers = nested["split"].tolist()
        answers = [result.evidence.nested_predictions[number] for number in numbers]
        rows["nested"] = _summarise(nested["test_score"], measure.sign)
        rows["nested"].update(_measure(result, numbers, answers))
    scores = next(iter(evaluation.test_scores.values()))
    every = range(len(evaluation.indices["test"]))
    rows["cross_validation"] = _summarise(scores, measure.sign)
    rows["cross_validation"].update(_measure(result, every, evaluation.predictions))
    means = evaluation.path["mean_test_score"]
    best = int(np.nanargmax(means))
    own = [value[best] for name, value in result.model.cv_results_.items() if _is_of_split(name)]
    rows["best_on_path"] = _summarise(np.array(own), measure.sign)
    rows["best_on_path"]["leaves"] = int(evaluation.path["n_leaves"][best])
    rows["baseline"] = _summarise(evaluation.baseline, measure.sign)
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
    study, held_out = result.study, result.model.evaluation_.indices["test"]
    rows = np.concatenate([held_out[number] for number in numbers])
    return measure_answers(study.target, rows, np.concatenate(answers), study.weights)


def _measure_baseline(result: Result) -> Any:
    """Measure the same answer for every row of a split: what its training rows have on average."""
    study = result.study
    target = study.target
    weights = np.ones(study.table.n_rows) if study.weights is None else study.weights
    codes = target.codes
    answers = []
    for train, test in study.folds.splits:
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
    means = results["mean_test_score"]
    sizes = [params["min_samples_leaf"] for params in results["params"]]
    same = [place for place, size in enumerate(sizes) if size == sizes[index]]
    best = max(same, key=lambda place: means[place])
    path = [
        {
            "leaves": int(results["n_leaves"][place]),
            "ccp_alpha": float(results["params"][place]["ccp_alpha"]),
            "score": sign * float(means[place]),
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
    names = result.study.table.feature_names
    assert names is not None
    order = np.argsort(-means, kind="stable")
    return [
        {
            "column": str(names[column]),
            "loss": float(means[column]),
            "standard_error": float(errors[column]),
        }
        for column in order.tolist()
        if losses[column].any()
    ]


def _describe_thresholds(result: Result) -> dict[str, Any] | None:
    """Compare one half with a better threshold, on nested answers if there are any."""
    study, evaluation = result.study, result.model.evaluation_
    target = study.target
    if not target.is_binary:
        return None
    answers = result.evidence.nested_predictions or dict(enumerate(evaluation.predictions))
    rows = np.concatenate([evaluation.indices["test"][number] for number in answers])
    column = target.classes.index(target.positive)
    shares = np.concatenate(list(answers.values()))[:, column]
    assert target.codes is not None
    is_positive = target.codes[rows] == column
    weights = None if study.weights is None else study.weights[rows]
    half, best = compare_thresholds(is_positive, shares, weights)
    return {"positive": str(target.positive), "half": half.as_dict(), "best": best.as_dict()}
