"""`--report`: one HTML file with everything in it, whatever the data hold."""

from pathlib import Path

import pytest
from commands import LOANS, fit

pytest.importorskip("vl_convert")


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("reports") / "loans.html"
    fit(LOANS, "default", "--cv", 5, "--report", path)
    return Path(path).read_text("utf-8")


def test_a_report_is_below_two_megabytes(loans: str) -> None:
    assert 50_000 < len(loans.encode()) < 2_000_000
