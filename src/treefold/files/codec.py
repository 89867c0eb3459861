"""A state as a document that JSON can hold, with its arrays beside it; and back.

    None, bool, int, str, finite float, list      themselves
    dict of names                                 an object
    anything else                                 an object with one key that begins with "$"

docs/file_format.md lists these keys. Whatever comes back is one of the types listed there: nothing
in a document can name code.
"""

import math
import re
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.exceptions import ModelFileError
from treefold.export.cleaning import is_storable

__all__ = ["NotStorableError", "NotStored", "decode", "describe", "encode", "encode_or_describe"]

Arrays = dict[str, NDArray[Any]]

_NUMBERS = frozenset(
    np.dtype(name)
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
)
_DEEPEST = 50
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")  # which no two runs have in common
_SHORT = reprlib.Repr()
_SHORT.maxother = 200
_TIME_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")


class NotStorableError(TypeError):
    """The document has no form for a value."""


@dataclass(frozen=True)
class NotStored:
    """Stands for a parameter that a file does not hold, such as a splitter or a function.

    Predicting does not need it. `fit` refuses it: set the parameter anew before.
    """

    text: str

    def __repr__(self) -> str:
        return f"<not stored: {self.text}>"


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Turn a value into a document; its arrays are added to `arrays`, under names of their own."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    is_finite = type(value) is float and math.isfinite(value)
    if value is None or is_finite or type(value) in (bool, int, str):
        return value
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return write(value, name, arrays)
    raise NotStorableError(f"{reprlib.repr(value)} of type {type(value).__name__}")


def encode_or_describe(value: Any, name: str, arrays: Arrays) -> Any:
    """Turn a value into a document, or into a short description if the document has no form."""
    own: Arrays = {}
    try:
        document = encode(value, name, own)
    except NotStorableError:
        return describe(value)
    arrays.update(own)
    return document


def describe(value: Any) -> dict[str, str]:
    """Turn a value into a short description of it."""
    if isinstance(value, NotStored):
        return {"$not_stored": value.text}
    text = _ADDRESS.sub("", _SHORT.repr(value))
    return {"$not_stored": text if len(text) <= 200 else f"{text[:200]}..."}


def _encode_list(value: list[Any], name: str, arrays: Arrays) -> list[Any]:
    return [encode(item, f"{name}.{place}", arrays) for place, item in enumerate(value)]


def _encode_datetime(value: datetime, name: str, arrays: Arrays) -> dict[str, str]:
    text = datetime.isoformat(value)
    if datetime.fromisoformat(text) != value:  # pandas has nanoseconds
        raise NotStorableError(f"{value!r}, which has nanoseconds")
    return {"$datetime": text}


def _encode_dict(value: dict[Any, Any], name: str, arrays: Arrays) -> Any:
    if all(_is_name(key) for key in value):
        return {key: encode(item, f"{name}.{key}", arrays) for key, item in value.items()}
    pairs = [
        [encode(key, name, arrays), encode(item, f"{name}.{place}", arrays)]
        for place, (key, item) in enumerate(value.items())
    ]
    return {"$dict": pairs}


def _is_name(key: Any) -> bool:
    """Whether a key can be part of the name of an array."""
    return type(key) is str and not key.startswith("$") and is_storable(key)


def _encode_array(value: NDArray[Any], name: str, arrays: Arrays) -> Any:
    kind = value.dtype.kind
    if kind == "O" and value.ndim == 1 and not isinstance(value, np.ma.MaskedArray):
        return {"$objects": _encode_list(list(value), name, arrays)}
    if kind == "U" and value.ndim == 1:
        return {"$text": value.tolist()}
    time_unit, step = np.datetime_data(value.dtype) if kind in "mM" else ("", 1)
    is_time = time_unit in _TIME_UNITS and step == 1
    if isinstance(value, np.ma.MaskedArray) or not (is_time or value.dtype in _NUMBERS):
        raise NotStorableError(f"an array of dtype {value.dtype}")
    plain = value.view(np.int64) if is_time else value
    arrays[name] = np.ascontiguousarray(plain).reshape(plain.shape)
    return {"$time": [name, kind, time_unit]} if is_time else {"$array": name}


