"""A tree as a picture of boxes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treefold.evaluation.stability import CAUTION
from treefold.export.pictures import Place, fill_colours, lay_out
from treefold.export.walk import check_count
from treefold.export.words import Steadiness, Wording
from treefold.plot.axes import import_pyplot, unwrap

__all__ = ["plot_tree"]


def plot_tree(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    impurity: bool = True,
    filled: bool = False,
    rounded: bool = False,
    precision: int = 3,
    ax: Any = None,
    fontsize: float | None = None,
    show_stability: bool = False,
) -> list[Any]:
    """Draw a decision tree.

    `plot.tree` and `plot_tree` are one function.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree, or a search of `model_selection` that found one.
    max_depth : int or None, default=None
        Deepest level to draw; give one for large trees.
    feature_names, class_names : sequence of str, default=None
        Names to use instead of those seen in fit.
    impurity : bool, default=True
        Show the impurity of each node.
    filled : bool, default=False
        Colour nodes by majority class, or by value.
    rounded : bool, default=False
        Draw boxes with round corners.
    precision : int, default=3
        Digits after the point; thresholds have more where they need them.
    ax : matplotlib axes, default=None
        Where to draw; by default the current axes.
    fontsize : float, default=None
        Size of the text; by default chosen to fit.
    show_stability : bool, default=False
        Show in how many folds each split and each leaf came out, for estimators that are
        cross-validated in fit.

    Returns
    -------
    list of matplotlib annotations
        One per box.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from treefold import DecisionTreeClassifier, plot_tree
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> len(plot_tree(model))
    3
    """
    if max_depth is not None:
        check_count("max_depth", max_depth, 0)
    decision_tree = unwrap(decision_tree)
    wording = Wording(decision_tree, feature_names, class_names, precision)
    steadiness = Steadiness(decision_tree, wording) if show_stability else None
    pyplot = import_pyplot("plot_tree")
    if ax is None:
        ax = pyplot.gca()
    places = lay_out(wording.tree, max_depth)
    ax.set_axis_off()
    ax.set_xlim(-0.5, max(place.across for place in places) + 0.5)
    ax.set_ylim(-max(place.depth for place in places) - 0.5, 0.5)
    colours = fill_colours(wording.tree) if filled else None
    boxes = []
    for place in places:
        fill = "white" if colours is None else colours[place.node]
        style = {"boxstyle": "round" if rounded else "square", "fc": fill, "ec": "black"}
        lines = wording.box(place.node, impurity, steadiness)
        text = "(...)" if place.is_cut else "\n".join(lines)
        boxes.append(_draw(ax, place, text, {"bbox": style, "fontsize": fontsize or 10}))
    if fontsize is None:
        _shrink_to_fit(ax, boxes, places)
    if steadiness is not None:
        ax.text(0.5, 0.0, CAUTION, transform=ax.transAxes, ha="center", va="bottom", fontsize=8)
    return boxes


def _draw(ax: Any, place: Place, text: str, style: dict[str, Any]) -> Any:
    """Draw the line from the parent below all boxes, then the box."""
    at = (place.across, -place.depth)
    if place.parent is not None:
        across, depth = place.parent
        ax.plot([across, at[0]], [-depth, at[1]], color="grey", linewidth=0.8, zorder=1)
    return ax.annotate(text, at, ha="center", va="center", zorder=2, **style)


def _shrink_to_fit(ax: Any, boxes: Sequence[Any], places: Sequence[Place]) -> None:
    """Make the text so small that every box fits between its neighbours.

    Boxes of the lowest level are one unit apart, those above it further; levels are one unit apart.
    """
    extents = [box.get_window_extent() for box in boxes]
    room = ax.get_window_extent()
    n_across = max(place.across for place in places) + 1
    n_levels = max(place.depth for place in places) + 1
    unit = room.width / n_across
    gaps = {depth: _gap(depth, places, n_across) for depth in range(n_levels)}
    wide = min(
        unit * gaps[place.depth] / extent.width
        for place, extent in zip(places, extents, strict=True)
    )
    high = room.height / n_levels / max(extent.height for extent in extents)
    scale = min(1.0, 0.8 * wide, 0.7 * high)
    for box in boxes:
        box.set_fontsize(max(1.0, box.get_fontsize() * scale))


def _gap(depth: int, places: Sequence[Place], n_across: float) -> float:
    """How far the nearest boxes of one level are apart."""
    level = sorted(place.across for place in places if place.depth == depth)
    return float(np.diff(level).min()) if len(level) > 1 else n_across
