"""What a report is made of: the findings as `--json` prints them, and the objects behind them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.data.table import Table
from treefold.findings.fits import Answers, Result, gather_answers
from treefold.findings.target import Target
from treefold.model.tree import Tree
from treefold.reporting.wording import clean

__all__ = ["Card", "Material"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Card:
    """Where a model comes from."""

    command: str
    seed: str
    data: str  # what was read
    data_hash: str
    hash_of: str  # what was hashed
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that the sections draw on."""

    found: dict[str, Any]
    result: Result
    table: Table | None  # the encoded rows, if they are at hand
    card: Card
    candidates: list[dict[str, Any]] = field(default_factory=list)  # of a search

    @property
    def target(self) -> Target:
        """What is predicted."""
        return self.result.target

    @property
    def tree(self) -> Tree:
        """The tree of all rows."""
        tree: Tree = self.result.model.tree_
        return tree

    @property
    def stability(self) -> dict[str, NDArray[Any]] | None:
        """What the folds do in the place of each node, if it is known."""
        found: dict[str, NDArray[Any]] | None = getattr(self.result.model, "stability_", None)
        return found

    @property
    def answers(self) -> Answers | None:
        """The answers to held-out rows, if they are known."""
        return gather_answers(self.result)

    @property
    def title(self) -> str:
        """The name of the measure."""
        return str(self.found["scores"].title)

    def name(self, column: int, most: int = 60) -> str:
        """Name of a column, as it is shown."""
        names = self.tree.schema.names
        return f"feature_{column}" if names is None else clean(names[column], most)

    def label(self, place: int, most: int = 40) -> str:
        """Name of a class, as it is shown."""
        return clean(self.target.classes[place], most)

    def weigh(self, rows: NDArray[Any]) -> Floats:
        """What rows count."""
        weights = self.result.weights
        return np.ones(len(rows)) if weights is None else weights[rows]
