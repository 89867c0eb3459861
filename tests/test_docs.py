"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import treefold

NEEDS_AN_EXTRA = ("cli", "command")
MODULES = [
    module.name.removeprefix("treefold.")
    for module in pkgutil.walk_packages(treefold.__path__, "treefold.")
    if not module.name.startswith("treefold._") and module.name.split(".")[1] not in NEEDS_AN_EXTRA
]


@pytest.mark.parametrize("name", ["", *MODULES])
def test_examples_print_what_they_say(name: str) -> None:
    module = importlib.import_module(f"treefold.{name}" if name else "treefold")
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    found = [
        example
        for name in MODULES
        for test in finder.find(importlib.import_module(f"treefold.{name}"))
        for example in test.examples
    ]
    assert len(found) >= 50
