"""Section 3: the path. Scores against the size of the tree and against the strength of pruning."""

import math
from typing import Any

from treefold.findings.document import PathPoint
from treefold.findings.numbers import show_number, show_score
from treefold.reporting.charts import Chart, Grid, colour, draw, field, look_up, rule_at, word_at
from treefold.reporting.material import Material
from treefold.reporting.wording import UNKNOWN, clean

__all__ = ["draw_paths"]

_SCORES = {"zero": False, "padding": 18}  # room for the words at the points
_MOST_CHARTS = 4
_MOST_ROWS = 40  # of a table of candidates


def draw_paths(material: Material) -> list[Chart]:
    """Draw the scores of all candidates, the band of one standard error, and the choice."""
    if material.candidates:
        return _draw_search(material)
    points = [_make_point(one) for one in material.found["path"]]
    grid = Grid(
        ("leaves", "alpha", material.title, "standard error", ""),
        [
            (f"{one['leaves']:,}", show_number(one["alpha"]), *_show(one), one["mark"])
            for one in points
        ],
    )
    charts = [_draw_path(material, points, "leaves", "leaves of the tree", grid)]
    if len({one["alpha"] for one in points}) > 2:
        charts.append(_draw_path(material, points, "alpha", "alpha: strength of pruning", grid))
    return charts


def _make_point(one: PathPoint) -> dict[str, Any]:
    error = one.standard_error or 0.0
    return {
        "leaves": one.leaves,
        "alpha": one.ccp_alpha,
        "score": one.score,
        "error": error,
        "low": one.score - error,
        "high": one.score + error,
        "is_chosen": one.is_chosen,
        "is_best": one.is_best,
        "mark": ", ".join(one.marks),
        "leaf_size": one.min_samples_leaf,
    }


def _show(point: dict[str, Any]) -> tuple[str, str]:
    return show_score(point["score"]), f"{point['error']:.4f}" if point["error"] else UNKNOWN


def _draw_path(
    material: Material, points: list[dict[str, Any]], name: str, title: str, grid: Grid
) -> Chart:
    sign = material.result.measure.sign
    best = next(one for one in points if one["is_best"])
    chosen = next(one for one in points if one["is_chosen"])
    line = [one for one in points if one["leaf_size"] == chosen["leaf_size"]]
    axis: dict[str, Any] = {"grid": False, "tickCount": 6}
    scale: dict[str, Any] = {"type": "log", "nice": False, "padding": 14}
    if name == "alpha":
        positive = [one["alpha"] for one in points if one["alpha"] > 0]
        scale = {"type": "symlog", "constant": min(positive, default=1.0), "nice": False}
        powers = _list_powers(positive)
        axis |= {"values": powers, "labelExpr": look_up([f"{one:g}" for one in powers], powers)}
    x = field(name, scale=scale, title=title, axis=axis)
    y = field("score", scale=_SCORES, title=f"{material.title} on held-out rows")
    layers = [
        _band(best, sign),
        {
            "data": {"values": points},
            "mark": {"type": "rule", "color": colour("muted"), "opacity": 0.35},
            "encoding": {"x": x, "y": field("low", scale=_SCORES), "y2": {"field": "high"}},
        },
        {
            "data": {"values": line},
            "mark": {"type": "line", "color": colour("accent"), "point": _point(18)},
            "encoding": {"x": x, "y": y},
        },
        *_mark(chosen, best, x, sign),
    ]
    alt = (
        f"{material.title} against {title}. Chosen: {chosen['leaves']:,} leaves with "
        f"{show_score(chosen['score'])}; best: {best['leaves']:,} leaves with "
        f"{show_score(best['score'])}. The table below has all points."
    )
    return draw(f"{material.title} against {title}", alt, layers, grid)


