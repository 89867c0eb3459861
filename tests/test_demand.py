"""Demand: nodes that no row asks for are not grown, and the others are the same."""

import numpy as np
import pytest
from core_trees import open_rows
from mixed_data import CATEGORICAL, make_mixed

from treefold import _native
from treefold.data.table import Table


def grow(asked=None, target="two classes", n_threads=1):
    data = make_mixed(3000)
    table = Table.from_data(data.X, categorical_features=CATEGORICAL)._native
    y = data.targets[target]
    rules = _native.Rules()
    is_class = target != "regression"
    rules.criterion = "gini" if is_class else "squared_error"
    y = np.unique(y, return_inverse=True)[1].astype(np.int32) if is_class else y.astype(float)
    n_classes = int(y.max()) + 1 if is_class else 0
    return table, _native.grow(table, y, n_classes, None, rules, n_threads, asked)


def answers(table, tree, rows):
    return tree.value[tree.apply(open_rows(table, rows), 1)]


@pytest.mark.parametrize("target", ["two classes", "many classes", "regression"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_rows_that_ask_get_the_answers_of_the_whole_tree(target, n_threads):
    table, whole = grow(target=target)
    asked = np.array([5, 17, 17, 2000, 2999], dtype=np.uint32)
    _, part = grow(asked, target, n_threads)
    assert part.node_count < whole.node_count / 4
    expected, actual = (answers(table, tree, asked) for tree in (whole, part))
    assert expected.tobytes() == actual.tobytes()


def test_a_tree_that_nobody_asks_is_its_root():
    _, tree = grow(np.array([], dtype=np.uint32))
    assert tree.node_count == 1


def test_a_row_that_does_not_exist_cannot_ask():
    with pytest.raises(ValueError, match="a row is not in the table"):
        grow(np.array([3000], dtype=np.uint32))


def test_which_leaves_are_best_nobody_knows_of_a_part_of_the_tree():
    table = Table.from_data(np.arange(8.0).reshape(-1, 1))._native
    rules = _native.Rules()
    rules.max_leaf_nodes = 3
    y, asked = np.array([0, 1] * 4, dtype=np.int32), np.array([0], dtype=np.uint32)
    with pytest.raises(ValueError, match="only the whole tree knows"):
        _native.grow(table, y, 2, None, rules, 1, asked)
