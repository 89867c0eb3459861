"""What the core costs, against another version of it, and whether anything has changed.

Six workloads stand for what the core does: a full tree of continuous columns, of mixed columns, of
a mean and of sparse columns, ten folds, and leave-one-out. Instructions are counted by callgrind
in the portable build (a run of two minus a run of one, so that reading data does not count) and do
not depend on what else the machine does. Seconds are of the build for this CPU, in turns. Digests
are of trees, answers and scores on made tables of all kinds of columns and targets.

The other version is an installation of its own; --of names one of this version, which is otherwise
what Python finds:

    git worktree add ../before HEAD~1 && pip install --no-deps --target ../before/package ../before
    python -m benchmarks.core_costs --against ../before/package [--check]

With --only WORD just the workloads whose name contains it; --no-counts, --no-times, --no-digests
leave a part out.
"""

import argparse
import hashlib
import os
import re
import site
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, LeaveOneOut

import treefold
from benchmarks.data import load, load_newsgroups, make_binary
from treefold.model_selection import cross_val_predict, cross_validate

MOST_INSTRUCTIONS, MOST_SECONDS = 1.03, 1.05  # against the other version
N_ROUNDS = 9
HERE = Path(__file__).parents[1]
Run = Callable[[], Any]
Versions = list[Path | None]  # this one, and the other, if there is one; None: what Python finds


def prepare_full_tree() -> Run:
    X, y = make_binary(100_000, 20)
    return lambda: treefold.DecisionTreeClassifier().fit(X, y)


def prepare_table(name: str) -> Run:
    data = load(name)
    is_number = name == "california"
    kind: Any = treefold.DecisionTreeRegressor if is_number else treefold.DecisionTreeClassifier
    return lambda: kind(categorical_features=data.categorical or None).fit(data.X, data.y)


def prepare_newsgroups() -> Run:
    X, y, _ = load_newsgroups(4_000)
    return lambda: treefold.DecisionTreeClassifier().fit(X, y)


def prepare_folds() -> Run:
    data = load("letter")
    tree = treefold.DecisionTreeClassifier(min_samples_leaf=5)
    return lambda: cross_validate(tree, data.X, data.y, cv=10)


def prepare_leave_one_out() -> Run:
    data = load("magic_gamma", 4_000)
    tree = treefold.DecisionTreeClassifier()
    return lambda: cross_val_predict(tree, data.X, data.y, cv=LeaveOneOut())


WORKLOADS: dict[str, Callable[[], Run]] = {
    "full tree 100,000 x 20": prepare_full_tree,
    "Adult": lambda: prepare_table("adult"),
    "California": lambda: prepare_table("california"),
    "20 Newsgroups, 4,000 rows": prepare_newsgroups,
    "ten folds of Letter": prepare_folds,
    "leave-one-out of MAGIC, 4,000 rows": prepare_leave_one_out,
}


# The other version ------------------------------------------------------------------------------


def environment_of(package: Path | None) -> dict[str, str]:
    """For a process that imports treefold from there, or this version; with one thread."""
    path = [str(HERE)] if package is None else [str(package), str(HERE), *site.getsitepackages()]
    own = {"PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    return os.environ | own


def command_of(package: Path | None, *arguments: str) -> list[str]:
    """This script in a process of its own. -S: an editable installation would come first."""
    options = [] if package is None else ["-S"]
    return [sys.executable, "-W", "ignore", *options, str(Path(__file__).resolve()), *arguments]


def start(package: Path | None, *arguments: str, **options: Any) -> "subprocess.Popen[str]":
    """The same, begun."""
    command = command_of(package, *arguments)
    return subprocess.Popen(
        command, env=environment_of(package), stdout=subprocess.PIPE, text=True, **options
    )


# Instructions -----------------------------------------------------------------------------------


def count_run(package: Path | None, name: str, n_runs: int) -> int:
    """Instructions of a process that runs a workload so many times."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += command_of(package, "--run", name, str(n_runs))
    environment = environment_of(package) | {"TREEFOLD_BUILD": "baseline"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", result.stderr)
    if found is None:
        raise RuntimeError(f"callgrind counted nothing:\n{result.stderr}")
    return int(found[1])


def compare_counts(names: list[str], versions: Versions) -> Iterator[tuple[str, float]]:
    """Instructions of each workload, of this version over the other's."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = {
            (name, version, n_runs): pool.submit(count_run, version, name, n_runs)
            for name in names
            for version in versions
            for n_runs in (1, 2)
        }
        for name in names:
            own, *other = (
                counts[name, version, 2].result() - counts[name, version, 1].result()
                for version in versions
            )
            ratio = own / other[0] if other else 1.0
            print(f"{name:<36} {own / 1e6:10,.1f} million instructions {ratio:8.4f}", flush=True)
            yield f"{name}: instructions", ratio


