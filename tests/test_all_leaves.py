"""Leaves of many trees in one call, as model selection asks for them."""

import numpy as np
import pytest
from core_trees import open_rows

from treefold import DecisionTreeClassifier, Table, _native

N_ROWS = 5_000  # more than one worker takes at a time


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    return Table.from_data(rng.integers(0, 20, (N_ROWS, 3)).astype(float))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_trees", [0, 1, 3, 9])
@pytest.mark.parametrize("n_rows", [1, 100, N_ROWS])
def test_each_tree_gives_the_leaves_of_its_own_rows(table, n_trees, n_rows, n_threads):
    rng = np.random.default_rng(n_trees)
    visits, alone = [], []
    for _ in range(n_trees):
        model = DecisionTreeClassifier(max_depth=6).fit(table, rng.integers(0, 3, N_ROWS))
        rows = rng.integers(0, N_ROWS, n_rows)
        visits.append((model.tree_._native, open_rows(table._native, rows)))
        alone.append(model.apply(table)[rows])
    together = _native.apply_each(visits, n_threads)
    assert len(together) == n_trees
    for ours, own in zip(together, alone, strict=True):
        np.testing.assert_array_equal(ours, own)


def test_a_tree_of_other_columns_is_refused(table):
    other = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="the data has 3 columns, the tree was grown on 1"):
        _native.apply_each([(other.tree_._native, open_rows(table._native, [0]))] * 9, 2)
    with pytest.raises(ValueError, match="a visit is"):
        _native.apply_each([(other.tree_._native,)], 1)
