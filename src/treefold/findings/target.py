"""What is predicted: classes or numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Target", "describe_target", "recall_target"]


@dataclass(frozen=True, slots=True)
class Target:
    """The target of every row, and which kind of answer it wants."""

    name: str
    values: NDArray[Any]  # labels, or float64
    classes: tuple[Any, ...] = ()  # none: it is a number
    counts: tuple[int, ...] = ()
    positive: Any = None  # of two classes, the one that is looked for
    codes: NDArray[np.int64] | None = None  # the number of each row's class

    @property
    def is_class(self) -> bool:
        """Whether the answer is a class."""
        return bool(self.classes)

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2


def describe_target(target: Target) -> dict[str, Any]:
    """Say what is predicted."""
    if target.is_class:
        counts = dict(zip(map(str, target.classes), target.counts, strict=True))
        positive = None if target.positive is None else str(target.positive)
        return {
            "name": target.name,
            "task": "classification",
            "classes": counts,
            "positive": positive,
        }
    values = target.values
    numbers = {"mean": values.mean(), "min": values.min(), "max": values.max()}
    plain = {name: float(value) for name, value in numbers.items()}
    return {"name": target.name, "task": "regression", **plain}


def recall_target(model: Any, name: str) -> Target:
    """What a fitted model predicts, as far as it knows."""
    evaluation = getattr(model, "evaluation_", None)
    truth = None if evaluation is None else evaluation.truth
    tree = model.tree_
    if not hasattr(model, "classes_"):
        values = tree.value[:1, 0, 0] if truth is None else truth
        return Target(name, values)
    classes = tuple(model.classes_.tolist())
    if truth is None:
        shares = tree.value[0, 0] * tree.weighted_n_node_samples[0]
        counts = tuple(np.rint(shares).astype(np.int64).tolist())
        codes: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    else:
        codes = truth.astype(np.int64)
        counts = tuple(np.bincount(codes, minlength=len(classes)).tolist())
    is_binary = len(classes) == 2
    positive = classes[int(getattr(model, "_positive", 1))] if is_binary else None
    return Target(name, model.classes_[codes], classes, counts, positive, codes)
