"""Batched lazy trees: what is grown, scanned and kept where only some rows ask.

The tables and the figure of "Batched lazy decision trees": 100 bags, nodes of at least 5 rows are
split, depth at most 21 (the paper stops where `depth > 20`), information gain. DT grows every tree
and sends the rows down, BL-DT grows what the batch of rows asks for, L-DT the path of one row after
the other. Times are those of growth and answers on a ready table, one thread, in turns.

    python -m benchmarks.papers.batched_lazy [--check | --quick]
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet
from sklearn.model_selection import KFold

from benchmarks.data import DATA, Data, load
from benchmarks.papers.figures import start
from benchmarks.timing import Board, parse_arguments, time_in_turns, time_once
from treefold import DecisionTreeClassifier, Table, _native
from treefold.bags import Bags, Work
from treefold.target import Target

N_BAGS = 100
FOLDS = (10, 40)
CURVE = (2, 5, 10, 20, 40, 100)  # folds of the figure, with fewer bags
CURVE_BAGS = 10
SINGLE_ROWS = 20  # that L-DT answers; its time is then scaled to all rows
TIME_BAR = 0.95
QUICK_ROWS, QUICK_BAGS = 300, 3
FIGURES = Path(__file__).parents[2] / "docs" / "figures"
Rows = NDArray[np.uint32]
Curve = dict[int, tuple[float, float]]  # by the number of folds: DT / BL-DT of time and of nodes


@dataclass(frozen=True)
class PaperSet:
    """A data set of the paper, and how many times faster one observation must be."""

    title: str
    name: str
    bar: float | None = None


SETS = (
    PaperSet("Adult", "adult", 4.5),
    PaperSet("Gamma", "magic_gamma", 2.8),
    PaperSet("Breast", "breast_wdbc", 1.5),
    PaperSet("ALL", "all_leukemia", 1.4),
    PaperSet("Internet Ads", "internet_ads"),  # wide, in place of C2U
)


@dataclass
class Study:
    """The board, and the sizes of this run."""

    board: Board

    @property
    def is_quick(self) -> bool:
        return self.board.arguments.quick

    def open(self, wanted: PaperSet, n_bags: int = N_BAGS) -> Bags:
        data = load_set(wanted.name)
        if self.is_quick:
            rows = np.random.default_rng(0).permutation(len(data.y))[:QUICK_ROWS]
            data = replace(data, X=data.X[rows, :50], y=data.y[rows])
            n_bags = QUICK_BAGS
        complete = ~np.isnan(data.X).any(axis=1)
        classes, numbers = np.unique(data.y[complete], return_inverse=True)
        tree = DecisionTreeClassifier(
            criterion="entropy", max_depth=21, min_samples_split=5, random_state=0
        )
        target = Target(numbers.astype(np.int32), classes)
        return Bags(Table.from_data(data.X[complete]), target, tree, 0, n_bags, bootstrap=True)


def load_set(name: str) -> Data:
    """Read a table; that of leukemia has its target elsewhere."""
    if name not in ("all_leukemia", "breast_wdbc") or (DATA / name).exists():
        data = load(name)
    else:
        print(f"{name} is not at hand: Spambase instead")
        data = load("spambase", 569)
    pheno = DATA / name / f"{name}_pheno.parquet"
    if pheno.exists():
        target = parquet.read_table(pheno).column("BT").to_numpy()
        data = replace(data, y=np.unique(target.astype(str), return_inverse=True)[1])
    return replace(data, categorical=[])


# The three ways to answer ------------------------------------------------------------------------


def open_rows(bags: Bags, rows: Rows) -> _native.Source:
    source = _native.Source(len(rows), bags.table.n_columns)
    source.add_table(bags.table._native, rows)
    return source


def answer_eagerly(bags: Bags, rows: Rows) -> Work:
    """DT: grow everything, then ask."""
    work, source = Work(), open_rows(bags, rows)
    for tree in bags.grow(1, work):
        tree.apply(source, 1)
    return work


def answer_lazily(bags: Bags, rows: Rows) -> Work:
    """BL-DT: grow what the rows ask for."""
    return answer_batches(bags, [rows])


def answer_batches(bags: Bags, batches: list[Rows]) -> Work:
    work = Work()
    for _ in bags.ask(batches, 1, work):
        pass
    return work


def fold(bags: Bags, n_folds: int) -> list[tuple[Bags, Rows]]:
    """The bags of each training set, and the rows that it is asked about."""
    splitter = KFold(n_folds, shuffle=True, random_state=0)
    splits = splitter.split(np.arange(bags.table.n_rows))
    return [(replace(bags, rows=train), test.astype(np.uint32)) for train, test in splits]


def run_folds(
    bags: Bags, n_folds: int, answer: Callable[[Bags, Rows], Work], works: list[Work]
) -> None:
    works.extend(answer(own, rows) for own, rows in fold(bags, n_folds))


def total(works: list[Work], name: str) -> int:
    return sum(work.counts[name] for work in works)


# The tables --------------------------------------------------------------------------------------


def report_one(study: Study) -> None:
    """The left part of table 2: one observation."""
    print("\none observation: DT, BL-DT (bars: DT / BL-DT)")
    for wanted in SETS:
        bags = study.open(wanted)
        own = replace(bags, rows=np.arange(1, bags.table.n_rows))
        row = np.zeros(1, dtype=np.uint32)
        runs = {
            "DT": lambda own=own, row=row: answer_eagerly(own, row),
            "BL-DT": lambda own=own, row=row: answer_lazily(own, row),
        }
        times = time_in_turns(runs, study.board.arguments, 3)
        ratio = times["DT"].best / times["BL-DT"].best
        print(f"{wanted.title:<14} {times['DT']!s:<18} {times['BL-DT']!s:<18} {ratio:6.2f}")
        if wanted.bar is not None:
            study.board.at_least(f"{wanted.title}, one observation", ratio, wanted.bar)


def report_folds(study: Study) -> None:
    """The right part of table 2, and table 3: all rows of each fold."""
    print("\ncross-validation: seconds of DT, BL-DT, L-DT (scaled from a few rows); rows scanned")
    for wanted in SETS:
        bags = study.open(wanted)
        for n_folds in FOLDS[:1] if study.is_quick else FOLDS:
            eager, lazy = count_and_time(bags, n_folds)
            rows = total(eager.works, "rows_scanned") / total(lazy.works, "rows_scanned")
            speed = eager.seconds / lazy.seconds
            single = scale_single(bags, n_folds) if n_folds == FOLDS[0] else float("nan")
            print(
                f"{wanted.title:<14} {n_folds:3} folds  {eager.seconds:8.2f} {lazy.seconds:8.2f} "
                f"{single:10.1f}   rows {rows:5.2f}, time {speed:5.2f}"
            )
            study.board.at_least(f"{wanted.title}, {n_folds} folds, rows", rows, 1.0)
            study.board.at_least(f"{wanted.title}, {n_folds} folds, time", speed, TIME_BAR)
            if n_folds == FOLDS[0]:
                report_words(wanted.title, bags, eager, lazy)


@dataclass(frozen=True)
class Measured:
    """One way of answering all folds."""

    seconds: float
    works: list[Work]


def count_and_time(bags: Bags, n_folds: int) -> tuple[Measured, Measured]:
    found = []
    for answer in (answer_eagerly, answer_lazily):
        works: list[Work] = []
        seconds = time_once(partial(run_folds, bags, n_folds, answer, works))
        found.append(Measured(seconds, works))
    return found[0], found[1]


def scale_single(bags: Bags, n_folds: int) -> float:
    """Seconds of L-DT, from some rows of the first fold."""
    own, rows = fold(bags, n_folds)[0]
    some = rows[:SINGLE_ROWS]
    seconds = time_once(lambda: answer_batches(own, np.split(some, len(some))))
    return seconds * bags.table.n_rows / len(some)


def report_words(title: str, bags: Bags, eager: Measured, lazy: Measured) -> None:
    """Table 3: words of the stack and of the model, one model of ten folds."""
    own, rows = fold(bags, FOLDS[0])[0]
    some = rows[:SINGLE_ROWS]
    single = answer_batches(own, np.split(some, len(some)))
    stacks = [
        max(work.counts["stack_words"] for work in works)
        for works in (eager.works, [single], lazy.works)
    ]
    model = total(eager.works, "model_words") // len(eager.works)
    nodes = [total(each.works, "nodes_grown") for each in (eager, lazy)]
    peaks = [max(work.counts["peak_bytes"] for work in each.works) for each in (eager, lazy)]
    print(
        f"{'':<14} stack words DT {stacks[0]:,}, L-DT {stacks[1]:,}, BL-DT {stacks[2]:,}; model "
        f"words DT {model:,}, BL-DT 0; nodes DT {nodes[0]:,}, BL-DT {nodes[1]:,}; layouts "
        f"{peaks[0]:,} and {peaks[1]:,} bytes"
    )


def report_curve(study: Study) -> dict[str, Curve]:
    """Figure 2: time and nodes against the number of folds, DT / BL-DT, with fewer bags."""
    print(f"\nDT / BL-DT by the number of folds, {CURVE_BAGS} bags: seconds, nodes")
    curves: dict[str, Curve] = {}
    for wanted in SETS:
        bags = study.open(wanted, CURVE_BAGS)
        curve = {}
        for n_folds in CURVE[:2] if study.is_quick else CURVE:
            eager, lazy = count_and_time(bags, min(n_folds, bags.table.n_rows))
            nodes = total(eager.works, "nodes_grown") / total(lazy.works, "nodes_grown")
            curve[n_folds] = (eager.seconds / lazy.seconds, nodes)
        shown = "  ".join(f"{k}: {time:.2f}, {nodes:.2f}" for k, (time, nodes) in curve.items())
        print(f"{wanted.title:<14} {shown}")
        curves[wanted.title] = curve
    return curves


def draw_curve(curves: Mapping[str, Curve], folder: Path | None) -> None:
    """Figure 2: how many times less time and fewer nodes, by the number of folds."""
    figure, grid = start(1, 2, width=7, height=2.6)
    for place, what in enumerate(("time", "nodes")):
        axes = grid[0][place]
        for title, curve in curves.items():
            axes.plot(list(curve), [ratios[place] for ratios in curve.values()], label=title)
        axes.set_xscale("log")
        axes.set_xlabel("number of folds")
        axes.set_ylabel(f"{what}, DT / BL-DT")
    grid[0][0].legend()
    figure.tight_layout()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / "batched_lazy_2.svg", metadata={"Date": None})
        print("drawn: docs/figures/batched_lazy_2.svg")


def main() -> None:
    """Measure everything, draw the figure, judge."""
    board = Board("batched lazy trees", parse_arguments(__doc__))
    study = Study(board)
    report_one(study)
    report_folds(study)
    draw_curve(report_curve(study), None if study.is_quick else FIGURES)
    board.finish()


if __name__ == "__main__":
    main()
