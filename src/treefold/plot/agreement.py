"""How steady each split is: in how many folds it came out."""

from typing import Any

from treefold.evaluation.stability import CAUTION
from treefold.export.walk import check_count, walk
from treefold.export.words import Steadiness, Wording
from treefold.plot.axes import BLUE, GREY, check_cross_validated, open_axes

__all__ = ["stability"]


def stability(model: Any, *, max_depth: int | None = None, ax: Any = None) -> Any:
    """Draw in how many folds each split of the tree came out.

    One bar per split, from the root on. Dark: folds whose tree splits the same column in this
    place. Light: folds whose tree has this place at all, because all splits above it came out.
    Beside the bar stands where the folds cut.

    Parameters
    ----------
    model : DecisionTreeClassifierCV or DecisionTreeRegressorCV
        A fitted estimator.
    max_depth : int or None, default=None
        Deepest level to draw; give one for large trees.
    ax : matplotlib axes, default=None
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    matplotlib axes
        Those that were drawn on.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from treefold import DecisionTreeClassifierCV, plot
    >>> model = DecisionTreeClassifierCV().fit(*load_iris(return_X_y=True))
    >>> axes = plot.stability(model)
    >>> [label.get_text().strip() for label in axes.get_yticklabels()][0]
    'feature_2 <= 2.45'
    """
    check_cross_validated(model, "plot.stability")
    if max_depth is not None:
        check_count("max_depth", max_depth, 0)
    wording = Wording(model, None, None, 2)
    steadiness = Steadiness(model, wording)
    visits = [
        visit
        for visit in walk(wording.tree, max_depth)
        if not visit.is_leaf and not visit.is_beyond
    ]
    ax = open_axes(ax, "plot.stability")
    found = model.stability_
    n_folds = int(found["n_folds"][0])
    rows = range(len(visits))
    for row, visit in zip(rows, visits, strict=True):
        n_same, n_reached = (int(found[key][visit.node]) for key in ("n_same_column", "n_reached"))
        ax.barh(row, n_same, color=BLUE)
        ax.barh(row, n_reached - n_same, left=n_same, color=GREY, alpha=0.4)
        _, _, cut = steadiness.split(visit.node).partition(", ")
        ax.text(n_folds * 1.02, row, cut, va="center", fontsize="small")
    labels = ["   " * visit.depth + wording.sides(visit.node)[0] for visit in visits]
    ax.set_yticks(list(rows), labels, ha="left")
    _make_room(ax, len(visits), n_folds)
    if not visits:
        ax.text(0.5, 0.5, "one leaf: no split", transform=ax.transAxes, ha="center")
    ax.set_xlabel(f"folds, of {n_folds}, that split by the same column here\n{CAUTION}")
    return ax


def _make_room(ax: Any, n_rows: int, n_folds: int) -> None:
    """The root on top; labels start at one line, so that the indents show depth."""
    ax.set_ylim(max(n_rows, 1) - 0.4, -0.6)
    ax.set_xlim(0, n_folds)
    widths = [label.get_window_extent().width for label in ax.get_yticklabels()]
    ax.tick_params(axis="y", length=0, pad=max(widths, default=0) * 72 / ax.figure.dpi + 4)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
