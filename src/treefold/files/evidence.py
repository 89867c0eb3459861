"""What the estimators that are cross-validated in fit found out, as a state, and back.

`cv_results_` and `best_score_` are computed again from the candidates and their scores.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.data.states import take, take_array, take_count
from treefold.evaluation import Evaluation
from treefold.evaluation.stability import FIELDS
from treefold.exceptions import ModelFileError
from treefold.files.codec import Arrays, NotStored, encode, encode_or_describe
from treefold.scoring.pooling import POOLED, Pooling

__all__ = ["evidence_from_state", "evidence_to_document"]

_LARGEST = 2**31 - 1
_KEPT = ("scoring", "test_scores", "path", "chosen", "baseline", "nested", "notes", "summary")


def evidence_to_document(model: Any, arrays: Arrays) -> dict[str, Any]:
    """Write candidates, scores and stability; not what is known of single rows."""
    results, evaluation = model.cv_results_, model.evaluation_
    scores = [
        results[f"split{number}_test_score"]
        for number in range(model.n_splits_)
        if f"split{number}_test_score" in results  # one only, if rows were pooled
    ]
    candidates = {
        name: [
            encode_or_describe(params[name], f"candidates.{name}.{place}", arrays)
            for place, params in enumerate(results["params"])
        ]
        for name in results["params"][0]
    }
    best_params = {
        name: encode_or_describe(value, f"best_params.{name}", arrays)
        for name, value in model.best_params_.items()
    }
    document = {
        "n_splits": int(model.n_splits_),
        "scores": np.stack(scores, axis=1),
        "pooled": {name: results[name] for name in POOLED},
        "n_leaves": results["n_leaves"],
        "best_index": int(model.best_index_),
        "stability": model.stability_,
        "evaluation": {name: getattr(evaluation, name) for name in _KEPT},
    }
    encoded: dict[str, Any] = encode(document, "evidence", arrays)
    return {"candidates": candidates, "best_params": best_params, **encoded}


def evidence_from_state(model: Any, state: Any) -> dict[str, Any]:
    """Make the attributes of an estimator that was cross-validated in fit."""
    from treefold.evaluation.trials import Trials, make_results, write_results  # noqa: PLC0415 - needs scipy.stats

    n_splits = take_count(state, "n_splits", 1, _LARGEST)
    n_leaves = take_array(state, "n_leaves", np.int64, None)
    scores: NDArray[Any] = take(state, "scores", np.ndarray)
    is_table = scores.ndim == 2 and scores.dtype == np.float64 and len(scores) == len(n_leaves)
    if not is_table or len(scores) == 0 or scores.shape[1] not in (1, n_splits):
        raise ModelFileError("the scores do not fit the candidates")
    names = set(model._tree._get_param_names())
    candidates = _make_candidates(state, len(scores), names)
    if "pooled" in state:
        pooled = [take_array(state["pooled"], name, np.float64, len(scores)) for name in POOLED]
        results = write_results(candidates, n_leaves, scores, pooled)
    else:  # of an earlier version: the means of the splits
        plain = Pooling(np.ones(scores.shape[1]))
        results = make_results(Trials(candidates, n_leaves, scores, plain))
    index = take_count(state, "best_index", 0, len(scores) - 1)
    best_params = take(state, "best_params", dict)
    if not best_params.keys() <= names:
        raise ModelFileError("a chosen parameter is not known")
    return {
        "scorer_": _make_scorer(model),
        "n_splits_": n_splits,
        "best_index_": index,
        "best_params_": best_params,
        "best_score_": float(results["mean_test_score"][index]),
        "cv_results_": results,
        "stability_": _check_stability(take(state, "stability", dict), model.tree_),
        "evaluation_": _make_evaluation(take(state, "evaluation", dict), len(scores)),
    }


def _make_candidates(state: Any, n_candidates: int, names: set[str]) -> list[dict[str, Any]]:
    columns = take(state, "candidates", dict)
    lengths = {len(take(columns, name, list)) for name in columns}
    if lengths != {n_candidates} or not columns.keys() <= names:
        raise ModelFileError("the candidates have parameters that are not known, or differ in them")
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _make_scorer(model: Any) -> Any:
    if isinstance(model.scoring, NotStored):
        return model.scoring
    if not (model.scoring is None or isinstance(model.scoring, str)):
        raise ModelFileError("the parameter 'scoring' is not the name of a metric")
    try:
        return model._make_scoring(getattr(model, "classes_", None)).scorer
    except ValueError:
        raise ModelFileError(f"the metric {model.scoring!r} is not known") from None


def _check_stability(found: dict[str, Any], tree: Any) -> dict[str, NDArray[Any]]:
    if found.keys() != FIELDS.keys():
        raise ModelFileError("stability has not the fields that it should have")
    for name, dtype in FIELDS.items():
        take_array(found, name, dtype, tree.node_count)
    columns = found["other_column"]
    if (found["node"] != np.arange(tree.node_count)).any() or not (
        (columns >= -1) & (columns < tree.n_features)
    ).all():
        raise ModelFileError("stability names nodes or columns that do not exist")
    return {name: found[name] for name in FIELDS}


def _make_evaluation(state: dict[str, Any], n_candidates: int) -> Evaluation:
    scoring = take(state, "scoring", str)
    test_scores = take(state, "test_scores", dict)
    if scoring not in test_scores:
        raise ModelFileError("the evaluation has no scores")
    for name in test_scores:
        _check_scores(take(test_scores, name, np.ndarray))
    path = take(state, "path", dict, type(None))
    for column in (path or {}).values():
        if not isinstance(column, np.ndarray) or column.shape != (n_candidates,):
            raise ModelFileError("the path does not fit the candidates")
    baseline = take(state, "baseline", np.ndarray, type(None))
    if baseline is not None:
        _check_scores(baseline)
    notes = take(state, "notes", tuple)
    if not all(type(note) is str for note in notes):
        raise ModelFileError("a note is not text")
    return Evaluation(
        scoring,
        test_scores,
        path,
        _check_choice(take(state, "chosen", dict, type(None)), n_candidates),
        baseline,
        _check_nested(take(state, "nested", dict, type(None))),
        notes=notes,
        summary=_check_summary(state.get("summary"), n_candidates),
    )


def _check_summary(summary: Any, n_candidates: int) -> Any:
    """Check what the splits give together; files of earlier versions do not say it."""
    if summary is None:
        return None
    take(summary, "definition", str)
    take_count(summary, "best_index", 0, n_candidates - 1)
    rows = take(summary, "rows", dict)
    for name in ("cross_validation", "best_on_path", "baseline"):
        take(rows, name, dict)
    for row in rows.values():
        take(row, "score", float)
        take(row, "standard_error", float)
        take_count(row, "n_splits", 0, _LARGEST)
    return summary


def _check_scores(scores: NDArray[Any]) -> None:
    if scores.ndim != 1 or scores.dtype != np.float64 or len(scores) == 0:
        raise ModelFileError("scores are not an array of numbers")


def _check_choice(chosen: Any, n_candidates: int) -> Any:
    if chosen is not None:
        take_count(chosen, "index", 0, n_candidates - 1)
        take(chosen, "params", dict)
    return chosen


def _check_nested(nested: Any) -> Any:
    if nested is not None:
        _check_scores(take(nested, "test_score", np.ndarray))
        if not all(type(params) is dict for params in take(nested, "best_params", list)):
            raise ModelFileError("the choices of the outer splits are not parameters")
    return nested
