"""The rows of a file or of stdin, at once or batch by batch, all through pyarrow."""

import codecs
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyarrow import compute, csv, feather, ipc, parquet, types

from treefold.command.heading import skip_comments, suspect_comment
from treefold.command.mistakes import UserError, shorten
from treefold.command.notation import trim
from treefold.command.sniffing import (
    HEAD,
    CsvForm,
    Layout,
    find_compression,
    find_encoding,
    find_form,
    find_kind,
)

__all__ = ["Rows", "name_file", "nan_to_null", "open_rows", "read_table", "read_text"]

_BATCH_ROWS = 65_536
_BLOCK = 2**22  # bytes of CSV that are read at one time; a line must fit in
_LINES = 16  # a line may be so many times as long as that of the names
_WORDS = {"csv": "CSV", "parquet": "Parquet", "feather": "Feather"}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that have not been read yet, and how their file is written."""

    name: str  # for messages
    kind: str
    path: str  # of the file itself, or of a copy
    form: CsvForm
    compression: str | None
    is_packed: bool = True  # whether what is at the path has that compression, if there is one
    first_line: int = 0  # bytes of the line of names

    def open(self) -> Any:
        """Open the file for one reader, at its beginning; CSV is UTF-8.

        Nobody closes it: it is closed when its last user, maybe a thread, is gone.
        """
        return _open(self.path, self.compression if self.is_packed else None)

    def read_options(self) -> Any:
        """Give pyarrow's options for CSV, of which a block holds whole lines."""
        longest = min(2**31 - 1, _LINES * self.first_line)
        return self.form.read_options(block_size=max(_BLOCK, longest))

    @property
    def description(self) -> str:
        """What kind of file it is, where that was not to be expected."""
        words = [_WORDS[self.kind]]
        if self.kind == "csv":
            if self.form.delimiter != ",":
                words.append({"\t": "tabs", ";": "semicolons", "|": "bars"}[self.form.delimiter])
            if self.form.encoding != "utf8":
                words.append(self.form.encoding)
            if self.form.mark == ",":
                words.append("decimal comma")
        return ", ".join(words + ([self.compression] if self.compression else []))

    def read_names(self) -> list[str]:
        """Read the names of the columns."""
        with _errors_named(self):
            return self.name_columns(_NAMES[self.kind](self))

    def name_columns(self, names: Sequence[str]) -> list[str]:
        """Call the columns what they are called; in CSV without spaces around names."""
        if not self.form.has_names and self.kind == "csv":
            return [f"column_{place}" for place in range(1, len(names) + 1)]
        plain = [name.strip() for name in names] if self.kind == "csv" else names
        return check_names(plain, self.name)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Give the rows batch by batch; fields of CSV are text, as the file has them."""
        with _errors_named(self):
            yield from _READERS[self.kind](self, columns)

    def with_missing(self, batch: Any) -> Any:
        """Take words for missing values, such as NA in CSV, for what they mean."""
        words = pa.array(self.form.null_values if self.kind == "csv" else self.form.missing)
        if not len(words):
            return batch
        columns = [_without(column, words) for column in batch.columns]
        return pa.table(columns, names=batch.column_names)


def _without(column: Any, words: Any) -> Any:
    """Leave out the values that are called by one of some words."""
    try:
        text = trim(column.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column
    is_word = compute.is_in(text, words)
    return compute.if_else(is_word, pa.scalar(None, column.type), column)


def name_file(path: str) -> str:
    """Call a file what messages call it."""
    return "stdin" if path == "-" else f"'{path}'"


@contextmanager
def open_rows(path: str, layout: Layout = Layout()) -> Iterator[Rows]:  # noqa: B008 - frozen
    """Open a file, or stdin if it is called '-'."""
    name = name_file(path)
    with ExitStack() as opened:
        try:
            file = sys.stdin.buffer if path == "-" else opened.enter_context(open(path, "rb"))
        except OSError as error:
            raise UserError(_explain(error, name)) from None
        try:
            if path == "-" or not file.seekable():
                path = _copy(iter(lambda: file.read(HEAD), b""), opened)
            yield _look_at(path, name, layout, opened)
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise UserError(_explain(error, name)) from None


def _explain(error: OSError, name: str) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{name} does not exist; check the name and the folder."
    if isinstance(error, IsADirectoryError):
        return f"{name} is a folder, not a file."
    return f"{name} cannot be read: {error.strerror or shorten(error)}."


def _copy(parts: Iterable[bytes], opened: ExitStack) -> str:
    """Write a file that lasts as long as the rows do."""
    folder = tempfile.TemporaryDirectory(prefix="treefold-", ignore_cleanup_errors=True)
    path = os.path.join(opened.enter_context(folder), "copy")
    with open(path, "wb") as file:
        file.writelines(parts)
    return path


def _look_at(path: str, name: str, layout: Layout, opened: ExitStack) -> Rows:
    """Find out what a file is."""
    with pa.OSFile(os.fsencode(path)) as plain:
        compression = find_compression(plain.read(8))
    with _unpacked(path, compression, name) as plain:
        head = plain.read(HEAD)
    kind = find_kind(head, name)
    rows = Rows(name, kind, path, CsvForm(missing=layout.missing), compression)
    if kind == "csv":
        with _unpacked(path, compression, name) as plain:
            encoding = find_encoding(plain)
        if layout.comment:
            rest = replace(layout, comment=None)
            with _unpacked(path, compression, name) as plain, _errors_named(rows):
                parts = skip_comments(_recode(plain, encoding), layout.comment)
                rows = _look_at(_copy(parts, opened), name, rest, opened)
            form = replace(rows.form, encoding=encoding)
            return replace(rows, form=form, compression=compression, is_packed=False)
        form = find_form(head, encoding, len(head) < HEAD, layout)
        with _unpacked(path, compression, name) as plain:
            rows = replace(rows, form=form, first_line=_measure_line(plain))
        if encoding == "utf8":
            return rows
        with _unpacked(path, compression, name) as plain, _errors_named(rows):
            return replace(rows, path=_copy(_recode(plain, encoding), opened), is_packed=False)
    if compression is not None:
        with _unpacked(path, compression, name) as plain:
            parts = iter(lambda: plain.read(HEAD), b"")
            return replace(rows, path=_copy(parts, opened), is_packed=False)
    return rows


def _measure_line(file: Any) -> int:
    """Count the bytes of the first line."""
    n_bytes = 0
    while data := file.read(HEAD):
        end = data.find(b"\n")
        if end >= 0:
            return n_bytes + int(end)
        n_bytes += len(data)
    return n_bytes


def _recode(file: Any, encoding: str) -> Iterator[bytes]:
    """Give text in another encoding as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    while data := file.read(HEAD):
        yield decoder.decode(data).encode()
    yield decoder.decode(b"", final=True).encode()


