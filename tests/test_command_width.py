"""What is printed fits a terminal of 80 columns, and says all that matters nevertheless."""

import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import LOANS, fit, run, run_apart

from treefold.command.drawing import _fit_label, draw_tree
from treefold.findings.document import TreeNode, TreeSplit

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")

SHARED = Path(__file__).parents[2] / "shared" / "data" / "csv"
LONG = "Please rate how much you like the traditional cuisine of"


def run_on_terminal(folder: Path, *arguments: object) -> list[str]:
    """Run treefold on a terminal of 80 columns; the lines that it printed there."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from treefold.cli import main; main()", *map(str, arguments)],
        stdout=child,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
    )
    os.close(child)
    printed = b""
    while True:
        try:
            some = os.read(parent, 65536)
        except OSError:  # the other end is closed
            break
        if not some:
            break
        printed += some
    os.close(parent)
    assert process.wait(120) == 0, printed
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", printed.decode()).splitlines()


def assert_narrow(lines: list[str]) -> None:
    assert [line for line in lines if len(line) > 80] == []


def make_wide(path: Path) -> Path:
    """Long names that differ at their ends, long categories, several long classes."""
    random = np.random.default_rng(3)
    first, second = random.integers(0, 5, (2, 900))
    text = np.array([f"{name}, a long category" for name in "abcdefgh"])[random.integers(0, 8, 900)]
    level = first + 3 * (text > "d") + 2 * (second > 2)
    labels = np.array(["Bad Characters", "Good Characters", "Neutral Characters"])
    table = {
        f"{LONG} Algeria": first,
        f"{LONG} Argentina": second + random.normal(size=900) / 1e6,
        f"{LONG} Belgium": text,
        "y": labels[np.clip(level // 4, 0, 2)],
    }
    csv.write_csv(pa.table(table), path)
    return path


def test_columns_says_how_wide_the_terminal_is_where_there_is_none() -> None:
    fitted = ("fit", LOANS, "--target", "default", "--cv", 3, "--no-nested")
    lines = run_apart(*fitted, COLUMNS="80").out.splitlines()
    assert_narrow([line for line in lines if not line.startswith(("Read", "Next"))])  # have paths
    assert max(map(len, run_apart(*fitted, COLUMNS="").out.splitlines())) > 80


def test_long_names_in_lists_are_cut_in_their_middle(tmp_path: Path) -> None:
    x = pa.array([None if row % 9 == 0 else row % 7 for row in range(90)])
    columns = {f"{LONG} Algeria": x, f"{LONG} Belgium": pa.array(range(90)), "y": np.arange(90) % 2}
    csv.write_csv(pa.table(columns), tmp_path / "data.csv")
    out = fit(tmp_path / "data.csv", "y").out
    assert "\nMissing   Please rate how much you l…ne of Algeria 11.1%\n" in out
    assert "left out as identifier: Please rate how much you l…ne of" in out


def test_a_tree_without_a_split_has_no_words_about_its_splits(tmp_path: Path) -> None:
    columns = {"x": np.arange(90) % 7, "y": np.random.default_rng(1).permutation(90) % 2}
    csv.write_csv(pa.table(columns), tmp_path / "data.csv")
    out = fit(tmp_path / "data.csv", "y").out
    assert "1 leaf, depth 0" in out
    assert "same split in" not in out
    assert "agreement" not in out


def test_what_is_not_drawn_of_a_tree_is_said() -> None:
    assert "...: goes on, see treefold show." in fit(LOANS, "default", "--rule", "best").out


def test_fit_and_show_fit_eighty_columns(tmp_path: Path) -> None:
    make_wide(tmp_path / "wide.csv")
    lines = run_on_terminal(
        tmp_path, "fit", "wide.csv", "--target", "y", "--cv", 3, "--model", "wide.treefold"
    )
    assert_narrow(lines)
    shown = run_on_terminal(tmp_path, "show", "wide.treefold")
    assert_narrow(shown)
    cuts = re.findall(r"[<>]=? (\S+)", run("show", tmp_path / "wide.treefold").out)
    assert cuts
    assert re.findall(r"[<>]=? (\S+)", "\n".join(shown)) == cuts  # none is cut


@pytest.mark.parametrize(
    ("name", "target", "more"),
    [
        ("titanic", "survived", ["--drop", "alive"]),
        ("mpg", "mpg", []),
        ("dc", "ALIGN", []),
        ("taxis", "tip", []),
        ("food", "Gender", []),
        ("avengers", "Current?", []),
    ],
)
def test_real_files_fit_eighty_columns(
    tmp_path: Path, name: str, target: str, more: list[str]
) -> None:
    path = SHARED / f"{name}.csv"
    if not path.exists():
        pytest.skip("the file is not here")
    (tmp_path / path.name).symlink_to(path)
    given = ["--target", target, *more, "--cv", 3, "--model", "m.treefold"]
    assert_narrow(run_on_terminal(tmp_path, "fit", path.name, *given))
    assert_narrow(run_on_terminal(tmp_path, "show", "m.treefold"))


def test_a_command_is_broken_as_the_shell_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "loans with a long name of its own.csv"
    path.symlink_to(LOANS)
    given = ["--target", "default", "--drop", "region", "--drop", "burden", "--cv", "3"]
    lines = run_on_terminal(tmp_path, "fit", path.name, *given)
    place = next(place for place, line in enumerate(lines) if line.startswith("Next"))
    command = "\n".join(lines[place:]).removeprefix("Next").rstrip()
    assert command.count("\\\n") >= 1
    words = shlex.split(command.replace("\\\n", " "))
    assert words == ["treefold", "fit", path.name, *given, "--model", "model.treefold"]


@pytest.mark.parametrize("room", range(20, 40))
@pytest.mark.parametrize(
    ("left", "right"),
    [
        (" is 1936, August, 1937, March or 371 more", " is 1936, October, 1940 or 388 more"),
        (" is a long category with an a", " is a long category with a b"),
        (" is one, two, three, four, five", " is six, seven, eight, nine or missing"),
        (" <= 1234.5678 or missing", " > 1234.5678"),
    ],
)
def test_both_sides_of_a_split_differ(left: str, right: str, room: int) -> None:
    name = "FIRST APPEARANCE"
    one = _fit_label(("├ ", name, left, right), room)
    other = _fit_label(("└ ", name, right, left), room)
    assert one[1:] != other[1:]
    assert ("1234.5678" in one) == ("1234.5678" in left)
    if "1234" not in left:
        assert max(len(one), len(other)) <= room


def test_a_cut_that_leaves_no_room_has_its_numbers_below() -> None:
    condition = "when <= 2019-03-12 10:22:33.512345 or missing"
    said: Any = (None, 1.0, None, None, None)
    nodes = [
        TreeNode(0, 0, "all rows", 3, *said, TreeSplit("when", [1, 2])),
        TreeNode(1, 1, condition, 1, *said),
        TreeNode(2, 1, "when > 2019-03-12 10:22:33.512345", 2, *said),
    ]
    lines = draw_tree(nodes, {"task": "regression"}, 48)
    assert all(len(line) <= 48 for line in lines)
    assert "├ when <= 2019-03-12 10:22:33.512345 or NA" in lines
    assert lines[lines.index("├ when <= 2019-03-12 10:22:33.512345 or NA") + 1].split() == [
        "1",
        "1",
    ]


def test_classes_are_listed_by_frequency(tmp_path: Path) -> None:
    labels = np.array(["a"] * 20 + ["b"] * 60 + ["c"] * 40)
    csv.write_csv(pa.table({"x": np.arange(120) % 7, "y": labels}), tmp_path / "data.csv")
    out = fit(tmp_path / "data.csv", "y", "--cv", 3).out
    assert "y: 3 classes, 'b' 60 (50.0%), 'c' 40 (33.3%), 'a' 20 (16.7%)" in out
