"""Cross-validation, grids, leave-one-out and nested folds: treefold against scikit-learn.

scikit-learn runs in one process, in processes that are warm, and in threads; the fastest of these
counts. treefold gets the same arrays and uses threads; encoding them is part of its time. Where a
table has categories scikit-learn sees their codes as numbers, treefold is told that they are
categories. Folds are KFold(10, shuffle=True, random_state=0), leaves have at least ten rows except
in the grid, which is about the size of the tree.

scikit-learn's GridSearchCV would take half an hour, so a sample of the settings is run and its time
scaled to all of them. --full runs them all and keeps the log in docs/.

    python -m benchmarks.peers.model_selection [--check | --quick] [--full]
"""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
from sklearn import model_selection as theirs
from sklearn.model_selection import KFold, LeaveOneOut, ParameterGrid
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor

from benchmarks.data import Data, load
from benchmarks.peers.sklearn_paths import GRID, search_grid
from benchmarks.timing import (
    Board,
    Times,
    describe_machine,
    format_seconds,
    geometric_mean,
    parse_arguments,
    time_in_turns,
    time_once,
)
from treefold import DecisionTreeClassifier, DecisionTreeRegressor
from treefold import model_selection as ours

BARS = {
    "cross-validation": 12.0,
    "grid": 500.0,
    "paths": 4.0,
    "leave-one-out": 40.0,
    "nested": 4.0,
}
REGRESSION = ("abalone", "california")
CROSS_VALIDATED = (
    "mushroom",
    "nursery",
    "car",
    "led",
    "letter",
    "connect4",
    "pendigits",
    "adult",
    "yeast",
    "abalone",
    "spambase",
    "magic_gamma",
    "internet_ads",
)
GRIDS = ("adult", "letter")
LEFT_OUT = ("magic_gamma", "california")
NESTED = ("letter", "adult", "magic_gamma")
FOLDS = KFold(10, shuffle=True, random_state=0)
MIN_LEAF = 10
SETTINGS = list(ParameterGrid(GRID))
STRIDE = 29  # prime: the sample meets every depth and size, and alphas small and large
LOG = Path(__file__).parents[2] / "docs" / "grid_search_in_full.txt"

Run = Callable[[], object]


@dataclass(frozen=True)
class Task:
    """A table, and the two estimators for it."""

    data: Data

    @property
    def is_regression(self) -> bool:
        return self.data.name in REGRESSION

    def ours(self, **parameters: Any) -> Any:
        kind = DecisionTreeRegressor if self.is_regression else DecisionTreeClassifier
        return kind(categorical_features=self.data.categorical or None, **parameters)

    def peer(self, **parameters: Any) -> Any:
        kind = PeerRegressor if self.is_regression else PeerClassifier
        return kind(random_state=0, **parameters)


def load_task(name: str, board: Board) -> Task:
    """Read a table, or some of its rows."""
    return Task(load(name, 400 if board.arguments.quick else None))


def in_all_modes(run: Callable[[int], object]) -> dict[str, Run]:
    """The ways in which scikit-learn can use the machine; `run` is given n_jobs."""

    def run_in(backend: str) -> object:
        with joblib.parallel_config(backend=backend):
            return run(-1)

    return {
        "one process": lambda: run(1),
        "processes": lambda: run_in("loky"),
        "threads": lambda: run_in("threading"),
    }


def warm_processes() -> None:
    """Start the worker processes and let them import scikit-learn, outside the clock."""
    start = in_all_modes(
        lambda n_jobs: theirs.cross_validate(
            PeerClassifier(), [[0.0], [1.0]] * 10, [0, 1] * 10, cv=4, n_jobs=n_jobs
        )
    )
    start["processes"]()


