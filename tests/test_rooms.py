"""The rooms of the core stand in the order of the data: a file uses only those above its own."""

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parents[1] / "core"
ROOMS = ["base", "data", "stats", "split", "search", "model", "grow"]
ROOMS += ["family", "leave_one_out", "kinds", "bind"]
FILES = sorted(path for path in CORE.rglob("*.[ch]pp"))
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def list_includes(path):
    return [CORE / name for name in INCLUDE.findall(path.read_text(encoding="utf-8"))]


def test_every_file_stands_in_a_room():
    assert {path.parent.name for path in FILES} == set(ROOMS)
    assert all(path.parent.parent == CORE for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_a_file_uses_only_rooms_above_it(path):
    own = ROOMS.index(path.parent.name)
    for included in list_includes(path):
        assert included.is_file(), included
        assert ROOMS.index(included.parent.name) <= own, included


def test_no_file_uses_itself_by_way_of_others():
    seen: dict[Path, bool] = {}  # True: all that it uses has been looked at

    def visit(path, trail):
        assert seen.get(path, True), " -> ".join(str(each) for each in [*trail, path])
        if path in seen:
            return
        seen[path] = False
        for included in list_includes(path):
            visit(included, [*trail, path])
        seen[path] = True

    for path in FILES:
        visit(path, [])


def test_one_file_says_all_that_a_kind_of_target_is_compiled_for():
    """Which statistics a function is given is a matter of its template, not of a comparison."""
    for path in FILES:
        if path.parent.name in ("stats", "kinds") or path.name in ("make_stats.hpp",):
            continue
        found = re.findall(r"is_same_v<\s*(?:typename )?\w*Stats", path.read_text(encoding="utf-8"))
        assert not found, path
