"""What the package offers is what it says it offers, documented, and light to import."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import treefold
from treefold import model_selection, plot

PACKAGES = [treefold, model_selection, plot]
PUBLIC = [name for name in treefold.__all__ if not name.startswith("_")]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_exists_and_is_sorted(package: ModuleType) -> None:
    assert sorted(package.__all__) == package.__all__
    for name in package.__all__:
        assert getattr(package, name) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_else_is_public(package: ModuleType) -> None:
    assert dir(package) == package.__all__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense


def members(package: ModuleType, name: str) -> list[tuple[str, object]]:
    value = getattr(package, name)
    if not inspect.isclass(value):
        return [(name, value)]
    own = [
        (f"{name}.{member}", function)
        for member, function in inspect.getmembers(value)
        if not member.startswith("_")
        and (inspect.isfunction(function) or inspect.ismethod(function))
        and function.__module__.startswith("treefold")
    ]
    return [(name, value), *own]


DOCUMENTED = [
    pair
    for package in PACKAGES
    for name in package.__all__
    if not name.startswith("_")
    for pair in members(package, name)
]
WITH_EXAMPLE = [
    (name, value)
    for name, value in DOCUMENTED
    if not (inspect.isclass(value) and issubclass(value, Exception))
    and name not in ("Tree.find_leaves", "Tree.find_paths")
]


@pytest.mark.parametrize(("name", "value"), DOCUMENTED, ids=[name for name, _ in DOCUMENTED])
def test_every_public_name_says_what_it_is(name: str, value: object) -> None:
    text = inspect.getdoc(value)
    assert text, name
    assert text.splitlines()[0].rstrip().endswith((".", "`.")), name


@pytest.mark.parametrize(("name", "value"), WITH_EXAMPLE, ids=[name for name, _ in WITH_EXAMPLE])
def test_every_public_name_has_an_example(name: str, value: object) -> None:
    assert ">>>" in (inspect.getdoc(value) or ""), name


MODULES = sorted(
    module.name
    for module in pkgutil.iter_modules(treefold.__path__)
    if not module.name.startswith("_") and module.name not in ("cli", "command")
)


@pytest.mark.parametrize("module", MODULES)
def test_modules_say_what_they_export(module: str) -> None:
    imported = importlib.import_module(f"treefold.{module}")
    assert all(hasattr(imported, name) for name in imported.__all__)
    assert inspect.getdoc(imported)


def loaded_by(code: str) -> set[str]:
    """Names of the packages that code loads, in a process of its own."""
    code += "; import sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())


def test_an_import_loads_nothing_heavy() -> None:
    assert not loaded_by("import treefold") & {"numpy", "scipy", "sklearn", "narwhals"}


def test_an_estimator_loads_no_more_than_scikit_learn_does() -> None:
    theirs = loaded_by("import sklearn.tree")
    ours = loaded_by("from treefold import *")
    extras = {"matplotlib", "safetensors", "sqlglot", "typer", "rich"}
    assert not (ours - theirs) & {"pandas", "polars", "pyarrow", "narwhals", *extras}


def test_errors_are_value_errors() -> None:
    for name in PUBLIC:
        value = getattr(treefold, name)
        if inspect.isclass(value) and name.endswith("Error"):
            assert issubclass(value, ValueError), name
        if inspect.isclass(value) and name.endswith("Warning"):
            assert issubclass(value, UserWarning), name
