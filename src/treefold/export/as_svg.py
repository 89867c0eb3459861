"""A tree as a picture that every browser shows, without any library."""

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from treefold.evaluation.stability import CAUTION
from treefold.export.pictures import Place, fill_colours, hex_colour, lay_out, make_printable
from treefold.export.walk import check_count
from treefold.export.words import Steadiness, Wording

__all__ = ["export_svg"]

_LETTER = 6.7  # width of a letter of average kind at 12 pixels, wide ones included
_LINE = 15.0
_MARGIN = 8.0
_GAP = 14.0  # between boxes
_LEVEL_GAP = 34.0


def export_svg(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    impurity: bool = True,
    filled: bool = True,
    precision: int = 3,
    show_stability: bool = False,
) -> str:
    """Draw a decision tree as SVG.

    Rows that fit what a box says go left.

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
    filled : bool, default=True
        Colour nodes by majority class, or by value.
    precision : int, default=3
        Digits after the point; thresholds have more where they need them.
    show_stability : bool, default=False
        Show in how many folds each split and each leaf came out, for estimators that are
        cross-validated in fit.

    Returns
    -------
    str
        The picture, a whole file.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier, export_svg
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> export_svg(model).count("<rect")
    3
    """
    check_count("precision", precision, 0)
    if max_depth is not None:
        check_count("max_depth", max_depth, 0)
    wording = Wording(decision_tree, feature_names, class_names, precision)
    steadiness = Steadiness(decision_tree, wording) if show_stability else None
    colours = fill_colours(wording.tree) if filled else None
    places = lay_out(wording.tree, max_depth)
    texts = [
        ["(...)"] if place.is_cut else wording.box(place.node, impurity, steadiness)
        for place in places
    ]
    frame = _Frame(places, texts)
    boxes = [
        frame.box(place, text, "#fff" if colours is None else hex_colour(colours[place.node]))
        for place, text in zip(places, texts, strict=True)
    ]
    note = "" if steadiness is None else frame.note(CAUTION)
    edges = [frame.edge(place, place.parent) for place in places if place.parent is not None]
    return "\n".join([frame.head(), *edges, *boxes, note, "</svg>"]) + "\n"


class _Frame:
    """Turns places into pixels: all boxes have the width of the widest and the height they need."""

    def __init__(self, places: Sequence[Place], texts: Sequence[Sequence[str]]) -> None:
        longest = max(len(line) for text in texts for line in text)
        self.box_width = longest * _LETTER + 2 * _MARGIN
        self.unit = self.box_width + _GAP
        self.box_height = max(len(text) for text in texts) * _LINE + _MARGIN
        self.level = self.box_height + _LEVEL_GAP
        self.width = (max(place.across for place in places) + 1) * self.unit
        self.height = (max(place.depth for place in places) + 1) * self.level

    def head(self) -> str:
        """Begin the file."""
        size = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        view = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        font = 'font-family="Helvetica, Arial, sans-serif" font-size="12" text-anchor="middle"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} {font}>'

    def middle(self, across: float, depth: int) -> tuple[float, float]:
        """Find the top of a box, in the middle."""
        return (across + 0.5) * self.unit, depth * self.level + _MARGIN

    def edge(self, place: Place, parent: tuple[float, int]) -> str:
        """Draw the line from the parent."""
        x, y = self.middle(place.across, place.depth)
        from_x, from_y = self.middle(*parent)
        return (
            f'<line x1="{from_x:.1f}" y1="{from_y:.1f}" x2="{x:.1f}" y2="{y:.1f}" stroke="#888"/>'
        )

    def box(self, place: Place, text: Sequence[str], colour: str) -> str:
        """Draw a box with its text."""
        x, y = self.middle(place.across, place.depth)
        height = len(text) * _LINE + _MARGIN
        rect = (
            f'<rect x="{x - self.box_width / 2:.1f}" y="{y:.1f}" width="{self.box_width:.1f}" '
            f'height="{height:.1f}" rx="4" fill="{colour}" stroke="#444"/>'
        )
        lines = [
            f'<text x="{x:.1f}" y="{y + (number + 1) * _LINE:.1f}">{_clean(line)}</text>'
            for number, line in enumerate(text)
        ]
        return "\n".join([rect, *lines])

    def note(self, text: str) -> str:
        """Write a remark at the lower edge."""
        return f'<text x="{self.width / 2:.1f}" y="{self.height - 4:.1f}">{_clean(text)}</text>'


def _clean(text: str) -> str:
    """Escape what XML reads as its own, and leave out what it has no form for."""
    return escape(make_printable(text))
