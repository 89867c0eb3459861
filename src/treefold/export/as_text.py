"""A tree as indented rules."""

from collections.abc import Sequence
from typing import Any

from treefold.evaluation.stability import CAUTION
from treefold.export.cleaning import reveal
from treefold.export.walk import check_count, subtree_depths, walk
from treefold.export.words import Steadiness, Wording

__all__ = ["export_text"]


def export_text(
    decision_tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    show_stability: bool = False,
) -> str:
    """Write the rules of a decision tree as indented text.

    Where a column had missing values, the side they go to says "or missing". Categorical splits
    show the categories of each side.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree.
    feature_names : sequence of str, default=None
        Names of the columns; by default those seen in fit, or "feature_0" and so on.
    class_names : sequence of str, default=None
        Names of the classes, in the order of `classes_`.
    max_depth : int or None, default=10
        Deepest split to show; None for all.
    spacing : int, default=3
        Width of one level.
    decimals : int, default=2
        Digits after the point of values, and the least number of those of thresholds, which have as
        many more as they need: none is written as zero, or as another one of its column.
    show_weights : bool, default=False
        Show the weight of each class in the leaves.
    show_stability : bool, default=False
        Show in how many folds each split and each leaf came out, for estimators that are
        cross-validated in fit (`DecisionTreeClassifierCV`, `DecisionTreeRegressorCV`).

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier, export_text
    >>> X = [[1.0, 3.0], [2.0, 3.0], [3.0, 3.0]]
    >>> print(export_text(DecisionTreeClassifier().fit(X, ["no", "yes", "yes"])), end="")
    |--- feature_0 <= 1.50
    |   |--- class: no
    |--- feature_0 >  1.50
    |   |--- class: yes
    """
    check_count("spacing", spacing, 1)
    check_count("decimals", decimals, 0)
    if max_depth is not None:
        check_count("max_depth", max_depth, 0)
    wording = Wording(decision_tree, feature_names, class_names, decimals)
    steadiness = Steadiness(decision_tree, wording) if show_stability else None
    tree = wording.tree
    heights = subtree_depths(tree)
    lines: list[str] = []
    headings: dict[int, tuple[str, str]] = {}  # of a split's two sides
    for visit in walk(tree, max_depth):
        node, indent = visit.node, _indent(visit.depth, spacing)
        if visit.parent >= 0:
            heading = headings[visit.parent][0 if visit.is_left else 1]
            lines.append(_indent(visit.depth - 1, spacing) + heading)
        if visit.is_leaf:
            more = "" if steadiness is None else f"  [{steadiness.leaf(node)}]"
            lines.append(indent + reveal(wording.leaf(node, show_weights)) + more)
        elif visit.is_beyond:
            lines.append(f"{indent} truncated branch of depth {heights[node] + 1}")
        else:
            to_left, to_right = map(reveal, wording.sides(node))
            more = "" if steadiness is None else f"  [{steadiness.split(node)}]"
            headings[node] = (f" {to_left}{more}", f" {to_right}")
    if steadiness is not None:
        lines.append(CAUTION)
    return "\n".join(lines) + "\n"


def _indent(depth: int, spacing: int) -> str:
    return ("|" + " " * spacing) * depth + "|" + "-" * spacing
