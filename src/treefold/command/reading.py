"""The rows of a file or of stdin, at once or batch by batch, all through pyarrow."""

import io
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa
from pyarrow import csv, feather, ipc, parquet

from treefold.command.mistakes import UserError, shorten
from treefold.command.sniffing import (
    HEAD,
    CsvForm,
    find_compression,
    find_encoding,
    find_form,
    find_kind,
)

__all__ = ["Rows", "open_rows", "read_table"]

_BATCH_ROWS = 65_536
_BLOCK = 2**22  # bytes of CSV that are read at one time
_WORDS = {"csv": "CSV", "parquet": "Parquet", "feather": "Feather"}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that have not been read yet, and how their file is written."""

    name: str  # for messages
    kind: str
    source: Any  # a file that pyarrow reads
    form: CsvForm
    compression: str | None

    @property
    def description(self) -> str:
        """What kind of file it is, where that was not to be expected."""
        words = [_WORDS[self.kind]]
        if self.kind == "csv":
            if self.form.delimiter != ",":
                words.append({"\t": "tabs", ";": "semicolons", "|": "bars"}[self.form.delimiter])
            if self.form.encoding != "utf8":
                words.append(self.form.encoding)
        return ", ".join(words + ([self.compression] if self.compression else []))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Give the rows batch by batch; fields of CSV are text, as the file has them."""
        with _errors_named(self):
            yield from _READERS[self.kind](self, columns)


@contextmanager
def open_rows(path: str) -> Iterator[Rows]:
    """Open a file, or stdin if it is called '-'."""
    name = "stdin" if path == "-" else f"'{path}'"
    with ExitStack() as opened:
        try:
            file = sys.stdin.buffer if path == "-" else opened.enter_context(open(path, "rb"))
        except OSError as error:
            raise UserError(_explain(error, name)) from None
        try:
            if path == "-" or not file.seekable():
                file = _spool(file, opened.enter_context(tempfile.TemporaryFile()))
            yield _look_at(file, name)
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise UserError(f"{name} cannot be read: {error.strerror or shorten(error)}.") from None


def _explain(error: OSError, name: str) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{name} does not exist; check the name and the folder."
    if isinstance(error, IsADirectoryError):
        return f"{name} is a folder, not a file."
    return f"{name} cannot be read: {error.strerror or error}."


def _spool(stream: IO[bytes], file: IO[bytes]) -> IO[bytes]:
    """Copy a stream to a file, because it is looked at twice, and Parquet is read from its end."""
    shutil.copyfileobj(stream, file)
    file.seek(0)
    return file


def _look_at(file: IO[bytes], name: str) -> Rows:
    """Find out what a file is; it is at its beginning afterwards."""
    compression = find_compression(file.read(8))
    file.seek(0)
    with _unpacked(file, compression, name) as plain:
        head = plain.read(HEAD)
    kind = find_kind(head, name)
    form = CsvForm()
    if kind == "csv":
        with _unpacked(file, compression, name) as plain:
            encoding = find_encoding(plain)
        form = find_form(head, encoding, is_whole=len(head) < HEAD)
    elif compression is not None:
        with _unpacked(file, compression, name) as plain:
            file, compression = io.BytesIO(plain.read()), None
    file.seek(0)
    return Rows(name, kind, file, form, compression)


@contextmanager
def _unpacked(file: IO[bytes], compression: str | None, name: str) -> Iterator[Any]:
    file.seek(0)
    if compression is None:
        yield file
        return
    stream = _unpack(file, compression)
    try:
        yield stream
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{name} cannot be unpacked by {compression}: {shorten(error)}.") from None


def read_table(rows: Rows) -> Any:
    """Read all rows into a pyarrow table, of which there must be at least one."""
    with _errors_named(rows):
        if rows.kind == "parquet":
            table = parquet.read_table(rows.source)
        elif rows.kind == "feather":
            table = feather.read_table(rows.source)
        else:
            with _lend_text(rows) as text:
                table = csv.read_csv(
                    text,
                    read_options=csv.ReadOptions(encoding=rows.form.encoding),
                    parse_options=rows.form.parse_options(),
                    convert_options=rows.form.convert_options(),
                )
    if table.num_rows == 0:
        raise UserError(f"{rows.name} has no rows, only column names.")
    return table.rename_columns(check_names(table.column_names, rows.name))


