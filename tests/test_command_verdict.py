"""The first line of `treefold fit`: something was found, nothing was, or it is suspicious."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import LOANS, fit

from treefold.findings.document import Choice, ScoreRow, Scores
from treefold.findings.fits import Result
from treefold.findings.verdict import judge_fit

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")

N_ROWS = 400
RANDOM = np.random.default_rng(7)
A = RANDOM.normal(size=N_ROWS).round(3)
NOISE = RANDOM.normal(size=N_ROWS).round(3)
LABELS = np.where(A + RANDOM.normal(size=N_ROWS) / 4 > 0, "yes", "no")


def fit_both(path: Path, *more: object) -> tuple[str, dict[str, Any]]:
    """The first line of the text, and the verdict in the JSON; both are the same."""
    found = json.loads(fit(path, "y", "--cv", 5, "--json", *more).out)
    assert next(iter(found)) == "verdict"
    out = fit(path, "y", "--cv", 5, *more).out
    assert out.startswith("Verdict   ")
    said = " ".join(out.split("Read  ")[0].split()).removeprefix("Verdict ")
    assert said == found["verdict"]["text"]
    return said, found


def make(path: Path, **columns: Any) -> Path:
    csv.write_csv(pa.table(columns), path)
    return path


def test_something_is_found(tmp_path: Path) -> None:
    said, found = fit_both(make(tmp_path / "data.csv", a=A, b=NOISE, y=LABELS))
    rows = found["scores"]["rows"]
    nested, naive = rows["nested"]["score"], rows["baseline"]["score"]
    share = (naive - nested) / naive
    assert said == (
        f"A tree helps: Brier score {nested:.4f}, {share:.0%} below one answer for all "
        f"({naive:.4f})."
    )
    assert found["verdict"]["gain"] == pytest.approx(naive - nested)
    assert found["verdict"]["kind"] == "found"


def test_a_score_that_rises_is_compared_without_a_share(tmp_path: Path) -> None:
    said, found = fit_both(make(tmp_path / "data.csv", a=A, b=NOISE, y=A * 2 + NOISE))
    score = found["scores"]["rows"]["nested"]["score"]
    assert said == f"A tree helps: R2 {score:.4f}, better than one answer for all (0.0000)."


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_nothing_found(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    y = random.permutation(LABELS)
    said, found = fit_both(make(tmp_path / "data.csv", a=A, b=NOISE, y=y))
    assert said.startswith("Nothing found: ")
    assert found["verdict"]["kind"] == "nothing"


def test_a_column_that_gives_the_target_away_is_suspicious(tmp_path: Path) -> None:
    path = make(tmp_path / "data.csv", a=A, leak=LABELS, y=LABELS)
    said, found = fit_both(path)
    assert said == (
        "Suspicious: Brier score 0.0000 may be too good, because 'leak' gives 'y' away."
    )
    assert found["giveaways"] == [{"column": "leak", "share": 1.0}]
    assert fit_both(path, "--drop", "leak")[1]["verdict"]["kind"] == "found"


def test_an_order_of_the_rows_that_matters_is_suspicious(tmp_path: Path) -> None:
    person = np.arange(N_ROWS) // 5
    level = RANDOM.normal(size=N_ROWS)[person]
    path = make(tmp_path / "data.csv", a=RANDOM.normal(size=N_ROWS)[person], y=level + A / 2)
    said, found = fit_both(path)
    assert found["verdict"]["reasons"] == ["order"]
    assert said.startswith("Suspicious: R2 ")
    assert "because the order of the rows matters (" in said


def test_a_score_that_earlier_rows_do_not_give_is_suspicious(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    days = np.datetime64("2024-01-01") + np.arange(N_ROWS)
    y = random.normal(size=N_ROWS // 20).repeat(20) + random.normal(size=N_ROWS) / 3
    path = make(tmp_path / "data.csv", day=days, x=random.normal(size=N_ROWS), y=y)
    said, found = fit_both(path)
    assert found["verdict"]["kind"] == "suspicious"
    assert found["verdict"]["reasons"] == ["time"]
    later = f"{found['order']['score']:.4f} from earlier rows only"
    assert said.endswith(f"may be too good, because the rows follow in time by 'day' ({later}).")
    assert [text for text in found["warnings"] if later in text and "--time day" in text]
    assert fit_both(path, "--time", "day")[1]["verdict"]["kind"] != "suspicious"


def test_a_score_without_error_is_suspicious(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    a, b = random.integers(0, 2, (2, N_ROWS))
    path = make(tmp_path / "data.csv", a=a, b=b, c=NOISE, y=np.where((a & b) > 0, "yes", "no"))
    said, found = fit_both(path)
    assert said == (
        "Suspicious: Brier score 0.0000 may be too good, because hardly any error is left, mostly "
        "thanks to 'b' and 'a'."
    )
    assert found["verdict"]["reasons"] == ["score"]
    assert sorted(found["verdict"]["columns"]) == ["a", "b"]
    assert found["giveaways"] == []
    assert "known only afterwards, leave it out: --drop " in found["warnings"][0]


def test_a_gain_below_its_corrected_error_is_nothing() -> None:
    class Model:
        """What a verdict asks of a model."""

        class evaluation_:  # noqa: N801
            nested, scoring = None, "accuracy"
            baseline = np.array([0.5, 0.5, 0.5])
            test_scores = {"accuracy": np.array([0.4, 0.5, 0.75])}  # noqa: RUF012

    class Measure:
        sign = 1

    splits = [(np.arange(20), np.arange(10))] * 3
    result: Any = Result(None, None, splits, Measure, Model, None)  # type: ignore[arg-type]
    rows = {"cross_validation": ScoreRow(0.55), "baseline": ScoreRow(0.5)}
    scores = Scores("accuracy", "accuracy", "higher is better", {}, rows)
    chosen = Choice(3, 2, 1, 0.0, None, None, "best", 3)
    found = {"scores": scores, "chosen": chosen, "target": {"name": "y"}}
    verdict = judge_fit(result, found)
    gains = np.array([-0.1, 0.0, 0.25])
    assert verdict.standard_error == pytest.approx(gains.std(ddof=1) * np.sqrt(1 / 3 + 1 / 2))
    assert verdict.kind == "nothing"
    rows["cross_validation"] = ScoreRow(0.9)
    assert judge_fit(result, found).kind == "found"


def test_the_report_begins_with_the_verdict(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    pytest.importorskip("jinja2")
    path = tmp_path / "loans.html"
    out = fit(LOANS, "default", "--cv", 3, "--json", "--report", path).out
    text = json.loads(out)["verdict"]["text"]
    assert f'<p class="headline verdict found">{text}</p>' in path.read_text("utf-8")