# Seconds ----------------------------------------------------------------------------------------


def serve(name: str) -> None:
    """Run a workload once for each line that is read, and say how long it took."""
    run = WORKLOADS[name]()
    run()
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        run()
        print(time.perf_counter() - begin, flush=True)


def compare_times(names: list[str], versions: Versions) -> Iterator[tuple[str, float]]:
    """Best seconds of each workload, of this version over the other's, taken in turns."""
    for name in names:
        workers = [start(version, "--serve", name, stdin=subprocess.PIPE) for version in versions]
        for worker in workers:
            read_line(worker)
        rounds: list[list[float]] = [[] for _ in workers]
        for _ in range(N_ROUNDS):
            for worker, seconds in zip(workers, rounds, strict=True):
                assert worker.stdin is not None
                worker.stdin.write("\n")
                worker.stdin.flush()
                seconds.append(float(read_line(worker)))
        for worker in workers:
            worker.communicate()
        own, *other = (min(seconds) for seconds in rounds)
        ratio = own / other[0] if other else 1.0
        print(f"{name:<36} {own * 1e3:10,.1f} ms {ratio:29.4f}", flush=True)
        yield f"{name}: seconds", ratio


def read_line(worker: "subprocess.Popen[str]") -> str:
    """What the worker says next."""
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise RuntimeError("a workload ended early")
    return line


# Digests ----------------------------------------------------------------------------------------


def digest(*arrays: Any) -> str:
    """One word for some arrays, bit by bit."""
    hashed = hashlib.sha256()
    for array in arrays:
        contiguous = np.ascontiguousarray(array)
        hashed.update(f"{contiguous.dtype}{contiguous.shape}".encode())
        hashed.update(contiguous.tobytes())
    return hashed.hexdigest()[:16]


def digest_tree(tree: Any) -> str:
    """A fitted tree: all arrays of the core."""
    arrays = tree.tree_._native.to_arrays()
    return digest(*(arrays[name] for name in sorted(arrays)))


def make_columns(
    random: np.random.Generator, n_rows: int, has_missing: bool
) -> tuple[np.ndarray[Any, Any], list[int]]:
    """Continuous, few-valued, binary and categorical columns."""
    X = np.column_stack(
        [
            random.normal(size=(n_rows, 3)),
            random.integers(12, size=(n_rows, 3)),
            random.integers(2, size=(n_rows, 2)),
            random.integers(5, size=(n_rows, 1)),
            random.integers(30, size=(n_rows, 1)),
        ]
    ).astype(float)
    if has_missing:
        X[random.random(X.shape) < 0.05] = np.nan
    return X, [8, 9]


def make_targets(random: np.random.Generator, X: Any) -> dict[str, Any]:
    """Two and more classes, whole, real and wide numbers."""
    signal = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 6] + X[:, 4] / 6 + X[:, 9] / 20)
    signal += random.normal(size=len(X)) / 2
    return {
        "two classes": (signal > np.median(signal)).astype(int),
        "six classes": np.digitize(signal, np.quantile(signal, np.arange(1, 6) / 6)),
        "whole numbers": np.round(10 * signal),
        "real numbers": signal,
        "wide numbers": np.exp(20 * signal),
    }


SETTINGS: dict[str, dict[str, Any]] = {
    "full": {},
    "leaves of 5": {"min_samples_leaf": 5},
    "best first": {"max_leaf_nodes": 20},
    "drawn": {"max_features": 3, "random_state": 3},
    "as they come": {"min_samples_category": 1},
    "no kernels": {"min_weight_fraction_leaf": 0.01},
}