_WRITERS: dict[type, Callable[[Any, str, Arrays], Any]] = {
    float: lambda value, name, arrays: {"$float": repr(value)},
    list: _encode_list,
    tuple: lambda value, name, arrays: {"$tuple": _encode_list(list(value), name, arrays)},
    dict: _encode_dict,
    np.ndarray: _encode_array,
    datetime: _encode_datetime,  # before date, of which it is a kind
    date: lambda value, name, arrays: {"$date": value.isoformat()},
    NotStored: lambda value, name, arrays: describe(value),
}


def decode(document: Any, arrays: Arrays) -> Any:
    """Turn a document back into the value; every array must be asked for once."""
    _refuse_depth(document)
    left = dict(arrays)
    value = _decode(document, left)
    if left:
        raise ModelFileError(f"the array {min(left)!r} belongs to nothing")
    return value


def _refuse_depth(document: Any) -> None:
    """Refuse a document whose values would break what walks them, as repr does."""
    level = [document]
    for _ in range(_DEEPEST):
        holders = [item for item in level if isinstance(item, dict | list)]
        if not holders:
            return
        level = [
            item
            for holder in holders
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
    raise ModelFileError("its document is nested too deeply")


def _decode(document: Any, arrays: Arrays) -> Any:
    if isinstance(document, list):
        return [_decode(item, arrays) for item in document]
    if not isinstance(document, dict):
        if isinstance(document, float) and not math.isfinite(document):
            raise ModelFileError("a number is too large")
        return document
    tag = next((key for key in document if key.startswith("$")), None)
    if tag is None:
        return {key: _decode(item, arrays) for key, item in document.items()}
    if len(document) != 1 or tag not in _READERS:
        raise ModelFileError(f"the key {tag!r} is not known")
    try:
        return _READERS[tag](document[tag], arrays)
    except ModelFileError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError(f"what stands under {tag!r} cannot be read") from None


def _expect(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ModelFileError(f"a {type(value).__name__} stands where a {kind.__name__} is expected")
    return value


def _read_float(text: Any, arrays: Arrays) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ModelFileError(f"{text!r} is not a number that is not finite")
    return float(text)


def _read_tuple(items: Any, arrays: Arrays) -> tuple[Any, ...]:
    return tuple(_decode(_expect(items, list), arrays))


def _read_dict(pairs: Any, arrays: Arrays) -> dict[Any, Any]:
    return {_decode(key, arrays): _decode(item, arrays) for key, item in _expect(pairs, list)}


def _read_array(name: Any, arrays: Arrays) -> NDArray[Any]:
    if _expect(name, str) not in arrays:
        raise ModelFileError(f"the array {name!r} is missing, or belongs to two things")
    array = arrays.pop(name)
    if array.dtype not in _NUMBERS:
        raise ModelFileError(f"the array {name!r} has dtype {array.dtype}, which no model has")
    return array


def _read_time(parts: Any, arrays: Arrays) -> NDArray[Any]:
    name, kind, unit = _expect(parts, list)
    counts = _read_array(name, arrays)
    if kind not in ("m", "M") or unit not in _TIME_UNITS or counts.dtype != np.int64:
        raise ModelFileError(f"the array {name!r} does not hold dates")
    return counts.view(f"{kind}8[{unit}]")


def _read_objects(items: Any, arrays: Arrays) -> NDArray[Any]:
    array = np.empty(len(_expect(items, list)), dtype=object)
    for place, item in enumerate(items):
        array[place] = _decode(item, arrays)
    return array


def _read_text(items: Any, arrays: Arrays) -> NDArray[Any]:
    lengths = [len(_expect(item, str)) for item in _expect(items, list)]
    # numpy gives every text the room of the longest: one long text must not cost gigabytes.
    is_even = len(lengths) * max(lengths, default=0) <= 1_000_000 + 100 * sum(lengths)
    return np.array(items, dtype=np.str_ if is_even else object)


_READERS: dict[str, Callable[[Any, Arrays], Any]] = {
    "$array": _read_array,
    "$date": lambda text, arrays: date.fromisoformat(text),
    "$datetime": lambda text, arrays: datetime.fromisoformat(text),
    "$dict": _read_dict,
    "$float": _read_float,
    "$not_stored": lambda text, arrays: NotStored(_expect(text, str)),
    "$objects": _read_objects,
    "$text": _read_text,
    "$time": _read_time,
    "$tuple": _read_tuple,
}
