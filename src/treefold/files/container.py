"""A document and its arrays as the bytes of a safetensors file, with a checksum; and back.

The document is the only entry of the file's metadata, because safetensors writes entries in any
order, and equal models shall have equal files. Its field `sha256` is the checksum of the whole
file, taken while its 64 digits are zeros.
"""

import hashlib
import json
from typing import IO, Any, NoReturn

from numpy.typing import NDArray

from treefold.exceptions import ModelFileError

__all__ = ["FORMAT", "pack", "read_file", "unpack"]

FORMAT = 1  # of the files that are written; those of all formats up to this one are read

_KEY = "treefold"
_NO_DIGEST = "0" * 64
_MARK = rb"\"sha256\":\""  # as it stands in the file: JSON within JSON
_LARGEST_HEADER = 100_000_000  # safetensors refuses more


def pack(fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Write fields and arrays as the bytes of a file."""
    document = {"format": FORMAT, "sha256": _NO_DIGEST, **fields}
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    data: bytes = _import_safetensors().save(arrays, {_KEY: text})
    if int.from_bytes(data[:8], "little") > _LARGEST_HEADER:
        raise ModelFileError(
            f"The names, categories and parameters of this model take {len(text):,} bytes of text, "
            f"and a model file has room for {_LARGEST_HEADER:,}. Merge rare categories."
        )
    begin = data.index(_MARK) + len(_MARK)
    return data[:begin] + _digest(data, begin).encode() + data[begin + 64 :]


def read_file(file: IO[bytes]) -> bytes:
    """Read a whole file, if its header is that of a model: any other file may be endless."""
    head = file.read(8)
    length = int.from_bytes(head, "little")
    if length > _LARGEST_HEADER:
        raise ModelFileError("it is no model file")
    head += file.read(length)
    _read_document(head)
    return head + file.read()


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the fields and arrays of a file; refuse what was changed since it was written."""
    safetensors = _import_safetensors()
    if int.from_bytes(data[:8], "little") > len(data) - 8:
        raise ModelFileError("it is no model file, or its end is missing")
    document = _read_document(data)
    form = document.get("format")
    if type(form) is not int or form < 1:
        raise ModelFileError("its format has no number")
    if form > FORMAT:
        raise ModelFileError(
            f"it has format {form}, and this version of treefold reads formats up to {FORMAT}: "
            "a later version wrote it; update treefold"
        )
    begin = data.find(_MARK) + len(_MARK)
    if document.get("sha256") != _digest(data, begin):
        raise ModelFileError("its checksum is wrong: it was damaged, or changed by hand")
    try:
        arrays = safetensors.load(data)
    except Exception as error:  # whatever the reader of another library raises
        raise ModelFileError(f"safetensors cannot read it ({error})") from None
    return document, arrays


def _read_document(data: bytes) -> dict[str, Any]:
    """Find the document in the header, which is JSON."""
    length = int.from_bytes(data[:8], "little")
    try:
        text = json.loads(data[8 : 8 + length])["__metadata__"][_KEY]
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError("it is no model file, or its header is damaged") from None
    if not isinstance(document, dict):
        raise ModelFileError("its document is not an object")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _digest(data: bytes, begin: int) -> str:
    view = memoryview(data)
    digest = hashlib.sha256(view[:begin])
    digest.update(_NO_DIGEST.encode())
    digest.update(view[begin + 64 :])
    return digest.hexdigest()


def _import_safetensors() -> Any:
    try:
        import safetensors.numpy  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            "Model files need safetensors, which is not installed. "
            "Install it by: pip install 'treefold[files]'"
        ) from error
    return safetensors.numpy
