"""Leave-one-out: scores of all held-out rows together, of metrics that a single row does not have.

Each split is then given the score of all, so that results keep their form and their mean is right.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from treefold.evaluation.judging import Answers, Judge
from treefold.evaluation.splits import Split
from treefold.exceptions import PooledScoreWarning, warn
from treefold.scoring.cells import Scoring, score_rows

__all__ = ["find_pooled", "pool_scores", "warn_of_pooling"]


def find_pooled(scoring: Scoring | None, splits: Iterable[Split], y: Any) -> frozenset[str]:
    """Name the metrics that no split has, because each holds out a single row."""
    if scoring is None or any(len(split.test) != 1 for split in splits):
        return frozenset()
    n_classes = len(set(np.asarray(y).ravel().tolist()))
    return frozenset(scoring.needs_pooling([1], n_classes))


def warn_of_pooling(pooled: Iterable[str]) -> None:
    """Say that scores are not those of single splits."""
    names = sorted(pooled)
    what = "The score" if names == ["score"] else f"The score {', '.join(map(repr, names))}"
    warn(
        f"{what} is that of all held-out rows together, and is given for every split: each split "
        "holds out a single row, which has no such score of its own.",
        PooledScoreWarning,
    )


def pool_scores(
    judge: Judge, results: Sequence[Mapping[str, Any]], score_params: Mapping[str, Any]
) -> list[Any]:
    """Score the rows of some splits together: the `test_scores` of each of these results.

    A split whose fit failed, or that scikit-learn fitted, has no part in it.
    """
    assert judge.scoring is not None
    answers: list[Answers] = [result["answers"] for result in results if "answers" in result]
    if not answers:
        return [result["test_scores"] for result in results]
    rows, truth, values = (np.concatenate(parts) for parts in list(zip(*answers, strict=True))[:3])
    study = judge.study
    scores = score_rows(
        judge.scoring.select(judge.pooled),
        truth,
        values[np.newaxis],
        answers[0][3],
        y=study.take_y(rows),
        score_params=study.cut(score_params, rows) if score_params else None,
        error_score=judge.error_score,
    )
    found = {name: float(score[0]) for name, score in scores.items()}
    return [_fill_in(result, found, judge.scoring) for result in results]


def _fill_in(result: Mapping[str, Any], found: Mapping[str, float], scoring: Scoring) -> Any:
    own = result["test_scores"]
    if "answers" not in result:
        return own
    if not scoring.is_multimetric:
        return found["score"]
    return {name: found.get(name, own.get(name)) for name in scoring.scorers}
