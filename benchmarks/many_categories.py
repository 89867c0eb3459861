"""Text columns with many values: what they cost where they are noise, and keep where they are not.

Of each table a tree that is cross-validated in fit is scored on 5 times 10 folds: without the
column, with it as the default takes it, and with it as it comes (min_samples_category=1). Errors
are Brier scores or squared errors over those of one answer for all rows ("naive"). Beside a column
of the table itself each gets three that are made: random names that nearly every row has for
itself, random names of ten rows each, and names of ten rows each that know something of the target.
What a random number costs stands beside them: no column of noise can be expected to cost less.

The allowance of the split contract was chosen on the first twelve tables; the others judge it. They
were fixed before any score on them was seen, and have at least 1,000 rows: of fewer the standard
error of a difference, that of repeated folds, sd sqrt(1/50 + 1/9), hides the bar.

    python -m benchmarks.many_categories [--check | --quick]
"""

import warnings
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv, parquet
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
)

from benchmarks.data import DATA
from benchmarks.timing import Board, parse_arguments
from treefold import CardinalityWarning, DecisionTreeClassifierCV, DecisionTreeRegressorCV

Floats = NDArray[np.float64]
N_FOLDS, N_REPEATS = 10, 5
MOST_ROWS = 4_000
MOST_COST = 0.01  # of the naive error, for a column of noise
LEAST_KEPT = 0.8  # of what a column gains as it comes
PER_NAME = 10  # rows of a made category


@dataclass(frozen=True)
class Task:
    """A table, what is to be predicted, and a text column with many values."""

    file: str
    target: str
    column: str
    left_out: tuple[str, ...] = ()
    is_number: bool = False

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.file.split("/")[-1].split(".")[0]


CHOSEN_ON = (
    Task("csv/mpg.csv", "mpg", "name", is_number=True),
    Task("csv/dc.csv", "ALIGN", "FIRST APPEARANCE", ("page_id", "name", "urlslug")),
    Task("csv/beers.csv", "abv", "style", ("beer", "brewery", "city", "label"), is_number=True),
    Task("compas/compas.parquet", "target", "c_charge_desc"),
    Task("house_sales_kc/house_sales_kc.parquet", "target", "zipcode", is_number=True),
    Task("csv/taxis.csv", "tip", "dropoff_zone", ("pickup", "dropoff", "total"), is_number=True),
    Task("ames_housing/ames_housing.parquet", "target", "Neighborhood", is_number=True),
    Task("diabetes130us/diabetes130us.parquet", "target", "diag_1", ("diag_2", "diag_3")),
    Task("flights_3m/flights_3m.parquet", "target", "origin"),
    Task("adult/adult.parquet", "target", "native_country"),
    Task(
        "csv/biopics.csv",
        "subject_sex",
        "director",
        ("title", "site", "subject", "lead_actor_actress"),
    ),
    Task("fars/fars.parquet", "target", "case_state"),
)
JUDGED_ON = (
    Task("csv/space.csv", "successful", "rocket", ("mission", "time")),
    Task("csv/food.csv", "Gender", "Location (Census Region)", ("RespondentID",)),
    Task("nycflights13/flight.parquet", "target", "tailnum"),
    Task("nycflights13/plane.parquet", "year", "model", ("tailnum",), is_number=True),
    Task("census_income_kdd/census_income_kdd.parquet", "target", "detailed_industry_recode"),
    Task("online_shoppers/online_shoppers.parquet", "target", "traffic_type"),
    Task("mutagenesis/atom.parquet", "charge", "atom_type", ("atom_id",), is_number=True),
)
FEW_CATEGORIES = (
    Task("car/car.parquet", "target", ""),
    Task("nursery/nursery.parquet", "target", ""),
    Task("mushroom/mushroom.parquet", "target", ""),
    Task("bank_marketing/bank_marketing.parquet", "target", ""),
    Task("diamonds/diamonds.parquet", "target", "", is_number=True),
    Task("csv/titanic.csv", "survived", "", ("alive",)),
)


def read(task: Task) -> tuple[pa.Table, NDArray[Any]]:
    """Read a table without rows whose target is missing, and not more rows than are needed."""
    path = DATA / task.file
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
    else:
        table = csv.read_csv(
            path,
            csv.ReadOptions(encoding="latin-1"),
            convert_options=csv.ConvertOptions(strings_can_be_null=True),
        )
    table = table.filter(compute.is_valid(table[task.target]))
    rows = np.random.default_rng(0).permutation(table.num_rows)[:MOST_ROWS]
    table = table.take(np.sort(rows)).drop_columns(list(task.left_out))
    y = table[task.target]
    if pa.types.is_dictionary(y.type):
        y = y.cast(pa.string())
    y = y.to_numpy()
    return table.drop_columns(task.target), y.astype(np.float64) if task.is_number else y.astype(
        str
    )


def standardise(task: Task, y: NDArray[Any]) -> Floats:
    """The target as a number of mean 0 and variance 1: of classes, whether it is the commonest."""
    if not task.is_number:
        _, codes = np.unique(y, return_inverse=True)
        y = (codes == np.bincount(codes).argmax()).astype(np.float64)
    return np.asarray((y - y.mean()) / y.std())