@contextmanager
def _unpacked(path: str, compression: str | None, name: str) -> Iterator[Any]:
    try:
        with _open(path, compression) as stream:
            yield stream
    except (OSError, pa.ArrowException) as error:
        if compression is None:
            raise
        raise UserError(f"{name} cannot be unpacked by {compression}: {shorten(error)}.") from None


def _open(path: str, compression: str | None) -> Any:
    """Open a file for pyarrow, which reads ahead in threads that nobody waits for.

    They must not need Python: one that comes back from a slow disk when the interpreter is ending
    takes the process down. So the file is not one of Python's, and the text is UTF-8 already.
    """
    file = pa.OSFile(os.fsencode(path))
    return file if compression is None else pa.CompressedInputStream(file, compression)


def read_table(rows: Rows) -> Any:
    """Read all rows into a pyarrow table, of which there must be at least one."""
    with _errors_named(rows):
        file = rows.open()
        if rows.kind == "parquet":
            table = parquet.read_table(file)
        elif rows.kind == "feather":
            table = feather.read_table(file)
        else:
            table = csv.read_csv(
                file,
                read_options=rows.read_options(),
                parse_options=rows.form.parse_options(),
                convert_options=rows.form.convert_options(),
            )
    if table.num_rows == 0:
        raise UserError(f"{rows.name} has no rows, only column names.")
    table = table.rename_columns(rows.name_columns(table.column_names))
    return table if rows.kind == "csv" else rows.with_missing(nan_to_null(table))


