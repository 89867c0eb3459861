"""What the caller passed: the data, its splits, and who gets which parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from treefold.data.table import Table
from treefold.evaluation.splits import Split

__all__ = ["Study", "rows_only"]


@dataclass(frozen=True, slots=True)
class Study:
    """Data as the caller holds them, and what is to be done with them."""

    X: Any
    y: Any
    splits: Sequence[Split]
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    score_params: Mapping[str, Any] = field(default_factory=dict)
    n_threads: int = 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(_num_samples(self.X))

    @property
    def is_table(self) -> bool:
        """Whether X is encoded already, so that scikit-learn cannot take rows of it."""
        return isinstance(self.X, Table)

    def take(self, rows: NDArray[Any]) -> tuple[Any, Any]:
        """Take some rows of X and y, as scikit-learn takes them."""
        return None if self.is_table else _safe_indexing(self.X, rows), self.take_y(rows)

    def take_y(self, rows: NDArray[Any]) -> Any:
        """Take some rows of y."""
        return None if self.y is None else _safe_indexing(self.y, rows)

    def cut(self, params: Mapping[str, Any], rows: NDArray[Any]) -> dict[str, Any]:
        """Cut parameters that have one value per row to some rows."""
        return dict(_check_method_params(self.X, params=dict(params), indices=rows))


def rows_only(X: Any) -> Any:
    """Stand in for a Table where only its number of rows matters."""
    return np.empty((X.n_rows, 0)) if isinstance(X, Table) else X