def make_columns(task: Task, y: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Numbers of names that are made, by what they are called."""
    random = np.random.default_rng(1)
    n_rows = len(y)
    known = 0.6 * standardise(task, y) + random.normal(size=n_rows)
    return {
        "own names": random.integers(3 * n_rows, size=n_rows),
        "ten rows each": random.permutation(n_rows) // PER_NAME,
        "ten rows each, telling": np.argsort(np.argsort(known)) // PER_NAME,
    }


def predict(task: Task, model: Any, X: Any) -> Floats:
    """Predicted numbers, or shares of the classes."""
    return np.asarray(model.predict(X) if task.is_number else model.predict_proba(X))


def score_folds(task: Task, X: pa.Table, y: NDArray[Any], n_repeats: int, **params: Any) -> Floats:
    """Errors over the naive ones, by fold."""
    kind: Any = DecisionTreeRegressorCV if task.is_number else DecisionTreeClassifierCV
    folds: Any = RepeatedKFold if task.is_number else RepeatedStratifiedKFold
    params["cv"] = (KFold if task.is_number else StratifiedKFold)(5, shuffle=True, random_state=0)
    params["scoring"] = "neg_mean_squared_error" if task.is_number else "neg_brier_score"
    labels = np.unique(y)
    truth = y[:, None] if task.is_number else (y[:, None] == labels) * 1.0
    errors = []
    for train, test in folds(n_splits=N_FOLDS, n_repeats=n_repeats, random_state=0).split(y, y):
        model = kind(rule="best", **params).fit(X.take(train), y[train])
        answer = predict(task, model, X.take(test)).reshape(len(test), -1)
        if not task.is_number:
            places = np.searchsorted(labels, model.classes_)
            answer, own = np.zeros((len(test), len(labels))), answer
            answer[:, places] = own
        naive = ((truth[test] - truth[train].mean(axis=0)) ** 2).sum()
        errors.append(((truth[test] - answer) ** 2).sum() / naive)
    return np.array(errors)


def describe(differences: Floats) -> tuple[float, float]:
    """Mean and corrected standard error of differences by fold."""
    n = len(differences)
    error = float(np.std(differences, ddof=1)) * sqrt(1 / n + 1 / (N_FOLDS - 1))
    return float(differences.mean()), error


def add_column(X: pa.Table, numbers: NDArray[Any]) -> pa.Table:
    """Add names to a table."""
    names = pa.array([f"name {number}" for number in numbers])
    return X.append_column("made", names)


def measure(board: Board, task: Task, n_repeats: int, is_judge: bool) -> None:
    """Print a line for each column of a table."""
    X, y = read(task)
    bare = X.drop_columns(task.column)
    tables = {task.column: X}
    tables |= {name: add_column(bare, made) for name, made in make_columns(task, y).items()}
    without = score_folds(task, bare, y, n_repeats)
    for name, table in tables.items():
        as_it_comes = score_folds(task, table, y, n_repeats, min_samples_category=1)
        default = score_folds(task, table, y, n_repeats)
        gained, of_gained = describe(without - as_it_comes)
        kept, of_kept = describe(without - default)
        is_noise = gained <= 2 * of_gained
        print(
            f"| {task.name} | {name} | {without.mean():.3f} | {as_it_comes.mean():.3f} "
            f"| {default.mean():.3f} | {kept:+.3f} +- {of_kept:.3f} "
            f"| {'noise' if is_noise else f'keeps {kept / gained:.0%}'} |",
            flush=True,
        )
        if is_judge and is_noise:
            board.at_most(f"{task.name}, {name}: cost", -kept, MOST_COST)
        elif is_judge:
            board.at_least(f"{task.name}, {name}: share kept", kept / gained, LEAST_KEPT)
    number = np.random.default_rng(2).normal(size=len(y))
    cost, error = describe(
        without - score_folds(task, bare.append_column("made", pa.array(number)), y, n_repeats)
    )
    print(f"| {task.name} | a number of noise | | | | {cost:+.3f} +- {error:.3f} | |", flush=True)


def compare_defaults(board: Board, task: Task, n_repeats: int) -> None:
    """Print a line for a table of few categories: what the default gains on it."""
    X, y = read(task)
    as_it_comes = score_folds(task, X, y, n_repeats, min_samples_category=1)
    default = score_folds(task, X, y, n_repeats)
    gained, error = describe(as_it_comes - default)
    print(
        f"| {task.name} | {as_it_comes.mean():.4f} | {default.mean():.4f} "
        f"| {gained:+.4f} +- {error:.4f} |",
        flush=True,
    )
    board.at_most(f"{task.name}: loss beyond its standard error", -gained - error, 0.0)


def main() -> None:
    """Print tables in the form of the documentation."""
    warnings.simplefilter("ignore", CardinalityWarning)  # that is what they are here for
    board = Board("Columns of many categories", parse_arguments(__doc__))
    n_repeats, n_tables = (1, 1) if board.arguments.quick else (N_REPEATS, None)
    if not DATA.exists():
        print("the published tables are not at hand: nothing to measure")
        return
    for title, tasks, is_judge in (
        ("Chosen on", CHOSEN_ON, False),
        ("Judged on", JUDGED_ON, True),
    ):
        print(f"\n{title}\n\n| table | column | without | as it comes | default | gain | |")
        print("|---|---|---:|---:|---:|---:|---|")
        for task in tasks[:n_tables]:
            measure(board, task, n_repeats, is_judge)
    print("\nFew categories\n\n| table | as they come | default | gain |\n|---|---:|---:|---:|")
    for task in FEW_CATEGORIES[:n_tables]:
        compare_defaults(board, task, n_repeats)
    board.finish()


if __name__ == "__main__":
    main()
