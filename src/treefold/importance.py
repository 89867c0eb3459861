"""What a tree's score on held-out rows loses if a column is shuffled among these rows.

A column that the tree does not use loses nothing, and is not shuffled.
"""

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.model_selection.splits import Split
from treefold.stems import Judge

__all__ = ["measure_importance"]

Floats = NDArray[np.float64]


def measure_importance(
    judge: Judge, tree: _native.Tree, split: Split, n_permutations: int
) -> Floats:
    """Measure the mean loss of score of each column, over some shuffles of the held-out rows.

    What is drawn depends on the held-out rows and the column alone.
    """
    rows = judge.list_rows(split)
    table = judge.ground.table._native
    used = np.unique(tree.feature[tree.feature >= 0])
    losses = np.zeros(table.n_columns)
    source = _native.Source(len(rows), table.n_columns)
    source.add_table(table, np.ascontiguousarray(rows, dtype=np.uint32))
    nodes = [tree.apply(source, judge.n_threads)]
    for column in used.tolist():
        values = _decode(table, column)[rows]
        random = np.random.default_rng([column, int(rows[0]), len(rows)])
        for _ in range(n_permutations):
            source.add_dense(column, random.permutation(values).reshape(-1, 1))
            nodes.append(tree.apply(source, judge.n_threads))
        source.add_dense(column, values.reshape(-1, 1))
    scores = judge.score_values(rows, np.stack(nodes), tree.value)
    losses[used] = scores[0] - scores[1:].reshape(len(used), n_permutations).mean(axis=1)
    return losses


def _decode(table: _native.Table, column: int) -> Floats:
    """The numbers of a column, row by row, as a tree reads them."""
    values = np.append(table.values(column), np.nan)
    decoded: Floats = values[table.codes(column)]
    return decoded
