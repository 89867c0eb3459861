"""What `treefold fit` does, from the file to the last line."""

import json
import shlex
import sys
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from treefold import __version__
from treefold.command.conversion import check_finite
from treefold.command.fitting import Study, fit_tree, read_score, read_weights
from treefold.command.folds import make_folds
from treefold.command.heading import doubt_names, suspect_comment
from treefold.command.measures import choose_measure
from treefold.command.mistakes import Place, UserError, say, shorten
from treefold.command.notation import NumberForm
from treefold.command.options import FitOptions, word_fit
from treefold.command.order import check_order, compare_times, score_in_time, word_order
from treefold.command.outputs import check_outputs, choose_width, printed, written_together
from treefold.command.reading import Rows, name_file, open_rows, read_table
from treefold.command.recognition import Recognised, recognise
from treefold.command.report import check_report, make_report
from treefold.command.sniffing import Layout
from treefold.command.target import read_target, require_column
from treefold.command.testing import score_test_file
from treefold.command.timing import word_time
from treefold.command.triage import Chosen, choose_columns, describe_columns
from treefold.command.words import write_findings
from treefold.data.table import Table
from treefold.exceptions import CardinalityWarning
from treefold.files import dump_bytes
from treefold.findings.document import to_plain
from treefold.findings.fits import Result, describe_fit
from treefold.findings.leakage import list_giveaways, word_giveaway
from treefold.findings.numbers import show_score
from treefold.findings.target import Target, describe_target
from treefold.findings.verdict import judge_fit, warn_of_score

__all__ = ["run_fit"]

_NOT_AGAIN = ("test", "report", "jobs", "json")  # what a model that is kept does not need


@dataclass(slots=True)
class _Clock:
    """Seconds since the program started, by what they were spent on."""

    begin: float
    imports: float
    reading: float = 0.0

    def split(self) -> dict[str, float]:
        total = time.perf_counter() - self.begin
        rest = total - self.imports - self.reading
        return {"imports": self.imports, "reading": self.reading, "rest": rest, "total": total}


def run_fit(options: FitOptions, begin: float) -> None:
    """Read, fit, write, print. `begin` is when the program started."""
    clock = _Clock(begin, time.perf_counter() - begin)
    _check_files(options)
    start = time.perf_counter()
    layout = Layout(options.decimal, options.missing, options.header, options.comment)
    with open_rows(options.data, layout) as rows:
        table = read_table(rows)
        doubt = _doubt_head(table, rows, options)
        recognised = recognise(table, rows, layout, options)
        recognised.hints += [doubt] if doubt else []
        kind = rows.description
    clock.reading = time.perf_counter() - start
    found: dict[str, Any] = {"verdict": {}, "treefold": __version__}
    result, encoded = _study(recognised, options, found)
    found["read"] = {"file": options.data, "kind": kind, **found["read"]}
    reading = recognised.reading
    result.model._reading = reading.to_state({*found["columns"]["used"], options.target})
    if options.test is not None:
        found["scores"].rows["test"] = score_test_file(result, options, reading)
    found["wrote"] = _write(result, encoded, found, options) or [
        "nothing; --model FILE keeps the tree, --report FILE shows it"
    ]
    found["next"] = _suggest(found, options)
    found["work"] = {"trees": result.evidence.n_trees, "seconds": clock.split()}
    _print(found, options)


def _doubt_head(table: Any, rows: Rows, options: FitOptions) -> str | None:
    """Say so if the first line does not look like names."""
    doubt = doubt_names(table) if rows.kind == "csv" and options.header else None
    if options.target not in table.column_names and rows.kind == "csv":
        more = doubt or suspect_comment(table.column_names[0])
        if more:
            raise UserError(f"--target: there is no column '{options.target}'. {more}")
    return doubt


def _check_files(options: FitOptions) -> None:
    """Refuse what would fail at the end, before any work is done."""
    check_report(options)
    check_outputs(
        {"--model": options.model, "--report": options.report},
        {"the data": options.data, "the test file": options.test},
    )
    if options.test is not None and options.test != "-" and not Path(options.test).exists():
        raise UserError(f"--test: '{options.test}' does not exist; check the name and the folder.")


def _study(
    recognised: Recognised, options: FitOptions, found: dict[str, Any]
) -> tuple[Result, Table]:
    """Fit, and note everything that was found out on the way."""
    table = whole = recognised.table
    table, target, rows = _take_target(table, options)
    chosen = choose_columns(table, options, whole, recognised.doubtful)
    found["read"] = {
        "rows": whole.num_rows,
        "columns": table.num_columns,
        "rows_without_target": whole.num_rows - table.num_rows,
        **recognised.describe(),
    }
    found["target"], found["columns"] = describe_target(target), describe_columns(chosen)
    found["missing"] = chosen.missing
    for name, column in zip(chosen.columns.column_names, chosen.columns.columns, strict=True):
        check_finite(column, Place(name_file(options.data), name, rows))
    encoded = _encode(chosen, options)
    _tell_giveaways(encoded, target, chosen.times, found)
    found["hints"] = recognised.hints + chosen.hints
    folds = make_folds(encoded, target, table, options)
    found["folds"] = {
        "number": folds.n_folds,
        "splits": len(folds.splits),
        "duplicates": folds.n_duplicates,
        "description": folds.description,
    }
    weights = _take_weights(table, rows, options)
    study = Study(encoded, target, weights, folds, choose_measure(target, options))
    result = Result(target, weights, folds.splits, study.measure, *fit_tree(study, options))
    found.update(describe_fit(result))
    if options.nested:
        _tell_nesting(result, found)
    if chosen.times:
        _tell_time(study, result, table, chosen.times, found)
    else:
        _tell_order(study, options, result, found)
    found["verdict"] = judge_fit(result, found)
    found["warnings"] += warn_of_score(found["verdict"])
    return result, encoded


