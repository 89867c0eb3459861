"""Files as people have them: every kind, every encoding, and everything that can be wrong."""

import gzip
import io
import json
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import LOANS, assert_mistake, fit, run, run_apart, write

from treefold.command.mistakes import UserError

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")
reading = pytest.importorskip("treefold.command.reading")

LINES = [f"{i % 7},{'äöü'[i % 3]},{'ja' if i % 7 > 3 else 'nein'}" for i in range(60)]
TEXT = "".join(f"{line}\n" for line in ["größe,farbe,gut", *LINES])


def read(path: Path, *more: object) -> dict[str, Any]:
    """The findings, without what depends on the file's form."""
    found: dict[str, Any] = json.loads(fit(path, "gut", "--json", "--cv", 3, *more).out)
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("plain") / "data.csv"
    path.write_text(TEXT, encoding="utf8")
    return read(path)


FORMS = {
    "a BOM": (TEXT.encode("utf-8-sig"), "CSV"),
    "CRLF": (TEXT.replace("\n", "\r\n").encode(), "CSV"),
    "latin-1": (TEXT.encode("latin-1"), "CSV, cp1252"),
    "UTF-16": (TEXT.encode("utf-16"), "CSV, utf-16"),
    "semicolons": (TEXT.replace(",", ";").encode(), "CSV, semicolons"),
    "tabs": (TEXT.replace(",", "\t").encode(), "CSV, tabs"),
    "gzip": (gzip.compress(TEXT.encode()), "CSV, gzip"),
    "gzip and latin-1": (gzip.compress(TEXT.encode("latin-1")), "CSV, cp1252, gzip"),
    "no newline at the end": (TEXT.rstrip("\n").encode(), "CSV"),
    "an empty line": (TEXT.encode() + b"\n", "CSV"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_the_same_in_every_form(tmp_path: Path, form: str, plain: dict[str, Any]) -> None:
    data, kind = FORMS[form]
    path = tmp_path / "data.csv"
    path.write_bytes(data)
    found = read(path)
    assert found["read"]["kind"] == kind
    for name in ("target", "columns", "tree", "scores"):
        assert found[name] == plain[name]


@pytest.mark.parametrize("name", ["data.parquet", "data.feather", "data.arrow", "data"])
def test_binary_files_are_known_by_their_first_bytes(
    tmp_path: Path, name: str, plain: dict[str, Any]
) -> None:
    table = csv.read_csv(io.BytesIO(TEXT.encode()))
    path = tmp_path / name
    if name == "data.parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    assert read(path)["tree"] == plain["tree"]


def test_stdin_is_read(plain: dict[str, Any]) -> None:
    result = run("fit", "-", "--target", "gut", "--cv", 3, "--json", stdin=TEXT.encode())
    assert json.loads(result.out)["tree"] == plain["tree"]
    table = csv.read_csv(io.BytesIO(TEXT.encode()))
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    result = run("fit", "-", "--target", "gut", "--cv", 3, "--json", stdin=sink.getvalue())
    assert json.loads(result.out)["tree"] == plain["tree"]


@pytest.mark.parametrize(
    "data",
    [TEXT.encode(), b"", gzip.compress(TEXT.encode())[:40]],
    ids=["good", "empty", "cut off"],
)
def test_the_copy_of_a_stream_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with suppress(UserError), reading.open_rows("-") as rows:
        assert tmp_path in Path(rows.path).parents
        assert reading.read_table(rows).num_rows == len(LINES)
    assert list(tmp_path.iterdir()) == []


def test_a_decimal_comma_is_found_out(tmp_path: Path) -> None:
    lines = [f"{i % 7},5;{'ab'[i % 7 > 3]}" for i in range(60)]
    found = json.loads(
        fit(write(tmp_path / "data.csv", "x;y", *lines), "y", "--cv", 3, "--json").out
    )
    assert found["columns"]["categorical"] == []
    assert "x <= 4" in found["tree"][1]["condition"]


def test_quoted_newlines_and_delimiters_are_text(tmp_path: Path) -> None:
    lines = [f'"a, {i % 5}\nand more",{i % 5 > 2}' for i in range(60)]
    found = json.loads(
        fit(write(tmp_path / "data.csv", "x,y", *lines), "y", "--cv", 3, "--json").out
    )
    assert found["read"]["rows"] == 60
    assert found["chosen"]["leaves"] == 2


def test_ten_thousand_columns(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    values = random.integers(0, 9, (60, 10_000))
    y = np.where(values[:, 77] > 4, "yes", "no")
    header = ",".join([*(f"x{number}" for number in range(10_000)), "y"])
    lines = [",".join([*map(str, row), label]) for row, label in zip(values, y, strict=True)]
    out = fit(write(tmp_path / "wide.csv", header, *lines), "y", "--cv", 2).out
    assert "60 rows, 10,001 columns" in out
    assert "x77 <= 4.5" in out


def test_lines_may_be_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_BLOCK", 2**20)
    names = [letter * 300_000 for letter in "abcdef"]
    lines = [",".join([f"{row % 7}.{'0' * 400_000}"] * 6) + f",{row % 7 > 3}" for row in range(8)]
    data, model = write(tmp_path / "data.csv", ",".join([*names, "y"]), *lines), tmp_path / "m"
    assert "8 rows, 7 columns" in fit(data, "y", "--cv", 2, "--model", model).out
    result = run("predict", model, data)
    assert result.code == 0, result.err
    assert result.out.count("\n") == 9


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"x,y\n", "has no rows"),
        (b"x,y\n1,2\n1,2,3\n", "cannot be read as CSV"),
        (b"x,x,y\n1,2,3\n", "Column 'x' occurs twice"),
        (b"x,y\n1,\n2,\n", "Target 'y' has no values at all"),
        (b"x,y\n1,a\n2,a\n3,a\n", "Target 'y' is a in every row"),
        (b"y\na\nb\na\nb\n", "Nothing to learn from"),
        (b"x,y\n,a\n,b\n,a\n,b\n", "Nothing to learn from"),
        (b"x,y\n1,a\n", "Only one row has a target 'y'; a tree takes two rows or more"),
        (b"x,y\n1,2.5\n2,\n", "Only one row has a target 'y'; a tree takes two rows or more"),
        (b"x,y\n1,2024-01-01\n2,2024-01-02\n", "neither classes nor numbers"),
        (b"x,y\n" + b"inf,a\ninf,b\n1,a\n2,b\n" * 4, "row 1, column 'x': inf is not finite"),
        (b"x,y\n" + b"1,a\n2,b\n3,\ninf,b\n" * 4, "row 4, column 'x': inf is not finite"),
        (b"x,y\n" + b"1,1.5\n2,\n2,inf\n" * 4, "row 3, column 'y': inf is not finite"),
        (b"a;b\n1;2\n", "there is no column 'y'"),
        (b"\x00\x01\x02\x03", "neither CSV, Parquet nor Feather"),
        (b"PK\x03\x04 spreadsheet", "a zip archive or a spreadsheet"),
        (b"PAR1 but no more", "cannot be read as Parquet"),
        (b"ARROW1 but no more", "cannot be read as Feather"),
        (b"\x1f\x8b but no gzip", "cannot be unpacked by gzip"),
    ],
)
def test_bad_data_ends_with_a_message(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    result = run("fit", path, "--target", "y")
    assert_mistake(result, message)
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("n_rows", [6, 8, 13])
@pytest.mark.parametrize("cv", [2, 3, 6])
def test_a_few_numbers_are_enough(tmp_path: Path, n_rows: int, cv: int) -> None:
    path = write(tmp_path / "few.csv", "x,y", *[f"{row},{row * 1.5}" for row in range(n_rows)])
    result = run("fit", path, "--target", "y", "--cv", cv)
    assert result.code == 0  # also if some folds are single rows: R2 is about all rows together
    assert "warning" not in result.err


@pytest.mark.parametrize("content", [b"x,y\n1,a\n2,b\n", b"x,y\n1,1.5\n2,2.5\n"])
def test_two_rows_are_enough_for_something(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tiny.csv"
    path.write_bytes(content)
    result = run("fit", path, "--target", "y")
    assert result.code in (0, 2)
    assert "Traceback" not in result.err


def test_a_folder_and_nothing_are_not_files(tmp_path: Path) -> None:
    assert_mistake(run("fit", tmp_path, "--target", "y"), "is a folder")
    assert_mistake(run("fit", tmp_path / "no.csv", "--target", "y"), "does not exist")


def test_mixed_types_beyond_the_first_block_are_text(tmp_path: Path) -> None:
    lines = [f"{i % 50},{'ab'[i % 2]}" for i in range(3000)] + ["none of these,a"]
    found = json.loads(
        fit(write(tmp_path / "data.csv", "x,y", *lines), "y", "--cv", 2, "--json").out
    )
    assert found["columns"]["categorical"] == ["x"]
    assert "1 value is not a number" in found["hints"][0]


def test_types_that_trees_do_not_know_are_left_out_with_a_word(tmp_path: Path) -> None:
    table = pa.table(
        {
            "x": [float(i % 7) for i in range(60)],
            "list": [[i] for i in range(60)],
            "bytes": [bytes([i]) for i in range(60)],
            "time": pa.array(range(60), pa.time32("s")),
            "flag": [i % 7 > 3 for i in range(60)],
            "y": ["ab"[i % 7 > 3] for i in range(60)],
        }
    )
    parquet.write_table(table, tmp_path / "odd.parquet")
    found = json.loads(fit(tmp_path / "odd.parquet", "y", "--cv", 3, "--json").out)
    reasons = found["columns"]["left_out"]
    assert reasons == {"lists": ["list"], "bytes": ["bytes"], "times of day": ["time"]}
    assert found["columns"]["used"] == ["x", "flag"]


def test_rows_without_a_target_are_left_out_with_a_word(tmp_path: Path) -> None:
    lines = [f"{i % 50},{'ab'[i % 50 > 25]}" for i in range(100)]
    path = write(tmp_path / "gaps.csv", "x,y", *lines, "1,", "2,")
    assert "2 rows without a target are left out" in fit(path, "y", "--cv", 3).out


@pytest.mark.parametrize("write_file", [parquet.write_table, feather.write_feather])
def test_nan_is_missing_as_null_is(tmp_path: Path, write_file: Any) -> None:
    x = np.array([np.nan if i % 5 == 0 else i % 7 for i in range(90)], dtype=float)
    y = np.array([np.nan if i % 9 == 0 else i % 7 + 0.5 for i in range(90)], dtype=float)
    empty = np.full(90, np.nan)
    paths = [tmp_path / "nan", tmp_path / "null"]
    for path in paths:
        is_nan = path.name == "nan"
        columns = {"x": x, "empty": empty, "y": y}
        arrays = {name: pa.array(one, from_pandas=not is_nan) for name, one in columns.items()}
        write_file(pa.table(arrays), path)
    nan, null = (
        json.loads(fit(path, "y", "--cv", 3, "--json", "--test", path).out) for path in paths
    )
    assert nan["read"]["rows_without_target"] == 10
    assert nan["missing"] == {"x": 0.2}
    assert nan["columns"]["left_out"] == {"no values": ["empty"]}
    for name in ("target", "missing", "columns", "tree", "scores"):
        assert nan[name] == null[name]


def test_a_class_with_one_row_is_learnt(tmp_path: Path) -> None:
    lines = [f"{i % 10},{'ab'[i % 10 > 5]}" for i in range(100)]
    path = write(tmp_path / "rare.csv", "x,y", *lines, "1000,rare")
    assert "'rare' 1 (1.0%)" in fit(path, "y", "--cv", 3).out


def test_a_column_without_a_name_has_a_number(tmp_path: Path) -> None:
    lines = [f"{i},{i % 7},{'ab'[i % 7 > 3]}" for i in range(60)]
    out = fit(write(tmp_path / "indexed.csv", ",x,y", *lines), "y", "--cv", 3).out
    assert "left out as identifier: unnamed_1" in out


def test_the_example_has_what_the_readme_says() -> None:
    assert len(LOANS.read_text().splitlines()) == 4001


SLOW = """
import builtins, io, threading, time

class Slow(io.FileIO):
    def read(self, size=-1):
        if threading.current_thread() is not threading.main_thread():
            time.sleep(1)
        return super().read(size)

plain = open
builtins.open = lambda path, *more, **named: (
    Slow(path) if str(path).endswith("slow.csv") else plain(path, *more, **named)
)
"""


@pytest.mark.parametrize("form", ["a BOM", "latin-1", "gzip", "gzip and latin-1"])
def test_a_mistake_ends_with_code_2_whoever_still_reads_ahead(tmp_path: Path, form: str) -> None:
    path, model = tmp_path / "slow.csv", tmp_path / "m.treefold"
    path.write_bytes(FORMS[form][0])
    fit(path, "gut", "--cv", 3, "--model", model)
    lines = "".join(f"{line}\n" for line in ["farbe,gut", *["ä,ja"] * 2_000_000])
    data = lines.encode("latin-1" if "latin-1" in form else "utf8")
    path.write_bytes(gzip.compress(data, 1) if "gzip" in form else data)
    assert_mistake(run_apart("predict", model, path, code=SLOW), "lacks the column 'größe'")


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_batches_begin_at_the_beginning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compression: str | None
) -> None:
    monkeypatch.setattr(reading, "_BLOCK", 500)
    text = "a,b\n" + "".join(f"{row},{row % 7}\n" for row in range(2000))
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode() if compression is None else gzip.compress(text.encode(), 0))
    with reading.open_rows(str(path)) as rows:
        for _ in range(2):
            read = [value for batch in rows.batches(["a"]) for value in batch["a"].to_pylist()]
            assert read == [str(row) for row in range(2000)]
