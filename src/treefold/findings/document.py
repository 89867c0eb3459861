"""Findings: typed objects, and the plain values that `--json` prints of them."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

__all__ = [
    "Choice",
    "ColumnLoss",
    "Finding",
    "PathPoint",
    "ScoreRow",
    "Scores",
    "TreeNode",
    "TreeSplit",
    "Verdict",
    "change_texts",
    "to_plain",
]


class Finding:
    """Something that was found out; a dataclass."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """Everything, by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ScoreRow(Finding):
    """What some answers to held-out rows, or to those of a test file, score."""

    score: float
    standard_error: float | None = None
    n_splits: int | None = None  # None: a test file
    n_rows: int | None = None  # of a test file
    leaves: int | None = None  # if they are another tree's than the chosen one's
    extras: dict[str, float] = field(default_factory=dict)  # by other measures

    def as_dict(self) -> dict[str, Any]:
        """Everything that there is, by name."""
        of_splits = {"standard_error": self.standard_error, "n_splits": self.n_splits}
        counts = {"leaves": self.leaves, "n_rows": self.n_rows}
        return {
            "score": self.score,
            **({} if self.n_splits is None else of_splits),
            **{name: value for name, value in counts.items() if value is not None},
            **self.extras,
        }


@dataclass(frozen=True, slots=True)
class Scores(Finding):
    """All scores, over the same held-out rows, and how each of them comes about."""

    measure: str
    title: str
    direction: str
    definitions: dict[str, str]
    rows: dict[str, ScoreRow]

    @property
    def is_error(self) -> bool:
        """Whether lower is better."""
        return self.direction.startswith("lower")


@dataclass(frozen=True, slots=True)
class Choice(Finding):
    """The candidate that was chosen, and how."""

    leaves: int
    depth: int
    min_samples_leaf: Any
    ccp_alpha: float
    max_depth: Any
    class_weight: Any  # "balanced", or by label; None: rows count the same
    rule: str
    candidates: int


@dataclass(frozen=True, slots=True)
class PathPoint(Finding):
    """One size of the tree, and its score."""

    leaves: int
    min_samples_leaf: Any
    ccp_alpha: float
    score: float
    standard_error: float | None
    is_chosen: bool
    is_best: bool

    @property
    def marks(self) -> list[str]:
        """What the point is, in words."""
        return ["chosen"] * self.is_chosen + ["best"] * self.is_best


@dataclass(frozen=True, slots=True)
class ColumnLoss(Finding):
    """What the score on held-out rows loses if a column is shuffled."""

    column: str
    loss: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class TreeSplit(Finding):
    """How a node is split, and in how many folds the node in its place is."""

    column: str
    children: list[int]
    folds_same_column: int = 0
    folds: int = 0
    cut_from: str | None = None
    cut_to: str | None = None


@dataclass(frozen=True, slots=True)
class TreeNode(Finding):
    """A node: what leads to it, what it holds, how steady it is."""

    node: int
    depth: int
    condition: str
    rows: int
    label: str | None  # of the class that it predicts; None: a number
    value: float  # the number, or the share of the class that is shown
    heldout_value: float | None
    plain_share: float | None  # without weights of classes; None: there are none
    heldout_rows: int | None
    split: TreeSplit | None = None

    @property
    def is_leaf(self) -> bool:
        """Whether it has no children."""
        return self.split is None

    def as_dict(self) -> dict[str, Any]:
        """Everything that there is, by name."""
        said: dict[str, Any] = {"value": self.value, "heldout_value": self.heldout_value}
        if self.label is not None:
            said = {"class": self.label, "share": self.value, "heldout_share": self.heldout_value}
        if self.plain_share is not None:
            said["plain_share"] = self.plain_share
        return {
            **{name: getattr(self, name) for name in ("node", "depth", "condition", "rows")},
            **said,
            "heldout_rows": self.heldout_rows,
            "is_leaf": self.is_leaf,
            **({} if self.split is None else {"split": self.split}),
        }


@dataclass(frozen=True, slots=True)
class Verdict(Finding):
    """What came out of a fit."""

    kind: str
    reasons: list[str]
    columns: list[str]
    score_of: str
    gain: float | None
    standard_error: float | None
    text: str = ""


def to_plain(value: Any) -> Any:
    """Turn findings into dicts."""
    if isinstance(value, Finding):
        return to_plain(value.as_dict())
    if isinstance(value, dict):
        return {name: to_plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Change every text of findings: names, too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Finding):
        parts = {
            one.name: change_texts(getattr(value, one.name), change)
            for one in fields(value)  # type: ignore[arg-type]
        }
        return replace(value, **parts)  # type: ignore[type-var]
    if isinstance(value, dict):
        return {change_texts(k, change): change_texts(v, change) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [change_texts(item, change) for item in value]
    return value
