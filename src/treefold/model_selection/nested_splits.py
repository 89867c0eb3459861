"""Folds that are strata, and the training sets that they make: without one fold, without two."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import InputError
from treefold.model_selection.splits import Split

__all__ = ["find_folds", "make_splits"]


def find_folds(splits: Sequence[Split]) -> list[NDArray[Any]]:
    """Give the test rows of each split, if they can be strata."""
    if len(splits) < 3:
        raise InputError(
            f"nested_cross_validate needs at least 3 folds, but cv gives {len(splits)}: one to "
            "test, and two to choose parameters by. Give a larger cv."
        )
    n_held_out = np.zeros(splits[0].n_rows, dtype=np.int64)
    for number, split in enumerate(splits):
        own = np.zeros(split.n_rows, dtype=np.int64)
        is_regular = split.is_regular
        if is_regular:
            np.add.at(own, split.test, 1)
            is_regular = np.array_equal(np.flatnonzero(own == 0), np.sort(split.train))
        n_held_out += own
        if not is_regular or n_held_out.max() > 1:
            raise InputError(
                "nested_cross_validate needs folds: no row may be held out twice, and a split must "
                f"train on all rows that it does not hold out. Split {number} of cv does not. Use "
                "KFold, StratifiedKFold, GroupKFold or PredefinedSplit."
            )
    return [split.test for split in splits]


def make_splits(
    folds: Sequence[NDArray[Any]], n_rows: int
) -> tuple[list[Split], dict[tuple[int, int], int]]:
    """Make the outer splits, then the inner ones, and tell the places of (outer, inner)."""
    splits = [Split(n_rows, fold) for fold in folds]
    sorted_folds = [np.sort(fold) for fold in folds]
    places = {}
    for pair in combinations(range(len(folds)), 2):
        for outer, inner in (pair, pair[::-1]):
            places[outer, inner] = len(splits)
            splits.append(
                Split(n_rows, sorted_folds[inner], left_out=sorted_folds[outer], twins=pair)
            )
    return splits, places
