"""`treefold fit --test`: the score on a file of its own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import fit

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
