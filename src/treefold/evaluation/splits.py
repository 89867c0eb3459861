"""Which rows train and which are held out, split by split, without keeping what can be computed.

Most splitters train on everything that they do not hold out, so that a split is its held-out rows:
n folds of n rows need the memory of n numbers, not of n times n.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

__all__ = ["Split", "read_splits"]

_MOST_FOLDS = 2**16  # to be numbered


@dataclass(frozen=True, slots=True)
class Split:
    """One pair of training and test rows."""

    n_rows: int
    test: NDArray[Any]
    listed_train: NDArray[Any] | None = None  # None: all other rows, ascending
    given: tuple[Any, Any] | None = None  # what the splitter gave, where it is not the above
    left_out: NDArray[Any] | None = None  # rows that neither train nor test
    twins: Hashable = None  # splits with the same one have the same training rows; None: no other
    packed_train: NDArray[np.uint8] | None = None  # one bit per row, instead of a list

    @property
    def pair(self) -> tuple[Any, Any]:
        """Training and test rows in the form in which the splitter gave them."""
        return (self.train, self.test) if self.given is None else self.given

    @property
    def train(self) -> NDArray[Any]:
        """The training rows, in the order in which the splitter gave them."""
        if self.listed_train is not None:
            return self.listed_train
        if self.packed_train is not None:
            return np.flatnonzero(np.unpackbits(self.packed_train, count=self.n_rows))
        return np.flatnonzero(self._is_not_held_out())

    def _is_not_held_out(self) -> NDArray[np.bool_]:
        mask = np.ones(self.n_rows, dtype=bool)
        mask[self.test] = False
        if self.left_out is not None:
            mask[self.left_out] = False
        return mask

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        if self.listed_train is not None:
            return len(self.listed_train)
        if self.packed_train is not None:
            return int(np.unpackbits(self.packed_train).sum())
        return self.n_rows - len(self.test) - (0 if self.left_out is None else len(self.left_out))

    def rows(self, side: Literal["test", "train"]) -> NDArray[Any]:
        """The rows of one side, in the order in which the splitter gave them."""
        return self.test if side == "test" else self.train

    def train_rows(self) -> NDArray[np.uint32]:
        """The training rows, ascending."""
        rows = self.train.astype(np.uint32)
        if self.listed_train is not None:
            rows.sort()
        return rows

    def left_out_rows(self) -> NDArray[np.uint32] | None:
        """All rows that do not train, ascending; None where those that train are listed."""
        if self.listed_train is not None or self.packed_train is not None:
            return None
        rows = self.test if self.left_out is None else np.concatenate([self.test, self.left_out])
        return np.sort(rows).astype(np.uint32)

    @property
    def is_regular(self) -> bool:
        """Whether both sides have rows of the data, and no training row comes twice."""
        if len(self.test) == 0 or self.n_train == 0:
            return False
        if self.listed_train is None:
            return True
        both = (self.listed_train, self.test)
        if any(rows.dtype.kind not in "iu" or rows.ndim != 1 for rows in both):
            return False
        if any(rows.min() < 0 or rows.max() >= self.n_rows for rows in both):
            return False
        return int(np.bincount(self.listed_train).max()) == 1


def read_splits(cv: Any, X: Any, y: Any, n_rows: int, **split_params: Any) -> list[Split]:
    """Ask a splitter for its splits."""
    if type(cv) is LeaveOneOut and n_rows > 1:
        return [Split(n_rows, row) for row in np.arange(n_rows).reshape(-1, 1)]
    fold_of = _number_folds(cv, X, y, n_rows, split_params)
    if fold_of is not None:
        ends = np.bincount(fold_of, minlength=cv.n_splits).cumsum()
        held_out = np.split(fold_of.argsort(kind="stable"), ends[:-1])
        return [Split(n_rows, test) for test in held_out]
    pairs: Iterable[tuple[Any, Any]] = cv.split(X, y, **split_params)
    return [_read_split(train, test, n_rows) for train, test in pairs]


def _number_folds(
    cv: Any, X: Any, y: Any, n_rows: int, split_params: Mapping[str, Any]
) -> NDArray[np.uint16] | None:
    """Number the fold that holds out each row, for the usual splitters: to make their training rows
    takes five times as long. None if the splitter has to be asked.
    """
    has_params = any(value is not None for value in split_params.values())
    is_known = type(cv) in (KFold, StratifiedKFold)
    if has_params or not is_known or cv.n_splits > min(n_rows, _MOST_FOLDS):
        return None
    if type(cv) is KFold:
        fold_of = np.empty(n_rows, dtype=np.uint16)
        for fold, test in enumerate(cv._iter_test_indices(X)):
            fold_of[test] = fold
        return fold_of
    is_plain = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biu"
    return np.asarray(cv._make_test_folds(X, y), dtype=np.uint16) if is_plain else None


def _read_split(given_train: Any, given_test: Any, n_rows: int) -> Split:
    train, test = _to_rows(given_train, n_rows), _to_rows(given_test, n_rows)
    if train is not given_train or test is not given_test:
        return Split(n_rows, test, train, (given_train, given_test))
    if len(train) + len(test) == n_rows and _is_plain(test, n_rows):
        split = Split(n_rows, test)
        if train.dtype.kind == "i" and np.array_equal(split.train, train):
            return split
    return Split(n_rows, test, train)


def _to_rows(given: Any, n_rows: int) -> NDArray[Any]:
    rows = np.asarray(given)
    is_mask = rows.dtype == bool and rows.shape == (n_rows,)
    return np.flatnonzero(rows) if is_mask else rows


def _is_plain(rows: NDArray[Any], n_rows: int) -> bool:
    return (
        rows.ndim == 1
        and rows.dtype.kind == "i"
        and (len(rows) == 0 or (rows.min() >= 0 and rows.max() < n_rows))
    )
