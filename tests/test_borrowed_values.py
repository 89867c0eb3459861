"""Columns of many values: a fit leaves them in X, and grows the tree that a kept table gives."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, Table, _native

N_ROWS = 66_000  # more than two bytes can number


@pytest.fixture(scope="module")
def X() -> NDArray[np.float64]:
    """Many values, with missing ones; many values on both sides of two zeros; few values."""
    rng = np.random.default_rng(0)
    sparse = rng.normal(size=N_ROWS)
    sparse[:40] = np.nan
    signed = np.arange(N_ROWS, dtype=np.float64) - 30_000.0
    signed[:2] = -0.0, 0.0
    rng.shuffle(signed)
    return np.column_stack([sparse, signed, rng.integers(0, 9, N_ROWS)])


@pytest.fixture(scope="module")
def y(X: NDArray[np.float64]) -> NDArray[np.float64]:
    noise = np.random.default_rng(1).normal(size=N_ROWS)
    return np.asarray(np.nan_to_num(X[:, 0]) + X[:, 1] / 30_000.0 + X[:, 2] + noise)


def arrays_of(model: Any) -> dict[str, Any]:
    return dict(model.tree_._native.to_arrays())


def assert_same(one: Any, other: Any) -> None:
    for name, expected in arrays_of(one).items():
        np.testing.assert_array_equal(expected, arrays_of(other)[name], err_msg=name)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_regressor_reads_thresholds_from_x(X: Any, y: Any, n_jobs: int) -> None:
    kept = DecisionTreeRegressor(min_samples_leaf=3).fit(Table.from_data(X), y)
    assert_same(kept, DecisionTreeRegressor(min_samples_leaf=3, n_jobs=n_jobs).fit(X, y))


@pytest.mark.parametrize("form", ["F", "strided", "frame", "float32", "list"])
def test_values_are_read_from_every_form_of_x(X: Any, y: Any, form: str) -> None:
    exact = X.astype(np.float32).astype(np.float64)
    forms = {
        "F": lambda: np.asfortranarray(exact),
        "strided": lambda: np.repeat(exact, 2, axis=1)[:, ::2],
        "frame": lambda: pd.DataFrame(exact, columns=list("abc")),
        "float32": lambda: X.astype(np.float32),
        "list": exact.tolist,
    }
    kept = DecisionTreeClassifier(max_depth=6).fit(Table.from_data(exact), y > 4)
    assert_same(kept, DecisionTreeClassifier(max_depth=6).fit(forms[form](), y > 4))


def open_source(X: NDArray[np.float64]) -> _native.Source:
    source = _native.Source(*X.shape)
    source.add_dense(0, X)
    return source


def test_a_table_that_borrows_takes_half_the_memory_and_still_lists_its_values(X: Any) -> None:
    kept = _native.Table(open_source(X), 1)
    borrowed = _native.Table(open_source(X.copy()), 1, may_borrow=True)
    assert kept.nbytes - borrowed.nbytes == 8 * (kept.n_codes[0] + kept.n_codes[1])
    for column in range(3):
        np.testing.assert_array_equal(kept.values(column), borrowed.values(column))


def test_a_table_that_borrows_answers_no_rows(X: Any, y: Any) -> None:
    borrowed = _native.Table(open_source(X), 1, may_borrow=True)
    rules = _native.Rules()
    rules.criterion = "squared_error"
    with pytest.raises(ValueError, match="keeps its values"):
        _native.grow(borrowed, y, 0, None, rules, 1, np.zeros(1, dtype=np.uint32))
    with pytest.raises(ValueError, match="borrows its values"):
        _native.Source(*X.shape).add_table(borrowed)