def race_fastest(
    board: Board, work: str, own: Run, peers: Mapping[str, Run], scale: float = 1.0
) -> float:
    """Time ours and all ways of the peer; return the fastest of these over ours."""
    times = time_in_turns({"ours": own, **peers}, board.arguments)
    fastest = min(peers, key=lambda name: times[name].best)
    ratio = scale * times[fastest].best / times["ours"].best
    print(f"{work:<40} ours {show(times['ours']):<30} {ratio:8.2f}x, peer in {fastest}")
    for name in peers:
        print(f"{'':<40} peer {show(times[name]):<30} in {name}")
    return ratio


def show(times: Times) -> str:
    """The median, and the best and the worst round."""
    median, worst = statistics.median(times.rounds), max(times.rounds)
    return " ".join(
        [format_seconds(median), f"({format_seconds(times.best)} .. {format_seconds(worst)})"]
    )


# Cross-validation and the final tree -------------------------------------------------------------


def race_cross_validation(board: Board) -> None:
    """Ten folds and the tree of all rows, judged by the geometric mean."""
    ratios = [race_folds(board, load_task(name, board)) for name in CROSS_VALIDATED]
    mean = geometric_mean(ratios)
    print(f"{'cross-validation, geometric mean':<40} {mean:.2f}x")
    board.at_least("cross-validation and final tree", mean, BARS["cross-validation"])


def race_folds(board: Board, task: Task) -> float:
    """One table."""
    X, y = task.data.X, task.data.y
    made: dict[str, tuple[Any, Any]] = {}

    def run_ours() -> None:
        scores = ours.cross_validate(
            task.ours(min_samples_leaf=MIN_LEAF),
            X,
            y,
            cv=FOLDS,
            n_jobs=-1,
            return_final_estimator=True,
        )
        made["ours"] = scores, scores["final_estimator"]

    def run_peer(n_jobs: int) -> None:
        estimator = task.peer(min_samples_leaf=MIN_LEAF)
        scores = theirs.cross_validate(estimator, X, y, cv=FOLDS, n_jobs=n_jobs)
        made["peer"] = scores, estimator.fit(X, y)

    ratio = race_fastest(board, task.data.label, run_ours, in_all_modes(run_peer))
    for name, (scores, final) in made.items():
        metric = "R2" if task.is_regression else "accuracy"
        score = scores["test_score"].mean()
        print(f"{'':<40} {name}: {final.get_n_leaves()} leaves, {metric} {score:.4f}")
    return ratio


# The grid ----------------------------------------------------------------------------------------


def race_grid(board: Board, task: Task) -> None:
    """All depths, sizes and alphas: against GridSearchCV, and against one tree per fold by hand."""
    X, y = task.data.X, task.data.y

    def run_ours() -> Any:
        return search(ours.GridSearchCV, task.ours(), GRID, -1).fit(X, y)

    if board.arguments.full:
        ratio = run_in_full(board, task, run_ours)
    else:
        sample = SETTINGS[::STRIDE]
        scale = len(SETTINGS) / len(sample)
        print(
            f"{task.data.label}: {len(sample)} of {len(SETTINGS)} settings are run by GridSearchCV"
        )
        work = f"grid, the peer's time x {scale:.3g}"
        ratio = race_fastest(board, work, run_ours, peer_searches(task, sample), scale)
    board.at_least(f"{task.data.name}, grid, times GridSearchCV", ratio, BARS["grid"])
    by_hand = {
        "one thread": lambda: search_grid(X, y, GRID, FOLDS),
        "threads": lambda: search_grid(X, y, GRID, FOLDS, n_jobs=-1),
    }
    ratio = race_fastest(board, "grid, one tree per fold by hand", run_ours, by_hand)
    board.at_least(f"{task.data.name}, grid, times paths by hand", ratio, BARS["paths"])


def peer_searches(task: Task, settings: list[dict[str, Any]]) -> dict[str, Run]:
    """scikit-learn's search over some settings, in all modes."""
    chosen = [{name: [value] for name, value in setting.items()} for setting in settings]

    def run(n_jobs: int) -> Any:
        peer = search(theirs.GridSearchCV, task.peer(), chosen, n_jobs)
        return peer.fit(task.data.X, task.data.y)

    return in_all_modes(run)


