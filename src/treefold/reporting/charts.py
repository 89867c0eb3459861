"""Charts: Vega-Lite draws them (through vl-convert), once, as SVG that stands in the page.

Colours are names of the page's style sheet, so that charts follow light, dark and print. A spec
has a stand-in for each of them, which is replaced in the drawing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from treefold.reporting.wording import clean

__all__ = ["KINDS", "Chart", "Grid", "colour", "draw", "field", "look_up", "rule_at", "word_at"]

_NAMES = ("ink", "muted", "line", "accent", "accent-2", "warn", "band", "paper")
KINDS = tuple(f"kind-{number}" for number in range(8))  # colours of classes
_STAND_INS = {name: f"#0000{number + 16:02x}" for number, name in enumerate((*_NAMES, *KINDS))}
_COLOURS = {code: f"var(--{name})" for name, code in _STAND_INS.items()}
_DROPPED = ("class", "role", "pointer-events", "version")


@dataclass(frozen=True, slots=True)
class Grid:
    """The numbers of a chart as a table: every chart has one."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing, what it shows in a sentence, and its numbers."""

    title: str
    alt: str
    svg: Markup
    grid: Grid


def colour(name: str) -> str:
    """Give what stands for a colour of the style sheet."""
    return _STAND_INS[name]


def field(name: str, kind: str = "quantitative", **more: Any) -> dict[str, Any]:
    """Say which field is shown, and how: a channel of Vega-Lite."""
    if kind == "quantitative":
        more["axis"] = {"tickCount": 5, **more.get("axis", {})}
    return {"field": name, "type": kind, "title": None, **more}


def look_up(names: Sequence[str], values: Sequence[Any] | None = None) -> str:
    """Write an expression of Vega that names each place, or value; its strings are JSON's."""
    place = "datum.value" if values is None else f"indexof({json.dumps(values)}, datum.value)"
    return f"{json.dumps(names)}[{place}]"


def rule_at(values: Sequence[Mapping[str, Any]], **encoding: Any) -> dict[str, Any]:
    """Draw a thin dashed line."""
    mark = {"type": "rule", "color": colour("muted"), "strokeDash": [4, 3]}
    return {"data": {"values": list(values)}, "mark": mark, "encoding": encoding}


def word_at(
    value: Mapping[str, Any], text: str, is_right: bool, is_low: bool, x: Mapping[str, Any]
) -> dict[str, Any]:
    """Write beside an upright line what it marks: on its right or left, at its foot or its head."""
    across = {"align": "left", "dx": 5} if is_right else {"align": "right", "dx": -5}
    mark = {"type": "text", **across, "dy": -8 if is_low else 8, "fontWeight": 600}
    y = {"value": "height" if is_low else 0}
    encoding = {"x": x, "y": y, "text": {"value": text}}
    return {"data": {"values": [value]}, "mark": mark, "encoding": encoding}


def draw(
    title: str,
    alt: str,
    layers: Sequence[Mapping[str, Any]],
    grid: Grid,
    size: tuple[int, int] = (440, 270),
) -> Chart:
    """Draw some layers over each other."""
    import vl_convert  # noqa: PLC0415 - an extra, that takes a second to start

    width, height = size
    spec = {
        "width": width,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "padding": {"left": 6, "right": 18, "top": 4, "bottom": 2},
        "layer": _share_axes(layers),
        "config": {
            **_config(),
            "axisX": {"titleLimit": width - 60},
            "axisY": {"titleLimit": height - 40},
        },
    }
    svg = vl_convert.vegalite_to_svg(json.dumps(spec), allowed_base_urls=[])
    return Chart(title, clean(alt), _refine(svg, clean(alt)), grid)


def _share_axes(layers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give all layers the title and the axis of the one that has a title: else they add up."""
    shared = {
        channel: {"title": layer["encoding"][channel]["title"], "axis": axis}
        for layer in layers
        for channel in ("x", "y")
        if layer["encoding"].get(channel, {}).get("title") is not None
        for axis in [layer["encoding"][channel].get("axis", {})]
    }
    return [
        {
            **layer,
            "encoding": {
                channel: {**given, **shared.get(channel, {})}
                for channel, given in layer["encoding"].items()
            },
        }
        for layer in layers
    ]


def _config() -> dict[str, Any]:
    ink, muted = colour("ink"), colour("muted")
    axis = {
        "labelColor": muted,
        "titleColor": ink,
        "titleFontWeight": 600,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 150,
        "titlePadding": 8,
        "gridColor": colour("line"),
        "domainColor": muted,
        "tickColor": muted,
        "labelFlush": False,
    }
    legend = {
        "labelColor": ink,
        "titleColor": ink,
        "labelFontSize": 12,
        "labelLimit": 130,
        "orient": "top",
        "columnPadding": 26,
        "symbolStrokeWidth": 2.5,
        "title": None,
        "offset": 4,
    }
    return {
        "background": None,
        "font": "Helvetica, Arial, sans-serif",
        "view": {"stroke": None},
        "axis": axis,
        "legend": legend,
        "aria": False,
        "text": {"color": ink, "fontSize": 12},
    }


def _refine(svg: str, alt: str) -> Markup:
    """Give a drawing the page's colours, a name for screen readers, and no size of its own."""
    root = ElementTree.fromstring(svg)
    del root.attrib["width"], root.attrib["height"]
    for element in root.iter():
        element.tag = element.tag.rsplit("}", 1)[-1]
        for name in [*element.attrib]:
            if name in _DROPPED or name.startswith("aria-"):
                del element.attrib[name]
            elif element.attrib[name] in _COLOURS:
                element.set(name, _COLOURS[element.attrib[name]])
    root.set("role", "img")
    root.set("aria-label", alt)
    return Markup(ElementTree.tostring(root, encoding="unicode"))
