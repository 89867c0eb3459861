"""The tree as lines; the path of scores as columns of numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np
import pyarrow as pa

from treefold.export.cleaning import reveal, shorten
from treefold.export.reach import follow_paths
from treefold.findings.document import PathPoint, TreeNode, TreeSplit
from treefold.findings.nodes import Brief
from treefold.findings.numbers import show_number, show_score

__all__ = ["describe_paths", "draw_path", "draw_tree"]

_TREE_LINES = 13
_PATH_POINTS = 9
_LEAST_ROOM, _LEAST_NAME = 20, 8  # characters of a condition, and of the name in it
_ENOUGH_ROOM = 30  # characters of conditions: with less, it is not told where splits are cut
_ROWS_WIDTH, _CELL_WIDTH = 7, 8
_IS = " is "
_LIST_END = re.compile(r"( or \d+ more)?( or missing)?$")


# Lines ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """What stands beside the conditions: a head, and the cells of each node."""

    head: list[str]
    cells: dict[int, list[str]]
    steady_head: str = ""
    steady: dict[int, str] = field(default_factory=dict)

    def write(self, node: int | None) -> str:
        """Write the cells of a node, or the head, one under the other."""
        cells = self.head if node is None else self.cells[node]
        steady = self.steady_head if node is None else self.steady.get(node, "")
        text = " ".join(f"{cell:>{size}}" for cell, size in zip(cells, self._sizes(), strict=True))
        return f"{text}  {steady}".rstrip()

    @property
    def width(self) -> int:
        steady = [self.steady_head, *self.steady.values()] if self.steady_head else []
        return sum(self._sizes()) + len(self.head) + (2 + max(map(len, steady)) if steady else 0)

    def _sizes(self) -> list[int]:
        columns = zip(self.head, *self.cells.values(), strict=True)
        least = (_ROWS_WIDTH, *[_CELL_WIDTH] * (len(self.head) - 1))
        return [max(size, *map(len, column)) for size, column in zip(least, columns, strict=True)]


def draw_tree(
    nodes: Sequence[TreeNode],
    target: dict[str, Any],
    width: int,
    most_lines: int | None = _TREE_LINES,
) -> list[str]:
    """Draw the first levels of a tree, or all of them, a line per node.

    What does not fit is cut in the middle of names and of lists; cuts of numbers never are.
    """
    limit = _choose_depth(nodes, most_lines)
    shown = [node for node in nodes if node.depth <= limit]
    splits = [node.split for node in nodes if node.split is not None]
    parents = {child: split for split in splits for child in split.children}
    labels = _label(nodes, shown, parents)
    wanted = max(len(branch) + len(name) + len(rest) for branch, name, rest, _ in labels.values())
    tables = [_make_table(shown, target, parents, limit, is_full) for is_full in (True, False)]
    fits = width - tables[0].width >= min(wanted, _ENOUGH_ROOM)
    table = tables[0] if fits else tables[1]
    room = max(_LEAST_ROOM, width - table.width)
    lines = [f"{'':{room}} {table.write(None)}"]
    for node in shown:
        number = node.node
        more = " ..." if node.depth == limit and not node.is_leaf else ""
        text = _fit_label(labels[number], room - len(more)) + more
        if len(text) > room:  # a cut that leaves no room: its numbers stand below
            lines.append(text)
            text = ""
        lines.append(f"{text:{room}} {table.write(number)}")
    return lines


def _make_table(
    shown: Sequence[TreeNode],
    target: dict[str, Any],
    parents: dict[int, TreeSplit],
    limit: int,
    is_full: bool,
) -> _Table:
    """Gather the numbers; only a full table says where splits are cut."""
    title, size = _title(target), 12 if is_full else 8
    is_seen = shown[0].heldout_rows is not None
    is_weighted = shown[0].plain_share is not None
    head = ["rows", shorten(title, size)]
    head += (["held out"] if is_seen else []) + (["of rows"] if is_weighted else [])
    cells, steady = {}, {}
    for node in shown:
        label = shorten(node.label or "", size) if title == "class" else ""
        is_number = node.label is None
        line = [f"{node.rows:,}", _show_value(node.value, is_number, label)]
        line += [_show_value(node.heldout_value, is_number)] if is_seen else []
        line += [_show_value(node.plain_share, is_number)] if is_weighted else []
        cells[node.node] = line
        if is_seen and node.split is not None and node.depth < limit:
            steady[node.split.children[0]] = _describe_steadiness(node.split, is_full)
    if not steady:
        return _Table(head, cells)
    return _Table(head, cells, "same split in, cut at" if is_full else "folds", steady)


def _title(target: dict[str, Any]) -> str:
    if target["task"] == "regression":
        return "mean"
    return "class" if target["positive"] is None else f"'{target['positive']}'"


def _choose_depth(nodes: Sequence[TreeNode], most_lines: int | None) -> int:
    """The deepest level down to which the tree fits."""
    depths = np.bincount([node.depth for node in nodes]).cumsum()
    if most_lines is None:
        return len(depths) - 1
    return max(1, int(np.searchsorted(depths, most_lines, side="right")) - 1)


_Label = tuple[str, str, str, str]  # branches, a name, what is said of it, and of the other side


def _label(
    nodes: Sequence[TreeNode],
    shown: Sequence[TreeNode],
    parents: dict[int, TreeSplit],
) -> dict[int, _Label]:
    """Take the conditions of nodes apart."""
    rests, names = {}, {}
    for node in nodes:
        parent = parents.get(node.node)
        name = "" if parent is None else reveal(parent.column)
        name = name if node.condition.startswith(f"{name} ") else ""
        names[node.node], rests[node.node] = name, node.condition.removeprefix(name)
    labels = {}
    ends: list[bool] = []  # per level: whether the branch that leads here is the last one
    for node in shown:
        number, other = node.node, ""
        parent = parents.get(number)
        if parent is not None:
            left, right = parent.children
            ends = [*ends[: node.depth - 1], number == right]
            other = rests[left if number == right else right]
        labels[number] = (_indent(ends), names[number], rests[number], other)
    return labels


def _indent(ends: Sequence[bool]) -> str:
    if not ends:
        return ""
    above = "".join("  " if is_last else "│ " for is_last in ends[:-1])
    return above + ("└ " if ends[-1] else "├ ")


def _fit_label(label: _Label, room: int) -> str:
    """Write a condition in some room, or in more if a cut of numbers needs it."""
    branch, name, rest, other = label
    most = max(2, room - _LEAST_ROOM)
    if len(branch) > most:
        branch = "…" + branch[len(branch) - most + 1 :]
    room -= len(branch)
    least = max(_LEAST_NAME, room // 3)
    if len(name) + len(rest) > room and rest.startswith(_IS):
        rest = _fit_list(rest, other, room - min(len(name), least))
    elif len(name) + len(rest) > room and least + len(rest) > room:
        rest = rest.replace(" or missing", " or NA")
    return branch + shorten(name, max(_LEAST_NAME, room - len(rest))) + rest


def _fit_list(rest: str, other: str, room: int) -> str:
    """Leave categories out, or the middle of a single one; both sides must not look alike."""
    if len(rest) <= room:
        return rest
    found = _LIST_END.search(rest)
    assert found is not None  # it matches nothing, too
    body = rest[len(_IS) : found.start()]
    for end in (found[0], found[2] or "", " or NA" if found[2] else "", ""):
        space = room - len(_IS) - len(end)
        if space >= _LEAST_NAME:
            break
    pairs = zip(body, other[len(_IS) :], strict=False)
    same = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
    if same >= space * 2 // 3 - 1:  # what both sides begin with would fill the room
        body = f"…{body[same - 1 :]}"
    if ", " in body and found[0]:
        return f"{_IS}{body[: space - 1].rstrip(', ')}…{end}"
    return _IS + shorten(body, space) + end


def _show_value(value: float | None, is_number: bool, label: str = "") -> str:
    if value is None:
        return "-"
    if is_number:
        return show_number(float(f"{value:.4g}"))
    return f"{label} {value:.0%}" if label else f"{value:.1%}"


def _describe_steadiness(split: TreeSplit, is_full: bool) -> str:
    text = f"{split.folds_same_column} of {split.folds}"
    if not is_full:
        return text
    low, high = split.cut_from, split.cut_to
    return f"{text} folds" if low is None or low == high else f"{text} folds, {low}..{high}"


def draw_path(path: Sequence[PathPoint], title: str, room: int) -> list[str]:
    """Draw the path of scores over leaves in three lines; the choice and the best are marked."""
    size = max(len(show_score(one.score)) for one in path) + 2
    points = _thin(path, min(_PATH_POINTS, (room - len(title) - 2) // size))
    leaves = [f"{one.leaves:,}" for one in points]
    scores = [show_score(one.score) for one in points]
    marks = [one.marks for one in points]
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


def _tell_leaf_sizes(path: Sequence[PathPoint]) -> list[str]:
    """Say so if the best candidate has another leaf size than those beside it."""
    chosen = next(one.min_samples_leaf for one in path if one.is_chosen)
    best = next(one.min_samples_leaf for one in path if one.is_best)
    if chosen == best:
        return []
    least = f"{best} row{'' if best == 1 else 's'}"
    return [f"The best has at least {least} per leaf, the others {chosen}."]


def _thin(path: Sequence[PathPoint], most: int) -> list[PathPoint]:
    """Pick some sizes, evenly over their logarithm, the chosen and the best one among them."""
    sizes = np.log([one.leaves for one in path])
    must = {place for place, one in enumerate(path) if one.is_chosen or one.is_best}
    n_more = max(2, most - len(must))
    near = {int(np.abs(sizes - size).argmin()) for size in np.linspace(sizes[0], sizes[-1], n_more)}
    return [path[place] for place in sorted(must | near)]


def _enclose(condition: str) -> str:
    return f"({condition})" if " or " in condition else condition


def describe_paths(model: Any) -> Any:
    """Tell for every node which conditions lead there, as a pyarrow array of text.

    Of each column only what binds: what later conditions imply is left out.
    """
    wording = Brief(model)
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
