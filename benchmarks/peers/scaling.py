"""How the time of a full-depth fit grows with the rows, at 10 continuous columns, one thread.

The exponent is the slope of log(time) over log(rows). n log n itself has an exponent of about 1.09
between 10^4 and 10^6 rows; the last column shows the time per n log2 n.

    python -m benchmarks.peers.scaling [--check | --quick]
"""

import math

import numpy as np

from benchmarks.data import make_binary
from benchmarks.timing import Board, Times, parse_arguments, time_in_turns
from treefold import DecisionTreeClassifier

BAR = 1.30
N_COLUMNS = 10
N_ROWS = (10_000, 31_623, 100_000, 316_228, 1_000_000)
QUICK_ROWS = (1_000, 2_000, 4_000)


def time_fit(board: Board, n_rows: int) -> Times:
    """Time one size."""
    X, y = make_binary(n_rows, N_COLUMNS)
    times = time_in_turns(
        {"ours": lambda: DecisionTreeClassifier(n_jobs=1).fit(X, y)}, board.arguments
    )
    return times["ours"]


def fit_exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """The slope of the line through the points on log-log paper."""
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


def main() -> None:
    """Time every size, then fit the line."""
    board = Board(f"growth with the rows, {N_COLUMNS} columns", parse_arguments(__doc__))
    sizes = QUICK_ROWS if board.arguments.quick else N_ROWS
    print(f"{'rows':>10} {'time':>18} {'ns per n log2 n':>16}")
    seconds = []
    for n_rows in sizes:
        times = time_fit(board, n_rows)
        seconds.append(times.best)
        work = n_rows * math.log2(n_rows)
        print(f"{n_rows:>10,} {times!s:>18} {1e9 * times.best / work:>16.2f}")
    yardstick = fit_exponent(sizes, [n_rows * math.log2(n_rows) for n_rows in sizes])
    exponent = fit_exponent(sizes, seconds)
    print(f"exponent {exponent:.3f} (n log n: {yardstick:.3f})")
    board.at_most("exponent of the time of a fit", exponent, BAR)
    board.finish()


if __name__ == "__main__":
    main()
