"""Which kind of file it is: by its first bytes, never by its name alone.

Parquet and Feather say so in their first bytes. Anything else is CSV, whose encoding is found by
decoding it, and whose delimiter by letting pyarrow read the head of the file with each of them.
"""

import codecs
import io
from dataclasses import dataclass, replace
from typing import IO, Any

import pyarrow as pa
from pyarrow import compute, csv, types

from treefold.command.mistakes import UserError
from treefold.command.notation import find_mark, is_missing_word, trim

__all__ = ["CsvForm", "Layout", "find_compression", "find_encoding", "find_form", "find_kind"]

HEAD = 2**18  # bytes that are looked at to find out
_DELIMITERS = (",", ";", "\t", "|")
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather"}
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BOMS = {codecs.BOM_UTF8: "utf8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_STRANGERS = {b"PK\x03\x04": "a zip archive or a spreadsheet", b"%PDF": "a PDF document"}


_VOTERS = 200  # columns that are asked for the decimal mark


@dataclass(frozen=True, slots=True)
class Layout:
    """What the user says of a file, which it does not say itself."""

    decimal: str | None = None  # the decimal mark, where values tell of none
    missing: tuple[str, ...] = ()  # words for missing values
    has_names: bool = True  # in its first line
    comment: str | None = None  # what lines begin with that are not read


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is written."""

    encoding: str = "utf8"
    delimiter: str = ","
    mark: str | None = None  # the decimal mark; None: the file does not tell
    missing: tuple[str, ...] = ()
    has_names: bool = True

    def read_options(self, **more: Any) -> Any:
        """Give pyarrow's options."""
        return csv.ReadOptions(autogenerate_column_names=not self.has_names, **more)

    def parse_options(self) -> Any:
        """Give pyarrow's options."""
        return csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)

    @property
    def null_values(self) -> list[str]:
        """An empty field, NA, NaN, null ... is missing, also in text."""
        return [*csv.ConvertOptions().null_values, *self.missing]

    def convert_options(self, **more: Any) -> Any:
        """Give pyarrow's options."""
        usual = {"null_values": self.null_values, "decimal_point": self.mark or "."}
        return csv.ConvertOptions(strings_can_be_null=True, **{**usual, **more})


def find_compression(head: bytes) -> str | None:
    """Tell how a file is packed; None if it is not."""
    return next((name for magic, name in _PACKED.items() if head.startswith(magic)), None)


def find_kind(head: bytes, name: str) -> str:
    """Tell which kind of file begins like this."""
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    for magic, what in _STRANGERS.items():
        if head.startswith(magic):
            raise UserError(f"{name} is {what}, not a CSV, Parquet or Feather file; convert it.")
    if not head.strip():
        raise UserError(f"{name} is empty.")
    has_bom = any(head.startswith(bom) for bom in _BOMS)
    if b"\x00" in head and not has_bom:
        raise UserError(f"{name} is neither CSV, Parquet nor Feather: it holds zero bytes.")
    return "csv"


def find_encoding(file: IO[bytes]) -> str:
    """Tell how text is encoded: by its mark, as UTF-8 if it is that to the end, or else cp1252."""
    head = file.read(HEAD)
    for bom, encoding in _BOMS.items():
        if head.startswith(bom):
            return encoding
    decoder = codecs.getincrementaldecoder("utf8")()
    is_cp1252 = True
    is_utf8 = True
    while head and (is_utf8 or is_cp1252):
        if is_utf8:
            is_utf8 = _decodes(decoder, head)
        is_cp1252 = is_cp1252 and not any(byte in head for byte in b"\x81\x8d\x8f\x90\x9d")
        head = file.read(HEAD)
    if is_utf8:
        return "utf8"
    return "cp1252" if is_cp1252 else "latin-1"


def _decodes(decoder: codecs.IncrementalDecoder, data: bytes) -> bool:
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return False
    return True


def find_form(head: bytes, encoding: str, is_whole: bool, layout: Layout) -> CsvForm:
    """Find the delimiter and the decimal mark by reading the head of a file."""
    text = _cut(head.decode(encoding, errors="replace"), is_whole)
    names = text.split(b"\n", 1)[0].decode()
    # Where none gives several columns, the one of the first line lets pyarrow say what is wrong.
    usual = CsvForm(encoding, missing=layout.missing, has_names=layout.has_names)
    best, most = replace(usual, delimiter=max(_DELIMITERS, key=names.count)), 1
    for delimiter in _DELIMITERS:
        form = replace(usual, delimiter=delimiter)
        table = _try(text, form)
        if table is not None and table.num_columns > most:
            best, most = form, table.num_columns
    return replace(best, mark=layout.decimal or _find_mark(text, best))


def _cut(text: str, is_whole: bool) -> bytes:
    """Leave out the last line, which may not be whole."""
    end = len(text) if is_whole else text.rfind("\n") + 1
    return (text[:end] or text).removeprefix("\ufeff").encode()


def _try(text: bytes, form: CsvForm, **more: Any) -> Any:
    """Read text in one form; None if its rows do not have the same number of fields.

    A quoted value at the end may have lost its other half, which cannot be told from a mistake: a
    tenth of the text is enough to tell.
    """
    for part in (text, text[: text.rfind(b"\n", 0, len(text) // 10) + 1]):
        try:
            return csv.read_csv(
                io.BytesIO(part),
                read_options=form.read_options(),
                parse_options=form.parse_options(),
                convert_options=form.convert_options(**more),
            )
        except pa.ArrowException:
            continue
    return None


def _find_mark(text: bytes, form: CsvForm) -> str | None:
    """Let the columns whose values leave no doubt say what the decimal mark is."""
    table = _try(text, form)
    if table is None:
        return None
    kinds = {one.name: pa.string() for one in table.schema if not types.is_integer(one.type)}
    if len(table.column_names) > len(set(table.column_names)):  # an error will name the twins
        return None
    asked = list(kinds)[:_VOTERS]
    table = _try(text, form, column_types=kinds, include_columns=asked) if asked else None
    votes = [] if table is None else [_ask_column(column) for column in table.columns]
    points, commas = votes.count("."), votes.count(",")
    return None if points == commas else "." if points > commas else ","


def _ask_column(column: Any) -> str | None:
    values = trim(column.combine_chunks()).unique().drop_null()
    values = values.filter(compute.invert(is_missing_word(values)))
    return find_mark(values) if len(values) else None
