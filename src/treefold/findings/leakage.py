"""A column that alone gives the target away: often something that is known only afterwards."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.data.table import Table
from treefold.findings.target import Target

__all__ = ["list_giveaways", "word_giveaway"]

_MOST_BINS = 256
_ROWS_PER_BIN = 5
_ENOUGH = 0.97  # of what a guess without columns leaves to be explained

Ints = NDArray[np.int64]


def list_giveaways(table: Table, target: Target) -> list[dict[str, Any]]:
    """List columns that explain almost all of the target, and what share of it they explain.

    Numbers are cut into bins of equal size; what a bin mostly holds is its answer. Columns with
    too many categories for their rows are not judged.
    """
    n_bins = min(_MOST_BINS, table.n_rows // _ROWS_PER_BIN)
    if n_bins < 2:
        return []
    codes, names = target.codes, table.feature_names
    found = []
    for column in range(table.n_columns):
        bins = _bin(table, column, n_bins)
        if bins is None:
            continue
        share = _explain_numbers(bins, target) if codes is None else _explain(bins, codes)
        if share >= _ENOUGH:
            name = f"feature_{column}" if names is None else str(names[column])
            found.append({"column": name, "share": share})
    return sorted(found, key=lambda one: -one["share"])


def word_giveaway(name: str, share: float, target: Target, cure: str) -> str:
    """Put a finding into words; `cure` says how to leave the column out."""
    return (
        f"'{name}' alone gives {share:.0%} of '{target.name}' away. If it is known only "
        f"afterwards, leave it out{cure}"
    )


def _bin(table: Table, column: int, n_bins: int) -> Ints | None:
    """Number the bins of a column's rows; None if it has too many categories."""
    native = table._native
    codes = native.codes(column).astype(np.int64)
    n_codes = int(native.n_codes[column]) + 1  # missing is one more
    if n_codes <= n_bins:
        return codes
    if native.n_categories[column]:
        return None
    counts = np.bincount(codes, minlength=n_codes)
    bin_of = (np.cumsum(counts) - counts) * n_bins // len(codes)
    bins: Ints = bin_of[codes]
    return bins


def _explain(bins: Ints, codes: Ints) -> float:
    """Share of the rows beyond the largest class that the largest class of each bin gets right."""
    n_classes = int(codes.max()) + 1
    counts = np.bincount(bins * n_classes + codes, minlength=(int(bins.max()) + 1) * n_classes)
    right = int(counts.reshape(-1, n_classes).max(axis=1).sum())
    most = int(np.bincount(codes).max())
    return (right - most) / (len(codes) - most)


def _explain_numbers(bins: Ints, target: Target) -> float:
    """Share of the variance that lies between bins: R2."""
    values = target.values - target.values.mean()
    total = float(values @ values)
    counts = np.bincount(bins)
    sums = np.bincount(bins, values)[counts > 0]
    return float((sums**2 / counts[counts > 0]).sum()) / total if total > 0 else 0.0
