"""Two threads against one, on 100,000 x 20 continuous columns, full depth.

python -m benchmarks.peers.threads [--check | --quick]
"""

import os

from benchmarks.data import make_binary
from benchmarks.timing import Board, parse_arguments
from treefold import DecisionTreeClassifier

BAR = 1.5


def main() -> None:
    """Race the same fit with itself."""
    arguments = parse_arguments(__doc__)
    board = Board("two threads against one", arguments)
    if len(os.sched_getaffinity(0)) < 2:
        print("this process may use one CPU only: nothing to measure")
        return
    n_rows = 2_000 if arguments.quick else 100_000
    X, y = make_binary(n_rows, 20)
    ratio = board.race(
        f"{n_rows:,} x 20: 2 threads (ours), 1 (peer)",
        lambda: DecisionTreeClassifier(n_jobs=2).fit(X, y),
        lambda: DecisionTreeClassifier(n_jobs=1).fit(X, y),
    )
    board.at_least("two threads, times one thread", ratio, BAR)
    board.finish()


if __name__ == "__main__":
    main()
