"""Section 9: what the columns hold."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.data.table import Table
from treefold.reporting.columns import show_value
from treefold.reporting.material import Material
from treefold.reporting.wording import UNKNOWN, clean

__all__ = ["Row", "describe_columns"]

_MOST_COLUMNS = 60
_BARS = 12
_SHOWN_LABELS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One column."""

    name: str
    kind: str
    splits: int  # of the tree that ask for it
    missing: str = ""
    distinct: str = ""
    summary: str = ""
    bars: tuple[int, ...] = ()  # heights of a small histogram, in percent


def describe_columns(material: Material) -> dict[str, Any]:
    """Describe the columns, those that the tree uses first."""
    tree = material.tree
    splits = np.bincount(tree.feature[tree.feature >= 0], minlength=tree.n_features)
    order = np.argsort(-splits, kind="stable")[:_MOST_COLUMNS].tolist()
    rows = [_describe(material, column, int(splits[column])) for column in order]
    return {
        "rows": rows,
        "n_more": tree.n_features - len(rows),
        "is_full": material.table is not None,
        "left_out": {
            clean(reason, 60): ", ".join(clean(name, 60) for name in names[:20])
            for reason, names in material.found["columns"]["left_out"].items()
        },
    }


def _describe(material: Material, column: int, n_splits: int) -> Row:
    schema = material.tree.schema
    family = schema.families.get(column, "number")
    is_category = column in schema.categories
    is_truth = schema.kinds.get(column) == "boolean"
    kind = "categories" if is_category else {"date": "dates"}.get(family, "numbers")
    kind = "true or false" if is_truth else kind
    name = material.name(column)
    if material.table is None:
        distinct = f"{len(schema.categories[column]):,}" if is_category else ""
        had = "some" if material.tree.had_missing(column) else "none"
        return Row(name, kind, n_splits, had, distinct)
    table = material.table
    counts, n_missing = _count(table, column)
    if is_category:
        summary = _list_labels(schema.categories[column], counts)
    elif is_truth:
        values = table._native.values(column).tolist()
        summary = _list_labels(tuple("true" if value else "false" for value in values), counts)
    else:
        summary = _word_range(material, column, counts)
    return Row(
        name,
        kind,
        n_splits,
        f"{n_missing / table.n_rows:.1%}" if n_missing else UNKNOWN,
        f"{int((counts > 0).sum()):,}",
        summary,
        _make_bars(table, column, counts, is_category),
    )


def _count(table: Table, column: int) -> tuple[NDArray[np.int64], int]:
    """Rows of each code, and rows without a value."""
    n_codes = int(table._native.n_codes[column])
    counts = np.bincount(table._native.codes(column), minlength=n_codes + 1)
    return counts[:n_codes], int(counts[n_codes])


def _list_labels(labels: tuple[Any, ...], counts: NDArray[np.int64]) -> str:
    order = np.argsort(-counts, kind="stable")[:_SHOWN_LABELS].tolist()
    shown = [f"{clean(labels[place], 24)} {counts[place]:,}" for place in order if counts[place]]
    more = int((counts > 0).sum()) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _word_range(material: Material, column: int, counts: NDArray[np.int64]) -> str:
    assert material.table is not None
    values = material.table._native.values(column)
    total = counts.cumsum()
    if len(total) == 0 or total[-1] == 0:
        return "no values"
    middle = values[int(np.searchsorted(total, (total[-1] + 1) // 2))]
    low, half, high = (
        show_value(material, column, float(one)) for one in (values[0], middle, values[-1])
    )
    return f"{low} to {high}, median {half}"


def _make_bars(
    table: Table, column: int, counts: NDArray[np.int64], is_category: bool
) -> tuple[int, ...]:
    if is_category:
        heights = np.sort(counts[counts > 0])[::-1][:_BARS].astype(np.float64)
    else:
        values = table._native.values(column)
        n_bars = min(_BARS, max(1, len(values)))
        heights = np.histogram(values, bins=n_bars, weights=counts)[0].astype(np.float64)
    most = heights.max() if len(heights) else 0.0
    if most <= 0:
        return ()
    return tuple(max(3, round(100 * height / most)) if height else 0 for height in heights)