def _list_powers(values: list[float]) -> list[float]:
    """Zero, and the powers of ten between some numbers: at most six of them."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    step = max(1, (high - low) // 5)
    return [0.0, *(10.0**power for power in range(low + 1, high + 1, step))]


def _point(size: int) -> dict[str, Any]:
    return {"size": size, "color": colour("accent"), "filled": True}


def _band(best: dict[str, Any], sign: int) -> dict[str, Any]:
    """What is within one standard error of the best, on the worse side."""
    values = [{"from": best["score"], "to": best["score"] - sign * best["error"]}]
    return {
        "data": {"values": values},
        "mark": {"type": "rect", "color": colour("band")},
        "encoding": {"y": field("from", scale=_SCORES), "y2": {"field": "to"}},
    }


def _mark(chosen: dict[str, Any], best: dict[str, Any], x: dict[str, Any], sign: int) -> list[Any]:
    """Mark two points; the word for the chosen one stands where the curve is not."""
    y = field("score", scale=_SCORES)
    marks = [{**chosen, "text": "chosen"}]
    if best is not chosen:
        marks.append({**best, "text": "best"})
    dots = {
        "data": {"values": marks},
        "mark": {"type": "point", "size": 90, "filled": True, "opacity": 1},
        "encoding": {
            "x": x,
            "y": y,
            "color": field(
                "text",
                "nominal",
                scale={
                    "domain": ["chosen", "best"],
                    "range": [colour("warn"), colour("accent")],
                },
                legend=None,
            ),
        },
    }
    words = [
        {
            "data": {"values": [one]},
            "mark": {"type": "text", "dy": 16, "fontWeight": 600},
            "encoding": {"x": x, "y": y, "text": field("text", "nominal")},
        }
        for one in marks[1:]
    ]
    is_left = chosen[x["field"]] < best[x["field"]]  # the other one has its word to the right
    said = word_at(marks[0], "chosen", not is_left, sign > 0, x)
    return [rule_at(marks[:1], x=x), dots, *words, said]


# Searches ---------------------------------------------------------------------------------------


def _draw_search(material: Material) -> list[Chart]:
    """A chart per parameter that takes several numbers; else one of all candidates by rank."""
    candidates = material.candidates
    ranked = sorted(candidates, key=lambda one: one["rank"])
    names = list(candidates[0]["params"])
    grid = Grid(
        ("rank", *(clean(name, 40) for name in names), material.title, "standard error", ""),
        [
            (
                f"{one['rank']}",
                *(clean(one["params"].get(name, ""), 40) for name in names),
                *_show(one),
                one["mark"],
            )
            for one in ranked[:_MOST_ROWS]
        ],
    )
    numeric = [name for name in names if _is_numeric(candidates, name)]
    charts = [_draw_parameter(material, name, grid) for name in numeric[:_MOST_CHARTS]]
    return charts or [_draw_parameter(material, "rank", grid)]


def _is_numeric(candidates: list[dict[str, Any]], name: str) -> bool:
    values = [one["params"].get(name) for one in candidates]
    numbers = {
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return len(numbers) > 1


def _draw_parameter(material: Material, name: str, grid: Grid) -> Chart:
    points = []
    for one in material.candidates:
        value = one["rank"] if name == "rank" else one["params"].get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            points.append({**one, "params": None, "x": value})
    sign = material.result.measure.sign
    best = max(points, key=lambda one: sign * one["score"])
    chosen = next((one for one in points if one["mark"] == "chosen"), best)
    title = clean(name, 40)
    x = field("x", title=title, axis={"grid": False}, scale={"zero": False, "padding": 14})
    y = field("score", scale=_SCORES, title=f"{material.title} on held-out rows")
    layers = [
        _band(best, sign),
        {
            "data": {"values": points},
            "mark": {"type": "point", "color": colour("accent"), "filled": True, "opacity": 0.7},
            "encoding": {"x": x, "y": y},
        },
        *_mark(chosen, best, x, sign),
    ]
    alt = f"{material.title} of every candidate against {title}; the chosen one is marked."
    return draw(f"{material.title} against {title}", alt, layers, grid)
