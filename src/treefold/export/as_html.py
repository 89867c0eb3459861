"""A tree as a little HTML, for notebooks: it folds and unfolds, and loads nothing."""

from html import escape
from typing import Any

from treefold.export.cleaning import clean
from treefold.export.walk import Visit, walk
from treefold.export.words import Steadiness, Wording

__all__ = ["tree_to_html"]

_DEEPEST = 5
_OPEN = 3  # levels that are unfolded at first
_MOST_NODES = 127
_DECIMALS = 2
_STYLE = "margin:.1em 0 .1em 1.2em;padding:0;list-style:none"


def tree_to_html(estimator: Any) -> str:
    """Write the first levels of a fitted tree as nested lists; everything in it is escaped."""
    wording = Wording(estimator, None, None, _DECIMALS)
    tree = wording.tree
    depth = _choose_depth(wording)
    writer = _Writer(estimator, wording)
    parts = [f"<div><b>{_count(tree.n_leaves)}, depth {tree.max_depth}</b>"]
    evaluation = getattr(estimator, "evaluation_", None)
    if evaluation is not None:
        parts.append(f"<div>{escape(clean(str(evaluation).splitlines()[0]))}</div>")
    open_below: list[int] = []  # depths of the lists that are not closed yet
    for visit in walk(tree, depth):
        while open_below and open_below[-1] >= visit.depth:
            open_below.pop()
            parts.append("</ul></details>")
        line = writer.write(visit)
        if visit.is_leaf or visit.is_beyond:
            parts.append(f"<li>{line}</li>" if visit.depth else f"<div>{line}</div>")
            continue
        is_open = " open" if visit.depth < _OPEN else ""
        parts.append(f'<details{is_open}><summary>{line}</summary><ul style="{_STYLE}">')
        open_below.append(visit.depth)
    parts += ["</ul></details>"] * len(open_below)
    return "".join([*parts, "</div>"])


def _choose_depth(wording: Wording) -> int:
    """The deepest level of splits down to which the tree is short enough."""
    counts = [0] * (_DEEPEST + 2)  # nodes of each level
    for visit in walk(wording.tree, _DEEPEST):
        counts[visit.depth] += 1
    fitting = [depth for depth in range(_DEEPEST + 1) if sum(counts[: depth + 2]) <= _MOST_NODES]
    return max(fitting)


class _Writer:
    """Writes the line of a node."""

    def __init__(self, estimator: Any, wording: Wording) -> None:
        self.wording = wording
        has_folds = getattr(estimator, "stability_", None) is not None
        self.steadiness = Steadiness(estimator, wording) if has_folds else None

    def write(self, visit: Visit) -> str:
        condition = "all rows"
        if visit.parent >= 0:
            condition = self.wording.sides(visit.parent)[0 if visit.is_left else 1]
        tree = self.wording.tree
        facts = [f"{int(tree.n_node_samples[visit.node]):,} rows", self._word_value(visit.node)]
        if self.steadiness is not None and not visit.is_leaf:
            facts.append(f"split so in {self.steadiness.split(visit.node)}")
        if visit.is_beyond:
            facts.append("more below")
        text = clean(", ".join(facts), 160)
        return f"<bdi>{escape(clean(condition, 120))}</bdi> <small>{escape(text)}</small>"

    def _word_value(self, node: int) -> str:
        value = self.wording.tree.value[node, 0]
        if self.wording.classes is None:
            return f"mean {value[0]:.6g}"
        best = int(value.argmax())
        return f"{clean(self.wording.classes[best], 40)} {value[best]:.1%}"


def _count(n_leaves: int) -> str:
    return "1 leaf" if n_leaves == 1 else f"{n_leaves:,} leaves"
