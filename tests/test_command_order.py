"""`treefold fit` says so if the rows of a file seem to follow in an order that matters."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import LOANS, fit

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")

RANDOM = np.random.default_rng(4)
N_ROWS = 600
PERSON = np.arange(N_ROWS) // 6  # rows of a person follow each other
LEVEL = RANDOM.normal(size=N_ROWS)[PERSON]
COLUMNS = {
    "height": RANDOM.normal(size=N_ROWS)[PERSON].round(4),
    "weight": RANDOM.normal(size=N_ROWS)[PERSON].round(4),
    "hour": RANDOM.integers(0, 24, N_ROWS),
    "person": PERSON,
}
NUMBERS = (LEVEL + RANDOM.normal(size=N_ROWS) / 10).round(3)
CLASSES = np.where(LEVEL > 0, "high", "low")


def fit_json(path: Path, *more: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fit(path, "y", "--json", "--no-nested", *more).out)
    return found


def make(path: Path, y: Any, rows: Any = None, **columns: Any) -> Path:
    rows = np.arange(N_ROWS) if rows is None else rows
    table = {**COLUMNS, **columns, "y": y}
    csv.write_csv(
        pa.table({name: np.asarray(column)[rows] for name, column in table.items()}), path
    )
    return path


def list_suspicions(found: dict[str, Any]) -> list[str]:
    return [text for text in found["warnings"] if text.startswith("Suspicious")]


@pytest.mark.parametrize("y", [NUMBERS, CLASSES], ids=["numbers", "classes"])
def test_neighbours_that_are_alike_are_suspicious(tmp_path: Path, y: Any) -> None:
    path = make(tmp_path / "data.csv", y)
    found = fit_json(path, "--drop", "person")
    assert len(list_suspicions(found)) == 1
    assert found["order"]["is_suspicious"]
    assert "--groups COLUMN" in list_suspicions(found)[0]
    out = " ".join(fit(path, "y", "--drop", "person", "--no-nested").out.split())
    assert "Warning Suspicious: the rows seem to follow in an order that matters" in out
    assert fit_json(path, "--groups", "person")["order"] is None


@pytest.mark.parametrize("y", [NUMBERS, CLASSES], ids=["numbers", "classes"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_in_any_order_are_not(tmp_path: Path, y: Any, seed: int) -> None:
    rows = np.random.default_rng(seed).permutation(N_ROWS)
    found = fit_json(make(tmp_path / "data.csv", y, rows), "--drop", "person")
    assert not found["order"]["is_suspicious"], found["order"]
    assert list_suspicions(found) == []


def test_a_file_that_is_sorted_by_its_class_is_not(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).permutation(N_ROWS)
    rows = rows[np.argsort(CLASSES[rows], kind="stable")]
    found = fit_json(make(tmp_path / "data.csv", CLASSES, rows), "--drop", "person")
    assert not found["order"]["is_suspicious"]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_file_that_is_sorted_by_its_number_is_called_so(tmp_path: Path, sign: int) -> None:
    rows = np.argsort(sign * NUMBERS, kind="stable")
    found = fit_json(make(tmp_path / "data.csv", NUMBERS, rows), "--drop", "person")
    assert found["order"] == {"is_sorted": True, "is_suspicious": False}
    assert any(text.startswith("The rows are sorted by 'y'") for text in found["hints"])
    assert list_suspicions(found) == []


def test_where_order_has_no_say_it_is_not_asked(tmp_path: Path) -> None:
    path = make(tmp_path / "data.csv", NUMBERS, day=np.arange(N_ROWS), fold=np.arange(N_ROWS) % 4)
    for options in (["--time", "day"], ["--folds", "fold"], ["--cv", 40]):
        assert fit_json(path, *options)["order"] is None
    noise = make(tmp_path / "noise.csv", np.random.default_rng(0).normal(size=N_ROWS))
    found = fit_json(noise, "--drop", "person")
    assert found["chosen"]["leaves"] == 1
    assert found["order"] is None


def test_weights_may_leave_a_stretch_empty(tmp_path: Path) -> None:
    weights = (np.arange(N_ROWS) >= N_ROWS // 5).astype(float)
    path = make(tmp_path / "data.csv", NUMBERS, w=weights)
    found = fit_json(path, "--drop", "person", "--weights", "w", "--cv", 5)
    assert not found["order"]["is_suspicious"]


def test_the_example_is_not_suspicious() -> None:
    """Without its dates; with them the rows follow in time, which is a hint of its own."""
    asked = ["--cv", 5, "--json", "--no-nested"]
    found = json.loads(fit(LOANS, "default", *asked, "--drop", "application_date").out)
    assert not found["order"]["is_suspicious"]
    found = json.loads(fit(LOANS, "default", *asked).out)
    assert found["order"]["times"] == ["application_date"]
    assert not found["order"]["is_suspicious"]
    assert "follow in time" in found["hints"][0]
