"""The command line: its two streams and its exit code, mostly without a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from treefold.cli import make_app

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")
testing = pytest.importorskip("typer.testing")

LOANS = Path(__file__).parents[1] / "examples" / "loans.csv"


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


def run(*arguments: object) -> Result:
    """Run treefold with these arguments, in this process."""
    result = testing.CliRunner().invoke(
        make_app(), [str(argument) for argument in arguments], env={"COLUMNS": "120"}
    )
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    return Result(result.exit_code, result.stdout, result.stderr)


def run_apart(*arguments: object, code: str = "", **environment: str) -> Result:
    """Run treefold in a process of its own, after some code."""
    begin = f"{code}\nfrom treefold.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", begin, *map(str, arguments)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "120", **environment},
        timeout=120,
        check=False,
    )
    return Result(result.returncode, result.stdout, result.stderr)


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def assert_mistake(result: Result, message: str) -> None:
    assert result.code == 2, result
    assert message in result.err
    assert result.out == ""


def score_of(result: Result, measure: str) -> tuple[float, float]:
    """The tree's and the naive guess's value in the printed table."""
    found = re.search(rf"^{measure} +(\S+) +(\S+)", result.out, re.MULTILINE)
    assert found, result
    return float(found[1]), float(found[2])


@pytest.fixture(scope="module")
def loans() -> Result:
    return run_apart("fit", LOANS, "--target", "default")


def test_the_first_command_of_the_readme_prints_score_and_tree(
    loans: Result,
) -> None:
    assert loans.code == 0, loans.err
    tree, guess = score_of(loans, "accuracy")
    assert tree > guess + 0.03
    assert "always no" in loans.out
    assert "burden" in loans.out
    assert "classification; 3,000 rows to learn from, 1,000 held out" in loans.err


def test_the_result_is_the_same_every_time_and_for_any_number_of_threads(
    loans: Result,
) -> None:
    assert loans.out == run("fit", LOANS, "--target", "default", "--jobs", 2).out


def test_another_seed_holds_out_other_rows(loans: Result) -> None:
    other = run("fit", LOANS, "--target", "default", "--seed", 7)
    assert other.code == 0
    assert loans.out != other.out


def test_dates_are_days_and_text_is_categories(tmp_path: Path) -> None:
    rows = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d},{'abc'[i % 3]}" for i in range(240)]
    labelled = [f"{row},{'new' if row[:7] > '2024-06' else 'old'}" for row in rows]
    path = write(tmp_path / "days.csv", "day,letter,age", *labelled)
    result = run("fit", path, "--target", "age")
    assert result.code == 0, result.err
    assert score_of(result, "accuracy")[0] == 1.0
    assert "day" in result.out


def test_parquet_gives_the_same_tree_as_csv(tmp_path: Path, loans: Result) -> None:
    options = csv.ConvertOptions(strings_can_be_null=True)
    parquet.write_table(csv.read_csv(LOANS, convert_options=options), tmp_path / "loans.parquet")
    result = run("fit", tmp_path / "loans.parquet", "--target", "default")
    assert loans.out == result.out


def make_numbers(path: Path, n_rows: int = 400) -> Path:
    x = np.random.default_rng(0).normal(size=(n_rows, 2))
    lines = [f"{a:.4f},{b:.4f},{3 * (a > 0) + 0.1 * b:.4f}" for a, b in x]
    return write(path, "a,b,y", *lines)


def test_a_target_of_real_numbers_means_regression(tmp_path: Path) -> None:
    result = run("fit", make_numbers(tmp_path / "numbers.csv"), "--target", "y")
    assert result.code == 0, result.err
    tree, guess = score_of(result, "R2")
    assert tree > 0.9
    assert guess < 0.1
    assert "mean absolute error" in result.out


def test_whole_numbers_are_classes_or_numbers_as_asked(tmp_path: Path) -> None:
    lines = [f"{i % 7},{i % 3}" for i in range(200)]
    path = write(tmp_path / "whole.csv", "x,y", *lines)
    assert "accuracy" in run("fit", path, "--target", "y").out
    assert "R2" in run("fit", path, "--target", "y", "--task", "regression").out


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--test-size", "1.5", "--test-size must lie between 0 and 1"),
        ("--test-size", "nan", "--test-size must lie between 0 and 1"),
        ("--max-depth", "-1", "max-depth"),
        ("--min-samples-leaf", "0", "min-samples-leaf"),
        ("--task", "clustering", "clustering"),
        ("--jobs", "0", "n_jobs"),
    ],
)
def test_a_bad_option_is_named(option: str, value: str, message: str) -> None:
    assert_mistake(run("fit", LOANS, "--target", "default", option, value), message)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert_mistake(run("fit", tmp_path / "no.csv", "--target", "y"), "does not exist")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    assert_mistake(run("fit", folder, "--target", "y"), "cannot be read")


def test_an_unknown_kind_of_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "data.xlsx", "x,y")
    assert_mistake(run("fit", path, "--target", "y"), "neither .csv, .tsv nor .parquet")


def test_a_missing_target_lists_the_columns() -> None:
    assert_mistake(run("fit", LOANS, "--target", "defaults"), "no column 'defaults'. The columns")


def test_no_target_at_all_is_a_mistake() -> None:
    assert_mistake(run("fit", LOANS), "--target")


def test_a_broken_parquet_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "bad.parquet", "this is not parquet")
    assert_mistake(run("fit", path, "--target", "y"), "cannot be read as .parquet")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read as .csv"),
        (b"x,y\n", "has no rows"),
        (b"x,y\n1,2\n1,2,3\n", "cannot be read as .csv"),
        (b"x,x,y\n1,2,3\n", "Column 'x' occurs twice"),
        (b"x,y\n1,\n2,\n", "Target 'y' has no values at all"),
        (b"x,y\n1,a\n2,a\n3,a\n", "Target 'y' is a in every row"),
        (b"y\na\nb\na\nb\n", "Nothing to learn from"),
        (b"x,y\n,a\n,b\n,a\n,b\n", "Nothing to learn from"),
        (b"x,y\n1,a\n2,b\n", "too few to hold out"),
        (b"x,y\n1,2024-01-01\n2,2024-01-02\n", "neither classes nor numbers"),
        (b"x,y\n" + b"inf,a\ninf,b\n" * 4, "infin"),
        (b"x,y\n\xff\xfe,a\n2,b\n" + b"1,a\n2,b\n" * 4, "Column 'x'"),
    ],
)
def test_bad_data_ends_with_a_message(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    assert_mistake(run("fit", path, "--target", "y"), message)


def test_text_cannot_be_regressed() -> None:
    result = run("fit", LOANS, "--target", "default", "--task", "regression")
    assert_mistake(result, "use --task classification")


def test_a_column_without_values_and_rows_without_target_are_left_out(tmp_path: Path) -> None:
    lines = [f"{i},,{'ab'[i > 50]}" for i in range(100)]
    path = write(tmp_path / "gaps.csv", "x,nothing,y", *lines, "1,,", "2,,")
    result = run("fit", path, "--target", "y")
    assert result.code == 0, result.err
    assert "2 rows have no 'y'" in result.err
    assert "no row has a value: nothing" in result.err
    assert score_of(result, "accuracy")[0] > 0.9


def test_a_class_with_one_row_is_learnt_not_held_out(tmp_path: Path) -> None:
    lines = [f"{i},{'ab'[i > 50]}" for i in range(100)]
    path = write(tmp_path / "rare.csv", "x,y", *lines, "1000,rare")
    result = run("fit", path, "--target", "y", "--min-samples-leaf", 1)
    assert result.code == 0, result.err
    assert "rare" in result.out


def test_no_colour_where_nobody_asked_for_it(loans: Result) -> None:
    assert "\x1b" not in loans.out + loans.err
    help_text = run_apart("fit", "--help", NO_COLOR="1", FORCE_COLOR="1").out
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", help_text)


def test_version_and_help() -> None:
    assert re.fullmatch(r"treefold \d+\.\d+\S*\n", run("--version").out)
    assert "treefold fit examples/loans.csv --target default" in run("--help").out
    assert "--min-samples-leaf" in run("fit", "--help").out


def test_a_mistake_shows_no_traceback() -> None:
    result = run_apart("fit", "nothing.csv", "--target", "y")
    assert_mistake(result, "'nothing.csv' does not exist")
    assert len(result.err.splitlines()) == 1


def test_help_imports_nothing_heavy() -> None:
    show = "import atexit, sys; atexit.register(lambda: print(*sys.modules))"
    modules = run_apart("--help", code=show).out.split()
    assert "typer" in modules
    assert not {"sklearn", "scipy", "pyarrow", "narwhals"} & set(modules)


def test_help_answers_at_once() -> None:
    resource = pytest.importorskip("resource")

    def seconds_of_children() -> float:  # of the CPU: other work on the machine does not count
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return float(usage.ru_utime + usage.ru_stime)

    times = []
    for _ in range(5):
        begin = seconds_of_children()
        run_apart("--help")
        times.append(seconds_of_children() - begin)
    assert min(times) < 0.6, times


def test_the_missing_extra_is_named() -> None:
    result = run_apart("--help", code="import sys; sys.modules['typer'] = None")
    assert_mistake(result, 'pip install "treefold[cli]"')
    assert "Traceback" not in result.err
