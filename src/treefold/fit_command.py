"""What `treefold fit` does: read a file, hold out rows, fit, score, print.

The score stands beside that of a guess that ignores the columns. How data becomes columns is
`ingest`'s business; options and exit codes are `cli`'s.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet, types
from rich.console import Console
from rich.table import Table

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, export_text
from treefold.cli import FitOptions, Task, UserError, say

MAX_INTEGER_CLASSES = 20  # a target of whole numbers with more distinct values is a quantity
CSV_DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET_SUFFIXES = {".parquet", ".pq"}
PACKED_SUFFIXES = {".gz", ".bz2"}  # pyarrow unpacks these by name


class Target(NamedTuple):
    """The target of every row, and which kind of answer it wants."""

    name: str
    values: NDArray[Any]
    is_class: bool


class Scores(NamedTuple):
    """Per measure: its name, the tree's value, and the value of a guess that ignores the row."""

    guess: str
    lines: list[tuple[str, float, float]]


def run_fit(options: FitOptions) -> None:
    """Read, hold out, fit, score, print."""
    if not 0 < options.test_size < 1:
        raise UserError(f"--test-size must lie between 0 and 1, got {options.test_size:g}.")
    table = read_table(options.data)
    columns, target = take_target(table, options.target, options.task)
    train, test = hold_out(target, options.test_size, options.seed)
    kind = "classification" if target.is_class else "regression"
    say("note", f"{kind}; {len(train):,} rows to learn from, {len(test):,} held out for the score.")
    try:
        tree = fit_tree(columns.take(train), target.values[train], target.is_class, options)
        answers = tree.predict(columns.take(test))
    except ValueError as error:
        raise UserError(str(error)) from error
    score = score_classes if target.is_class else score_numbers
    print_scores(score(target.values[train], target.values[test], answers))
    print_tree(tree)


def read_table(path: Path) -> Any:
    """Read a CSV or Parquet file into a pyarrow table with at least one row."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED_SUFFIXES:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in CSV_DELIMITERS and suffix not in PARQUET_SUFFIXES:
        raise UserError(f"'{path}' is neither .csv, .tsv nor .parquet; rename or convert it.")
    try:
        table = read_parquet(path) if suffix in PARQUET_SUFFIXES else read_csv(path, suffix)
    except FileNotFoundError:
        raise UserError(f"'{path}' does not exist; check the name and the folder.") from None
    except (pa.ArrowException, OSError, UnicodeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"'{path}' cannot be read as {suffix}: {reason}") from None
    if table.num_rows == 0:
        raise UserError(f"'{path}' has no rows, only column names.")
    return table


def read_parquet(path: Path) -> Any:
    """Read one Parquet file."""
    with path.open("rb") as file:
        return parquet.read_table(file)


def read_csv(path: Path, suffix: str) -> Any:
    """Read one CSV file; an empty field, NA, NaN, null ... is a missing value, also in text."""
    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter=CSV_DELIMITERS[suffix], newlines_in_values=True),
        convert_options=csv.ConvertOptions(strings_can_be_null=True),
    )


def take_target(table: Any, name: str, task: Task) -> tuple[Any, Target]:
    """Split the table into its columns and its target; rows without a target are left out."""
    names = table.column_names
    twins = sorted({column for column in names if names.count(column) > 1})
    if twins:
        raise UserError(f"Column '{twins[0]}' occurs twice; column names must differ.")
    if name not in names:
        raise UserError(f"There is no column '{name}'. The columns are: {', '.join(names)}.")
    has_target = table[name].is_valid()
    table = table.filter(has_target)
    n_dropped = len(has_target) - table.num_rows
    if n_dropped:
        say("note", f"{n_dropped:,} rows have no '{name}' and are left out.")
    if table.num_rows == 0:
        raise UserError(f"Target '{name}' has no values at all.")
    target = make_target(name, table[name], task)
    columns = table.drop_columns([name])
    empty = [
        column for column in columns.column_names if columns[column].null_count == len(columns)
    ]
    if empty:
        say("note", f"left out, because no row has a value: {', '.join(empty)}.")
    if len(empty) == columns.num_columns:
        raise UserError(f"Nothing to learn from: there is no column with values beside '{name}'.")
    return columns.drop_columns(empty), target


def make_target(name: str, column: Any, task: Task) -> Target:
    """Decide what the target is, and make it an array of labels or of numbers."""
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    is_whole = types.is_integer(column.type)
    is_number = is_whole or types.is_floating(column.type) or types.is_decimal(column.type)
    is_label = types.is_boolean(column.type) or types.is_string(column.type)
    is_label = is_label or types.is_large_string(column.type)
    if not is_number and not is_label:
        raise UserError(f"Target '{name}' holds {column.type} values: neither classes nor numbers.")
    if is_label and task is Task.REGRESSION:
        raise UserError(f"Target '{name}' holds text, not numbers; use --task classification.")
    n_values = len(column.unique())
    if n_values == 1:
        raise UserError(f"Target '{name}' is {column[0]} in every row: nothing to learn.")
    is_class = is_label or (is_whole and n_values <= MAX_INTEGER_CLASSES)
    if task is not Task.AUTO:
        is_class = task is Task.CLASSIFICATION
    if not is_class:
        return Target(name, column.cast("float64").to_numpy(), False)
    labels = column if is_whole else column.cast("string")
    return Target(name, np.asarray(labels.to_numpy()), True)


def hold_out(
    target: Target, test_size: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Shuffle the rows, class by class, and cut off the test part of each class."""
    n_rows = len(target.values)
    classes = np.zeros(n_rows, np.int64)
    if target.is_class:
        classes = np.unique(target.values, return_inverse=True)[1]
    random = np.random.default_rng(seed)
    is_test = np.zeros(n_rows, bool)
    for number in range(int(classes.max()) + 1):
        rows = random.permutation(np.flatnonzero(classes == number))
        is_test[rows[: round(test_size * len(rows))]] = True
    if is_test.all() or not is_test.any():
        raise UserError(
            f"{n_rows} rows are too few to hold out a share of {test_size:g}; "
            "change --test-size or bring more rows."
        )
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def fit_tree(
    columns: Any, target: NDArray[Any], is_class: bool, options: FitOptions
) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """Fit the tree that the options describe."""
    estimator = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    tree = estimator(
        max_depth=options.max_depth or None,
        min_samples_leaf=options.min_samples_leaf,
        n_jobs=options.jobs,
    )
    return tree.fit(columns, target)


