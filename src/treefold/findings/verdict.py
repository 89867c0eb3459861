"""The verdict: what came out of a fit, in one plain sentence, before anything else.

"found"        the tree is better than one answer for all rows
"nothing"      it is not, or by less than one standard error of the gain
"suspicious"   it is, but perhaps only because a column gives the target away, because the rows
               follow in time or in another order that matters; or it is all but perfect
"""

import math
import shlex
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.findings.document import ScoreRow, Verdict
from treefold.findings.fits import Result
from treefold.findings.numbers import show_score

__all__ = ["judge_fit", "pair_scores", "warn_of_score"]

_HARDLY_ANY = 0.01  # share of the error of one answer for all that is too little to be true
_SHARE_OF_FIRST = 0.25  # of what the most important column is worth

Floats = NDArray[np.float64]


def judge_fit(result: Result, found: dict[str, Any]) -> Verdict:
    """Sum up what was found: a kind, the gain over one answer for all, and a sentence."""
    rows: dict[str, ScoreRow] = found["scores"].rows
    name = "nested" if "nested" in rows else "cross_validation"
    score = rows[name].score
    naive = rows["baseline"].score if "baseline" in rows else None
    if naive is not None and not math.isfinite(naive):
        naive = None
    gain = None if naive is None else result.measure.sign * (score - naive)
    error = _measure_error(result)
    reasons = _find_reasons(found, score, naive)
    columns = [one["column"] for one in found.get("giveaways", [])]
    if not columns and "score" in reasons:
        columns = _name_leaders(found)
    if "column" in reasons:
        kind = "suspicious"
    elif not found["chosen"].leaves > 1 or not (gain is None or gain >= max(error or 0.0, 1e-9)):
        kind = "nothing"
    else:
        kind = "suspicious" if reasons else "found"
    verdict = Verdict(kind, reasons, columns, name, gain, error)
    return replace(verdict, text=_word(verdict, found, score, naive))


def _find_reasons(found: dict[str, Any], score: float, naive: float | None) -> list[str]:
    """Say why a score may be too good: a column, the order of the rows or time, the score."""
    order = found.get("order") or {}
    reasons = ["column"] if found.get("giveaways") else []
    if order.get("is_suspicious"):
        reasons.append("time" if "times" in order else "order")
    if naive is None or reasons:
        return reasons
    is_error = found["scores"].is_error
    left, of = (score, naive) if is_error else (1 - score, 1 - naive)  # 1 is the best of scores
    if not 0 <= left <= _HARDLY_ANY * of:
        return []
    return ["time" if "times" in order else "score"]


def _name_leaders(found: dict[str, Any]) -> list[str]:
    """Name the columns on which the score rests most, two of them at the most."""
    ranked = (found.get("importance") or [])[:2]
    return [one.column for one in ranked if one.loss >= _SHARE_OF_FIRST * ranked[0].loss]


def warn_of_score(verdict: Verdict) -> list[str]:
    """Say what to do about a score that is too good without a column that gives all away."""
    if verdict.kind != "suspicious" or "score" not in verdict.reasons:
        return []
    drops = " ".join(f"--drop {shlex.quote(name)}" for name in verdict.columns)
    cure = f": {drops}" if drops else ""
    return [
        "Suspicious: hardly any error is left. If a column is known only afterwards, leave it out"
        f"{cure}"
    ]


def pair_scores(result: Result) -> tuple[Floats, Floats, NDArray[np.int64]] | None:
    """Scores of the tree and of one answer for all, split by split, and which splits these are.

    The tree's are nested if there are such; None where scores are not of splits.
    """
    evaluation = result.model.evaluation_
    if evaluation.baseline is None:
        return None
    naive = np.asarray(evaluation.baseline)
    numbers = np.arange(len(naive))
    scores = np.asarray(evaluation.test_scores[evaluation.scoring])
    if evaluation.nested is not None:
        numbers = np.asarray(evaluation.nested["split"])
        scores, naive = np.asarray(evaluation.nested["test_score"]), naive[numbers]
    if len(scores) < 2 or len(scores) != len(naive):
        return None
    return scores, naive, numbers


def _measure_error(result: Result) -> float | None:
    """The standard error of the mean gain over splits, corrected: training sets overlap.

    sd * sqrt(1 / k + n_test / n_train): Nadeau and Bengio, Inference for the generalization
    error, Machine Learning 52 (2003).
    """
    pairs = pair_scores(result)
    if pairs is None or not result.splits:
        return None
    scores, naive, numbers = pairs
    gains = scores - naive
    is_known = np.isfinite(gains)
    n_splits = int(is_known.sum())
    if n_splits < 2:
        return None
    sizes = [(len(train), len(test)) for train, test in (result.splits[one] for one in numbers)]
    ratio = float(np.mean([test / train for train, test in sizes if train]))
    return float(np.std(gains[is_known], ddof=1)) * math.sqrt(1 / n_splits + ratio)


def _word(verdict: Verdict, found: dict[str, Any], score: float, naive: Any) -> str:
    title, is_error = found["scores"].title, found["scores"].is_error
    held = f"{title} {show_score(score)}"
    if verdict.kind == "suspicious":
        return _word_doubt(verdict, found, held)
    if found["chosen"].leaves == 1:
        return (
            "Nothing found: no tree predicts better than one answer for all rows"
            f"{'' if naive is None else f' ({title} {show_score(naive)})'}."
        )
    against = "" if naive is None else f"one answer for all ({show_score(naive)})"
    if verdict.kind == "nothing":
        return f"Nothing found: {held} is not clearly better than {against}."
    if not against:
        return f"A tree with {held}; how much better than one answer for all is not known."
    share = verdict.gain / naive if is_error and naive and verdict.gain is not None else 0.0
    how = f"{share:.0%} below" if share >= 0.01 else "better than"
    return f"A tree helps: {held}, {how} {against}."


def _word_doubt(verdict: Verdict, found: dict[str, Any], held: str) -> str:
    reasons = []
    if "column" in verdict.reasons:
        names = " and ".join(f"'{name}'" for name in verdict.columns[:2])
        if len(verdict.columns) > 2:
            names = f"'{verdict.columns[0]}' and {len(verdict.columns) - 1} more columns"
        each = " each" if len(verdict.columns) > 1 else ""
        verb = "give" if each else "gives"
        reasons.append(f"{names}{each} {verb} '{found['target']['name']}' away")
    if "order" in verdict.reasons:
        later = show_score(found["order"]["score"])
        reasons.append(f"the order of the rows matters ({later} on stretches of the file)")
    if "time" in verdict.reasons:
        names = ", ".join(f"'{name}'" for name in found["order"]["times"])
        later = show_score(found["order"]["score"])
        reasons.append(f"the rows follow in time by {names} ({later} from earlier rows only)")
    if "score" in verdict.reasons:
        names = " and ".join(f"'{name}'" for name in verdict.columns)
        reasons.append(f"hardly any error is left{f', mostly thanks to {names}' if names else ''}")
    return f"Suspicious: {held} may be too good, because {', and '.join(reasons)}."
