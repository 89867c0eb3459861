"""Digits with zeros in front, such as ZIP codes, are text: as numbers they would lose the zeros."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import assert_mistake, fit, run, write

pytest.importorskip("pyarrow")

ZIPS = ("00501", "02108", "10001", "90210")
LINES = [
    f"{ZIPS[row % 4]},{row % 12 + 1:02},{row % 7},{['no', 'yes'][row % 4 < 2]}" for row in range(96)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data.csv", "zip,month,x,y", *LINES)


def read(path: Path, *more: object) -> dict[str, Any]:
    out = fit(path, "y", "--json", "--cv", 3, "--no-nested", *more).out
    found: dict[str, Any] = json.loads(out)
    return found


def test_codes_are_categories_and_keep_their_zeros(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.treefold"
    found = read(data, "--model", model)
    assert found["read"]["codes"] == ["zip"]
    assert found["columns"]["categorical"] == ["zip"]  # 01 to 12 are numbers
    assert found["tree"][1]["condition"] == "zip is 00501, 02108"
    new = write(tmp_path / "new.csv", "zip,month,x", "00501,01,3", "90210,12,3")
    assert run("predict", model, new).out.split()[1:] == ['"yes"', '"no"']
    said = " ".join(fit(data, "y", "--cv", 3).out.split())
    assert "read as text: zip (zeros in front, as codes have; as numbers: --numeric)" in said


@pytest.mark.parametrize("line", ['"00501",05,2,yes', " 00501,05,2,yes", "?,05,2,yes"])
def test_codes_are_found_whatever_is_around_them(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "data.csv", "zip,month,x,y", *LINES, line)
    assert read(path)["read"]["codes"] == ["zip"]


def test_a_single_code_far_down_is_enough(tmp_path: Path) -> None:
    lines = [f"{10_000 + row % 50},{'ab'[row % 50 > 20]}" for row in range(60_000)]
    path = write(tmp_path / "data.csv", "zip,y", *lines, "00501,a")
    assert read(path)["read"]["codes"] == ["zip"]


def test_the_user_may_say_that_codes_are_numbers(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.treefold"
    found = read(data, "--numeric", "zip", "--model", model)
    assert found["read"]["codes"] == found["columns"]["categorical"] == []
    assert "zip <= " in found["tree"][1]["condition"]
    assert run("predict", model, data).code == 0
    assert "--numeric zip" in read(data, "--numeric", "zip")["next"]
    asked = ("fit", data, "--target", "y", "--numeric")
    assert_mistake(run(*asked, "zap"), "--numeric: there is no column 'zap'")
    assert_mistake(run(*asked, "zip", "--categorical", "zip"), "it can be only one")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("ab", "--numeric: 'x' holds text that is no number (first: 'a')"),
        (("1,500", "2,500"), "--numeric: 'x' is left as text: "),
    ],
)
def test_text_that_is_no_number_is_not_taken_for_one(
    tmp_path: Path, values: tuple[str, str], message: str
) -> None:
    lines = [f'"{values[row % 2]}",{row % 7},{"uv"[row % 7 > 3]}' for row in range(90)]
    path = write(tmp_path / "data.csv", "x,z,y", *lines)
    result = run("fit", path, "--target", "y", "--numeric", "x")
    assert_mistake(result, message)
    assert ("Say which: --decimal . or --decimal ," in result.err) == (values != "ab")


def test_categories_that_the_user_asks_for_keep_every_zero(data: Path) -> None:
    found = read(data, "--categorical", "month", "--drop", "zip", "--drop", "x")
    assert found["read"]["codes"] == ["month"]


def test_a_target_of_codes_keeps_its_zeros(tmp_path: Path) -> None:
    lines = [f"{row % 9},{['01', '02'][row % 9 > 4]}" for row in range(90)]
    path, model = write(tmp_path / "data.csv", "x,y", *lines), tmp_path / "m.treefold"
    assert read(path, "--model", model, "--test", path)["target"]["classes"] == {"01": 50, "02": 40}
    assert run("predict", model, path).out.split()[1:3] == ['"01"', '"01"']


def test_many_codes_to_predict_are_numbers_or_classes_as_the_user_says(tmp_path: Path) -> None:
    lines = [f"{row % 45},{row % 45:03}" for row in range(90)]
    path = write(tmp_path / "data.csv", "x,y", *lines)
    result = run("fit", path, "--target", "y")
    assert_mistake(result, "holds digits with zeros in front, such as '000'")
    assert read(path, "--numeric", "y")["target"]["task"] == "regression"


def test_other_roles_take_codes_as_they_are(tmp_path: Path) -> None:
    lines = [f"{row // 10:03},{row % 7},{'ab'[row % 7 > 3]}" for row in range(90)]
    path = write(tmp_path / "data.csv", "part,x,y", *lines)
    for option in ("--weights", "--groups", "--time", "--drop", "--id"):
        assert read(path, option, "part")["read"]["codes"] in ([], ["part"])
    out = fit(path, "y", "--json", "--no-nested", "--folds", "part").out
    assert json.loads(out)["folds"]["number"] == 9
