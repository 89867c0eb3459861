"""Predict 1,000,000 x 20 on one thread: treefold against scikit-learn.

Both trees were grown on the same 100,000 rows to full depth; both get the same float64 array in C
order.

    python -m benchmarks.peers.predict [--check | --quick]
"""

from sklearn.tree import DecisionTreeClassifier as PeerClassifier

from benchmarks.data import make_binary
from benchmarks.timing import Board, parse_arguments
from treefold import DecisionTreeClassifier

BAR = 2.0


def main() -> None:
    """Fit both, then race their predictions."""
    arguments = parse_arguments(__doc__)
    board = Board("predict, one thread, against scikit-learn", arguments)
    n_train, n_rows = (2_000, 20_000) if arguments.quick else (100_000, 1_000_000)
    X_train, y_train = make_binary(n_train, 20)
    X, _ = make_binary(n_rows, 20, seed=1)
    ours = DecisionTreeClassifier(n_jobs=1).fit(X_train, y_train)
    peer = PeerClassifier(random_state=0).fit(X_train, y_train)
    ratio = board.race(f"predict {n_rows:,} x 20", lambda: ours.predict(X), lambda: peer.predict(X))
    board.at_least("predict, times scikit-learn", ratio, BAR)
    board.finish()


if __name__ == "__main__":
    main()
