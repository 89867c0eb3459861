"""The shipped example data and scripts do what the README says."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def test_the_generator_gives_the_shipped_loans_byte_for_byte() -> None:
    make_csv = runpy.run_path(str(EXAMPLES / "make_loans.py"))["make_csv"]
    assert (EXAMPLES / "loans.csv").read_bytes() == make_csv().encode()


def test_the_first_tree_prints_itself_and_beats_always_no(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("pyarrow")
    runpy.run_path(str(EXAMPLES / "first_tree.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "burden <=" in out or "late_payments <=" in out
    accuracy = float(out.rsplit(":", 1)[1])
    assert accuracy > 0.80, out


def test_the_python_of_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(ROOT)
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code
    exec(compile(code[1], "README.md", "exec"), {})
    assert float(capsys.readouterr().out.splitlines()[-1]) > 0.80
