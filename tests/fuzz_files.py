"""Changes model files at random. Each must be refused by ModelFileError, or give a usable model.

    python tests/fuzz_files.py [number of files] [seed]

Bytes are flipped, cut out, repeated; arrays get other numbers, lengths, dtypes and names; the
document gets other values, loses fields, gains some. Where a change would only be found by the
checksum, the checksum is made right again for three files in four, so that the checks behind it
are tried.
"""

import copy
import json
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.random import Generator
from saved_models import make_ensembles, make_saved

from treefold import ModelFileError, export_text
from treefold.files import dump_bytes, load_bytes
from treefold.files.container import _MARK, _digest

SLOW = 5.0  # seconds for one file
ROOM = 2 * 2**30  # bytes of memory on top of what the process has
KINDS = ("DecisionTreeClassifier", "DecisionTreeRegressor", "DecisionTreeClassifierCV", "Forest")
KINDS += ("BaggingClassifier", "BaggingRegressor")
ODD_NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    63,
    64,
    65,
    255,
    2**15,
    2**31 - 1,
    -(2**31),
    2**32,
    2**62,
    -(2**63),
]
ODD_FLOATS = [0.0, -0.0, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan, 0.5, -2.0]
ODD_VALUES = [
    *[
        None,
        True,
        False,
        "",
        "x",
        "$array",
        [],
        {},
        [[]],
        [None],
        {"$array": "tree.feature"},
        1e400,
    ],
    *[
        {"$tuple": [1, [2]]},
        {"$text": ["a", "b"]},
        {"$objects": [1, {"$tuple": []}]},
        0.5,
        "\ud800",
    ],
    *[{"$float": "nan"}, {"$dict": [[[], 1]]}, {"$date": "x"}, {"$datetime": "2020-01-01"}],
    *[{"$not_stored": "y"}, {"$time": ["tree.value", "M", "D"]}, {"$unknown": 1}, *ODD_NUMBERS],
    *KINDS,
]

Document = dict[str, Any]
Arrays = dict[str, np.ndarray]


def read(data: bytes) -> tuple[Document, Arrays]:
    length = int.from_bytes(data[:8], "little")
    text = json.loads(data[8 : 8 + length])["__metadata__"]["treefold"]
    arrays = {name: array.copy() for name, array in safetensors.numpy.load(data).items()}
    return json.loads(text), arrays


def write(document: Document, arrays: Arrays) -> bytes:
    return fix_checksum(
        safetensors.numpy.save(arrays, {"treefold": json.dumps(document, separators=(",", ":"))})
    )


def fix_checksum(data: bytes) -> bytes:
    place = data.find(_MARK)
    if place < 0:
        return data
    begin = place + len(_MARK)
    return data[:begin] + _digest(data, begin).encode() + data[begin + 64 :]


# Changes ------------------------------------------------------------------------------------------


def pick(rng: Generator, items: Any) -> Any:
    items = list(items)
    return items[int(rng.integers(len(items)))]