def _tell_giveaways(
    encoded: Table, target: Target, times: list[str], found: dict[str, Any]
) -> None:
    """Warn of columns that give the target away; what time does is said elsewhere."""
    giveaways = list_giveaways(encoded, target)
    found["giveaways"] = [one for one in giveaways if one["column"] not in times]
    found["warnings"] = [
        word_giveaway(one["column"], one["share"], target, f": --drop {shlex.quote(one['column'])}")
        for one in found["giveaways"]
    ]


def _tell_time(
    study: Study, result: Result, columns: Any, times: list[str], found: dict[str, Any]
) -> None:
    """Say what rows that follow in time do to the score of the same settings."""
    change, found["order"] = "", None
    if result.model.get_n_leaves() < 2:  # nothing was learned, from later rows or others
        return
    shuffled = read_score(study, result.model)
    later = score_in_time(study, result.model, columns, times)
    if later is not None:
        result.evidence.n_trees += later.n_trees
        naive = found["scores"].rows["baseline"].score
        found["order"] = {"times": times, **compare_times(study, shuffled, later, naive)}
        scores = show_score(shuffled.score), show_score(later.score)
        change = f" ({study.measure.title} {scores[0]}; {scores[1]} from earlier rows only)"
    is_odd = found["order"] is not None and found["order"]["is_suspicious"]
    found["warnings" if is_odd else "hints"].append(word_time(times, change))


def _tell_order(study: Study, options: FitOptions, result: Result, found: dict[str, Any]) -> None:
    """Say so if the rows seem to follow in an order that matters."""
    found["order"] = order = check_order(study, options, result.model)
    if order is None:
        return
    result.evidence.n_trees += order.pop("trees", 0)
    words = word_order(order, study)
    if words is not None:
        found[words[0]].append(words[1])


def _tell_nesting(result: Result, found: dict[str, Any]) -> None:
    """Say how the nested score came about, or why there is none."""
    if result.model.evaluation_.nested is None:
        need = "3 folds" if len(result.splits) < 3 else "more rows in each fold"
        found["hints"].append(f"The score is optimistic: a nested one takes {need}.")
    elif result.evidence.blocks is not None:
        folds = found["folds"]
        n_blocks = round(len(result.evidence.blocks) * folds["number"] / folds["splits"])
        folds["description"] += f"; merged into {n_blocks} for the nested score"


def _take_target(table: Any, options: FitOptions) -> tuple[Any, Target, NDArray[np.int64]]:
    """Leave out rows without a target; say where the others stand in the file."""
    is_present = require_column(table, options.target, "--target").is_valid()
    rows = np.flatnonzero(is_present)
    if len(rows) < table.num_rows:
        table = table.filter(is_present)
    if len(rows) == 0:
        raise UserError(f"Target '{options.target}' has no values at all.")
    where = Place(name_file(options.data), options.target, rows)
    target = read_target(table[options.target], where, options.task, options.positive)
    if options.class_weight is not None and not target.is_class:
        raise UserError("--class-weight is for classes, but the target is a number.")
    return table, target, rows


def _take_weights(
    table: Any, rows: NDArray[np.int64], options: FitOptions
) -> NDArray[np.float64] | None:
    if options.weights is None:
        return None
    where = Place(name_file(options.data), options.weights, rows)
    return read_weights(table[options.weights], where, NumberForm())


def _encode(chosen: Chosen, options: FitOptions) -> Table:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CardinalityWarning)  # a hint says so
            return Table.from_data(
                chosen.columns, categorical_features=chosen.categorical, n_jobs=options.jobs
            )
    except ValueError as error:
        raise UserError(shorten(error)) from error


def _write(result: Result, table: Table, found: dict[str, Any], options: FitOptions) -> list[str]:
    """Write what is asked for; all of it is made before any of it is written."""
    outputs: dict[str, tuple[Path, bytes]] = {}
    if options.model is not None:
        try:
            outputs["--model"] = options.model, dump_bytes(result.model)
        except ValueError as error:
            raise UserError(f"--model: {shorten(error)}") from None
    if options.report is not None:
        outputs["--report"] = options.report, make_report(result, table, found, options)
    with written_together({option: path for option, (path, _) in outputs.items()}) as files:
        for option, file in files.items():
            file.write(outputs[option][1])
    return [f"{path} (the {option.strip('-')})" for option, (path, _) in outputs.items()]


def _suggest(found: dict[str, Any], options: FitOptions) -> str:
    """The command that people need next."""
    data = options.data if options.data != "-" else "DATA"
    if options.model is None:
        wanted = replace(options, data=data, model=Path("model.treefold"))
        return word_fit(wanted, _NOT_AGAIN)
    command = ["treefold", "predict", str(options.model), data]
    thresholds = found["thresholds"]
    if thresholds is not None:
        command += ["--threshold", f"{thresholds.best.threshold:.2f}"]
    return shlex.join(command)


def _print(found: dict[str, Any], options: FitOptions) -> None:
    if options.json:
        for kind, name in (("warning", "warnings"), ("hint", "hints")):
            for text in found[name]:
                say(kind, text)
        with printed():
            plain = _without_nan(to_plain(found))
            sys.stdout.write(json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    lines = write_findings(found, choose_width(console), console.is_terminal)
    with printed():
        for label, text in lines:
            style = {"Warning": "yellow", "Hint": "cyan"}.get(label, "bold")
            console.print(Text().append(f"{label:<10}", style).append(text))


def _without_nan(value: Any) -> Any:
    """JSON has no NaN: what is not known is null."""
    if isinstance(value, dict):
        return {name: _without_nan(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
