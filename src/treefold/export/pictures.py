"""Where the boxes of a picture stand, and their colours."""

import colorsys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treefold.export.walk import walk
from treefold.model.tree import Tree

__all__ = ["Place", "fill_colours", "hex_colour", "lay_out", "make_printable"]


def make_printable(text: str) -> str:
    """Leave out what cannot be drawn."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node is drawn: `across` counts leaves, `depth` levels."""

    node: int
    depth: int
    across: float
    parent: tuple[float, int] | None
    is_cut: bool  # its children are not shown


def lay_out(tree: Tree, max_depth: int | None) -> list[Place]:
    """Place leaves side by side and each other node in the middle of its children.

    Two loops over the shown nodes in preorder: forwards for the leaves, backwards for the nodes
    above them.
    """
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    shown = list(walk(tree, max_depth))
    across: dict[int, float] = {}
    for visit in shown:
        if visit.is_leaf or visit.is_beyond:
            across[visit.node] = float(len(across))
    for visit in reversed(shown):
        if visit.node not in across:
            across[visit.node] = (across[left[visit.node]] + across[right[visit.node]]) / 2
    return [
        Place(
            visit.node,
            visit.depth,
            across[visit.node],
            None if visit.parent < 0 else (across[visit.parent], visit.depth - 1),
            visit.is_beyond,
        )
        for visit in shown
    ]


def fill_colours(tree: Tree) -> NDArray[np.float64]:
    """Mix white with a colour per class, by the share of the class; or shade by the mean."""
    value = tree.value[:, 0]
    if value.shape[1] == 1:
        low, high = float(value.min()), float(value.max())
        shares = (value[:, 0] - low) / (high - low) if high > low else np.zeros(len(value))
        base = np.tile(np.array([0.9, 0.5, 0.2]), (len(value), 1))
    else:
        n_classes = value.shape[1]
        shares = (value.max(axis=1) - 1 / n_classes) / (1 - 1 / n_classes)
        colours = [colorsys.hsv_to_rgb(number / n_classes, 1, 1) for number in range(n_classes)]
        base = np.array(colours)[value.argmax(axis=1)]
    weight = 0.5 * shares[:, np.newaxis]
    return np.asarray(1 - weight + weight * base)


def hex_colour(colour: NDArray[np.float64]) -> str:
    """Write a colour as browsers and Graphviz read it."""
    red, green, blue = (round(255 * float(part)) for part in colour)
    return f"#{red:02x}{green:02x}{blue:02x}"
