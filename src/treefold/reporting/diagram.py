"""Section 4: the tree as a diagram of nested nodes, and as a map of its rows.

The diagram is made of `details`, so that it folds and unfolds by mouse and keyboard without a
script. The bar of a node is as wide as it has rows; its badge is as dark as folds agree.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treefold.findings.document import TreeNode, TreeSplit
from treefold.findings.numbers import show_number
from treefold.reporting.charts import KINDS
from treefold.reporting.material import Material
from treefold.reporting.wording import UNKNOWN, clean, percent

__all__ = ["Diagram", "Node", "draw_tree"]

_MOST_NODES = 400  # of a tree that is shown
_DEEPEST = 24
_OPEN = 4  # levels that are unfolded at first
_SHOWN_CLASSES = 6
_NARROW = 0.04  # share of the rows below which the map has no room for text


@dataclass(slots=True)
class Node:
    """What is shown of one node."""

    number: int
    depth: int
    condition: str
    rows: str
    width: float  # percent of all rows
    share_of_parent: float
    value: str  # what the tree says
    held_out: str  # what held-out rows say
    steady: str  # in how many folds the condition came out
    shade: int  # the same, in percent
    parts: list[dict[str, Any]]  # of the bar: classes
    facts: list[tuple[str, str]]
    is_leaf: bool
    is_open: bool
    level: float = 0.0  # of a number, where it stands among the leaves, in percent
    n_below: int = 0  # nodes that are left out below it
    children: list["Node"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Diagram:
    """The tree, and what its colours mean."""

    root: Node
    legend: list[dict[str, str]]
    is_cut: bool
    n_folds: int
    said: str  # heading of what the tree says
    is_number: bool


def draw_tree(material: Material) -> Diagram:
    """Make the nodes that are shown, each with everything that is known of it."""
    nodes = material.found["tree"]
    kept = _choose_nodes(material)
    maker = _Maker(material)
    made: dict[int, Node] = {}
    for one in nodes:  # in preorder: parents come first
        if one.node not in kept:
            continue
        parent = maker.parents.get(one.node)
        made[one.node] = node = maker.make(one, parent)
        if parent is not None:
            made[parent.node].children.append(node)
        if one.split is not None and not set(one.split.children) <= kept:
            node.n_below = _count_below(nodes, one.node)
    folds = 0 if material.stability is None else int(material.stability["n_folds"][0])
    is_cut = len(kept) < len(nodes)
    said = maker.heading()
    return Diagram(made[0], maker.legend(), is_cut, folds, said, not material.target.is_class)


def _choose_nodes(material: Material) -> set[int]:
    """Both sides of the splits with the most rows, from the root on."""
    nodes = material.found["tree"]
    splits = [(one, one.split) for one in nodes if one.split and one.depth < _DEEPEST]
    splits.sort(key=lambda pair: (-pair[0].rows, pair[0].node))  # no child has more than its parent
    kept = {0}
    for one, split in splits:
        if len(kept) + 2 > _MOST_NODES:
            break
        if one.node in kept:
            kept.update(split.children)
    return kept


def _count_below(nodes: list[TreeNode], number: int) -> int:
    """Nodes below one; in preorder they follow it, and are deeper."""
    below = 0
    for one in nodes[number + 1 :]:
        if one.depth <= nodes[number].depth:
            break
        below += 1
    return below


class _Maker:
    """Makes nodes."""

    def __init__(self, material: Material) -> None:
        self.material, self.tree = material, material.tree
        self.nodes: list[TreeNode] = material.found["tree"]
        self.parents = {
            child: one for one in self.nodes if one.split for child in one.split.children
        }
        self.classes = self._choose_classes()
        self.colours = (KINDS[0], KINDS[-1]) if material.target.is_binary else KINDS
        leaves = self.tree.value[self.tree.children_left < 0, 0, 0]
        self.low, self.high = float(leaves.min()), float(leaves.max())

    def _choose_classes(self) -> list[int]:
        """The classes that have a colour of their own: the largest."""
        target = self.material.target
        if not target.is_class:
            return []
        if target.is_binary:
            positive = target.classes.index(target.positive)
            return [positive, 1 - positive]
        order = np.argsort(-np.array(target.counts), kind="stable")
        return [int(place) for place in order[:_SHOWN_CLASSES]]

    def legend(self) -> list[dict[str, str]]:
        shown = [
            {"name": self.material.label(place), "colour": self.colours[number]}
            for number, place in enumerate(self.classes)
        ]
        if len(self.material.target.classes) > len(self.classes):
            shown.append({"name": "other classes", "colour": KINDS[-1]})
        return shown

    def heading(self) -> str:
        target = self.material.target
        if not target.is_class:
            return "mean"
        if target.is_binary:
            return f"“{clean(target.positive, 20)}”"
        return "class"

    def make(self, one: TreeNode, parent: TreeNode | None) -> Node:
        total = self.nodes[0].rows
        steady, shade = self._word_steadiness(parent)
        rows = one.rows
        value = float(self.tree.value[one.node, 0, 0])
        span = self.high - self.low
        return Node(
            number=one.node,
            depth=one.depth,
            condition=clean(one.condition, 140),
            rows=f"{rows:,}",
            width=round(100 * rows / total, 3),
            share_of_parent=1.0 if parent is None else rows / parent.rows,
            value=self._word_value(one, one.value, is_label=not self.material.target.is_binary),
            held_out=self._word_value(one, one.heldout_value),
            steady=steady,
            shade=shade,
            parts=self._make_parts(one.node),
            facts=self._list_facts(one, parent),
            is_leaf=one.is_leaf,
            is_open=one.depth < _OPEN,
            level=0.0 if span <= 0 else round(100 * (value - self.low) / span, 2),
        )

    def _word_value(self, one: TreeNode, value: float | None, is_label: bool = False) -> str:
        if one.label is None:
            return UNKNOWN if value is None else show_number(float(f"{value:.4g}"))
        text = percent(value)
        return f"{clean(one.label, 20)} · {text}" if is_label else text

    def _word_steadiness(self, parent: TreeNode | None) -> tuple[str, int]:
        if parent is None or parent.split is None or not parent.split.folds:
            return "", 0
        same, folds = parent.split.folds_same_column, parent.split.folds
        return f"{same} of {folds}", round(100 * same / folds)

    def _make_parts(self, node: int) -> list[dict[str, Any]]:
        shares = self.tree.value[node, 0]
        parts: list[dict[str, Any]] = [
            {"colour": self.colours[number], "width": round(100 * float(shares[place]), 2)}
            for number, place in enumerate(self.classes)
        ]
        rest = 100 - sum(part["width"] for part in parts)
        if self.classes and rest > 0.05 and len(shares) > len(self.classes):
            parts.append({"colour": KINDS[-1], "width": round(rest, 2)})
        return [part for part in parts if part["width"] > 0]

    def _list_facts(self, one: TreeNode, parent: TreeNode | None) -> list[tuple[str, str]]:
        """What hovering tells."""
        total = self.nodes[0].rows
        facts = [("rows", f"{one.rows:,} ({one.rows / total:.1%} of all)")]
        facts += self._list_shares(one.node)
        if one.plain_share is not None:
            facts.append(("plain share", f"{one.plain_share:.1%} of the rows, without weights"))
        if one.heldout_rows is not None:
            seen = self._word_value(one, one.heldout_value)
            facts.append(("held out", f"{seen} in {one.heldout_rows:,} rows that came here"))
        if parent is not None and parent.split is not None and parent.split.folds:
            facts += self._list_steadiness(parent.node, parent.split)
        return facts

    def _list_shares(self, node: int) -> list[tuple[str, str]]:
        shares = self.tree.value[node, 0]
        if not self.material.target.is_class:
            return [("mean", show_number(float(f"{shares[0]:.6g}")))]
        order = np.argsort(-shares, kind="stable")[:_SHOWN_CLASSES].tolist()
        weight = float(self.tree.weighted_n_node_samples[node])
        return [
            (
                f"“{self.material.label(place)}”",
                f"{shares[place]:.1%} ({shares[place] * weight:,.6g})",
            )
            for place in order
            if shares[place] > 0
        ]

    def _list_steadiness(self, node: int, split: TreeSplit) -> list[tuple[str, str]]:
        facts = [
            ("same split", f"in {split.folds_same_column} of {split.folds} folds"),
        ]
        if split.cut_from is not None:
            low, high = split.cut_from, split.cut_to
            facts.append(("cut at", low if low == high else f"{low} to {high}, over the folds"))
        stability = self.material.stability
        if stability is not None:
            other = int(stability["other_column"][node])
            if other >= 0:
                facts.append(("other folds", f"mostly split by {self.material.name(other, 40)}"))
        return facts
