"""What `treefold predict` does: batches in, batches out, however long the file is."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from treefold import load
from treefold.command.conversion import Converter
from treefold.command.drawing import describe_paths
from treefold.command.mistakes import UserError, say, shorten
from treefold.command.options import PredictOptions
from treefold.command.outputs import check_outputs, written
from treefold.command.reading import open_rows
from treefold.command.recognition import Reading
from treefold.export.cleaning import is_storable
from treefold.findings.numbers import count

__all__ = ["open_model", "run_predict"]

_PARQUET = {".parquet", ".pq"}
_CSV = {".csv", ".txt", ""}


def run_predict(options: PredictOptions) -> None:
    """Read, answer and write, one batch after the other."""
    inputs = {"the data": options.data, "the model": str(options.model)}
    check_outputs({"--output": options.output}, inputs)
    model = open_model(options.model)
    answerer = _Answerer(model, options)
    reading = Reading.from_state(getattr(model, "_reading", None), f"'{options.model}'")
    with open_rows(options.data, reading.layout) as rows:
        converter = Converter(model, rows.name, rows.form.mark, reading)
        wanted = converter.names + ([] if options.id is None else [options.id])
        present = rows.read_names()
        converter.check_names(present)
        if not set(wanted) & set(present):  # a tree without a split: rows are all it needs
            wanted = present[:1]
        batches = rows.batches(wanted)
        first = next(batches, None)
        if first is None or first.num_rows == 0:
            raise UserError(f"{rows.name} has no rows.")
        answerer.check_id(first, rows.name)
        n_rows = 0
        with written(options.output) as file:
            writer = None
            for batch in _chain(first, batches):
                places = range(n_rows, n_rows + batch.num_rows)
                X = converter.convert(rows.with_missing(batch), places)
                answers = answerer.answer(X, batch)
                with _refusals_named(answers.schema, options):
                    writer = writer or _open_writer(file, answers.schema, options.output)
                    writer.write_table(answers)
                n_rows += batch.num_rows
            if writer is not None:
                writer.close()
    for text in converter.list_unseen():
        say("note", text)
    if options.output is not None:
        say("note", f"wrote {count(n_rows, 'row')} to {options.output}.")


def open_model(path: Path) -> Any:
    """Load a model file."""
    try:
        return load(path)
    except FileNotFoundError:
        raise UserError(f"'{path}' does not exist; check the name and the folder.") from None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise UserError(shorten(error)) from None


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _open_writer(file: Any, schema: Any, path: Path | None) -> Any:
    suffix = "" if path is None else path.suffix.lower()
    if suffix in _PARQUET:
        return parquet.ParquetWriter(file, schema)
    return csv.CSVWriter(file, schema)


@contextmanager
def _refusals_named(schema: Any, options: PredictOptions) -> Iterator[None]:
    """Only the identifier can be of a type that a file has no form for."""
    try:
        yield
    except pa.ArrowException:
        if options.id is None:
            raise
        kind = schema.field(options.id).type
        raise UserError(
            f"--id: '{options.id}' holds {kind} values, which CSV has no form for. Write Parquet, "
            "by -o answers.parquet, or take another column."
        ) from None


def _check_output(path: Path | None) -> None:
    """Refuse names that say nothing, before any work is done."""
    if path is not None and path.suffix.lower() not in _PARQUET | _CSV:
        raise UserError(f"--output: '{path}' ends neither in .csv nor in .parquet.")


class _Answerer:
    """Makes the columns of the answer."""

    def __init__(self, model: Any, options: PredictOptions) -> None:
        self.model, self.options = model, options
        self.classes: list[Any] = getattr(model, "classes_", np.empty(0)).tolist()
        _check_output(options.output)
        self._check_classes()
        self.is_ensemble = hasattr(model, "estimators_")
        if options.explain and self.is_ensemble:
            raise UserError(
                f"--explain is for one tree, but this model has {len(model.estimators_)}."
            )
        self.reasons = describe_paths(model) if options.explain else None

    def _check_classes(self) -> None:
        options, n_classes = self.options, len(self.classes)
        for label in self.classes:
            if isinstance(label, str) and not is_storable(label):
                raise UserError(
                    f"The class {label!r} of the model holds half a character, which no file has a "
                    "form for. Fit it again with a label that is whole, or predict in Python."
                )
        if options.proba and not n_classes:
            raise UserError("--proba is for classes, but this model predicts a number.")
        for name in ("threshold", "positive"):
            if getattr(options, name) is not None and n_classes != 2:
                what = f"{n_classes} classes" if n_classes else "a number"
                raise UserError(f"--{name} is for two classes, but this model predicts {what}.")
        if options.positive is not None and options.positive not in map(str, self.classes):
            raise UserError(
                f"--positive: the model does not know {options.positive!r}; "
                f"its classes are '{self.classes[0]}' and '{self.classes[1]}'."
            )

    def check_id(self, batch: Any, file: str) -> None:
        """Refuse an identifier that is not there, or whose place is taken."""
        name = self.options.id
        if name in ("prediction", "because", *self._name_shares()):
            raise UserError(f"--id: the answers have a column '{name}' of their own; rename it.")
        if name is not None and name not in batch.column_names:
            raise UserError(f"--id: {file} has no column '{name}'.")

    def _name_shares(self) -> list[str]:
        """Names of the columns of `--proba`."""
        return [f"probability_{label}" for label in self.classes] if self.options.proba else []

    def _decide(self, values: NDArray[np.float64]) -> Any:
        """What rows are answered: a number, or the class that their shares speak for."""
        if not self.classes:
            return pa.array(values[:, 0])
        places = values.argmax(axis=1)
        if self.options.threshold is not None:
            positive = self._find_positive()
            is_called = values[:, positive] >= self.options.threshold
            places = np.where(is_called, positive, 1 - positive)
        return pa.array(self.classes).take(pa.array(places))

    def _find_positive(self) -> int:
        """The class that is named, or that fit was told to look for, or the last one."""
        if self.options.positive is not None:
            return list(map(str, self.classes)).index(self.options.positive)
        return int(getattr(self.model, "_positive", 1))

    def answer(self, X: Any, batch: Any) -> Any:
        """Answer one batch."""
        try:
            values, leaves = self._ask(X)
        except ValueError as error:
            raise UserError(shorten(error)) from None
        columns: dict[str, Any] = {}
        if self.options.id is not None:
            columns[self.options.id] = batch[self.options.id]
        columns["prediction"] = self._decide(values)
        for place, name in enumerate(self._name_shares()):
            columns[name] = pa.array(values[:, place])
        if self.reasons is not None:
            columns["because"] = self.reasons.take(pa.array(leaves))
        return pa.table(columns)

    def _ask(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
        """What the model says of each row, and the leaves of one tree."""
        if self.is_ensemble:
            self.model.n_jobs = self.options.jobs
            return self.model._average(X), None
        tree = self.model.tree_
        leaves = tree.find_leaves(X, "the model", self.options.jobs)
        return tree.value[:, 0].take(leaves, axis=0), leaves
