"""Damaged and hostile model files are refused with a reason. More of them: fuzz_files.py."""

import json
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from cases import BASE_SEED
from fuzz_files import fix_checksum, judge, make_case, make_originals, read, write
from saved_models import make_saved

from treefold import ModelFileError, load
from treefold.files import dump_bytes, load_bytes

ORIGINAL = dump_bytes(make_saved()["classes"].model)
CROSS_VALIDATED = dump_bytes(make_saved()["classes CV"].model)


def test_a_thousand_changed_files_are_refused_or_usable() -> None:
    originals = make_originals()
    rng = np.random.default_rng(BASE_SEED)
    answers: Counter[str] = Counter()
    for number in range(1_000):
        name, data = make_case(rng, originals)
        try:
            answers[judge(data)] += 1
        except BaseException as error:
            error.add_note(f"file {number} of seed {BASE_SEED}: {name}")
            raise
    assert answers["refused"] > 500
    assert answers["usable"] > 10


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, len(ORIGINAL) // 2, len(ORIGINAL) - 1])
def test_a_file_without_its_end_is_refused(length: int) -> None:
    with pytest.raises(ModelFileError, match=r"no model file|checksum"):
        load_bytes(ORIGINAL[:length])


def test_every_flipped_byte_is_found() -> None:
    places = np.random.default_rng(0).integers(0, len(ORIGINAL), 200)
    for place in places:
        changed = bytearray(ORIGINAL)
        changed[place] ^= 1
        with pytest.raises(ModelFileError):
            load_bytes(bytes(changed))


def test_the_message_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a model, but long enough to be one")
    with pytest.raises(
        ModelFileError, match=r"notes\.txt' cannot be used as a model: it is no mod"
    ):
        load(path)


def test_other_safetensors_files_are_refused() -> None:
    with pytest.raises(ModelFileError, match="no model file"):
        load_bytes(safetensors.numpy.save({"x": np.zeros(3)}, {"format": "pt"}))


def test_a_later_format_is_refused_by_name() -> None:
    document, arrays = read(ORIGINAL)
    document["format"] = 2
    with pytest.raises(ModelFileError, match=r"format 2, and this version .* update treefold"):
        load_bytes(write(document, arrays))


Model = dict[str, Any]
Arrays = dict[str, np.ndarray]


def put(name: str, place: int, value: float) -> Callable[[Model, Arrays], None]:
    def change(model: Model, arrays: Arrays) -> None:
        arrays[name][place] = value

    return change


def set_field(*path: Any) -> Callable[[Model, Arrays], None]:
    *places, last, value = path

    def change(model: Model, arrays: Arrays) -> None:
        held: Any = model
        for place in places:
            held = held[place]
        held[last] = value

    return change


def drop_array(model: Model, arrays: Arrays) -> None:
    del arrays["tree.impurity"]


def add_array(model: Model, arrays: Arrays) -> None:
    arrays["more"] = np.zeros(3)


def put_date(threshold: float) -> Callable[[Model, Arrays], None]:
    def change(model: Model, arrays: Arrays) -> None:
        families = dict(model["tree"]["schema"]["families"])
        columns = [column for column, family in families.items() if family == "date"]
        node = np.flatnonzero(np.isin(arrays["tree.feature"], columns))[0]
        arrays["tree.threshold"][node] = threshold

    return change


def repeat_name(model: Model, arrays: Arrays) -> None:
    model["tree"]["schema"]["names"][0] = model["tree"]["schema"]["names"][1]


