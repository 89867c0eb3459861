"""What a tree's score on held-out rows loses if a column is shuffled among these rows.

A column that the tree does not use loses nothing, and is not shuffled.
"""

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.evaluation.splits import Split
from treefold.evaluation.tuned_scores import TunedScores

__all__ = ["measure_importance"]

Floats = NDArray[np.float64]


def measure_importance(
    scores: TunedScores, tree: _native.Tree, split: Split, n_permutations: int
) -> Floats:
    """Measure the mean loss of score of each column, over some shuffles of the held-out rows.

    What is drawn depends on the held-out rows and the column alone.
    """
    rows = scores.list_rows(split)
    table, n_threads = scores.dataset.table._native, scores.dataset.n_threads
    used = np.unique(tree.feature[tree.feature >= 0])
    losses = np.zeros(table.n_columns)
    source = _native.Source(len(rows), table.n_columns)
    source.add_table(table, np.ascontiguousarray(rows, dtype=np.uint32))
    nodes = [tree.apply(source, n_threads)]
    for column in used.tolist():
        values = _decode(table, column)[rows]
        random = np.random.default_rng([column, int(rows[0]), len(rows)])
        for _ in range(n_permutations):
            source.add_dense(column, random.permutation(values).reshape(-1, 1))
            nodes.append(tree.apply(source, n_threads))
        source.add_dense(column, values.reshape(-1, 1))
    found = scores.score_nodes(rows, np.stack(nodes), tree.value)
    losses[used] = found[0] - found[1:].reshape(len(used), n_permutations).mean(axis=1)
    return losses


def _decode(table: _native.Table, column: int) -> Floats:
    """The numbers of a column, row by row, as a tree reads them."""
    values = np.append(table.values(column), np.nan)
    decoded: Floats = values[table.codes(column)]
    return decoded
