"""Section 7: which columns matter on held-out rows, and what the tree makes of the first four."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.findings.numbers import show_number, show_score
from treefold.model.cuts import show_date
from treefold.reporting.charts import KINDS, Chart, Grid, colour, draw, field, look_up
from treefold.reporting.dependence import Dependence, find_dependence
from treefold.reporting.material import Material
from treefold.reporting.wording import clean

__all__ = ["describe_importance", "draw_dependences", "show_value"]

Floats = NDArray[np.float64]

_MOST_BARS = 15
_MOST_LINES = 5
_FIRST = 4


def describe_importance(material: Material) -> dict[str, Any]:
    """Draw what the held-out score loses without a column, or what the tree gained by it."""
    ranked = material.found["importance"]
    if ranked is None:
        return {"is_held_out": False, "chart": _draw_gains(material)}
    rows = [
        {
            "place": place,
            "column": clean(one.column, 36),
            "loss": one.loss,
            "low": one.loss - one.standard_error,
            "high": one.loss + one.standard_error,
        }
        for place, one in enumerate(ranked)
    ]
    grid = Grid(
        ("column", f"loss of {material.title}", "standard error"),
        [
            (clean(one.column, 60), show_score(one.loss), f"{one.standard_error:.4f}")
            for one in ranked
        ],
    )
    title = f"what the {material.title} loses if the column is shuffled"
    return {"is_held_out": True, "chart": _draw_bars(rows, title, grid)}


def _draw_gains(material: Material) -> Chart | None:
    gains = material.tree.compute_feature_importances()
    order = [int(column) for column in np.argsort(-gains, kind="stable") if gains[column] > 0]
    rows: list[dict[str, Any]] = [
        {"place": place, "column": material.name(column, 36), "loss": float(gains[column])}
        for place, column in enumerate(order)
    ]
    grid = Grid(("column", "share"), [(one["column"], f"{one['loss']:.1%}") for one in rows])
    title = "share of the decrease of impurity, on training rows"
    return _draw_bars(rows, title, grid)


def _draw_bars(rows: list[dict[str, Any]], title: str, grid: Grid) -> Chart | None:
    if not rows:
        return None
    shown = rows[:_MOST_BARS]
    # Names that are shown alike must not fall together: the place is the key, the name its label.
    names = {one["place"]: one["column"] for one in shown}
    axis = {"labelExpr": look_up(list(names.values())), "labelLimit": 170}
    y = field("place", "ordinal", axis={**axis, "grid": False, "domain": False, "ticks": False})
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": shown},
            "mark": {"type": "bar", "color": colour("accent"), "opacity": 0.8},
            "encoding": {"y": y, "x": field("loss", title=title)},
        }
    ]
    if "low" in shown[0]:
        layers.append(
            {
                "data": {"values": shown},
                "mark": {"type": "rule", "color": colour("ink"), "strokeWidth": 1.5},
                "encoding": {"y": y, "x": field("low"), "x2": {"field": "high"}},
            }
        )
    first = ", ".join(one["column"] for one in shown[:3])
    more = f" The first {len(shown)} of {len(rows)}." if len(rows) > len(shown) else ""
    alt = f"Columns by {title}; the first are {first}.{more}"
    return draw("What matters", alt, layers, grid, (640, 60 + 30 * len(shown)))


# Partial dependence -----------------------------------------------------------------------------


def draw_dependences(material: Material) -> list[Chart]:
    """Draw what the tree says on average for the values of the most important columns."""
    return [_draw_dependence(material, column) for column in _choose(material)]


def _choose(material: Material) -> list[int]:
    gains = material.tree.compute_feature_importances()
    order = [int(column) for column in np.argsort(-gains, kind="stable") if gains[column] > 0]
    ranked = material.found["importance"]
    if ranked:
        names = material.tree.schema.names
        shown = [
            f"feature_{column}" if names is None else str(names[column])
            for column in range(material.tree.n_features)
        ]
        by_name = {name: column for column, name in enumerate(shown)}
        first = [by_name[one.column] for one in ranked if gains[by_name[one.column]] > 0]
        order = [*first, *(column for column in order if column not in first)]
    return order[:_FIRST]


def _outputs(material: Material) -> list[tuple[int, str]]:
    """Which outputs to draw: the positive class, the largest classes, or the number."""
    target = material.target
    if not target.is_class:
        return [(0, "mean")]
    if target.is_binary:
        column = target.classes.index(target.positive)
        return [(column, material.label(column, 24))]
    order = np.argsort(-np.array(target.counts), kind="stable")[:_MOST_LINES].tolist()
    return [(place, material.label(place, 20)) for place in sorted(order)]


def _draw_dependence(material: Material, column: int) -> Chart:
    found = find_dependence(material.tree, column)
    outputs = _outputs(material)
    name = material.name(column, 40)
    is_share = material.target.is_class
    said = f"share of “{outputs[0][1]}”" if len(outputs) == 1 and is_share else "share"
    y: dict[str, Any] = {"title": said if is_share else "mean prediction"}
    y["axis"] = {"format": "%"} if is_share else {}
    y["scale"] = {"zero": False}
    if found.labels:
        layers, rows = _draw_categories(found, outputs, y)
    else:
        layers, rows = _draw_steps(material, found, outputs, y, name)
    alt = f"What the tree says on average for the values of “{name}”: see the table."
    head = (name, *(label for _, label in outputs))
    return draw(
        f"“{name}”", alt, layers, Grid(head, rows), (440, max(240, 60 + 17 * len(found.labels)))
    )


def _show_output(value: float, is_share: bool) -> str:
    return f"{value:.1%}" if is_share else show_number(float(f"{value:.5g}"))


def _kind(outputs: list[tuple[int, str]]) -> dict[str, Any]:
    if len(outputs) == 1:
        return {"value": colour("accent")}
    scale = {
        "domain": [place for place, _ in outputs],
        "range": [colour(KINDS[place % len(KINDS)]) for place in range(len(outputs))],
    }
    names, places = [label for _, label in outputs], [place for place, _ in outputs]
    legend = {"labelExpr": look_up(names, places), "columns": 2}
    return field("kind", "nominal", scale=scale, legend=legend)


def _draw_categories(
    found: Dependence, outputs: list[tuple[int, str]], y: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[tuple[str, ...]]]:
    labels = [clean(label, 24) for label in found.labels]
    values = found.values
    if found.missing is not None:
        labels, values = [*labels, "missing"], np.vstack((values, found.missing))
    points = [
        {"place": place, "kind": output, "value": float(values[place, output])}
        for place in range(len(labels))
        for output, _ in outputs
    ]
    axis = {"labelExpr": look_up(labels), "labelLimit": 120}
    is_share = "format" in y["axis"]
    layers = [
        {
            "data": {"values": points},
            "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
            "encoding": {
                "y": field("place", "ordinal", axis={**axis, "grid": True}),
                "x": field("value", **y),
                "color": _kind(outputs),
            },
        }
    ]
    rows = [
        (label, *(_show_output(float(values[place, output]), is_share) for output, _ in outputs))
        for place, label in enumerate(labels)
    ]
    if found.n_left_out:
        rows.append((f"{found.n_left_out:,} more categories", *("" for _ in outputs)))
    return layers, rows


def _draw_steps(
    material: Material,
    found: Dependence,
    outputs: list[tuple[int, str]],
    y: dict[str, Any],
    name: str,
) -> tuple[list[dict[str, Any]], list[tuple[str, ...]]]:
    """A step function: each value holds from its left edge to the next."""
    edges = found.edges
    low, high = _find_ends(material, found)
    is_date = material.tree.schema.families.get(found.column) == "date"
    lefts, rights = np.append(low, edges), np.append(edges, high)
    points = [
        {"kind": output, "x": _place(x, is_date), "value": float(found.values[place, output])}
        for output, _ in outputs
        for place in range(len(lefts))
        for x in (lefts[place], rights[place])
    ]
    x = field("x", "temporal" if is_date else "quantitative", title=name)
    x["scale"] = {"type": "utc"} if is_date else {"zero": False, "nice": False}
    x["axis"] = {"tickCount": 5, "grid": False}
    line = {"type": "line", "strokeWidth": 2.5, "strokeJoin": "miter"}
    encoding = {"x": x, "y": field("value", **y), "color": _kind(outputs), "order": {"value": 0}}
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": points},
            "mark": line,
            "encoding": encoding,
        }
    ]
    if found.missing is not None and len(outputs) == 1:
        layers.append(_mark_missing(float(found.missing[outputs[0][0]]), y))
    return layers, _list_steps(material, found, outputs)


def _list_steps(
    material: Material, found: Dependence, outputs: list[tuple[int, str]]
) -> list[tuple[str, ...]]:
    """What the tree says for each range, as rows of a table."""
    names = [
        _word_range(material, found.column, found.edges, place)
        for place in range(len(found.values))
    ]
    values = [*found.values]
    if found.missing is not None:
        names, values = [*names, "missing"], [*values, found.missing]
    is_share = material.target.is_class
    return [
        (name, *(_show_output(float(value[output]), is_share) for output, _ in outputs))
        for name, value in zip(names, values, strict=True)
    ]


def _mark_missing(value: float, y: dict[str, Any]) -> dict[str, Any]:
    mark = {"type": "rule", "color": colour("muted"), "strokeDash": [2, 3]}
    return {
        "data": {"values": [{"value": value}]},
        "mark": mark,
        "encoding": {"y": field("value", **y)},
    }


def _find_ends(material: Material, found: Dependence) -> tuple[float, float]:
    """The range of the column, or a little more than that of the thresholds."""
    edges = found.edges
    if material.table is not None:
        values = material.table._native.values(found.column)
        if len(values):
            return float(values[0]), float(values[-1])
    if len(edges) == 0:
        return 0.0, 1.0
    room = max(float(edges[-1] - edges[0]) * 0.25, abs(float(edges[0])) * 0.25, 1e-9)
    return float(edges[0]) - room, float(edges[-1]) + room


def _place(value: float, is_date: bool) -> float:
    return value * 86_400_000.0 if is_date else float(value)


def _word_range(material: Material, column: int, edges: Floats, place: int) -> str:
    if len(edges) == 0:
        return "present"
    shown = [material.tree._show_cut(column, float(edge)) for edge in edges]
    if place == 0:
        return f"up to {shown[0]}"
    if place == len(edges):
        return f"above {shown[-1]}"
    return f"{shown[place - 1]} to {shown[place]}"


def show_value(material: Material, column: int, value: float) -> str:
    """Write a value of a column: a number, or a date."""
    is_date = material.tree.schema.families.get(column) == "date"
    return show_date(value) if is_date else show_number(value)
