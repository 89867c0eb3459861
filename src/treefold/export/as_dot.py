"""A tree in the language of Graphviz."""

from collections.abc import Sequence
from typing import Any

from treefold.evaluation.stability import CAUTION
from treefold.export.pictures import fill_colours, hex_colour, make_printable
from treefold.export.walk import check_count, walk
from treefold.export.words import Steadiness, Wording

__all__ = ["export_dot"]


def export_dot(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    impurity: bool = True,
    filled: bool = False,
    rounded: bool = False,
    precision: int = 3,
    show_stability: bool = False,
) -> str:
    """Write a decision tree in the DOT language, for Graphviz.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree.
    max_depth : int or None, default=None
        Deepest level to draw; None for all.
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
    show_stability : bool, default=False
        Show in how many folds each split and each leaf came out, for estimators that are
        cross-validated in fit.

    Returns
    -------
    str
        The text, to be drawn by `dot -Tsvg`.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier, export_dot
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> print(export_dot(model).splitlines()[-2])
      0 -> 2 [label="no"];
    """
    check_count("precision", precision, 0)
    if max_depth is not None:
        check_count("max_depth", max_depth, 0)
    wording = Wording(decision_tree, feature_names, class_names, precision)
    steadiness = Steadiness(decision_tree, wording) if show_stability else None
    colours = fill_colours(wording.tree) if filled else None
    style = ", ".join(["filled"] * filled + ["rounded"] * rounded)
    lines = ["digraph tree {", f'  node [shape=box, style="{style}", fontname="Helvetica"];']
    if steadiness is not None:
        lines.append(f"  label={_quote([CAUTION])};")
    for visit in walk(wording.tree, max_depth):
        text = ["(...)"] if visit.is_beyond else wording.box(visit.node, impurity, steadiness)
        more = "" if colours is None else f', fillcolor="{hex_colour(colours[visit.node])}"'
        lines.append(f"  {visit.node} [label={_quote(text)}{more}];")
        if visit.parent >= 0:
            answer = "yes" if visit.is_left else "no"
            lines.append(f'  {visit.parent} -> {visit.node} [label="{answer}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _quote(lines: Sequence[str]) -> str:
    """Write lines as one quoted string; a backslash would begin an escape."""
    escaped = (make_printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
