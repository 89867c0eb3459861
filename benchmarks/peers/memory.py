"""Peak memory of a fit, above its input, in bytes per cell.

Every case runs in a process of its own: make the data, note the memory that is resident, fit, ask
the system for the peak. Measured, not computed: whatever the fit holds at its worst moment counts,
the tree included.

    python -m benchmarks.peers.memory [--check | --quick]
"""

import multiprocessing
import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmarks.data import make_binary
from benchmarks.timing import Board, parse_arguments
from treefold import DecisionTreeClassifier, DecisionTreeRegressor

BAR = 20.0


class Case(NamedTuple):
    """One fit whose memory is measured."""

    n_rows: int
    n_columns: int
    n_values: int = 0  # distinct values per column; 0: continuous
    dtype: str = "float64"
    container: str = "C"  # numpy in C or F order, or "pandas"
    task: str = "classification"
    n_jobs: int = 1

    def __str__(self) -> str:
        """One line of the report."""
        kind = f"{self.n_values}-valued" if self.n_values else "continuous"
        return (
            f"{self.n_rows:>9,} x {self.n_columns:<4} {kind:<11} {self.dtype:<8} "
            f"{self.container:<7} {self.task:<15} {self.n_jobs} thread(s)"
        )


CASES = (
    Case(1_000_000, 8),
    Case(1_000_000, 8, container="F"),
    Case(1_000_000, 8, container="pandas"),
    Case(1_000_000, 8, dtype="float32"),
    Case(1_000_000, 8, dtype="float32", container="F"),
    Case(1_000_000, 8, n_values=32),
    Case(1_000_000, 8, n_values=1_000),
    Case(1_000_000, 8, task="regression"),
    Case(1_000_000, 8, n_jobs=2),
    Case(1_000_000, 8, task="regression", n_jobs=2),
    Case(100_000, 8, task="regression", n_jobs=2),
    Case(50_000, 8, task="regression"),
    Case(50_000, 8, task="regression", n_jobs=2),
    Case(20_000, 8, task="regression"),
    Case(400_000, 20),
    Case(400_000, 20, container="pandas"),
    Case(80_000, 100),
    Case(80_000, 100, n_values=32, container="F"),
)


def make_input(case: Case) -> tuple[Any, Any]:
    """The data of a case, and nothing else left in memory."""
    X, y = make_binary(case.n_rows, case.n_columns, case.n_values)
    typed = X.astype(case.dtype, order="F" if case.container == "F" else "C", copy=False)
    target = y + X[:, 0] if case.task == "regression" else y
    if case.container == "pandas":
        return pd.DataFrame(typed, columns=[f"c{c}" for c in range(case.n_columns)]), target
    return typed, target


def measure(case: Case, answer: Connection) -> None:
    """In a child: send the bytes that the fit needed above what was there before it."""
    estimator = DecisionTreeRegressor if case.task == "regression" else DecisionTreeClassifier
    estimator().fit(*make_input(case._replace(n_rows=100)))  # load what loads late
    X, y = make_input(case)
    before = start_peak()
    tree = estimator(n_jobs=case.n_jobs).fit(X, y)
    answer.send(read_peak() - before)
    del tree


def start_peak() -> int:
    """Forget the peak so far where the system can, and return the bytes to count from."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")  # the peak becomes what is resident now
    return read_peak()


def read_peak() -> int:
    """The largest resident size since `start_peak`, in bytes."""
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure_apart(case: Case) -> float:
    """Bytes per cell of a case, in a fresh process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=measure, args=(case, sender))
    child.start()
    sender.close()
    try:
        peak = int(receiver.recv())
    except EOFError:
        raise SystemExit(f"the process that measured {case} died") from None
    child.join()
    return peak / (case.n_rows * case.n_columns)


def main() -> None:
    """Measure all cases."""
    board = Board("peak memory of a fit above its input, bytes per cell", parse_arguments(__doc__))
    shrink = 50 if board.arguments.quick else 1
    for case in (case._replace(n_rows=case.n_rows // shrink) for case in CASES):
        per_cell = measure_apart(case)
        print(f"{case!s:<72} {per_cell:6.2f}")
        board.at_most(str(case), per_cell, BAR)
    board.finish()


if __name__ == "__main__":
    main()
