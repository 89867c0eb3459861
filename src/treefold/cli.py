# ruff: noqa: PLC0415 -- imports wait for their turn, so that `treefold --help` answers at once
"""The command line: declares the commands, turns a user's mistake into a message and exit code 2.

Results go to stdout, everything else to stderr. What `treefold fit` does is in `fit_command`, which
imports pyarrow, rich and the estimators; typer is imported in `main`, because only the extra
[cli] brings it.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

if TYPE_CHECKING:
    import typer

TASK_HELP = "classification, regression, or auto: by the target's type."


class UserError(Exception):
    """A mistake that the user can put right; the message says how."""


class Task(StrEnum):
    """What kind of target to predict."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class FitOptions(NamedTuple):
    """Everything that `treefold fit` was asked."""

    data: Path
    target: str
    task: Task
    max_depth: int
    min_samples_leaf: int
    test_size: float
    seed: int
    jobs: int


def main() -> None:
    """Run the command line, or say which package it lacks."""
    missing = [name for name in ("typer", "rich", "pyarrow") if find_spec(name) is None]
    if missing:
        say("error", f"the command line needs {' and '.join(missing)}, not installed here.")
        say("hint", 'pip install "treefold[cli]"')
        raise SystemExit(2)
    make_app()(prog_name="treefold")


def make_app() -> "typer.Typer":
    """Declare the commands and their options."""
    import typer

    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

    @app.callback()
    def treefold(
        version: Annotated[
            bool,
            typer.Option(
                "--version", is_eager=True, callback=print_version, help="Print it, stop."
            ),
        ] = False,
    ) -> None:
        """Exact decision trees.

        \b
        Examples:
          treefold fit examples/loans.csv --target default
          treefold fit --help
        """

    app.command("fit", no_args_is_help=True)(make_fit_command())
    return app


def make_fit_command() -> Callable[..., None]:
    """Declare `treefold fit`; typer reads the signature."""
    from typer import Argument, Option

    def fit(
        data: Annotated[Path, Argument(metavar="DATA", help="A .csv, .tsv or .parquet file.")],
        *,
        target: Annotated[str, Option(metavar="COLUMN", help="The column to predict.")],
        task: Annotated[Task, Option(metavar="TASK", help=TASK_HELP)] = Task.AUTO,
        max_depth: Annotated[int, Option(metavar="N", min=0, help="0: no limit.")] = 4,
        min_samples_leaf: Annotated[int, Option(metavar="N", min=1, help="Rows per leaf.")] = 5,
        test_size: Annotated[float, Option(metavar="SHARE", help="Of rows held out.")] = 0.25,
        seed: Annotated[int, Option(metavar="N", min=0, help="Decides which rows.")] = 0,
        jobs: Annotated[int, Option(metavar="N", help="Threads; -1: all. The same tree.")] = 1,
    ) -> None:
        """Fit a tree on a part of DATA, score it on the rest, and print both.

        Text columns are categories, dates count as days, empty fields are missing values.

        \b
        Examples:
          treefold fit examples/loans.csv --target default
          treefold fit houses.parquet --target price --max-depth 6 --jobs -1
          treefold fit wine.csv --target quality --task regression > tree.txt
        """
        from treefold.fit_command import run_fit

        with mistakes_end_with_code_2():
            run_fit(
                FitOptions(data, target, task, max_depth, min_samples_leaf, test_size, seed, jobs)
            )

    return fit


def print_version(wanted: bool) -> None:
    """Print the installed version and stop."""
    if wanted:
        from treefold import __version__

        sys.stdout.write(f"treefold {__version__}\n")
        raise SystemExit(0)


@contextmanager
def mistakes_end_with_code_2() -> Iterator[None]:
    """Turn a UserError into a message and exit code 2, and warnings into notes."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            try:
                yield
            finally:
                for warning in caught:
                    say("warning", str(warning.message))
    except UserError as error:
        say("error", str(error))
        raise SystemExit(2) from None


def say(kind: str, message: str) -> None:
    """Write one message to stderr: 'kind: message'."""
    sys.stderr.write(f"{kind}: {message}\n")
