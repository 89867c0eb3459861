"""Section 5: how the tree behaves on rows that it was not grown from."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.findings.fits import Answers
from treefold.reporting.charts import KINDS, Chart, Grid, colour, draw, field, look_up
from treefold.reporting.curves import (
    average_curves,
    calibrate,
    confuse,
    find_curve,
    measure_area,
    thin,
)
from treefold.reporting.material import Material
from treefold.reporting.residuals import draw_agreement, draw_residuals
from treefold.reporting.splits import draw_splits
from treefold.reporting.wording import percent

__all__ = ["draw_held_out"]

Floats = NDArray[np.float64]

_MOST_CLASSES = 12
_MOST_CURVES = 5
_DIAGONAL = [{"x": 0, "y": 0}, {"x": 1, "y": 1}]
_UNIT = {"domain": [0, 1]}


def draw_held_out(material: Material) -> list[Chart]:
    """Draw everything that held-out rows can say about this kind of target."""
    answers = material.answers
    charts = []
    if answers is not None and material.target.is_binary:
        charts += [*_draw_binary(material, answers)]
    elif answers is not None and material.target.is_class:
        charts += [*_draw_classes(material, answers)]
    if answers is not None and material.target.is_class:
        charts.append(_draw_confusion(material, answers))
    if answers is not None and not material.target.is_class:
        charts += [draw_agreement(material, answers), draw_residuals(material, answers)]
    folds = draw_splits(material)
    return charts if folds is None else [*charts, folds]


def _share(name: str, title: str) -> dict[str, Any]:
    return field(name, scale=_UNIT, title=title, axis={"format": "%", "tickCount": 5})


def _diagonal() -> dict[str, Any]:
    return {
        "data": {"values": _DIAGONAL},
        "mark": {"type": "line", "color": colour("muted"), "strokeDash": [4, 3], "strokeWidth": 1},
        "encoding": {"x": field("x", scale=_UNIT), "y": field("y", scale=_UNIT)},
    }


def _curve(points: list[dict[str, float]], x: Any, y: Any) -> dict[str, Any]:
    mark = {"type": "line", "color": colour("accent"), "strokeWidth": 2.5}
    order = {"field": "order", "type": "quantitative"}
    return {"data": {"values": points}, "mark": mark, "encoding": {"x": x, "y": y, "order": order}}


# Two classes ------------------------------------------------------------------------------------


def _draw_binary(material: Material, answers: Answers) -> Iterator[Chart]:
    target = material.target
    column = target.classes.index(target.positive)
    assert target.codes is not None
    is_positive = target.codes[answers.rows] == column
    shares, counts = answers.values[:, column], material.weigh(answers.rows)
    curve = thin(find_curve(is_positive, shares, counts))
    grid = Grid(
        ("threshold", "recall", "false positive rate", "precision"),
        [
            (f"{a:.3f}", percent(b), percent(c), percent(d))
            for a, b, c, d in zip(*curve.values(), strict=True)
        ],
    )
    label = material.label(column, 24)
    mean = _average(is_positive, shares, counts, answers)
    if mean is not None:
        yield _draw_roc(mean, label)
    yield _draw_precision(curve, grid, label, float(np.average(is_positive, weights=counts)))
    yield _draw_calibration(is_positive, shares, counts, f"“{label}”")


def _average(
    is_positive: NDArray[np.bool_], shares: Floats, counts: Floats, answers: Answers
) -> dict[str, Floats] | None:
    """Average the ROC curves of the splits that hold both kinds of rows: shares of trees of several
    splits have no order among each other. None if there is no such split.
    """
    curves = [
        find_curve(is_positive[part], shares[part], counts[part])
        for part in answers.parts
        if 0 < is_positive[part][counts[part] > 0].mean() < 1
    ]
    return average_curves(curves) if curves else None


def _draw_roc(curve: dict[str, Floats], label: str) -> Chart:
    auc, curve = measure_area(curve), thin(curve)
    places = list(zip(curve["false_alarms"].tolist(), curve["recall"].tolist(), strict=True))
    points = [{"x": x, "y": y, "order": order} for order, (x, y) in enumerate(places)]
    grid = Grid(("false positive rate", "recall"), [(percent(x), percent(y)) for x, y in places])
    x, y = (
        _share("x", "false positive rate (false alarms)"),
        _share("y", f"recall: found of “{label}”"),
    )
    area = {"type": "area", "color": colour("accent"), "opacity": 0.12}
    layers = [
        {"data": {"values": points}, "mark": area, "encoding": {"x": x, "y": {**y, "stack": None}}},
        _diagonal(),
        _curve(points, x, y),
    ]
    alt = (
        f"ROC curve of “{label}”, the mean of those of the splits: area under the curve {auc:.3f}; "
        "0.5 is guessing, 1 is perfect."
    )
    return draw(f"ROC, mean over splits: area {auc:.3f}", alt, layers, grid)


def _draw_precision(curve: dict[str, Floats], grid: Grid, label: str, rate: float) -> Chart:
    points = [
        {"x": float(x), "y": float(y), "order": place}
        for place, (x, y) in enumerate(zip(curve["recall"], curve["precision"], strict=True))
    ]
    points.insert(0, {"x": 0.0, "y": points[0]["y"], "order": -1})
    x, y = _share("x", f"recall: found of “{label}”"), _share("y", "precision: right predictions")
    mark = {"type": "rule", "color": colour("muted"), "strokeDash": [4, 3]}
    guess = {
        "data": {"values": [{"y": rate}]},
        "mark": mark,
        "encoding": {"y": field("y", scale=_UNIT)},
    }
    alt = (
        f"Precision against recall of “{label}”; predicting it of every row is right in {rate:.1%}."
    )
    return draw("Precision and recall", alt, [guess, _curve(points, x, y)], grid)


def _draw_calibration(is_positive: Any, shares: Floats, counts: Floats, label: str) -> Chart:
    bins = calibrate(is_positive, shares, counts)
    points = [
        {"x": one.said, "y": one.came, "low": one.low, "high": one.high, "rows": one.rows}
        for one in bins
    ]
    x, y = _share("x", f"predicted share of {label}"), _share("y", "share that came true")
    encoding = {"x": x, "y": y}
    bars = {"x": x, "y": field("low", scale=_UNIT), "y2": {"field": "high"}}
    mark = {"type": "point", "filled": True, "size": 60, "color": colour("accent"), "opacity": 1}
    layers = [
        _diagonal(),
        {
            "data": {"values": points},
            "mark": {"type": "rule", "color": colour("accent"), "opacity": 0.5, "strokeWidth": 2},
            "encoding": bars,
        },
        {"data": {"values": points}, "mark": mark, "encoding": encoding},
    ]
    rows = [
        (
            percent(one.said),
            percent(one.came),
            f"{one.low:.1%} to {one.high:.1%}",
            f"{one.rows:,.0f}",
        )
        for one in bins
    ]
    worst = max((abs(one.said - one.came) for one in bins), default=0.0)
    alt = (
        f"Predicted shares of {label} against what came, in {len(bins)} groups of rows; the "
        f"largest difference is {worst:.1%}. On the diagonal both are the same."
    )
    return draw(
        "Calibration", alt, layers, Grid(("predicted", "came", "95% interval", "rows"), rows)
    )


# Several classes --------------------------------------------------------------------------------


def _draw_classes(material: Material, answers: Answers) -> Iterator[Chart]:
    """ROC curves of the largest classes, each against all others; calibration of the answer."""
    target, counts = material.target, material.weigh(answers.rows)
    assert target.codes is not None
    truth = target.codes[answers.rows]
    largest = np.argsort(-np.array(target.counts), kind="stable")[:_MOST_CURVES].tolist()
    found = {
        place: _average(truth == place, answers.values[:, place], counts, answers)
        for place in sorted(largest)
    }
    curves = {place: thin(curve) for place, curve in found.items() if curve is not None}
    if curves:
        yield _draw_rocs(material, curves, len(target.classes))
    said = answers.values.argmax(axis=1)
    yield _draw_calibration(said == truth, answers.values.max(axis=1), counts, "the class said")


def _draw_rocs(material: Material, curves: dict[int, dict[str, Floats]], n_classes: int) -> Chart:
    points = [
        {"kind": place, "x": float(x), "y": float(y), "order": number}
        for place, curve in curves.items()
        for number, (x, y) in enumerate(zip(curve["false_alarms"], curve["recall"], strict=True))
    ]
    places = list(curves)
    names = [material.label(place, 20) for place in places]
    colours = [colour(KINDS[number % len(KINDS)]) for number in range(len(places))]
    kind = field(
        "kind",
        "nominal",
        scale={"domain": places, "range": colours},
        legend={"labelExpr": look_up(names, places), "columns": 2},
    )
    x, y = _share("x", "false positive rate (false alarms)"), _share("y", "recall: found")
    line = _curve(points, x, y)
    line["encoding"]["color"] = kind
    rows = [
        (name, percent(b), percent(c))
        for name, curve in zip(names, curves.values(), strict=True)
        for b, c in zip(curve["recall"], curve["false_alarms"], strict=True)
    ]
    more = "" if n_classes == len(curves) else f", the {len(curves)} largest of {n_classes}"
    alt = f"ROC curves, each class against all others{more}, the mean over the splits."
    grid = Grid(("class", "recall", "false positive rate"), rows)
    return draw(f"ROC: each class against the others{more}", alt, [_diagonal(), line], grid)


# Classes ----------------------------------------------------------------------------------------


def _draw_confusion(material: Material, answers: Answers) -> Chart:
    target = material.target
    assert target.codes is not None
    n_classes = len(target.classes)
    said, counts = answers.values.argmax(axis=1), material.weigh(answers.rows)
    table = confuse(target.codes[answers.rows], said, n_classes, counts)
    kept = sorted(np.argsort(-table.sum(axis=1), kind="stable")[:_MOST_CLASSES].tolist())
    labels = [_number_twins(material, place, kept) for place in kept]
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    cells = [
        {
            "truth": labels[a],
            "said": labels[b],
            "share": float(shares[down, across]),
            "rows": f"{table[down, across]:,.0f}",
        }
        for a, down in enumerate(kept)
        for b, across in enumerate(kept)
    ]
    rows = [
        (label, *(f"{table[down, across]:,.0f}" for across in kept), percent(shares[down, down]))
        for label, down in zip(labels, kept, strict=True)
    ]
    shown = "" if n_classes == len(kept) else f", the {len(kept)} largest of {n_classes} classes"
    right = float(np.trace(table) / table.sum())
    alt = f"Actual classes against predicted ones{shown}; {right:.1%} of all rows are right."
    grid = Grid(("actual, predicted:", *labels, "right"), rows)
    return draw(
        f"Confusion matrix: what is taken for what{shown}", alt, _make_cells(cells, labels), grid
    )


def _make_cells(cells: list[dict[str, Any]], labels: list[str]) -> list[dict[str, Any]]:
    axis = {"labelAngle": 0, "labelLimit": 320 // max(2, len(labels)) - 6, "grid": False}
    x = field("said", "nominal", sort=labels, title="predicted", axis={**axis, "orient": "top"})
    y = field("truth", "nominal", sort=labels, title="actual", axis={**axis, "labelLimit": 90})
    shade = {"domain": [0, 1], "range": [0.04, 0.6]}
    size = 15 if len(labels) <= 4 else 11 if len(labels) <= 8 else 8
    return [
        {
            "data": {"values": cells},
            "mark": {"type": "rect", "color": colour("accent"), "cornerRadius": 3},
            "encoding": {
                "x": x,
                "y": y,
                "opacity": {
                    "field": "share",
                    "type": "quantitative",
                    "scale": shade,
                    "legend": None,
                },
            },
        },
        {
            "data": {"values": cells},
            "mark": {"type": "text", "fontSize": size},
            "encoding": {"x": x, "y": y, "text": field("rows", "nominal")},
        },
    ]


def _number_twins(material: Material, place: int, kept: list[int]) -> str:
    """Labels that are shown alike must not fall together."""
    label = material.label(place, 24)
    alike = [one for one in kept if material.label(one, 24) == label]
    return label if len(alike) == 1 else f"{label} ({alike.index(place) + 1})"
