"""The command line: `treefold fit` on Adult, `treefold predict` on many rows, `--help`, `import`.

fit: 48,842 rows, 14 columns, 10 folds, the whole path, nested; seconds in all, and without imports
and reading (as `--json` tells them). predict: a Parquet file of 5,000,000 rows, made here, and the
largest memory of the process. Every command runs in a process of its own, the best of three.

    python -m benchmarks.peers.command [--check | --quick]
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.data import DATA, load
from benchmarks.timing import Board, parse_arguments

ROUNDS = 3
FIT_SECONDS, REST_SECONDS = 5.0, 1.5
HELP_SECONDS, IMPORT_RATIO = 0.6, 1.2
PREDICT_MEGABYTES = 500
N_ROWS = 5_000_000


def main() -> None:
    """Run all of them."""
    arguments = parse_arguments(__doc__)
    board = Board("the command line", arguments)
    with tempfile.TemporaryDirectory() as folder:
        race_fit(board, Path(folder))
        race_predict(board, Path(folder), 50_000 if arguments.quick else N_ROWS)
    race_start(board)
    board.finish()


def race_fit(board: Board, folder: Path) -> None:
    """Fit Adult."""
    data = find_adult(folder)
    rounds = []
    for _ in range(1 if board.arguments.quick else ROUNDS):
        wall, out = run("fit", str(data), "--target", "target", "--json")
        rounds.append((wall, json.loads(out)["work"]["seconds"]))
    wall = min(one for one, _ in rounds)
    best = min((seconds for _, seconds in rounds), key=lambda seconds: float(seconds["rest"]))
    parts = ", ".join(f"{name} {best[name]:.2f} s" for name in ("imports", "reading", "rest"))
    print(f"fit Adult, nested, 10 folds: {wall:.2f} s ({parts})")
    board.at_most("fit Adult, seconds", wall, FIT_SECONDS)
    board.at_most("fit Adult without imports and reading, seconds", best["rest"], REST_SECONDS)


def find_adult(folder: Path) -> Path:
    """Find Adult, or write a table of its shape."""
    stored = DATA / "adult" / "adult.parquet"
    if stored.exists():
        return stored
    data = load("adult")
    columns: dict[str, Any] = {f"x{number}": column for number, column in enumerate(data.X.T)}
    for number in data.categorical:
        columns[f"x{number}"] = [f"kind {code:.0f}" for code in data.X[:, number]]
    parquet.write_table(
        pa.table({**columns, "target": data.y.astype(int)}), folder / "adult.parquet"
    )
    return folder / "adult.parquet"


def race_predict(board: Board, folder: Path, n_rows: int) -> None:
    """Answer for a long file, and look at the memory that this takes."""
    model, data, answers = (folder / name for name in ("m.treefold", "data.parquet", "out.parquet"))
    make_rows(folder / "train.parquet", 20_000, seed=0)
    run("fit", str(folder / "train.parquet"), "--target", "y", "--no-nested", "--model", str(model))
    make_rows(data, n_rows, seed=1)
    code = (
        "import resource, sys\n"
        "from treefold.cli import make_app\n"
        "try:\n    make_app()(prog_name='treefold')\n"
        "finally:\n    usage = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    print(usage.ru_maxrss, file=sys.stderr)\n"
    )
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, "predict", model, data, "-o", answers, "--proba"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    megabytes = int(done.stderr.split()[-1]) / 1024
    assert parquet.read_metadata(answers).num_rows == n_rows
    print(f"predict {n_rows:,} rows of Parquet: {seconds:.1f} s, {megabytes:.0f} MB at most")
    board.at_most(f"predict {n_rows:,} rows, megabytes", megabytes, PREDICT_MEGABYTES)


def make_rows(path: Path, n_rows: int, seed: int, n_columns: int = 10) -> None:
    """Write rows of numbers and of categories, a million at a time."""
    random = np.random.default_rng(seed)
    writer = None
    for first in range(0, n_rows, 1_000_000):
        n_here = min(1_000_000, n_rows - first)
        columns: dict[str, Any] = {
            f"x{number}": random.normal(size=n_here).round(3) for number in range(n_columns)
        }
        kinds = pa.array(["red", "green", "blue", None])
        columns["kind"] = kinds.take(pa.array(random.integers(0, 4, n_here)))
        score = columns["x0"] + columns["x1"] * (columns["x2"] > 0) + random.normal(size=n_here)
        columns["y"] = pa.array(["no", "yes"]).take(pa.array((score > 0.5).astype(np.int8)))
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def race_start(board: Board) -> None:
    """Time what everybody waits for."""
    rounds = 1 if board.arguments.quick else 5
    help_seconds = min(run("--help")[0] for _ in range(rounds))
    print(f"treefold --help: {help_seconds:.2f} s")
    board.at_most("treefold --help, seconds", help_seconds, HELP_SECONDS)
    codes = {"ours": "import treefold", "peer": "import sklearn.tree"}
    best = {name: min(time_code(code) for _ in range(rounds)) for name, code in codes.items()}
    print(f"import treefold {best['ours']:.2f} s, import sklearn.tree {best['peer']:.2f} s")
    ratio = best["ours"] / best["peer"]
    board.at_most("import treefold, times import sklearn.tree", ratio, IMPORT_RATIO)


def run(*arguments: str) -> tuple[float, str]:
    """Run treefold in a process of its own: seconds, and what it printed."""
    command = [sys.executable, "-c", "from treefold.cli import main; main()", *arguments]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - begin, done.stdout


def time_code(code: str) -> float:
    """Seconds that a fresh interpreter takes for a line of code."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
