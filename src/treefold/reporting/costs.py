"""Section 6: two classes. What a threshold finds, and which one is cheapest."""

from typing import Any

from treefold.findings.thresholds import Found, Thresholds, choose_by_cost, list_thresholds
from treefold.reporting.charts import Chart, Grid, colour, draw, field, rule_at, word_at
from treefold.reporting.material import Material
from treefold.reporting.wording import UNKNOWN, count, percent

__all__ = ["describe_thresholds"]

_RATIOS = (0.2, 0.5, 1, 2, 5, 10, 20)
_CURVES = {"recall": "accent", "precision": "accent-2", "F1": "warn"}


def describe_thresholds(material: Material) -> dict[str, Any] | None:
    """Say what thresholds find, and which of them costs least; None if there are none."""
    answers, target = material.answers, material.target
    thresholds = material.found["thresholds"]
    if thresholds is None or answers is None:
        return None
    column = target.classes.index(target.positive)
    assert target.codes is not None
    is_positive = target.codes[answers.rows] == column
    weights = None if material.result.weights is None else material.weigh(answers.rows)
    found = list_thresholds(is_positive, answers.values[:, column], weights)
    is_best = thresholds.half.threshold == thresholds.best.threshold
    names = ("half",) if is_best else ("half", "best")
    return {
        "label": material.label(column),
        "is_best": is_best,
        "marked": [_word(getattr(thresholds, name)) for name in names],
        "chart": _draw(found, thresholds, material.label(column)),
        "costs": [
            {
                "ratio": _word_ratio(ratio),
                **_word(choose_by_cost(found, ratio)),
            }
            for ratio in _RATIOS
        ],
        "is_nested": answers.is_nested,
    }


def _word(one: Found) -> dict[str, str]:
    return {
        "threshold": f"{one.threshold:.2f}",
        "called": f"{one.n_called:,.0f}",
        "right": f"{one.n_right:,.0f}",
        "missed": f"{one.n_positive - one.n_right:,.0f}",
        "recall": percent(one.recall),
        "precision": percent(one.precision) if one.n_called else UNKNOWN,
        "f1": f"{one.f1:.3f}",
    }


def _word_ratio(ratio: float) -> str:
    if ratio < 1:
        return f"1/{1 / ratio:.0f} false alarm"
    return count(int(ratio), "false alarm")


def _draw(found: list[Any], thresholds: Thresholds, label: str) -> Chart:
    points = [
        {"threshold": one.threshold, "kind": name, "share": getattr(one, name.lower())}
        for one in found
        for name in _CURVES
    ]
    x = field("threshold", title="threshold", axis={"grid": False}, scale={"domain": [0, 1]})
    names = list(_CURVES)
    scale = {"domain": names, "range": [colour(name) for name in _CURVES.values()]}
    dashes = {"domain": names, "range": [[1, 0], [7, 3], [2, 2]]}
    marks = [{"threshold": one.threshold} for one in (thresholds.half, thresholds.best)]
    layers = [
        rule_at(marks, x=x),
        *_word_marks(marks, x),
        {
            "data": {"values": points},
            "mark": {"type": "line", "strokeWidth": 2.5, "interpolate": "step-before"},
            "encoding": {
                "x": x,
                "y": field("share", scale={"domain": [0, 1]}, axis={"format": "%"}),
                "color": field("kind", "nominal", scale=scale, sort=names),
                "strokeDash": field("kind", "nominal", scale=dashes, sort=names),
            },
        },
    ]
    grid = Grid(
        ("threshold", "recall", "precision", "F1", "predicted", "right"),
        [tuple(_word(one)[name] for name in _COLUMNS) for one in found],
    )
    alt = (
        f"Recall, precision and F1 of “{label}” at every threshold; lines mark 0.50 and "
        f"{thresholds.best.threshold:.2f}, which has the highest F1."
    )
    return draw("What a threshold finds", alt, layers, grid, (640, 300))


def _word_marks(marks: list[dict[str, Any]], x: dict[str, Any]) -> list[dict[str, Any]]:
    """Say what one half and the best threshold are, on the sides where they are not."""
    half, best = (one["threshold"] for one in marks)
    if half == best:
        return [word_at(marks[0], "0.50: highest F1", True, True, x)]
    return [
        word_at(marks[0], "0.50", half > best, True, x),
        word_at(marks[1], f"{best:.2f}: highest F1", best > half, True, x),
    ]


_COLUMNS = ("threshold", "recall", "precision", "f1", "called", "right")
