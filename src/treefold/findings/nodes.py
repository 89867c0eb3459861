"""The nodes of a tree: what leads to them, what they hold, how steady they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.export.cleaning import reveal
from treefold.export.words import Wording
from treefold.findings.document import TreeNode, TreeSplit
from treefold.findings.target import Target
from treefold.model.tree import Tree

__all__ = ["Brief", "list_nodes"]

_LABELS = 40  # characters that the categories of a side may take


class Brief(Wording):
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
) -> list[TreeNode]:
    """List the nodes in preorder: what leads to them, what they hold, how steady they are."""
    wording, found = Brief(model), getattr(model, "stability_", None)
    tree = wording.tree
    plain = _find_plain_shares(model, target, weights)
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    conditions, depths = ["all rows"] * tree.node_count, [0] * tree.node_count
    nodes = []
    for node in range(tree.node_count):
        split = None
        if left[node] >= 0:
            conditions[left[node]], conditions[right[node]] = wording.sides(node)
            depths[left[node]] = depths[right[node]] = depths[node] + 1
            split = _describe_split(wording, found, node, (left[node], right[node]))
        nodes.append(
            TreeNode(
                node,
                depths[node],
                conditions[node],
                int(tree.n_node_samples[node]),
                *_describe_value(tree, found, node, target, plain),
                None if found is None else int(found["heldout_rows"][node]),
                split,
            )
        )
    return nodes


def _find_plain_shares(model: Any, target: Target, weights: Any) -> NDArray[np.float64] | None:
    """Shares of the classes in each node as if they had no weights; None if they have none."""
    is_weighted = getattr(model, "best_params_", {}).get("class_weight") is not None
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
) -> tuple[str | None, float, float | None, float | None]:
    """What a node predicts, what its held-out rows say to that, and the share without weights."""
    value = tree.value[node, 0]
    heldout = np.nan if found is None else float(found["heldout_value"][node])
    seen = None if np.isnan(heldout) else heldout
    if not target.is_class:
        return None, float(value[0]), seen, None
    predicted = int(value.argmax())
    label, shown = target.classes[predicted], predicted
    if target.is_binary:
        shown = target.classes.index(target.positive)
        if label != target.positive and seen is not None:
            seen = 1 - seen
    share = None if plain is None else float(plain[node, shown])
    return str(label), float(value[shown]), seen, share


def _describe_split(wording: Brief, found: Any, node: int, children: tuple[int, int]) -> TreeSplit:
    tree = wording.tree
    name = wording.name(int(tree.feature[node]))
    if found is None:
        return TreeSplit(name, list(children))
    low, high = float(found["threshold_min"][node]), float(found["threshold_max"][node])
    column = int(tree.feature[node])
    return TreeSplit(
        name,
        list(children),
        int(found["n_same_column"][node]),
        int(found["n_folds"][node]),
        None if np.isnan(low) else wording.show_cut(column, low),
        None if np.isnan(high) else wording.show_cut(column, high),
    )


def _list(labels: Sequence[Any]) -> str:
    """List labels as long as there is room; say how many more there are."""
    shown: list[str] = []
    for label in labels:
        if shown and len(", ".join([*shown, str(label)])) > _LABELS:
            break
        shown.append(str(label))
    rest = len(labels) - len(shown)
    return ", ".join(shown) + (f" or {rest} more" if rest else "")
