"""What cross-validation costs in fits of one tree: treefold against itself.

All contestants use one thread, the same table and leaves of at least ten rows; encoding is part of
each. "Ten folds" are the trees of ten folds, their scores and the tree of all rows. "The path" has,
for each of them, every size that pruning can give, the choice among them, held-out predictions and
stability. "Nested" is the path with the choice repeated for each held-out fold. Grown one at a
time, ten folds would take ten fits: each of the ten has nine tenths of the rows, and one has all.

    python -m benchmarks.peers.own_fit [--check | --quick]
"""

from collections.abc import Callable
from typing import Any

from benchmarks.peers.model_selection import CROSS_VALIDATED, FOLDS, MIN_LEAF, Task, load_task
from benchmarks.timing import (
    Board,
    format_seconds,
    geometric_mean,
    parse_arguments,
    time_in_turns,
)
from treefold import DecisionTreeClassifierCV, DecisionTreeRegressorCV
from treefold.evaluation.fitting import Request, fit_with_evidence
from treefold.model_selection import cross_validate

WORK = ("ten folds", "the path", "nested")


def measure(board: Board, task: Task) -> tuple[float, list[float]]:
    """Seconds of one fit, and how many fits each kind of work takes."""
    X, y = task.data.X, task.data.y

    def validate() -> object:
        tree = task.ours(min_samples_leaf=MIN_LEAF)
        return cross_validate(tree, X, y, cv=FOLDS, n_jobs=1, return_final_estimator=True)

    def follow_path(is_nested: bool) -> object:
        kind: Any = DecisionTreeRegressorCV if task.is_regression else DecisionTreeClassifierCV
        categories = task.data.categorical or None
        model = kind(min_samples_leaf=MIN_LEAF, cv=FOLDS, categorical_features=categories)
        fit_with_evidence(model, Request(X, y, nested=is_nested))
        return model

    contestants: dict[str, Callable[[], object]] = {
        "one fit": lambda: task.ours(min_samples_leaf=MIN_LEAF).fit(X, y),
        "ten folds": validate,
        "the path": lambda: follow_path(False),
        "nested": lambda: follow_path(True),
    }
    times = time_in_turns(contestants, board.arguments)
    one = times["one fit"].best
    return one, [times[name].best / one for name in WORK]


def main() -> None:
    """Print a table in the form of the documentation."""
    board = Board("Cross-validation, in fits of one tree", parse_arguments(__doc__))
    print(f"\n| table | one fit | {' | '.join(WORK)} |\n|---|---:|---:|---:|---:|")
    found = []
    for name in CROSS_VALIDATED:
        task = load_task(name, board)
        one, ratios = measure(board, task)
        found.append(ratios)
        cells = " | ".join(f"{ratio:.1f}" for ratio in ratios)
        print(f"| {task.data.label} | {format_seconds(one)} | {cells} |", flush=True)
    means = " | ".join(f"{geometric_mean(column):.1f}" for column in zip(*found, strict=True))
    print(f"| geometric mean | | {means} |")
    board.finish()


if __name__ == "__main__":
    main()
