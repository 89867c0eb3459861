"""Predicted and actual numbers of held-out rows."""

from typing import Any

import numpy as np

from treefold.findings.fits import Answers
from treefold.findings.numbers import show_number
from treefold.reporting.charts import Chart, Grid, colour, draw, field
from treefold.reporting.material import Material

__all__ = ["draw_agreement", "draw_residuals"]

_GROUPS = 10
_FEWEST_ROWS = 5  # of a group
_BARS = 30
_QUANTILES = {"low": 0.1, "first": 0.25, "middle": 0.5, "third": 0.75, "high": 0.9}


def draw_agreement(material: Material, answers: Answers) -> Chart:
    """Draw actual against predicted numbers: quantiles of the rows with similar predictions."""
    groups = _group(material, answers)
    names = ("x", *_QUANTILES, "rows")
    rows = [tuple(show_number(float(f"{one[name]:.5g}")) for name in names) for one in groups]
    alt = (
        "Predicted against actual numbers, in groups of rows with similar predictions: the median, "
        "the middle half (thick) and the middle 80% (thin). On the diagonal both are the same."
    )
    head = ("predicted", *(f"{share:.0%}" for share in _QUANTILES.values()), "rows")
    return draw("Predicted against actual", alt, _make_layers(groups), Grid(head, rows))


def _group(material: Material, answers: Answers) -> list[dict[str, float]]:
    actual = material.target.values[answers.rows]
    order = np.argsort(answers.values, kind="stable")
    n_groups = min(_GROUPS, max(1, len(order) // _FEWEST_ROWS))
    groups = []
    for rows in np.array_split(order, n_groups):
        found = np.quantile(actual[rows], list(_QUANTILES.values())).tolist()
        said = {"x": float(answers.values[rows].mean()), "rows": float(len(rows))}
        groups.append({**said, **dict(zip(_QUANTILES, found, strict=True))})
    return groups


def _make_layers(groups: list[dict[str, float]]) -> list[dict[str, Any]]:
    ends = [{"x": groups[place]["x"], "middle": groups[place]["x"]} for place in (0, -1)]
    x = field("x", title="predicted", scale={"zero": False})

    def channel(name: str, title: str | None = None) -> dict[str, Any]:
        return field(name, title=title, scale={"zero": False})

    ink = {"color": colour("accent")}
    return [
        {
            "data": {"values": ends},
            "mark": {"type": "line", "color": colour("muted"), "strokeDash": [4, 3]},
            "encoding": {"x": x, "y": channel("middle", "actual")},
        },
        {
            "data": {"values": groups},
            "mark": {"type": "rule", **ink, "opacity": 0.5},
            "encoding": {"x": x, "y": channel("low"), "y2": {"field": "high"}},
        },
        {
            "data": {"values": groups},
            "mark": {"type": "bar", **ink, "opacity": 0.4, "size": 9},
            "encoding": {"x": x, "y": channel("first"), "y2": {"field": "third"}},
        },
        {
            "data": {"values": groups},
            "mark": {"type": "point", "filled": True, "size": 50, **ink, "opacity": 1},
            "encoding": {"x": x, "y": channel("middle")},
        },
    ]


def draw_residuals(material: Material, answers: Answers) -> Chart:
    """Draw how often the tree is wrong by how much."""
    errors = material.target.values[answers.rows] - answers.values
    counts, edges = np.histogram(errors, bins=_BARS, weights=material.weigh(answers.rows))
    bars = [
        {"from": float(a), "to": float(b), "rows": float(n)}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    layers = [
        {
            "data": {"values": bars},
            "mark": {"type": "bar", "color": colour("accent"), "opacity": 0.75},
            "encoding": {
                "x": field("from", bin="binned", title="residual: actual minus predicted"),
                "x2": {"field": "to"},
                "y": field("rows", title="held-out rows"),
            },
        },
    ]
    rows = [
        (f"{show_number(one['from'])} to {show_number(one['to'])}", f"{one['rows']:,.0f}")
        for one in bars
    ]
    alt = (
        f"Histogram of residuals: half of them are between "
        f"{show_number(float(np.quantile(errors, 0.25)))} and "
        f"{show_number(float(np.quantile(errors, 0.75)))}."
    )
    return draw("Residuals", alt, layers, Grid(("residual", "rows"), rows))
