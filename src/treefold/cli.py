# ruff: noqa: PLC0415 -- imports wait for their turn, so that `treefold --help` answers at once
"""The command line: declares the commands and their options.

Results go to stdout, everything else to stderr. What commands do is in `treefold.command`, which
imports pyarrow, rich and the estimators; typer is imported in `main`, because only the extra
[cli] brings it.
"""

import gc
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from treefold.command.mistakes import mistakes_end_with_code_2, say
from treefold.command.options import (
    ClassWeight,
    Decimal,
    FitOptions,
    Format,
    PredictOptions,
    Rule,
    Task,
)

if TYPE_CHECKING:
    import typer

__all__ = ["main", "make_app"]

_BEGIN = time.perf_counter()
_DATA_HELP = "A CSV, Parquet or Feather file, or - for stdin."
_CONTEXT = {"help_option_names": ["-h", "--help"]}


def main() -> None:
    """Run the command line, or say which package it lacks."""
    missing = [name for name in ("typer", "rich", "pyarrow") if find_spec(name) is None]
    if missing:
        say("error", f"the command line needs {' and '.join(missing)}, not installed here.")
        say("hint", 'pip install "treefold[cli]"')
        raise SystemExit(2)
    gc.disable()  # until everything is imported
    make_app()(prog_name="treefold")


def make_app() -> "typer.Typer":
    """Declare the commands."""
    import typer
    from typer.core import TyperCommand, TyperGroup

    group, command = _without_types(TyperGroup), _without_types(TyperCommand)
    app = typer.Typer(
        cls=group,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=_CONTEXT,
    )

    @app.callback()
    def treefold(
        version: Annotated[
            bool,
            typer.Option(
                "--version", is_eager=True, callback=_print_version, help="Print it, stop."
            ),
        ] = False,
    ) -> None:
        """Exact decision trees, with the evidence for them.

        \b
        Examples:
          treefold fit examples/loans.csv --target default
          treefold fit examples/loans.csv --target default --model loans.treefold
          treefold predict loans.treefold new_loans.csv -o answers.csv --proba
          treefold show loans.treefold --format sql
        """

    app.command("fit", cls=command, no_args_is_help=True)(_make_fit())
    app.command("predict", cls=command, no_args_is_help=True)(_make_predict())
    app.command("show", cls=command, no_args_is_help=True)(_make_show())
    return app


def _without_types(kind: Any) -> Any:
    """Let the help of a kind of command say nothing of types: `<bool>` of a flag, `<str>`."""

    def get_params(self: Any, ctx: Any) -> Any:
        params = kind.get_params(self, ctx)
        for one in params:
            if getattr(one, "is_flag", False) and one.metavar is None:
                one.metavar = ""
            if one.param_type_name == "argument":
                one.display_type_rich = lambda ctx: None
        return params

    return type(kind.__name__, (kind,), {"get_params": get_params})


def _make_fit() -> Callable[..., None]:
    """Declare `treefold fit`; typer reads the signature."""
    from typer import Argument, Option

    def column(text: str) -> object:
        return Option(metavar="COL", help=text)

    def fit(
        data: Annotated[str, Argument(metavar="DATA", help=_DATA_HELP)],
        *,
        target: Annotated[str, column("The column to predict.")],
        task: Annotated[
            Task, Option(metavar="TASK", help="classification, regression, or auto: by its values.")
        ] = Task.AUTO,
        positive: Annotated[
            str | None, Option(metavar="LABEL", help="Of two classes, the one to find.")
        ] = None,
        class_weight: Annotated[
            ClassWeight | None, Option(metavar="balanced", help="Let all classes count the same.")
        ] = None,
        weights: Annotated[str | None, column("How much each row counts.")] = None,
        drop: Annotated[list[str] | None, column("Leave it out. May be repeated.")] = None,
        categorical: Annotated[
            list[str] | None, column("Take its numbers for categories. May be repeated.")
        ] = None,
        numeric: Annotated[
            list[str] | None, column("Take codes such as 00123 for numbers. May be repeated.")
        ] = None,
        id: Annotated[str | None, column("Names the rows: leave it out.")] = None,
        no_header: Annotated[
            bool, Option("--no-header", help="The first line is data, not names.")
        ] = False,
        comment: Annotated[
            str | None, Option(metavar="CHAR", help="Skip lines that begin with it.")
        ] = None,
        missing: Annotated[
            list[str] | None,
            Option(metavar="VALUE", help="Means that a value is missing. May be repeated."),
        ] = None,
        decimal: Annotated[
            Decimal | None,
            Option(metavar="MARK", help=". or , where numbers such as 1,234 do not tell."),
        ] = None,
        day_first: Annotated[
            bool | None,
            Option("--day-first/--month-first", help="Where dates such as 1/2/2024 do not tell."),
        ] = None,
        cv: Annotated[int | None, Option(metavar="N", min=2, help="Folds. By default 10.")] = None,
        repeats: Annotated[
            int, Option(metavar="N", min=1, help="Make the folds so many times.")
        ] = 1,
        groups: Annotated[str | None, column("Rows with the same value share a fold.")] = None,
        time: Annotated[
            str | None,
            Option(
                metavar="COL[,COL]", help="Hold out what is later. Or year,month,day and so on."
            ),
        ] = None,
        folds: Annotated[str | None, column("Says which fold a row is in.")] = None,
        scoring: Annotated[
            str | None,
            Option(metavar="NAME", help="scikit-learn's. By default neg_brier_score, or r2."),
        ] = None,
        rule: Annotated[
            Rule,
            Option(metavar="RULE", help="one_se: smallest within one standard error; or best."),
        ] = Rule.ONE_SE,
        max_depth: Annotated[
            int | None, Option(metavar="N", min=1, help="Largest depth. By default any.")
        ] = None,
        nested: Annotated[
            bool, Option("--nested/--no-nested", help="Score the choice of settings too.")
        ] = True,
        test: Annotated[
            str | None, Option(metavar="FILE", help="Score the tree on these rows too.")
        ] = None,
        model: Annotated[
            Path | None, Option(metavar="OUT", help="Write the model to this file.")
        ] = None,
        report: Annotated[
            Path | None, Option(metavar="OUT", help="Write a report to this HTML file.")
        ] = None,
        seed: Annotated[int, Option(metavar="N", min=0, help="Shuffles the folds.")] = 0,
        jobs: Annotated[int, Option(metavar="N", help="Threads; -1: all. The same tree.")] = -1,
        json: Annotated[bool, Option("--json", help="Print everything as JSON.")] = False,
    ) -> None:
        """Fit a tree to DATA, tuned by cross-validation, and print it with its evidence.

        Text is categories, dates are days, $9.50 and 12% are numbers, empty fields
        are missing values. The first score is on rows that had no part in growing
        the tree or in choosing its settings: it is nested.

        \b
        Examples:
          treefold fit examples/loans.csv --target default
          treefold fit examples/loans.csv --target default --report loans.html
          treefold fit loans.csv --target default --drop region --model loans.treefold
          treefold fit visits.parquet --target cost --groups patient --repeats 3
          treefold fit sales.csv.gz --target amount --time day --test later.csv --json
        """
        _check_jobs(jobs)
        with mistakes_end_with_code_2():
            from treefold.command.fit import run_fit

            _collect_again()
            options = FitOptions(
                data=data, target=target, task=task, positive=positive, class_weight=class_weight,
                weights=weights, drop=tuple(drop or ()), categorical=tuple(categorical or ()),
                numeric=tuple(numeric or ()), header=not no_header, comment=comment,
                missing=tuple(missing or ()), decimal=decimal and decimal.value,
                day_first=day_first,
                id=id, cv=cv, repeats=repeats, groups=groups, time=time, folds=folds,
                scoring=scoring, rule=rule, max_depth=max_depth, nested=nested, test=test,
                model=model, report=report, seed=seed, jobs=jobs, json=json,
            )  # fmt: skip
            run_fit(options, _BEGIN)

    return fit