def list_digests() -> Iterator[str]:
    """A line for each of some hundred trees, and for answers and scores."""
    for n_rows, has_missing in ((40, False), (300, True), (3_000, False), (3_000, True)):
        random = np.random.default_rng(n_rows)
        X, categories = make_columns(random, n_rows, has_missing)
        weights = random.random(n_rows)
        for target, y in make_targets(random, X).items():
            is_classes = "classes" in target
            kind: Any = (
                treefold.DecisionTreeClassifier if is_classes else treefold.DecisionTreeRegressor
            )
            where = f"{n_rows} rows{', missing' if has_missing else ''}, {target}"
            criteria = ("gini", "entropy", "gain_ratio") if is_classes else ("squared_error",)
            for criterion in criteria:
                for name, settings in SETTINGS.items():
                    tree = kind(criterion=criterion, categorical_features=categories, **settings)
                    for words, w in ((", weights", weights), ("", None)):
                        if criterion == "gain_ratio" and name == "full":
                            tree.set_params(max_depth=8)
                        fitted = tree.fit(X, y, sample_weight=w)
                        yield f"{where}, {criterion}, {name}{words} {digest_tree(fitted)}"
                tree = kind(criterion=criterion, categorical_features=categories, max_depth=8)
                yield from digest_folds(f"{where}, {criterion}", tree, X, y)


def digest_folds(where: str, tree: Any, X: Any, y: Any) -> Iterator[str]:
    """What cross-validation says, for each way of sharing, and leave-one-out."""
    for sharing in ("none", "overlap", "folds", "auto"):
        result = cross_validate(
            tree, X, y, cv=KFold(7), return_estimator=True, return_train_score=True, sharing=sharing
        )
        trees = [digest_tree(fitted) for fitted in result["estimator"]]
        scores = digest(result["test_score"], result["train_score"])
        yield f"{where}, seven folds, {sharing} {scores} {digest(np.array(trees))}"
    rows = slice(None, 300)
    answers = cross_val_predict(tree, X[rows], y[rows], cv=LeaveOneOut())
    yield f"{where}, leave-one-out {digest(answers)}"


def compare_digests(versions: Versions) -> Iterator[tuple[str, float]]:
    """How many digests differ from the other version's."""
    lists = [start(version, "--digests") for version in versions]
    own, *other = (worker.communicate()[0].splitlines() for worker in lists)
    differing = [line for line in own if other and line not in set(other[0])]
    print(f"{len(own)} digests, {len(differing)} differ")
    print("\n".join(differing[:20]))
    yield "digests that differ", float(len(differing))


# ------------------------------------------------------------------------------------------------


def read_arguments() -> argparse.Namespace:
    """What the user asks, or this script of itself."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", type=Path, help="folder where the other version is installed")
    parser.add_argument("--of", type=Path, help="folder where this version is installed")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--only", default="", help="part of the names of workloads")
    for part in ("counts", "times", "digests"):
        parser.add_argument(f"--no-{part}", action="store_true")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--digests", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Compare, or run what a comparison asks of a process of its own."""
    arguments = read_arguments()
    if arguments.run:
        run = WORKLOADS[arguments.run[0]]()
        for _ in range(int(arguments.run[1])):
            run()
    elif arguments.serve:
        serve(arguments.serve)
    elif arguments.digests:
        for line in list_digests():
            print(line)
    else:
        compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """All that was asked for; with --check, bars."""
    names = [name for name in WORKLOADS if arguments.only in name]
    versions = [arguments.of, *([arguments.against] if arguments.against else [])]
    missed = []
    parts: tuple[tuple[bool, Callable[[], Iterator[tuple[str, float]]], float], ...] = (
        (arguments.no_digests, lambda: compare_digests(versions), 0.0),
        (arguments.no_counts, lambda: compare_counts(names, versions), MOST_INSTRUCTIONS),
        (arguments.no_times, lambda: compare_times(names, versions), MOST_SECONDS),
    )
    for is_left_out, measure, bar in parts:
        if not is_left_out:
            missed += [f"{what}: {value:.4f}" for what, value in measure() if value > bar]
    if missed and arguments.check:
        print("\nmissed:\n  " + "\n  ".join(missed), file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
