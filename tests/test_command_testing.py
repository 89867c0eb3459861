"""`treefold fit --test`: the score on a file of its own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import assert_mistake, fit, run

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 120
RANDOM = np.random.default_rng(3)
A = RANDOM.normal(size=ROWS).round(2)
COLUMNS = {
    "a": A,
    "y": (A * 3 + RANDOM.normal(size=ROWS)).round(2),
    "w": RANDOM.uniform(0.5, 2, ROWS).round(2),
    "c": np.where(A > 0, "yes", "no"),
}


def write_columns(path: Path, decimal_point: str = ".", **columns: Any) -> Path:
    """Write CSV as people do: a decimal comma goes with semicolons."""
    table = {**COLUMNS, **columns}
    lines = [";".join(table)]
    lines += [";".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    text = "".join(f"{line}\n" for line in lines)
    path.write_text(text.replace(".", decimal_point) if decimal_point != "." else text)
    return path


def score(data: Path, target: str, test: Path, *more: object) -> dict[str, Any]:
    """The score of the test file."""
    drop = [word for name in ("y", "c", "w") if name != target for word in ("--drop", name)]
    out = fit(data, target, "--cv", 3, "--no-nested", "--json", "--test", test, *drop, *more).out
    found: dict[str, Any] = json.loads(out)["scores"]["rows"]["test"]
    return found


@pytest.mark.parametrize("weights", [[], ["--weights", "w"]])
def test_a_decimal_comma_is_read_in_targets_and_weights(tmp_path: Path, weights: list[str]) -> None:
    points, commas = (
        write_columns(tmp_path / name, point) for name, point in (("p.csv", "."), ("c.csv", ","))
    )
    assert score(points, "y", commas, *weights) == score(points, "y", points, *weights)


BAD = {
    "a weight": ({"w": [1.0] * 15 + [-1.0] * 105}, "first: -1.0, row 16 of '"),
    "a weight that is text": ({"w": ["1"] * 15 + ["x"] * 105}, "row 16, column 'w': 'x' is not"),
    "a class": ({"c": ["no"] * 15 + ["maybe"] * 105}, "row 16, column 'c': 'maybe' is not one of"),
    "a number": ({"a": ["1"] * 15 + ["x"] * 105}, "row 16, column 'a': 'x' is not a number"),
    "no target": ({"c": [""] * ROWS}, "has no row with a value of the target 'c'"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_with_a_test_file_is_said_with_the_row(tmp_path: Path, what: str) -> None:
    columns, message = BAD[what]
    columns = {"c": list(COLUMNS["c"]), **columns}
    if what != "no target":
        columns["c"][:10] = [""] * 10
    data = write_columns(tmp_path / "data.csv")
    test = write_columns(tmp_path / "test.csv", **columns)
    options = ["--target", "c", "--cv", 3, "--no-nested", "--weights", "w", "--drop", "y"]
    assert_mistake(run("fit", data, *options, "--test", test), message)


def test_a_list_as_a_target_of_the_test_file_is_a_mistake(tmp_path: Path) -> None:
    data = write_columns(tmp_path / "data.csv")
    lists = pa.table({**COLUMNS, "c": [["yes"]] * ROWS})
    parquet.write_table(lists, tmp_path / "test.parquet")
    options = ["--target", "c", "--cv", 3, "--no-nested", "--test", tmp_path / "test.parquet"]
    assert_mistake(run("fit", data, *options), "is not text (but list<")


SPELLINGS = {
    "whole numbers": (["0", "1"], [["0", "1"], ["0.0", "1.0"], ["0,0", "1,0"]]),
    "floats": (["0.0", "1.0"], [["0", "1"], ["0.0", "1.0"]]),
    "booleans": (["False", "True"], [["False", "True"], ["false", "true"]]),
}


@pytest.mark.parametrize("kind", SPELLINGS)
def test_classes_are_known_however_they_are_spelled(tmp_path: Path, kind: str) -> None:
    spelling, others = SPELLINGS[kind]
    codes = (A > 0).astype(int)
    plain = write_columns(tmp_path / "data.csv", c=[spelling[code] for code in codes])
    expected = score(plain, "c", plain)
    assert expected["n_rows"] == ROWS
    for other in others:
        point = "," if "," in other[0] else "."
        labels = [other[code] for code in codes]
        test = write_columns(tmp_path / "test.csv", point, c=labels)
        assert score(plain, "c", test) == expected
