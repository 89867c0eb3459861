"""Who holds out which rows, and how nested scores merge many splits into few."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_NESTED_FOLDS", "Folds", "Splits", "find_blocks"]

Ints = NDArray[np.int64]
Splits = list[tuple[Ints, Ints]]  # training and held-out rows

MOST_NESTED_FOLDS = 30  # k folds need k (k - 1) / 2 inner trees: more are merged
_N_BLOCKS = 10


@dataclass(frozen=True, slots=True)
class Folds:
    """The splits, and how they were made, in words."""

    splits: Splits
    n_folds: int
    description: str
    n_duplicates: int = 0
    parts: Splits = field(default_factory=list)  # to choose by, where the splits do not do


def find_blocks(folds: Folds) -> list[list[int]] | None:
    """Merge many folds, or those of single rows, into a few, each repeat by itself."""
    has_single_rows = all(len(test) == 1 for _, test in folds.splits)
    if folds.n_folds <= MOST_NESTED_FOLDS and not has_single_rows:
        return None
    n_splits = len(folds.splits)
    repeats = np.array_split(np.arange(n_splits), max(1, round(n_splits / folds.n_folds)))
    n_blocks = max(1, min(_N_BLOCKS, folds.n_folds // 2))
    return [block.tolist() for repeat in repeats for block in np.array_split(repeat, n_blocks)]
