"""Sparse columns: against scikit-learn on text, and against our own dense tree at any density.

20 Newsgroups: both get the same float32 CSC matrix, scikit-learn's favourite (it turns anything
else into that first).

The second part repeats Table I of "Sparsified trees" (Hedayati, Joly, Papadimitriou): random
matrices with random labels, fitted once as a sparse matrix and once as a dense array. The paper
does not give its depth; here it is limited (TABLE_DEPTH), so that the largest rows take minutes.
Only the ratio of the two inputs is comparable with the paper's seconds.

    python -m benchmarks.peers.sparse [--check | --quick]
"""

from typing import NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier as PeerClassifier

from benchmarks.data import load_newsgroups, make_sparse
from benchmarks.timing import Board, Times, parse_arguments, time_in_turns
from treefold import DecisionTreeClassifier

BARS = {"newsgroups": 4.0, "table": 1.0}
NEWSGROUPS_DEPTH = 30
TABLE_DEPTH = 10


class TableRow(NamedTuple):
    """One row of the paper's Table I; times in seconds."""

    n_rows: int
    n_columns: int
    density: float
    sparse: float
    dense: float


TABLE = (
    TableRow(10_000, 1_000, 0.01, 4.74, 25.07),
    TableRow(100_000, 100, 0.01, 7.26, 24.65),
    TableRow(100_000, 1_000, 0.01, 89.13, 507.86),
    TableRow(10_000, 1_000, 0.05, 9.82, 16.14),
    TableRow(100_000, 100, 0.05, 21.14, 28.27),
    TableRow(100_000, 1_000, 0.05, 256.68, 541.00),
    TableRow(10_000, 1_000, 0.1, 13.42, 12.38),
    TableRow(100_000, 100, 0.1, 37.81, 24.65),
    TableRow(100_000, 1_000, 0.1, 437.14, 370.60),
    TableRow(10_000, 1_000, 0.5, 28.97, 14.02),
    TableRow(100_000, 100, 0.5, 100.22, 28.13),
    TableRow(100_000, 1_000, 0.5, 949.14, 383.62),
)


def race_newsgroups(board: Board) -> None:
    """Text of 20 topics, to the depth of the paper's figure."""
    X, y, name = load_newsgroups(500 if board.arguments.quick else None)
    ratio = board.race(
        f"{name} {X.shape[0]:,} x {X.shape[1]:,}, depth {NEWSGROUPS_DEPTH}",
        lambda: DecisionTreeClassifier(max_depth=NEWSGROUPS_DEPTH, n_jobs=1).fit(X, y),
        lambda: PeerClassifier(max_depth=NEWSGROUPS_DEPTH, random_state=0).fit(X, y),
    )
    board.at_least("20 Newsgroups, times scikit-learn", ratio, BARS["newsgroups"])


def run_table(board: Board) -> None:
    """Every row of Table I, beside the paper's."""
    print(f"\nTable I of the paper (ours: depth {TABLE_DEPTH}, one thread)")
    print(f"{'rows':>8} {'columns':>8} {'density':>8} {'sparse':>18} {'dense':>18}", end="")
    print(f" {'dense/sparse':>13} {'the paper: sparse':>18} {'dense':>9} {'dense/sparse':>13}")
    shrink = 20 if board.arguments.quick else 1
    for row in (row._replace(n_rows=row.n_rows // shrink) for row in TABLE):
        times = time_row(board, row)
        ratio = times["dense"].best / times["sparse"].best
        print(
            f"{row.n_rows:>8,} {row.n_columns:>8,} {row.density:>8} "
            f"{times['sparse']!s:>18} {times['dense']!s:>18} {ratio:>12.2f}x "
            f"{row.sparse:>16.2f} s {row.dense:>7.2f} s {row.dense / row.sparse:>12.2f}x"
        )
        what = f"{row.n_rows} x {row.n_columns} at {row.density}, dense/sparse"
        board.at_least(what, ratio, BARS["table"])


def time_row(board: Board, row: TableRow) -> dict[str, Times]:
    """Fit the same matrix as sparse columns and as a dense array."""
    sparse = make_sparse(row.n_rows, row.n_columns, row.density)
    dense = sparse.toarray(order="F")
    y = np.random.default_rng(1).integers(2, size=row.n_rows)

    def fit(X: object) -> object:
        return DecisionTreeClassifier(max_depth=TABLE_DEPTH, n_jobs=1).fit(X, y)

    return time_in_turns(
        {"sparse": lambda: fit(sparse), "dense": lambda: fit(dense)}, board.arguments
    )


def main() -> None:
    """Run both parts."""
    board = Board("sparse columns", parse_arguments(__doc__))
    race_newsgroups(board)
    run_table(board)
    board.finish()


if __name__ == "__main__":
    main()