def _make_predict() -> Callable[..., None]:
    """Declare `treefold predict`; typer reads the signature."""
    from typer import Argument, Option

    def predict(
        model: Annotated[Path, Argument(metavar="MODEL", help="A file that fit --model wrote.")],
        data: Annotated[str, Argument(metavar="DATA", help=_DATA_HELP)],
        *,
        output: Annotated[
            Path | None,
            Option("-o", "--output", metavar="OUT", help="A .csv or .parquet file; else stdout."),
        ] = None,
        proba: Annotated[bool, Option("--proba", help="Add the share of every class.")] = False,
        threshold: Annotated[
            float | None,
            Option(metavar="P", min=0, max=1, help="Share from which on a row is positive."),
        ] = None,
        positive: Annotated[
            str | None,
            Option(metavar="LABEL", help="The class that the threshold is about; else as in fit."),
        ] = None,
        explain: Annotated[bool, Option("--explain", help="Add the rule of every row.")] = False,
        id: Annotated[
            str | None, Option(metavar="COL", help="Copy this column to the answers.")
        ] = None,
        jobs: Annotated[int, Option(metavar="N", help="Threads; -1: all.")] = -1,
    ) -> None:
        """Answer for the rows of DATA, in their order, batch by batch.

        Columns come in any order and among others; only those that a split asks for
        are needed.

        \b
        Examples:
          treefold predict loans.treefold new_loans.csv > answers.csv
          treefold predict loans.treefold new.parquet -o answers.parquet --proba
          zcat new.csv.gz | treefold predict loans.treefold - --threshold 0.3 --id n
        """
        _check_jobs(jobs)
        with mistakes_end_with_code_2():
            from treefold.command.predict import run_predict

            _collect_again()
            run_predict(
                PredictOptions(model, data, output, proba, threshold, positive, explain, id, jobs)
            )

    return predict


def _make_show() -> Callable[..., None]:
    """Declare `treefold show`; typer reads the signature."""
    from typer import Argument, Option

    def show(
        model: Annotated[Path, Argument(metavar="MODEL", help="A file that fit --model wrote.")],
        *,
        form: Annotated[
            Format, Option("--format", metavar="FORM", help="text, json, dot, sql or svg.")
        ] = Format.TEXT,
        dialect: Annotated[
            str | None, Option(metavar="NAME", help="Of SQL, such as duckdb; else ANSI.")
        ] = None,
        output: Annotated[
            Path | None, Option("-o", "--output", metavar="OUT", help="A file; else stdout.")
        ] = None,
    ) -> None:
        """Write a model as text, JSON, Graphviz DOT, SQL or SVG.

        \b
        Examples:
          treefold show loans.treefold
          treefold show loans.treefold --format sql --dialect postgres
          treefold show loans.treefold --format svg -o loans.svg
        """
        with mistakes_end_with_code_2():
            from treefold.command.show import run_show

            _collect_again()
            run_show(model, form, dialect, output)

    return show


def _collect_again() -> None:
    """Collect garbage from here on: among what imports leave, which all lasts, it took 0.2 s."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _check_jobs(jobs: int) -> None:
    if jobs == 0:
        say("error", "--jobs must be a number of threads, or -1 for all cores; got 0.")
        raise SystemExit(2)


def _print_version(wanted: bool) -> None:
    """Print the installed version and stop."""
    if wanted:
        from treefold import __version__

        sys.stdout.write(f"treefold {__version__}\n")
        raise SystemExit(0)
