"""Fit one full-depth tree on one thread: treefold against scikit-learn.

Both get the same float64 array in C order, and both pay for their own conversion: scikit-learn
casts to float32, treefold encodes the columns. Where a table has categories scikit-learn sees their
codes as numbers, treefold is told that they are categories.

    python -m benchmarks.peers.trees [--check | --quick]
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor

from benchmarks.data import Data, load, make_binary
from benchmarks.timing import Board, geometric_mean, parse_arguments, repeat
from treefold import DecisionTreeClassifier, DecisionTreeRegressor

BARS = {
    "continuous": 15.0,
    "32-valued": 10.0,
    "classification": 10.0,
    "regression": 8.0,
    "latency": 1.0,
}
CLASSIFICATION = ("covertype", "letter", "adult", "magic_gamma")
REGRESSION = ("california", "abalone", "kin8nm", "protein_casp")
LATENCY_FITS = 50  # one fit is too short for the clock

Fit = Callable[[], object]


def contestants(
    X: NDArray[np.float64], y: NDArray[Any], categorical: list[int], is_class: bool
) -> tuple[Fit, Fit]:
    """Our fit and the peer's fit of the same work."""
    ours = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    peer = PeerClassifier if is_class else PeerRegressor
    categories = categorical or "from_dtype"
    return (
        lambda: ours(n_jobs=1, categorical_features=categories).fit(X, y),
        lambda: peer(random_state=0).fit(X, y),
    )


def race_made(board: Board, n_rows: int) -> None:
    """Made tables of 20 columns: continuous, then 32-valued."""
    for name, n_values in (("continuous", 0), ("32-valued", 32)):
        X, y = make_binary(n_rows, 20, n_values)
        ratio = board.race(f"{name} {n_rows:,} x 20", *contestants(X, y, [], True))
        board.at_least(f"{name}, times scikit-learn", ratio, BARS[name])


def race_published(board: Board, theme: str, names: tuple[str, ...]) -> None:
    """Published tables, judged by the geometric mean of their ratios."""
    max_rows = 2_000 if board.arguments.quick else None
    ratios = [race_table(board, load(name, max_rows), theme == "classification") for name in names]
    mean = geometric_mean(ratios)
    print(f"{theme + ', geometric mean':<44} {mean:.2f}x")
    board.at_least(f"{theme}, geometric mean times scikit-learn", mean, BARS[theme])


def race_table(board: Board, data: Data, is_class: bool) -> float:
    """One published table."""
    return board.race(data.label, *contestants(data.X, data.y, data.categorical, is_class))


def race_latency(board: Board) -> None:
    """The smallest work: what a fit costs before it does anything."""
    X, y = make_binary(200, 5)
    ours, peer = contestants(X, y, [], True)
    n_fits = 5 if board.arguments.quick else LATENCY_FITS
    ratio = board.race(f"200 x 5, {n_fits} fits", repeat(ours, n_fits), repeat(peer, n_fits))
    board.at_least("latency, times scikit-learn", ratio, BARS["latency"])


def main() -> None:
    """Run all of it."""
    arguments = parse_arguments(__doc__)
    board = Board("one tree, full depth, one thread, against scikit-learn", arguments)
    race_made(board, 2_000 if arguments.quick else 100_000)
    race_published(board, "classification", CLASSIFICATION)
    race_published(board, "regression", REGRESSION)
    race_latency(board)
    board.finish()


if __name__ == "__main__":
    main()
