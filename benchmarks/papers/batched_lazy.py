"""Batched lazy trees: what is grown, scanned and kept where only some rows ask.

The tables and the figure of "Batched lazy decision trees": 100 bags, nodes of at least 5 rows are
split, depth at most 21 (the paper stops where `depth > 20`), information gain. DT grows every tree
and sends the rows down, BL-DT grows what the batch of rows asks for, L-DT the path of one row after
the other. Times are CPU times, as in the paper, of growth and answers on a ready table, one thread,
in turns, the best of several rounds: of whole runs for one observation, fold by fold for
cross-validation.

All bags are grown for one observation. Cross-validation of the larger tables grows some of them,
and the figure fewer: time and nodes are proportional to the number of bags, and are given for 100.

    python -m benchmarks.papers.batched_lazy [--check | --quick]
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet
from sklearn.model_selection import KFold

from benchmarks.data import DATA, Data, load
from benchmarks.papers.figures import start
from benchmarks.timing import Board, parse_arguments, time_in_turns
from treefold import DecisionTreeClassifier, Table, _native
from treefold.data.target import Target
from treefold.estimators.bags import Bags, Work

N_BAGS = 100
FOLDS = (10, 40)
CURVE = (2, 5, 10, 20, 40, 100)  # folds of the figure
FOLD_ROUNDS = 3
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
    fold_bags: int = 4  # that are cross-validated
    curve_bags: int = 1  # and those of the figure


SETS = (
    PaperSet("Adult", "adult", 4.5),
    PaperSet("Gamma", "magic_gamma", 2.8),
    PaperSet("Breast", "breast_wdbc", 1.5, fold_bags=100, curve_bags=20),
    PaperSet("ALL", "all_leukemia", 1.4, fold_bags=2),
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
    for tree, _, _ in bags.grow(1, work):
        tree.apply(source, 1)
    return work


def answer_lazily(bags: Bags, rows: Rows) -> Work:
    """BL-DT: grow what the rows ask for."""
    return answer_batches(bags, [rows])


def answer_one_by_one(bags: Bags, rows: Rows) -> Work:
    """L-DT: grow the path of each row."""
    return answer_batches(bags, np.split(rows, len(rows)))


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


@dataclass
class Measured:
    """One way of answering all folds: seconds of all bags, and what each fold took."""

    seconds: float = 0.0
    works: list[Work] = field(default_factory=list)

    def add(self, other: "Measured") -> None:
        self.seconds += other.seconds
        self.works += other.works

    def total(self, name: str) -> int:
        return sum(work.counts[name] for work in self.works)

    def most(self, name: str) -> int:
        return max(work.counts[name] for work in self.works)


def time_answers(
    study: Study, own: Bags, rows: Rows, *answers: Callable[[Bags, Rows], Work]
) -> list[Measured]:
    """Some ways of answering in turns: CPU seconds of the best round, and what was done."""
    works: dict[str, Work] = {}

    def runner(answer: Callable[[Bags, Rows], Work]) -> Callable[[], None]:
        return lambda: works.update({answer.__name__: answer(own, rows)})

    runs = {answer.__name__: runner(answer) for answer in answers}
    times = time_in_turns(runs, study.board.arguments, FOLD_ROUNDS, process_time)
    return [Measured(times[name].best * N_BAGS / own.n_bags, [works[name]]) for name in runs]


def measure_folds(study: Study, bags: Bags, n_folds: int) -> tuple[Measured, Measured]:
    """DT and BL-DT, fold by fold."""
    eager, lazy = Measured(), Measured()
    for own, rows in fold(bags, n_folds):
        of_fold = time_answers(study, own, rows, answer_eagerly, answer_lazily)
        for measured, one in zip((eager, lazy), of_fold, strict=True):
            measured.add(one)
    return eager, lazy


def measure_single(study: Study, bags: Bags, n_folds: int) -> Measured:
    """L-DT, from some rows of the first fold; seconds are those of all rows."""
    own, rows = fold(bags, n_folds)[0]
    some = rows[:SINGLE_ROWS]
    [single] = time_answers(study, own, some, answer_one_by_one)
    single.seconds *= bags.table.n_rows / len(some)
    return single


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
        times = time_in_turns(runs, study.board.arguments, 3, process_time)
        ratio = times["DT"].best / times["BL-DT"].best
        print(f"{wanted.title:<14} {times['DT']!s:<18} {times['BL-DT']!s:<18} {ratio:6.2f}")
        if wanted.bar is not None:
            study.board.at_least(f"{wanted.title}, one observation", ratio, wanted.bar)


def report_folds(study: Study) -> None:
    """The right part of table 2, and table 3: all rows of each fold."""
    print(f"\ncross-validation, seconds of {N_BAGS} bags; L-DT is scaled from {SINGLE_ROWS} rows")
    print(f"{'':<14}      folds {'DT':>9} {'BL-DT':>9} {'L-DT':>9}   DT / BL-DT: rows, time")
    for wanted in SETS:
        bags = study.open(wanted, wanted.fold_bags)
        single = measure_single(study, bags, FOLDS[0])
        for n_folds in FOLDS[:1] if study.is_quick else FOLDS:
            eager, lazy = measure_folds(study, bags, n_folds)
            rows = eager.total("rows_scanned") / lazy.total("rows_scanned")
            speed = eager.seconds / lazy.seconds
            print(
                f"{wanted.title:<14} {n_folds:10} {eager.seconds:9.2f} {lazy.seconds:9.2f} "
                f"{single.seconds:9.0f}   {rows:16.3f}, {speed:5.2f}"
            )
            study.board.at_least(f"{wanted.title}, {n_folds} folds, rows", rows, 1.0)
            study.board.at_least(f"{wanted.title}, {n_folds} folds, time", speed, TIME_BAR)
            if n_folds == FOLDS[0]:
                print(f"{'':<14} L-DT / BL-DT, time: {single.seconds / lazy.seconds:.0f}")
                report_words(bags, (eager, single, lazy))


def report_words(bags: Bags, measured: tuple[Measured, Measured, Measured]) -> None:
    """Table 3: words of the stack and of the model, one model of ten folds."""
    eager, _, lazy = measured
    stacks = [f"{each.most('stack_words'):,}" for each in measured]
    model = eager.total("model_words") * N_BAGS // (len(eager.works) * bags.n_bags)
    orders = [f"{each.most('peak_bytes') // 4:,}" for each in (eager, lazy)]
    nodes = [each.total("nodes_grown") // bags.n_bags for each in (eager, lazy)]
    print(
        f"{'':<14} stack words: DT {stacks[0]}, L-DT {stacks[1]}, BL-DT {stacks[2]}; model words: "
        f"DT {model:,}, BL-DT 0\n{'':<14} words of orders: DT {orders[0]}, BL-DT {orders[1]}; "
        f"nodes per bag: DT {nodes[0]:,}, BL-DT {nodes[1]:,}"
    )


def report_curve(study: Study) -> dict[str, Curve]:
    """Figure 2: time and nodes against the number of folds, DT / BL-DT, with fewer bags."""
    print("\nDT / BL-DT by the number of folds, of some bags: seconds, nodes")
    curves: dict[str, Curve] = {}
    for wanted in SETS:
        bags = study.open(wanted, wanted.curve_bags)
        curve = {}
        for n_folds in CURVE[:2] if study.is_quick else CURVE:
            eager, lazy = measure_folds(study, bags, min(n_folds, bags.table.n_rows))
            nodes = eager.total("nodes_grown") / lazy.total("nodes_grown")
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