def search(kind: Any, estimator: Any, grid: Any, n_jobs: int) -> Any:
    """A search that only scores: growing the final tree is part of no contestant."""
    return kind(estimator, grid, cv=FOLDS, scoring="accuracy", refit=False, n_jobs=n_jobs)


def run_in_full(board: Board, task: Task, own: Run) -> float:
    """Run every setting once, in the mode that is fastest on the sample; keep what came of it."""
    samples = peer_searches(task, SETTINGS[::STRIDE])
    fastest = min(samples, key=lambda mode: time_once(samples[mode]))
    peer = time_once(peer_searches(task, SETTINGS)[fastest])
    best = min(time_once(own) for _ in range(5))
    lines = [
        f"{task.data.label}: {len(SETTINGS)} settings, {FOLDS.n_splits} folds, accuracy",
        f"    scikit-learn's GridSearchCV   {format_seconds(peer)} in {fastest}",
        f"    treefold's GridSearchCV       {format_seconds(best)}",
        f"    {peer / best:.0f} times as fast",
    ]
    print("\n".join(lines))
    if not board.arguments.quick:
        with LOG.open("a") as log:
            log.write("\n".join(lines) + "\n")
    return peer / best


# Ours against ours -------------------------------------------------------------------------------


def compare_leave_one_out(board: Board, task: Task) -> None:
    """One tree per row that is left out, against one tree."""
    X, y = task.data.X, task.data.y
    metric = "neg_mean_squared_error" if task.is_regression else "accuracy"

    def leave_out() -> Any:
        estimator = task.ours(min_samples_leaf=MIN_LEAF)
        return ours.cross_val_score(estimator, X, y, cv=LeaveOneOut(), scoring=metric, n_jobs=-1)

    one_fit = task.ours(min_samples_leaf=MIN_LEAF, n_jobs=-1)
    ratio = compare(board, "leave-one-out", task, leave_out, lambda: one_fit.fit(X, y))
    board.at_most(f"{task.data.name}, leave-one-out / one fit", ratio, BARS["leave-one-out"])


def compare_nested(board: Board, task: Task) -> None:
    """Inner folds for each of ten outer ones, against the same search in ten folds."""
    X, y = task.data.X, task.data.y
    alphas = {"ccp_alpha": GRID["ccp_alpha"]}
    estimator = task.ours(min_samples_leaf=MIN_LEAF)

    def nest() -> Any:
        return ours.nested_cross_validate(estimator, alphas, X, y, cv=FOLDS, n_jobs=-1)

    def plain() -> Any:
        return ours.GridSearchCV(estimator, alphas, cv=FOLDS, n_jobs=-1).fit(X, y)

    ratio = compare(board, "nested, 10 folds", task, nest, plain)
    board.at_most(f"{task.data.name}, nested / plain", ratio, BARS["nested"])


def compare(board: Board, what: str, task: Task, large: Run, small: Run) -> float:
    """How many times as long the large work takes."""
    times = time_in_turns({"large": large, "small": small}, board.arguments)
    ratio = times["large"].best / times["small"].best
    print(f"{what + ', ' + task.data.label:<48} {show(times['large'])}, {ratio:.2f} times", end="")
    print(f" {show(times['small'])}")
    return ratio


def main() -> None:
    """Run all of it; in full, only the grid."""
    arguments = parse_arguments(__doc__, full="run every setting of scikit-learn's grid")
    board = Board("model selection against scikit-learn", arguments)
    warm_processes()
    if arguments.full and not arguments.quick:
        LOG.write_text(f"{describe_machine()}\n")
    if not arguments.full:
        race_cross_validation(board)
    for name in GRIDS:
        race_grid(board, load_task(name, board))
    if not arguments.full:
        for name in LEFT_OUT:
            compare_leave_one_out(board, load_task(name, board))
        for name in NESTED:
            compare_nested(board, load_task(name, board))
    board.finish()


if __name__ == "__main__":
    main()