def check_names(names: Sequence[str], file: str) -> list[str]:
    """Name what has no name, as the row numbers that some programs write; refuse twins."""
    named = [name or f"unnamed_{place}" for place, name in enumerate(names, 1)]
    seen: set[str] = set()
    for name in named:
        if name in seen:
            raise UserError(
                f"Column '{name}' occurs twice in {file}; give every column its own name."
            )
        seen.add(name)
    return named


@contextmanager
def _errors_named(rows: Rows) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, UnicodeError) as error:
        word = _WORDS[rows.kind]
        raise UserError(f"{rows.name} cannot be read as {word}: {shorten(error)}") from None


@contextmanager
def _lend_text(rows: Rows) -> Iterator[Any]:
    """Give the text from its beginning; it is not read any more once this is over."""
    rows.source.seek(0)
    lent = _Lent(rows.source)
    stream = pa.PythonFile(lent, mode="r")
    try:
        yield (
            stream
            if rows.compression is None
            else pa.CompressedInputStream(stream, rows.compression)
        )
    finally:
        lent.close()


def _unpack(file: IO[bytes], compression: str) -> Any:
    return pa.CompressedInputStream(pa.PythonFile(_Lent(file), mode="r"), compression)


class _Lent:
    """A file that pyarrow may read, but not close when it has seen enough.

    It reads ahead in threads, which may be late: what is given back is at its end for them, so that
    they do not take from the next reader what is his.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.closed = False
        self._file, self._lock = file, threading.Lock()
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        with self._lock:
            return b"" if self.closed else self._file.read(size)

    def close(self) -> None:
        """Give the file back, open as it was."""
        with self._lock:
            self.closed = True


# Batches ----------------------------------------------------------------------------------------


def _read_csv(rows: Rows, columns: Sequence[str]) -> Iterator[Any]:
    options = {
        "parse_options": rows.form.parse_options(),
        "read_options": csv.ReadOptions(encoding=rows.form.encoding, block_size=_BLOCK),
    }
    with _lend_text(rows) as text, csv.open_csv(text, **options) as stream:
        names = stream.schema.names
    shown = check_names(names, rows.name)
    as_text = rows.form.convert_options(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=[name for name, new in zip(names, shown, strict=True) if new in columns],
    )
    kept = [new for new in shown if new in columns]
    with (
        _lend_text(rows) as text,
        csv.open_csv(text, convert_options=as_text, **options) as stream,
    ):
        for batch in stream:
            yield pa.Table.from_batches([batch]).rename_columns(kept)


def _read_parquet(rows: Rows, columns: Sequence[str]) -> Iterator[Any]:
    file = parquet.ParquetFile(rows.source, pre_buffer=False, buffer_size=2**16)
    names = check_names(file.schema_arrow.names, rows.name)
    kept = [name for name in names if name in columns]
    for batch in file.iter_batches(_BATCH_ROWS, columns=kept, use_threads=False):
        yield pa.Table.from_batches([batch])


def _read_feather(rows: Rows, columns: Sequence[str]) -> Iterator[Any]:
    try:
        file = ipc.open_file(rows.source)
    except pa.ArrowInvalid:  # the first version of the format, which comes as a whole
        rows.source.seek(0)
        yield from (feather.read_table(rows.source).select(list(columns)),)
        return
    names = check_names(file.schema.names, rows.name)
    kept = [name for name in names if name in columns]
    for number in range(file.num_record_batches):
        batch = pa.Table.from_batches([file.get_batch(number)]).select(kept)
        for first in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(first, _BATCH_ROWS)


_READERS = {"csv": _read_csv, "parquet": _read_parquet, "feather": _read_feather}
