"""Files without names in their first line, and files with comments."""

import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from commands import assert_mistake, fit, run, write

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SHARED = Path(__file__).parents[2] / "shared" / "data" / "csv"
LINES = [f"{row % 7}.5,{'uvw'[row % 3]},{'ab'[row % 7 > 3]}" for row in range(90)]
DOUBT = "The first line looks like data, not like names"


def read(path: Path, target: str, *more: object) -> dict[str, Any]:
    out = fit(path, target, "--json", "--cv", 3, "--no-nested", *more).out
    found: dict[str, Any] = json.loads(out)
    return found


def find(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not here")
    return path


def test_a_file_without_names_has_numbered_columns(tmp_path: Path) -> None:
    path, model = write(tmp_path / "data.csv", *LINES), tmp_path / "m.treefold"
    options = ["--no-header", "--model", model, "--test", path]
    found = read(path, "column_3", *options)
    assert found["read"]["rows"] == 90
    assert found["columns"]["used"] == ["column_1", "column_2"]
    assert found["scores"]["rows"]["test"]["n_rows"] == 90
    assert found["hints"] == []
    result = run("predict", model, path)
    assert result.out.count("\n") == 91, result.err
    new = write(tmp_path / "new.csv", *[line.rpartition(",")[0] for line in LINES])
    assert run("predict", model, new).out == result.out  # the target is last
    write(new, "u,1.5,b,c")
    message = "has 4 columns, but the model, which was fitted with --no-header"
    assert_mistake(run("predict", model, new), message)


def test_names_that_look_like_data_give_a_hint(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", *LINES)
    hints = read(path, "a")["hints"]
    assert hints[0].startswith(f"{DOUBT} (0.5, u, a).")
    assert "--no-header" in hints[0]
    assert_mistake(run("fit", path, "--target", "class"), f"no column 'class'. {DOUBT}")
    twins = write(tmp_path / "twins.csv", "1,1,a", "1,2,b")
    assert_mistake(run("fit", twins, "--target", "a"), "data, not names: --no-header")


@pytest.mark.parametrize(
    "names", ["x,y,z", "2019,2020,z", "0,1,2", "place,2020,z", "u,2.x,z", "x,uvw,z"]
)
def test_names_are_names(tmp_path: Path, names: str) -> None:
    path = write(tmp_path / "data.csv", names, *LINES)
    hints = read(path, names.split(",")[2])["hints"]
    assert [hint for hint in hints if DOUBT in hint] == []


@pytest.mark.parametrize("form", ["plain", "BOM", "gzip", "UTF-16", "latin-1"])
def test_comments_are_skipped(tmp_path: Path, form: str) -> None:
    lines = ["# made by hände", "#, in May", "x,letter,y", *LINES[:40], "# half", *LINES[40:], "#"]
    text = "".join(f"{line}\n" for line in lines)
    data = {
        "plain": text.encode(),
        "BOM": text.encode("utf-8-sig"),
        "gzip": gzip.compress(text.encode()),
        "UTF-16": text.encode("utf-16"),
        "latin-1": text.encode("latin-1"),
    }[form]
    path, model = tmp_path / "data.csv", tmp_path / "m.treefold"
    path.write_bytes(data)
    found = read(path, "y", "--comment", "#", "--model", model, "--test", path)
    assert found["read"]["rows"] == found["scores"]["rows"]["test"]["n_rows"] == 90
    assert found["columns"]["used"] == ["x", "letter"]
    assert run("predict", model, path).out.count("\n") == 91
    plain = write(tmp_path / "plain.csv", "x,letter", "1.5,u")
    assert run("predict", model, plain).code == 0


def test_a_file_of_comments_only_is_empty(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", "# x", "# y")
    assert_mistake(run("fit", path, "--target", "y", "--comment", "#"), "is empty")


def test_a_head_of_comments_is_told(tmp_path: Path) -> None:
    advice = "Its first line begins with #; if such lines are comments: --comment '#'"
    path = write(tmp_path / "data.csv", "# made by hand", "x,letter,y", *LINES)
    assert_mistake(run("fit", path, "--target", "y"), advice)
    path = write(tmp_path / "data.csv", "# made, by, hand", "x,letter,y", *LINES)
    assert_mistake(run("fit", path, "--target", "y"), f"there is no column 'y'. {advice}")
    path = write(tmp_path / "data.csv", "#x,letter,y", *LINES)
    assert read(path, "y")["columns"]["used"] == ["#x", "letter"]


@pytest.mark.parametrize(
    ("name", "target", "n_rows"),
    [("mammography.csv", "column_7", 11_183), ("german.csv", "column_21", 1000)],
)
def test_published_files_without_names(name: str, target: str, n_rows: int) -> None:
    path = find(name)
    assert_mistake(run("fit", path, "--target", target), "--no-header")
    found = read(path, target, "--no-header", "--max-depth", 2)
    assert found["read"]["rows"] == n_rows
    assert len(found["target"]["classes"]) == 2


def test_what_to_do_next_reads_the_file_alike(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", *LINES)
    options = ["--no-header", "--comment", "#", "--missing", "u", "--decimal", ",", "--day-first"]
    out = fit(path, "column_3", "--cv", 2, *options).out
    command = shlex.split(" ".join(out.partition("\nNext ")[2].replace("\\\n", " ").split()))
    assert set(options) <= set(command)