def score_classes(train: NDArray[Any], test: NDArray[Any], answers: NDArray[Any]) -> Scores:
    """Compare the tree with always answering the most frequent class."""
    labels, counts = np.unique(train, return_counts=True)
    guess = labels[counts.argmax()]
    in_test = np.unique(test)
    recalls = [np.mean(answers[test == label] == label) for label in in_test]
    return Scores(
        f"always {guess}",
        [
            ("accuracy", float(np.mean(answers == test)), float(np.mean(test == guess))),
            ("balanced accuracy", float(np.mean(recalls)), float(np.mean(in_test == guess))),
        ],
    )


def score_numbers(train: NDArray[Any], test: NDArray[Any], answers: NDArray[Any]) -> Scores:
    """Compare the tree with always answering the mean."""
    guess = float(train.mean())
    errors, naive_errors = test - answers, test - guess
    spread = float(np.sum((test - test.mean()) ** 2)) or 1.0
    return Scores(
        f"always {guess:.6g}",
        [
            ("R2", 1 - np.sum(errors**2) / spread, 1 - np.sum(naive_errors**2) / spread),
            ("mean absolute error", np.abs(errors).mean(), np.abs(naive_errors).mean()),
        ],
    )


def print_scores(scores: Scores) -> None:
    """Print the scores on the held-out rows as a table."""
    table = Table("on held-out rows", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("tree", justify="right")
    table.add_column(scores.guess, justify="right")
    for name, of_tree, of_guess in scores.lines:
        table.add_row(name, f"{of_tree:.4g}", f"{of_guess:.4g}")
    Console(markup=False, highlight=False).print(table)


def print_tree(tree: DecisionTreeClassifier | DecisionTreeRegressor) -> None:
    """Print the tree, never wrapped."""
    sys.stdout.write("\n")
    if isinstance(tree, DecisionTreeClassifier):
        classes = ", ".join(str(label) for label in tree.classes_)
        sys.stdout.write(f"weights count the rows of each class: {classes}\n")
    sys.stdout.write(export_text(tree, show_weights=True))
    sys.stdout.flush()
