"""The conventions of the command line: streams, exit codes, help."""

import re

import pytest
from commands import LOANS, assert_mistake, run, run_apart

from treefold.cli import make_app

pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--max-depth", "-1", "max-depth"),
        ("--cv", "1", "cv"),
        ("--repeats", "0", "repeats"),
        ("--seed", "-1", "seed"),
        ("--task", "clustering", "clustering"),
        ("--rule", "worst", "worst"),
        ("--class-weight", "heavy", "heavy"),
        ("--jobs", "0", "--jobs"),
        ("--scoring", "charm", "no score called 'charm'"),
        ("--positive", "maybe", "is never 'maybe'"),
        ("--report", "no/folder/out.html", "no folder"),
    ],
)
def test_a_bad_option_is_named(option: str, value: str, message: str) -> None:
    assert_mistake(run("fit", LOANS, "--target", "default", option, value), message)


@pytest.mark.parametrize(
    "option",
    ["--target", "--weights", "--drop", "--categorical", "--id", "--groups", "--time", "--folds"],
)
def test_a_column_that_is_not_there_is_named_with_those_that_are(option: str) -> None:
    arguments = ["--target", "default"] if option != "--target" else []
    result = run("fit", LOANS, *arguments, option, "Region")
    assert_mistake(result, f"{option}: there is no column 'Region'. Did you mean 'region'?")
    assert "application_date, region" in result.err


def test_no_target_at_all_is_a_mistake() -> None:
    assert_mistake(run("fit", LOANS), "--target")


def test_no_colour_where_nobody_asked_for_it() -> None:
    help_text = run_apart("fit", "--help", NO_COLOR="1", FORCE_COLOR="1").out
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", help_text)


def test_version_and_help() -> None:
    assert re.fullmatch(r"treefold \d+\.\d+\S*\n", run("--version").out)
    assert "treefold fit examples/loans.csv --target default" in run("--help").out
    for command in ("fit", "predict", "show"):
        text = run(command, "--help").out
        assert "Examples:" in text
        assert f"treefold {command}" in text


@pytest.mark.parametrize("command", [(), ("fit",), ("predict",), ("show",)])
def test_help_names_no_types(command: tuple[str, ...]) -> None:
    text = run_apart(*command, "--help", COLUMNS="80").out
    assert not re.search("<(bool|str|path|int|float)>", text)


def test_help_fits_eighty_columns() -> None:
    """Lines keep their breaks: longer ones would be broken twice."""
    for command in make_app().registered_commands:
        lines = str(getattr(command.callback, "__doc__", "")).splitlines()
        assert [line for line in lines if len(line.strip()) > 78] == []


def test_help_names_every_option_of_fit() -> None:
    text = run("fit", "--help").out
    options = """--target --task --positive --class-weight --weights --drop --categorical
        --numeric --id --cv --repeats --groups --time --folds --scoring --rule --max-depth
        --no-nested --test --model --report --seed --jobs --json"""
    assert [option for option in options.split() if option not in text] == []


def test_completion_is_offered() -> None:
    text = run("--help").out
    assert "--install-completion" in text
    result = run_apart("--help", _TREEFOLD_COMPLETE="complete_bash", COMP_WORDS="treefold pre",
                       COMP_CWORD="1")  # fmt: skip
    assert result.out.split() == ["predict"]


def test_a_mistake_shows_no_traceback() -> None:
    result = run_apart("fit", "nothing.csv", "--target", "y")
    assert_mistake(result, "'nothing.csv' does not exist")
    assert len(result.err.splitlines()) == 1


def test_help_imports_nothing_heavy() -> None:
    show = "import atexit, sys; atexit.register(lambda: print(*sys.modules))"
    modules = run_apart("--help", code=show).out.split()
    assert "typer" in modules
    assert not {"sklearn", "scipy", "numpy", "pyarrow", "narwhals"} & set(modules)


def test_the_missing_extra_is_named() -> None:
    result = run_apart("--help", code="import sys; sys.modules['typer'] = None")
    assert_mistake(result, 'pip install "treefold[cli]"')
