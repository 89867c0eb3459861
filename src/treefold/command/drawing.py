"""The tree as a list of nodes, and as lines; the path of scores as columns of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treefold.command.target import Target
from treefold.export.cleaning import reveal
from treefold.export.reach import follow_paths
from treefold.export.words import Wording
from treefold.model import Tree

__all__ = ["describe_paths", "draw_path", "draw_tree", "list_nodes", "show_number", "show_score"]

_TREE_LINES = 13
_PATH_POINTS = 9
_LEAST_ROOM = 20  # characters of a condition
_LABELS = 40  # characters that the categories of a side may take


class _Brief(Wording):
    """The words for a split in few characters."""

    above = "> "

    def __init__(self, model: Any) -> None:
        super().__init__(model, None, None, 0)

    def sides(self, node: int) -> tuple[str, str]:
        """What goes left in a node, and what goes right, on one line each."""
        left, right = super().sides(node)
        return reveal(left), reveal(right)

    def word_labels(self, name: str, labels: Sequence[Any]) -> str:
        """Say that a value is one of some labels, as far as there is room."""
        return f"{name} is {_list(labels)}"


def list_nodes(
    model: Any, target: Target, weights: NDArray[np.float64] | None = None
) -> list[dict[str, Any]]:
    """List the nodes in preorder: what leads to them, what they hold, how steady they are."""
    wording, found = _Brief(model), getattr(model, "stability_", None)
    tree = wording.tree
    plain = _find_plain_shares(model, target, weights)
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    conditions, depths = ["all rows"] * tree.node_count, [0] * tree.node_count
    nodes = []
    for node in range(tree.node_count):
        one: dict[str, Any] = {
            "node": node,
            "depth": depths[node],
            "condition": conditions[node],
            "rows": int(tree.n_node_samples[node]),
            **_describe_value(tree, found, node, target, plain),
            "heldout_rows": None if found is None else int(found["heldout_rows"][node]),
            "is_leaf": left[node] < 0,
        }
        if left[node] >= 0:
            conditions[left[node]], conditions[right[node]] = wording.sides(node)
            depths[left[node]] = depths[right[node]] = depths[node] + 1
            one["split"] = _describe_split(wording, found, node, (left[node], right[node]))
        nodes.append(one)
    return nodes


def _find_plain_shares(model: Any, target: Target, weights: Any) -> NDArray[np.float64] | None:
    """Shares of the classes in each node as if they had no weights; None if they have none."""
    is_weighted = model.best_params_.get("class_weight") is not None
    if target.codes is None or len(target.codes) == 0 or not is_weighted:
        return None
    value = model.tree_.value[:, 0]
    counts = np.bincount(target.codes, weights, len(target.classes))
    factors = np.divide(counts, value[0], out=np.zeros(len(counts)), where=value[0] > 0)
    shares: NDArray[np.float64] = value * factors
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _describe_value(
    tree: Tree, found: Any, node: int, target: Target, plain: NDArray[np.float64] | None
) -> dict[str, Any]:
    """What a node predicts, and what its held-out rows say to that."""
    value = tree.value[node, 0]
    heldout = np.nan if found is None else float(found["heldout_value"][node])
    seen = None if np.isnan(heldout) else heldout
    if not target.is_class:
        return {"value": float(value[0]), "heldout_value": seen}
    predicted = int(value.argmax())
    label, shown = target.classes[predicted], predicted
    if target.is_binary:
        shown = target.classes.index(target.positive)
        if label != target.positive and seen is not None:
            seen = 1 - seen
    found = {"class": str(label), "share": float(value[shown]), "heldout_share": seen}
    return found if plain is None else {**found, "plain_share": float(plain[node, shown])}


def _describe_split(
    wording: _Brief, found: Any, node: int, children: tuple[int, int]
) -> dict[str, Any]:
    tree = wording.tree
    split = {"column": wording.name(int(tree.feature[node])), "children": list(children)}
    if found is None:
        return {**split, "folds_same_column": 0, "folds": 0, "cut_from": None, "cut_to": None}
    low, high = float(found["threshold_min"][node]), float(found["threshold_max"][node])
    column = int(tree.feature[node])
    return {
        **split,
        "folds_same_column": int(found["n_same_column"][node]),
        "folds": int(found["n_folds"][node]),
        "cut_from": None if np.isnan(low) else wording.show_cut(column, low),
        "cut_to": None if np.isnan(high) else wording.show_cut(column, high),
    }


def show_number(value: float) -> str:
    """Write a number with as many digits as people read."""
    return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:.6g}"


def show_score(value: float) -> str:
    """Write a score with four digits, and without a minus before zero."""
    return f"{round(value, 4) + 0.0:.4f}"


def _list(labels: Sequence[Any]) -> str:
    """List labels as long as there is room; say how many more there are."""
    shown: list[str] = []
    for label in labels:
        if shown and len(", ".join([*shown, str(label)])) > _LABELS:
            break
        shown.append(str(label))
    rest = len(labels) - len(shown)
    return ", ".join(shown) + (f" or {rest} more" if rest else "")


# Lines ------------------------------------------------------------------------------------------


def draw_tree(nodes: Sequence[dict[str, Any]], target: dict[str, Any], width: int) -> list[str]:
    """Draw the first levels of a tree, a line per node."""
    limit = _choose_depth(nodes)
    shown = [node for node in nodes if node["depth"] <= limit]
    is_weighted = "plain_share" in nodes[0]
    splits = [node["split"] for node in shown if "split" in node and node["depth"] < limit]
    steady = max([28, *(len(_describe_steadiness(split)) for split in splits)])
    room = max(_LEAST_ROOM, width - 28 - 9 * is_weighted - steady)
    value, heldout = _title(target)
    plain = f" {'of rows':>8}" if is_weighted else ""
    head = f"{'':{room}} {'rows':>7} {value:>8} {heldout:>8}{plain}  same split in, cut at"
    lines = [head]
    ends: list[bool] = []  # per level: whether the branch that leads here is the last one
    parents = {
        child: node for node in nodes if "split" in node for child in node["split"]["children"]
    }
    for node in shown:
        parent = parents.get(node["node"])
        is_left = parent is not None and parent["split"]["children"][0] == node["node"]
        ends = [*ends[: max(0, node["depth"] - 1)], not is_left] if parent else []
        text = _indent(ends) + node["condition"]
        if node["depth"] == limit and not node["is_leaf"]:
            text = f"{_clip(text, room - 4)} ..."
        words = _describe_steadiness(parent["split"]) if parent and is_left else ""
        label = node["class"] if value == "class" else ""
        share, seen = _show_value(node, "share", label), _show_value(node, "heldout_share")
        numbers = f"{node['rows']:>7,} {share:>8} {seen:>8}"
        if is_weighted:
            numbers += f" {_show_value(node, 'plain_share'):>8}"
        lines.append(f"{_clip(text, room):{room}} {numbers}  {words}".rstrip())
    return lines


def _title(target: dict[str, Any]) -> tuple[str, str]:
    if target["task"] == "regression":
        return "mean", "held out"
    if target["positive"] is not None:
        return _clip(f"'{target['positive']}'", 8), "held out"
    return "class", "held out"


def _choose_depth(nodes: Sequence[dict[str, Any]]) -> int:
    """The deepest level down to which the tree fits."""
    depths = np.bincount([node["depth"] for node in nodes]).cumsum()
    return max(1, int(np.searchsorted(depths, _TREE_LINES, side="right")) - 1)


def _indent(ends: Sequence[bool]) -> str:
    if not ends:
        return ""
    above = "".join("  " if is_last else "│ " for is_last in ends[:-1])
    return above + ("└ " if ends[-1] else "├ ")


def _show_value(node: dict[str, Any], name: str, label: str = "") -> str:
    value = node.get(name) if "share" in node else node[name.replace("share", "value")]
    if value is None:
        return "-"
    if "share" not in node:
        return show_number(float(f"{value:.4g}"))
    return f"{_clip(label, 3)} {value:.0%}" if label and name == "share" else f"{value:.1%}"


def _describe_steadiness(split: dict[str, Any]) -> str:
    text = f"{split['folds_same_column']} of {split['folds']} folds"
    low, high = split["cut_from"], split["cut_to"]
    return text if low is None or low == high else f"{text}, {low}..{high}"


def _clip(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    cut = text[: width - 1]
    words = text[:width].rsplit(" ", 1)[0]
    return (words if len(words) > 0.7 * width else cut).rstrip(", ") + "…"


def draw_path(path: Sequence[dict[str, Any]], title: str, room: int) -> list[str]:
    """Draw the path of scores over leaves in three lines; the choice and the best are marked."""
    size = max(len(show_score(one["score"])) for one in path) + 2
    points = _thin(path, min(_PATH_POINTS, (room - len(title) - 2) // size))
    leaves = [f"{one['leaves']:,}" for one in points]
    scores = [show_score(one["score"]) for one in points]
    marks = [[name for name in ("chosen", "best") if one[f"is_{name}"]] for one in points]
    first, second = ([(mark[place:] or [""])[0] for mark in marks] for place in (0, 1))
    columns = list(zip(leaves, scores, first, second, strict=True))
    widths = [max(map(len, column)) for column in columns]
    heads = ("leaves", title, "", "")[: 4 if any(second) else 3]
    width = max(map(len, heads))
    return [
        f"{head:{width}}  "
        + "  ".join(
            f"{column[line]:>{size}}" for column, size in zip(columns, widths, strict=True)
        ).rstrip()
        for line, head in enumerate(heads)
    ] + _tell_leaf_sizes(path)


def _tell_leaf_sizes(path: Sequence[dict[str, Any]]) -> list[str]:
    """Say so if the best candidate has another leaf size than those beside it."""
    chosen, best = (
        next(one["min_samples_leaf"] for one in path if one[name])
        for name in ("is_chosen", "is_best")
    )
    if chosen == best:
        return []
    return [f"The best has {best} or more rows per leaf, the others {chosen} or more."]


def _thin(path: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Pick some sizes, evenly over their logarithm, the chosen and the best one among them."""
    sizes = np.log([one["leaves"] for one in path])
    must = {place for place, one in enumerate(path) if one["is_chosen"] or one["is_best"]}
    n_more = max(2, most - len(must))
    near = {int(np.abs(sizes - size).argmin()) for size in np.linspace(sizes[0], sizes[-1], n_more)}
    return [path[place] for place in sorted(must | near)]


def _enclose(condition: str) -> str:
    return f"({condition})" if " or " in condition else condition


def describe_paths(model: Any) -> Any:
    """Tell for every node which conditions lead there, as a pyarrow array of text.

    Of each column only what binds: what later conditions imply is left out.
    """
    wording = _Brief(model)
    texts = [
        " and ".join(
            _enclose(reveal(condition))
            for column, one in reach.items()
            for condition in wording.conditions(column, one)
        )
        for _, reach in follow_paths(wording.tree)
    ]
    texts[0] = "all rows"
    return pa.array(texts)