def flip_bits(rng: Generator, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def flip_header(rng: Generator, data: bytes) -> bytes:
    """Change digits and letters of the header only."""
    changed = bytearray(data)
    end = 8 + int.from_bytes(data[:8], "little")
    for _ in range(int(rng.integers(1, 5))):
        changed[int(rng.integers(end))] = int(
            rng.choice(np.frombuffer(b'0189-{}[]",:aeE.\\', np.uint8))
        )
    return bytes(changed)


def cut_out(rng: Generator, data: bytes) -> bytes:
    first, last = np.sort(rng.integers(0, len(data) + 1, 2))
    return data[: int(first)] if rng.random() < 0.5 else data[: int(first)] + data[int(last) :]


def repeat(rng: Generator, data: bytes) -> bytes:
    first, last = (int(place) for place in np.sort(rng.integers(0, len(data) + 1, 2)))
    return data[:last] + data[first:last] + data[last:]


def change_numbers(rng: Generator, data: bytes) -> bytes:
    document, arrays = read(data)
    for _ in range(int(rng.integers(1, 4))):
        array = arrays[pick(rng, arrays)]
        if array.size == 0:
            continue
        place = int(rng.integers(array.size))
        odd = pick(rng, ODD_FLOATS if array.dtype.kind == "f" else ODD_NUMBERS)
        if rng.random() < 0.3:
            odd = array.flat[int(rng.integers(array.size))]
        with np.errstate(all="ignore"):
            array.flat[place] = np.array(odd).astype(array.dtype)
    return write(document, arrays)


def change_array(rng: Generator, data: bytes) -> bytes:
    document, arrays = read(data)
    name = pick(rng, arrays)
    array, other = arrays[name], pick(rng, arrays)
    with np.errstate(all="ignore"):
        arrays[name] = pick(
            rng,
            [
                array[:-1],
                np.concatenate((array, array)),
                array[:0],
                array.astype(pick(rng, ["i1", "i4", "i8", "u8", "f4", "f8", "?", "f2"])),
                array.reshape(1, *array.shape),
                np.zeros((0, 2**40), dtype=array.dtype),
                arrays[other],
                array[::-1].copy(),
            ],
        )
    if rng.random() < 0.2:
        arrays[pick(rng, [other, "tree", "x", ""])] = arrays.pop(name)
    return write(document, arrays)


def list_places(value: Any) -> list[tuple[Any, Any]]:
    """All pairs of a container and a key within a document."""
    places = []
    stack = [value]
    while stack:
        held = stack.pop()
        keys = held.keys() if isinstance(held, dict) else range(len(held))
        for key in keys:
            places.append((held, key))
            if isinstance(held[key], dict | list):
                stack.append(held[key])
    return places


def change_document(rng: Generator, data: bytes) -> bytes:
    document, arrays = read(data)
    for _ in range(int(rng.integers(1, 4))):
        places = list_places(document)
        held, key = pick(rng, places)
        action = rng.random()
        if action < 0.2:
            del held[key]
        elif action < 0.3 and isinstance(held, dict):
            held[pick(rng, ["x", "$x", "n_jobs", "format"])] = pick(rng, ODD_VALUES)
        elif action < 0.4 and isinstance(held, list):
            held.append(held[key])
        elif action < 0.6:
            source, at = pick(rng, places)
            held[key] = (
                copy.deepcopy(source[at]) if at in source or not isinstance(source, dict) else 0
            )
        else:
            held[key] = copy.deepcopy(pick(rng, ODD_VALUES))
        if not places:
            break
    return write(document, arrays)


def nest_deeply(rng: Generator, data: bytes) -> bytes:
    document, arrays = read(data)
    depth = int(10 ** rng.uniform(1, 4))
    opening, closing = pick(rng, [("[", "]"), ('{"$tuple":[', "]}"), ('{"a":', "}")])
    document["model"]["params"]["max_depth"] = "here"
    text = json.dumps(document, separators=(",", ":"))
    text = text.replace('"here"', opening * depth + "1" + closing * depth)
    return fix_checksum(safetensors.numpy.save(arrays, {"treefold": text}))


def change_layout(rng: Generator, data: bytes) -> bytes:
    """Change dtypes, shapes and places in the header of the container itself."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    entry = header[pick(rng, [name for name in header if name != "__metadata__"])]
    field = pick(rng, entry)
    if field == "dtype":
        entry[field] = pick(rng, ["I8", "U64", "F64", "F4", "BF16", "C64", "", 7])
    else:
        entry[field] = [pick(rng, ODD_NUMBERS) for _ in range(int(rng.integers(0, 4)))]
    text = json.dumps(header, separators=(",", ":")).encode()
    size = pick(rng, [len(text), len(text) - 1, len(text) + 1, 0, 2**63, len(text)])
    return fix_checksum(size.to_bytes(8, "little") + text + data[8 + length :])


CHANGES: list[Callable[[Generator, bytes], bytes]] = [
    *[flip_bits, flip_header, cut_out, repeat, change_numbers, change_numbers, change_array],
    *[change_document, change_document, change_document, change_layout, nest_deeply],
]


# Judging ------------------------------------------------------------------------------------------


def use(model: Any) -> None:
    """Do with a model what a user would: nothing may go wrong."""
    if hasattr(model, "estimators_"):
        use_ensemble(model)
        return
    tree = model.tree_
    n_columns = tree.n_features
    rows = np.tile([[0.0], [1.5], [-1e300], [np.nan]], (1, n_columns))
    if tree.schema.is_plain and tree.schema.names is None:
        model.predict(rows)
        model.decision_path(rows)
    from treefold import _native  # noqa: PLC0415

    source = _native.Source(len(rows), n_columns)
    source.add_dense(0, rows)
    for column, labels in tree.schema.categories.items():
        source.set_categories(column, max(1, len(labels)))
    leaves = tree._native.apply(source, 1)
    assert ((leaves >= 0) & (leaves < tree.node_count)).all()
    export_text(model)
    assert len(model.feature_importances_) == n_columns
    tree._native.pruning_path()
    assert repr(model)
    if hasattr(model, "evaluation_"):
        assert repr(model.evaluation_)
        assert model.evaluation_.to_dict()
        export_text(model, show_stability=True)
    load_bytes(dump_bytes(model))


def use_ensemble(model: Any) -> None:
    for tree in model.estimators_:
        use(tree)
    schema = model._schema
    rows = np.tile([[0.0], [1.5], [-1e300], [np.nan]], (1, schema.n_columns))
    if schema.is_plain and schema.names is None:
        assert np.isfinite(model.predict(rows)).all()
    assert repr(model)
    assert model.work_ is not None
    load_bytes(dump_bytes(model))


def judge(data: bytes) -> str:
    """Load a changed file; whatever this raises is a mistake of the library."""
    begin = time.process_time()  # what else the machine does, does not count
    with warnings.catch_warnings(action="ignore"):  # such as sums of scores that overflow
        try:
            model = load_bytes(data)
        except ModelFileError:
            answer = "refused"
        else:
            use(model)
            answer = "usable"
    seconds = time.process_time() - begin
    assert seconds < SLOW, f"one file took {seconds:.1f} s"
    return answer


def make_case(rng: Generator, originals: list[bytes]) -> tuple[str, bytes]:
    change = pick(rng, CHANGES)
    data = change(rng, pick(rng, originals))
    if rng.random() < 0.75:
        data = fix_checksum(data)
    return change.__name__, data


def make_originals() -> list[bytes]:
    everything = [*make_saved().values(), *make_ensembles().values()]
    return [dump_bytes(saved.model) for saved in everything]


def main(n_files: int, seed: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    originals = make_originals()
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ROOM, mapped + ROOM))
    rng = np.random.default_rng(seed)
    counts: Counter[tuple[str, str]] = Counter()
    begin, slowest = time.perf_counter(), 0.0
    for number in range(n_files):
        name, data = make_case(rng, originals)
        start = time.process_time()
        try:
            counts[name, judge(data)] += 1
        except BaseException:
            with open("fuzz_failure.bin", "wb") as file:
                file.write(data)
            print(f"file {number} of seed {seed}, {name}, is in fuzz_failure.bin")
            raise
        slowest = max(slowest, time.process_time() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for name in sorted({name for name, _ in counts}):
        print(f"{name:16} {counts[name, 'refused']:7} refused {counts[name, 'usable']:7} usable")
    total = Counter(answer for (_, answer), count in counts.items() for _ in range(count))
    found = f"{total['refused']} refused, {total['usable']} usable, 0 wrong"
    print(f"{n_files} files of seed {seed}: {found}")
    print(
        f"slowest {1000 * slowest:.0f} ms; memory {used / 2**20:.0f} -> {peak / 2**20:.0f} MiB; "
        f"{time.perf_counter() - begin:.0f} s"
    )


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*arguments, *[1_000, 0][len(arguments) :])