def read_text(rows: Rows, columns: Sequence[str]) -> Any:
    """Read some columns of a CSV file as the text that they are."""
    names = _name_csv(rows)
    shown = dict(zip(rows.name_columns(names), names, strict=True))
    kinds = {shown[name]: pa.string() for name in columns}
    with _errors_named(rows):
        table = csv.read_csv(
            rows.open(),
            read_options=rows.read_options(),
            parse_options=rows.form.parse_options(),
            convert_options=rows.form.convert_options(
                column_types=kinds, include_columns=list(kinds)
            ),
        )
    return table.rename_columns(columns)


def nan_to_null(table: Any) -> Any:
    """Take NaN, as polars writes it, for what it is everywhere else here: a missing value."""
    for place, column in enumerate(table.columns):
        if types.is_floating(column.type):
            is_nan = compute.is_nan(column)
            if compute.any(is_nan).as_py():
                present = compute.if_else(is_nan, pa.scalar(None, column.type), column)
                table = table.set_column(place, table.field(place), present)
    return table


def check_names(names: Sequence[str], file: str) -> list[str]:
    """Name what has no name, as the row numbers that some programs write; refuse twins."""
    named = [name or f"unnamed_{place}" for place, name in enumerate(names, 1)]
    seen: set[str] = set()
    for name in named:
        if name in seen:
            raise UserError(
                f"Column '{name}' occurs twice in {file}; give every column its own name. If the "
                "first line is data, not names: --no-header"
            )
        seen.add(name)
    return named


@contextmanager
def _errors_named(rows: Rows) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, UnicodeError) as error:
        text = f"{rows.name} cannot be read as {_WORDS[rows.kind]}: {shorten(error)}"
        if rows.kind == "csv":
            with rows.open() as file:
                more = suspect_comment(file.read(HEAD).decode(errors="replace"))
            text += f". {more}" if more else ""
        raise UserError(text) from None
    except OSError as error:
        raise UserError(_explain(error, rows.name)) from None


# Batches ----------------------------------------------------------------------------------------


def _name_csv(rows: Rows) -> list[str]:
    options, form = rows.read_options(), rows.form.parse_options()
    with csv.open_csv(rows.open(), read_options=options, parse_options=form) as stream:
        names: list[str] = stream.schema.names
        return names


def _read_csv(rows: Rows, columns: Sequence[str]) -> Iterator[Any]:
    options = {
        "parse_options": rows.form.parse_options(),
        "read_options": rows.read_options(),
    }
    names = _name_csv(rows)
    shown = rows.name_columns(names)
    as_text = rows.form.convert_options(
        null_values=[""],
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=[name for name, new in zip(names, shown, strict=True) if new in columns],
    )
    kept = [new for new in shown if new in columns]
    with csv.open_csv(rows.open(), convert_options=as_text, **options) as stream:
        for batch in stream:
            yield pa.Table.from_batches([batch]).rename_columns(kept)


def _read_parquet(rows: Rows, columns: Sequence[str]) -> Iterator[Any]:
    file = parquet.ParquetFile(rows.open(), pre_buffer=False, buffer_size=2**16)
    names = rows.name_columns(file.schema_arrow.names)
    kept = [name for name in names if name in columns]
    for batch in file.iter_batches(_BATCH_ROWS, columns=kept, use_threads=False):
        yield pa.Table.from_batches([batch])


def _read_feather(rows: Rows, columns: Sequence[str]) -> Iterator[Any]:
    for table in _open_feather(rows.open()):
        names = rows.name_columns(table.column_names)
        batch = table.select([name for name in names if name in columns])
        for first in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(first, _BATCH_ROWS)


def _open_feather(source: Any) -> Iterator[Any]:
    try:
        file = ipc.open_file(source)
    except pa.ArrowInvalid:  # the first version of the format, which comes as a whole
        source.seek(0)
        yield feather.read_table(source)
        return
    for number in range(file.num_record_batches):
        yield pa.Table.from_batches([file.get_batch(number)])


def _name_parquet(rows: Rows) -> list[str]:
    names: list[str] = parquet.read_schema(rows.open()).names
    return names


def _name_feather(rows: Rows) -> list[str]:
    try:
        names: list[str] = ipc.open_file(rows.open()).schema.names
    except pa.ArrowInvalid:  # the first version of the format
        names = feather.read_table(rows.open()).column_names
    return names


_NAMES = {"csv": _name_csv, "parquet": _name_parquet, "feather": _name_feather}
_READERS = {"csv": _read_csv, "parquet": _read_parquet, "feather": _read_feather}
