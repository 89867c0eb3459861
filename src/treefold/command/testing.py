"""The score of a fitted tree on a file of its own."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from treefold.command.conversion import Converter, parse_numbers, to_numbers, to_text
from treefold.command.fitting import read_weights
from treefold.command.mistakes import Place, UserError, say
from treefold.command.notation import NumberForm, is_missing_word, trim
from treefold.command.options import FitOptions
from treefold.command.reading import Rows, nan_to_null, open_rows
from treefold.command.recognition import Reading
from treefold.command.target import decode, to_float64
from treefold.command.triage import is_text
from treefold.findings.document import ScoreRow
from treefold.findings.fits import Result
from treefold.findings.measures import measure_answers
from treefold.findings.target import Target

__all__ = ["score_test_file"]

Floats = NDArray[np.float64]


def score_test_file(result: Result, options: FitOptions, reading: Reading) -> ScoreRow:
    """Score the tree of all rows on the rows of `--test`."""
    assert options.test is not None
    model, target, measure = result.model, result.target, result.measure
    with open_rows(options.test, reading.layout) as rows:
        converter = Converter(model, rows.name, rows.form.mark, reading)
        named = [target.name] + ([] if options.weights is None else [options.weights])
        wanted = [*converter.names, *named]
        names = rows.read_names()
        for one in named:
            if one not in names:
                raise UserError(f"--test: {rows.name} has no column '{one}'.")
        table, places = _take_rows(rows, wanted, target)
        name = rows.name
    form = converter.find_form(target.name)
    truth = _read_truth(table[target.name], target, Place(name, target.name, places), form)
    weights = None
    if options.weights is not None:
        where = Place(name, options.weights, places)
        weights = read_weights(table[options.weights], where, converter.find_form(where.column))
    converter.check_names(names)
    X = converter.convert(table, places)
    for text in converter.list_unseen():
        say("note", f"--test: {text}")
    more = {} if weights is None else {"sample_weight": weights}
    answers = model.predict_proba(X) if target.is_class else model.predict(X)
    if measure.name == "r2":
        score = _explain(truth, answers, float(model.tree_.value[0, 0, 0]), weights)
    else:
        score = measure.sign * float(model.scorer_(model, X, truth, **more))
    codes = None if target.codes is None else np.searchsorted(np.array(target.classes), truth)
    there = replace(target, values=truth, codes=codes)
    rest = measure_answers(there, [(np.arange(len(truth)), answers)], weights, measure)
    return ScoreRow(score, n_rows=len(truth), extras=rest)


def _take_rows(rows: Rows, wanted: list[str], target: Target) -> tuple[Any, NDArray[np.int64]]:
    """Read the rows that have a target, and say where they stand in the file."""
    batches = [rows.with_missing(batch) for batch in rows.batches(wanted)]
    table = pa.concat_tables(batches, promote_options="permissive") if batches else None
    if table is None or table.num_rows == 0:
        raise UserError(f"--test: {rows.name} has no rows.")
    table = nan_to_null(table)
    column = decode(table[target.name])
    is_present = column.is_valid()
    is_number = not target.is_class or not isinstance(target.classes[0], str)
    if is_number and is_text(column.type):
        is_present = compute.and_not(is_present, is_missing_word(trim(column.cast("string"))))
    places = np.flatnonzero(is_present)
    if len(places) == 0:
        raise UserError(
            f"--test: {rows.name} has no row with a value of the target '{target.name}'."
        )
    return table.filter(is_present), places


def _explain(truth: Floats, answers: Floats, mean: float, weights: Floats | None) -> float:
    """R2: how much less the squared error is than that of the mean of the training rows."""
    left, total = (np.average((truth - said) ** 2, weights=weights) for said in (answers, mean))
    return float(1 - left / total) if total > 0 else float("nan")


def _read_truth(column: Any, target: Target, where: Place, form: NumberForm) -> NDArray[Any]:
    where = replace(where, advice="Correct it, or leave out the row.")
    if not target.is_class:
        return to_float64(to_numbers(column, where, form))
    label_of = {str(label): label for label in target.classes}
    seen = _read_labels(column, target, where, form)
    for row, text in enumerate(seen):
        if text not in label_of:
            raise where.refuse(row, text, f"one of the classes {', '.join(label_of)}")
    return np.array([label_of[text] for text in seen])


def _read_labels(column: Any, target: Target, where: Place, form: NumberForm) -> list[str]:
    """Write the labels of a file as those of the target are written."""
    if isinstance(target.classes[0], int):
        numbers = parse_numbers(column, where, form).to_pylist()
        return [str(int(one)) if one % 1 == 0 else str(one) for one in numbers]
    labels: list[str] = to_text(column, where, target.classes).to_pylist()
    if set(target.classes) == {"false", "true"}:  # booleans, which Python spells True and False
        return [label.lower() for label in labels]
    return labels