WRONG: dict[str, tuple[Callable[[Model, Arrays], None], str]] = {
    "a child before its parent": (put("tree.children_right", 0, 0), "preorder"),
    "a child beyond the end": (put("tree.children_right", 0, 2**31 - 1), "preorder"),
    "a split at the end": (put("tree.feature", -1, 0), "last node is a split"),
    "a column that does not exist": (put("tree.feature", 0, 99), "column 99, which does not exist"),
    "a weight that is not finite": (put("tree.weighted_n_node_samples", 1, np.inf), "bad weight"),
    "a value that is no number": (put("tree.value", 0, np.nan), "value that is not a number"),
    "a share above one": (put("tree.value", 0, 1.5), "not between 0 and 1"),
    "rows that do not add up": (put("tree.n_node_samples", 0, 7), "other rows than its two sides"),
    "a date beyond all": (put_date(5e307), "no day that a date can have"),
    "a date before all": (put_date(-1e19), "no day that a date can have"),
    "no rows": (put("tree.n_node_samples", 0, -1), "has no rows"),
    "category sets out of order": (put("tree.category_begin", 1, 2**62), "categories|category"),
    "a missing array": (drop_array, "'tree.impurity' is missing"),
    "an array too many": (add_array, "'more' belongs to nothing"),
    "a name twice": (repeat_name, "one name each"),
    "another type": (set_field("type", "os.system"), "'os.system', which this version"),
    "a type without classes": (set_field("type", "DecisionTreeRegressor"), "class"),
    "an unknown parameter": (set_field("params", "evil", 1), "no parameter 'evil'"),
    "too few classes": (set_field("classes", {"$text": ["a"]}), "stand for 3 classes"),
    "classes alike": (set_field("classes", {"$text": ["a", "a", "b"]}), "not distinct"),
    "many columns": (set_field("tree", "schema", "n_columns", 2**31 - 1), "name"),
    "a family": (set_field("tree", "schema", "families", [[0, "boat"]]), "'boat', which is not"),
    "a kind": (set_field("tree", "schema", "kinds", [[0, "boat"]]), "kind 'boat', which is not"),
    "a column twice": (set_field("tree", "schema", "families", [[0, "text"]] * 2), "twice"),
    "fewer categories": (set_field("tree", "schema", "categories", []), "n_categories"),
    "a tag": (set_field("params", "ccp_alpha", {"$eval": "1"}), "'\\$eval' is not known"),
    "another format of trees": (set_field("tree", "format", 2), "written in format 2"),
    "many features": (set_field("max_features", 10**9), "range 1 to 7"),
    "text for a number": (set_field("max_features", "1"), "holds str, not int"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_growth_could_not_have_made_is_refused(what: str) -> None:
    change, message = WRONG[what]
    document, arrays = read(ORIGINAL)
    change(document["model"], arrays)
    with pytest.raises(ModelFileError, match=message):
        load_bytes(write(document, arrays))


WRONG_EVIDENCE: dict[str, tuple[Callable[[Model, Arrays], None], str]] = {
    "a chosen candidate": (set_field("evidence", "best_index", 10**6), "best_index"),
    "a parameter": (set_field("evidence", "candidates", {"a": [1]}), "candidates"),
    "a chosen parameter": (set_field("evidence", "best_params", {"a": 1}), "not known"),
    "a metric": (set_field("params", "scoring", "rm -rf"), "metric 'rm -rf' is not known"),
    "no evidence": (set_field("evidence", None), "'evidence' holds NoneType"),
    "a column": (put("evidence.stability.other_column", 0, 50), "do not exist"),
    "scores": (set_field("evidence", "evaluation", "test_scores", {}), "no scores"),
    "notes": (set_field("evidence", "evaluation", "notes", {"$tuple": [1]}), "not text"),
}


@pytest.mark.parametrize("what", WRONG_EVIDENCE)
def test_evidence_that_does_not_fit_is_refused(what: str) -> None:
    change, message = WRONG_EVIDENCE[what]
    document, arrays = read(CROSS_VALIDATED)
    change(document["model"], arrays)
    with pytest.raises(ModelFileError, match=f"{message}|belongs to nothing"):
        load_bytes(write(document, arrays))


def test_a_header_that_claims_terabytes_is_refused_at_once() -> None:
    huge = struct.pack("<Q", 2**60) + ORIGINAL[8:]
    with pytest.raises(ModelFileError, match="end is missing"):
        load_bytes(huge)
    length = int.from_bytes(ORIGINAL[:8], "little")
    header = json.loads(ORIGINAL[8 : 8 + length])
    header["tree.feature"]["shape"] = [2**50]
    text = json.dumps(header, separators=(",", ":")).encode()
    with pytest.raises(ModelFileError, match="safetensors cannot read it"):
        load_bytes(fix_checksum(struct.pack("<Q", len(text)) + text + ORIGINAL[8 + length :]))


def test_json_numbers_without_end_are_refused() -> None:
    document, arrays = read(ORIGINAL)
    document["model"]["params"]["ccp_alpha"] = "here"
    for number, message in (("9" * 10_000, "header"), ("1e999", "too large"), ("NaN", "header")):
        text = json.dumps(document, separators=(",", ":")).replace('"here"', number)
        data = fix_checksum(safetensors.numpy.save(arrays, {"treefold": text}))
        with pytest.raises(ModelFileError, match=message):
            load_bytes(data)
