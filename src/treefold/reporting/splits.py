"""Scores per split, of the choice and of nested choices, against one answer for all."""

from typing import Any

import numpy as np

from treefold.findings.numbers import show_score
from treefold.reporting.charts import Chart, Grid, colour, draw, field
from treefold.reporting.material import Material
from treefold.reporting.wording import UNKNOWN

__all__ = ["draw_splits"]

_MOST_SPLITS = 60
_LOOKS = {
    "nested": ("warn", "circle"),
    "cross-validation": ("accent", "square"),
    "naive": ("muted", "cross"),
}


def draw_splits(material: Material) -> Chart | None:
    """Draw the scores of all splits; None if there are too few, or too many."""
    scores = _list_scores(material)
    splits = sorted({split for series in scores.values() for split in series})
    if not 2 <= len(splits) <= _MOST_SPLITS:
        return None
    rows = [
        (
            f"{split}",
            *(
                show_score(series[split]) if split in series else UNKNOWN
                for series in scores.values()
            ),
        )
        for split in splits
    ]
    alt = f"{material.title} of each split; {material.found['scores'].direction}."
    grid = Grid(("split", *scores), rows)
    return draw("Scores per split", alt, [_make_layer(scores, material.title)], grid)


def _list_scores(material: Material) -> dict[str, dict[int, float]]:
    """Scores by kind and split, counted from one."""
    evaluation, sign = material.result.model.evaluation_, material.result.measure.sign
    own = np.asarray(evaluation.test_scores[evaluation.scoring])
    given: dict[str, tuple[Any, Any]] = {}
    if evaluation.nested is not None:
        given["nested"] = (evaluation.nested["split"], evaluation.nested["test_score"])
    given["cross-validation"] = (range(len(own)), own)
    if evaluation.baseline is not None:
        given["naive"] = (range(len(evaluation.baseline)), evaluation.baseline)
    return {
        name: {
            int(split) + 1: sign * float(score)
            for split, score in zip(splits, scores, strict=True)
            if np.isfinite(score)
        }
        for name, (splits, scores) in given.items()
    }


def _make_layer(scores: dict[str, dict[int, float]], title: str) -> dict[str, Any]:
    points = [
        {"kind": name, "split": split, "score": score}
        for name, series in scores.items()
        for split, score in series.items()
    ]
    names = list(scores)
    colours = {"domain": names, "range": [colour(_LOOKS[name][0]) for name in names]}
    shapes = {"domain": names, "range": [_LOOKS[name][1] for name in names]}
    return {
        "data": {"values": points},
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.9},
        "encoding": {
            "x": field("split", "ordinal", title="split", axis={"labelAngle": 0}),
            "y": field("score", scale={"zero": False, "padding": 12}, title=title),
            "color": field("kind", "nominal", scale=colours, sort=names),
            "xOffset": {"field": "kind", "sort": names},
            "shape": field("kind", "nominal", scale=shapes, sort=names),
        },
    }
