"""The packages of treefold stand in order: each knows those above it only."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "treefold"
ROOMS = (
    "data",
    "model",
    "estimators",
    "scoring",
    "evaluation",
    "model_selection",
    "export",
    "plot",
    "files",
    "findings",
    "reporting",
    "command",
)


def list_imports(path):
    """Name what a file imports of treefold, but for what functions import when they need it."""
    waiting = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If | ast.Try):
            waiting += node.body
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("treefold"):
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.startswith("treefold"))


def test_every_package_has_its_place():
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_knows_those_above_it_only(room):
    below = set(ROOMS[ROOMS.index(room) + 1 :])
    found = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for name in list_imports(path)
        if len(parts := name.split(".")) > 1 and parts[1] in below
    ]
    assert found == []
