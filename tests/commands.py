"""Running the command line in tests: its two streams and its exit code."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from treefold.cli import make_app

testing = pytest.importorskip("typer.testing")

LOANS = Path(__file__).parents[1] / "examples" / "loans.csv"
GOLDEN = Path(__file__).parent / "golden"


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    """Run treefold with these arguments, in this process."""
    result = testing.CliRunner().invoke(
        make_app(), [str(argument) for argument in arguments], input=stdin, env={"COLUMNS": "100"}
    )
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    return Result(result.exit_code, result.stdout, result.stderr)


def run_apart(*arguments: object, code: str = "", **environment: str) -> Result:
    """Run treefold in a process of its own, after some code."""
    begin = f"{code}\nfrom treefold.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", begin, *map(str, arguments)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "100", **environment},
        timeout=120,
        check=False,
    )
    return Result(result.returncode, result.stdout, result.stderr)


def fit(path: Path, target: str, *more: object) -> Result:
    """Fit, and refuse to fail."""
    result = run("fit", path, "--target", target, *more)
    assert result.code == 0, result.err
    return result


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def assert_mistake(result: Result, message: str) -> None:
    assert result.code == 2, result
    assert message in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def assert_golden(name: str, text: str) -> None:
    """Compare with a file, times and paths apart; TREEFOLD_GOLDEN=write writes it anew."""
    stable = re.sub(r"\d+\.\d\d s\b", "0.00 s", text)
    stable = re.sub(r"\S*/(?=\w+\.(csv|treefold))", "", stable)
    path = GOLDEN / name
    if os.environ.get("TREEFOLD_GOLDEN") == "write":
        path.write_text(stable)
    assert stable == path.read_text()
