"""A tree as a picture, on matplotlib axes (the extra `treefold[plot]`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import ParameterError
from treefold.export import Steadiness, Wording
from treefold.model import Tree
from treefold.stability import CAUTION

__all__ = ["plot_tree"]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node is drawn: `across` counts leaves, `depth` levels."""

    node: int
    depth: int
    across: float
    parent: tuple[float, int] | None
    is_cut: bool  # its children are not shown


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

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree.
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
        Digits of numbers.
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
    if max_depth is not None and (not hasattr(max_depth, "__index__") or max_depth < 0):
        raise ParameterError(f"max_depth must be an int of at least 0. Got {max_depth!r} instead.")
    wording = Wording(decision_tree, feature_names, class_names, precision)
    steadiness = Steadiness(decision_tree, wording) if show_stability else None
    pyplot = _import_pyplot()
    if ax is None:
        ax = pyplot.gca()
    places = _lay_out(wording.tree, max_depth)
    ax.set_axis_off()
    ax.set_xlim(-0.5, max(place.across for place in places) + 0.5)
    ax.set_ylim(-max(place.depth for place in places) - 0.5, 0.5)
    colours = _fill_colours(wording.tree, pyplot) if filled else None
    boxes = []
    for place in places:
        fill = "white" if colours is None else colours[place.node]
        style = {"boxstyle": "round" if rounded else "square", "fc": fill, "ec": "black"}
        text = "(...)" if place.is_cut else _describe(wording, place.node, impurity, steadiness)
        boxes.append(_draw(ax, place, text, {"bbox": style, "fontsize": fontsize or 10}))
    if fontsize is None:
        _shrink_to_fit(ax, boxes, places)
    if steadiness is not None:
        ax.text(0.5, 0.0, CAUTION, transform=ax.transAxes, ha="center", va="bottom", fontsize=8)
    return boxes


def _import_pyplot() -> Any:
    try:
        from matplotlib import pyplot  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            "plot_tree needs matplotlib, which is not installed. "
            "Install it by: pip install 'treefold[plot]'"
        ) from error
    return pyplot


def _lay_out(tree: Tree, max_depth: int | None) -> list[_Place]:
    """Place leaves side by side and each other node in the middle of its children.

    Two loops over the shown nodes in preorder: forwards for depths and leaves, backwards for the
    nodes above them. No recursion, so depth does not matter.
    """
    limit = tree.max_depth if max_depth is None else max_depth
    left, right = tree.children_left, tree.children_right
    shown: list[tuple[int, int, int]] = []  # node, depth, parent
    across: dict[int, float] = {}
    stack = [(0, 0, -1)]
    while stack:
        node, depth, parent = stack.pop()
        shown.append((node, depth, parent))
        if left[node] < 0 or depth > limit:
            across[node] = float(len(across))
        else:
            stack.append((int(right[node]), depth + 1, node))
            stack.append((int(left[node]), depth + 1, node))
    for node, _, _ in reversed(shown):
        if node not in across:
            across[node] = (across[int(left[node])] + across[int(right[node])]) / 2
    return [
        _Place(
            node,
            depth,
            across[node],
            None if parent < 0 else (across[parent], depth - 1),
            depth > limit,
        )
        for node, depth, parent in shown
    ]


def _describe(wording: Wording, node: int, impurity: bool, steadiness: Steadiness | None) -> str:
    tree = wording.tree
    lines = []
    is_leaf = tree.children_left[node] < 0
    if not is_leaf:
        lines.append(wording.sides(node)[0])
    if steadiness is not None:
        lines.append(steadiness.leaf(node) if is_leaf else steadiness.split(node))
    if impurity:
        lines.append(f"impurity = {tree.impurity[node]:.{wording.decimals}f}")
    lines.append(f"samples = {tree.n_node_samples[node]}")
    value = tree.value[node, 0]
    if wording.classes is None:
        lines.append(f"value = {value[0]:.{wording.decimals}f}")
    else:
        lines.append(f"value = [{wording.numbers(value)}]")
        lines.append(f"class = {wording.classes[int(value.argmax())]}")
    return "\n".join(lines)


def _draw(ax: Any, place: _Place, text: str, style: dict[str, Any]) -> Any:
    """Draw the line from the parent below all boxes, then the box."""
    at = (place.across, -place.depth)
    if place.parent is not None:
        across, depth = place.parent
        ax.plot([across, at[0]], [-depth, at[1]], color="grey", linewidth=0.8, zorder=1)
    return ax.annotate(text, at, ha="center", va="center", zorder=2, **style)


def _shrink_to_fit(ax: Any, boxes: Sequence[Any], places: Sequence[_Place]) -> None:
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


def _gap(depth: int, places: Sequence[_Place], n_across: float) -> float:
    """How far the nearest boxes of one level are apart."""
    level = sorted(place.across for place in places if place.depth == depth)
    return float(np.diff(level).min()) if len(level) > 1 else n_across


def _fill_colours(tree: Tree, pyplot: Any) -> NDArray[np.float64]:
    """Mix white with a colour per class, by the share of the class; or shade by the mean."""
    value = tree.value[:, 0]
    if value.shape[1] == 1:
        low, high = float(value.min()), float(value.max())
        shares = (value[:, 0] - low) / (high - low) if high > low else np.zeros(len(value))
        base = np.tile(np.array([0.9, 0.5, 0.2]), (len(value), 1))
    else:
        chosen = value.argmax(axis=1)
        chance = 1 / value.shape[1]
        shares = (value.max(axis=1) - chance) / (1 - chance)
        base = pyplot.get_cmap("hsv")(chosen / value.shape[1])[:, :3]
    weight = 0.5 * shares[:, np.newaxis]
    return np.asarray(1 - weight + weight * base)
