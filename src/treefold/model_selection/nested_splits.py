"""Folds that are strata, and the training sets that they make: without one fold, without two."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.evaluation.splits import Split
from treefold.exceptions import InputError

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
        is_fold = split.is_regular
        if is_fold:
            own = np.bincount(split.test, minlength=split.n_rows)
            n_held_out += own
            is_fold = n_held_out.max() <= 1 and _trains_on_the_rest(split, own)
        if not is_fold:
            raise InputError(
                "nested_cross_validate needs folds: no row may be held out twice, and a split must "
                f"train on all rows that it does not hold out. Split {number} of cv does not. Use "
                "KFold, StratifiedKFold, GroupKFold or PredefinedSplit."
            )
    return [split.test for split in splits]


def _trains_on_the_rest(split: Split, n_held_out: NDArray[np.int64]) -> bool:
    """Tell whether a regular split trains on every row that it does not hold out, and no other."""
    listed = split.listed_train
    if listed is None:
        return True
    return len(listed) == np.count_nonzero(n_held_out == 0) and not n_held_out[listed].any()


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
