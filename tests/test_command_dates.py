"""Dates as people write them: 01.02.2024, 3/14/25, 14-Mar-2025, 2024-01-02T13:45Z."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from commands import assert_mistake, fit, run, write

pa = pytest.importorskip("pyarrow")

from treefold.command.dates import (  # noqa: E402
    DateForm,
    Doubt,
    clean_dates,
    find_date_form,
    name_form,
    parse_dates,
)
from treefold.command.mistakes import UserError  # noqa: E402
from treefold.command.recognition import Reading  # noqa: E402

DAY = DateForm(is_day_first=True)
SHARED = Path(__file__).parents[2] / "shared" / "data" / "csv"


def read(path: Path, *more: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        fit(path, "y", "--json", "--cv", 3, "--no-nested", *more).out
    )
    return found


def parse(texts: list[str], is_day_first: bool | None = None) -> tuple[str, list[str]]:
    """How dates are written, and what they are."""
    values = pa.array(texts)
    form = find_date_form(values, is_day_first)
    assert isinstance(form, DateForm)
    days = parse_dates(clean_dates(values, form))
    return name_form(form, values), [str(day) for day in days.to_pylist()]


@pytest.mark.parametrize(
    ("texts", "how", "days"),
    [
        (["13.02.2024", "1.2.2024"], "day first", ["2024-02-13", "2024-02-01"]),
        (["3/14/2025", "01/02/2025"], "month first", ["2025-03-14", "2025-01-02"]),
        (["28-12-2024"], "day first", ["2024-12-28"]),
        (["2024/3/5", "2024/12/31"], "year first", ["2024-03-05", "2024-12-31"]),
        (["29.02.2024", "30.01.2024"], "day first", ["2024-02-29", "2024-01-30"]),
        (["14-Mar-2025", "2 January 2024"], "months by name", ["2025-03-14", "2024-01-02"]),
        (["March 14, 2025", "Sept 2nd, 2024"], "months by name", ["2025-03-14", "2024-09-02"]),
        (["Fri, 14 Mar 2025", "Monday 2 June 2025"], "months by name", ["2025-03-14"]),
        (["1939, May", "1986, October"], "year first", ["1939-05-01", "1986-10-01"]),
        (["May 1939", "oct 1986"], "months by name", ["1939-05-01", "1986-10-01"]),
        (["2024-03", "2023-12"], "year first", ["2024-03-01", "2023-12-01"]),
        (["03/2024", "12/2023"], "month and year", ["2024-03-01", "2023-12-01"]),
    ],
)
def test_dates_are_read_as_what_they_are(texts: list[str], how: str, days: list[str]) -> None:
    found, parsed = parse(texts)
    assert (found, parsed[: len(days)]) == (how, days)


@pytest.mark.parametrize(
    ("texts", "moments"),
    [
        (["2024-01-02 13:45", "2024-3-1 9:05"], ["2024-01-02 13:45:00", "2024-03-01 09:05:00"]),
        (["3/14/2025 9:05", "3/1/2025 13:00"], ["2025-03-14 09:05:00", "2025-03-01 13:00:00"]),
        (
            ["3/14/2025 1:45 PM", "1/2/2025 12:00 am"],
            ["2025-03-14 13:45:00", "2025-01-02 00:00:00"],
        ),
        (["2024-01-02T13:45:01Z"], ["2024-01-02 13:45:01+00:00"]),
        (["2024-01-02 13:45:01 UTC"], ["2024-01-02 13:45:01+00:00"]),
        (["2024-01-02T13:45:01+02:00"], ["2024-01-02 11:45:01+00:00"]),
        (["2024-01-02T13:45:01.123456789"], ["2024-01-02 13:45:01.123456"]),
        (["2024-01-02", "2024-01-02 13:45"], ["2024-01-02 00:00:00", "2024-01-02 13:45:00"]),
    ],
)
def test_dates_may_have_a_time_of_day(texts: list[str], moments: list[str]) -> None:
    assert parse(texts)[1] == moments


@pytest.mark.parametrize(
    ("texts", "how", "years"),
    [
        (["3/14/25", "1/2/24"], "month first, years 2024 to 2025", ["2025", "2024"]),
        (["31.12.99", "01.02.00"], "day first, years 1999 to 2000", ["1999", "2000"]),
        (["1-Jan-40", "14-Mar-85"], "months by name, years 1940 to 1985", ["1940", "1985"]),
        (["Sep-63", "Oct-88", "Jan-15"], "months by name, years 1963 to 2015", ["1963", "1988"]),
        (["Mar '24"], "months by name, years 2024", ["2024"]),
    ],
)
def test_years_of_two_digits_are_of_the_century_of_the_column(
    texts: list[str], how: str, years: list[str]
) -> None:
    found, days = parse(texts)
    assert (found, [day[:4] for day in days][: len(years)]) == (how, years)


@pytest.mark.parametrize(
    "texts",
    [
        ["31.02.2024"],
        ["13/14/2024"],
        ["14/3/2025", "3/14/2025"],
        ["3/14/2025 13:45 PM"],
        ["3/14/2025 0:45 PM"],
        ["2024-01-02 25:00"],
        ["2024-01-02T13:45Z", "2024-01-02T13:45"],
        ["1234-05", "9876-12"],
        ["20 May 2024", "21 May"],
        ["May", "June"],
        ["maybe 12"],
        ["x"],
    ],
)
def test_what_is_no_date_stays_text(texts: list[str]) -> None:
    assert find_date_form(pa.array(texts), None) is None


@pytest.mark.parametrize(
    ("texts", "reason", "cure"),
    [
        (
            ["01.01.2024", "01.02.2024"],
            "'01.02.2024' is 2024-02-01 if the day comes first, but 2024-01-02 if the month does",
            "Say which: --day-first or --month-first.",
        ),
        (
            ["1/2/24"],
            "'1/2/24' is 2024-02-01 if the day comes first, but 2024-01-02 if the month does",
            "Say which: --day-first or --month-first.",
        ),
        (
            ["24-01-31"],
            "'24-01-31' is 2031-01-24 if the day comes first, but 2024-01-31 if the year does",
            "Say --day-first, or write years with four digits.",
        ),
        (
            ["Mar-24", "Apr-23"],
            "'Mar-24' may be a month of a year or a day of a month",
            "Write years with four digits to use them as dates.",
        ),
        (
            [f"1/31/{year:02}" for year in range(0, 100, 5)],
            "its years have two digits, and it is not clear of which century",
            "Write them with four digits to use them as dates.",
        ),
    ],
)
def test_what_has_two_meanings_is_not_guessed(texts: list[str], reason: str, cure: str) -> None:
    assert find_date_form(pa.array(texts), None) == Doubt(reason, cure)


def test_the_user_may_say_what_comes_first() -> None:
    for order in (True, False):
        assert find_date_form(pa.array(["01.02.2024"]), order) == DateForm(order)
        assert find_date_form(pa.array(["14.02.2024"]), order) == DAY
    assert parse(["24-01-31"], True)[1] == ["2031-01-24"]


@pytest.mark.parametrize(
    ("options", "how"), [([], None), (["--day-first"], "day"), (["--month-first"], "month")]
)
def test_a_date_of_two_meanings_stays_text_until_the_user_says(
    tmp_path: Path, options: list[object], how: str | None
) -> None:
    lines = [f"0{1 + row % 9}.0{1 + row // 9 % 9}.2024,{'ab'[row % 9 > 4]}" for row in range(81)]
    path, model = write(tmp_path / "data.csv", "day,y", *lines * 2), tmp_path / "m.treefold"
    found = read(path, "--model", model, *options)
    assert found["read"]["dates"] == ({} if how is None else {"day": f"{how} first"})
    doubts = [hint for hint in found["hints"] if "--day-first or --month-first" in hint]
    assert len(doubts) == len(found["hints"]) == (how is None)  # nothing of its 81 categories
    assert run("predict", model, path).code == 0


@pytest.mark.parametrize("style", ["%-m/%-d/%y", "%d-%b-%Y %I:%M %p", "%B %-d, %Y"])
def test_predict_reads_dates_as_fit_did(tmp_path: Path, style: str) -> None:
    days = [datetime(2023, 11, 5, 13, 30) + timedelta(days=3 * row) for row in range(60)]
    lines = [f'"{day.strftime(style)}",{"ab"[day.year - 2023]}' for day in days]
    data, path = write(tmp_path / "data.csv", "day,y", *lines), tmp_path / "m.treefold"
    found = read(data, "--model", path)
    assert list(found["read"]["dates"]) == ["day"]
    out = run("predict", path, data).out
    assert [line.strip('"') for line in out.split()[1:]] == [line[-1] for line in lines]
    bad = write(tmp_path / "bad.csv", "day,y", *lines[:3], "garbage,a")
    assert_mistake(run("predict", path, bad), "row 4, column 'day': 'garbage' is not a date")


def test_models_of_before_say_only_whether_the_day_comes_first() -> None:
    state = Reading(dates={"day": DateForm(False, 1950)}).to_state(["day"])
    assert Reading.from_state(state, "m").dates == {"day": DateForm(False, 1950)}
    state["dates"] = {"day": True}
    assert Reading.from_state(state, "m").dates == {"day": DAY}
    for bad in ("day", {"is_day_first": 1}, {"first_year": "1950"}):
        with pytest.raises(UserError, match="write it again by fit"):
            Reading.from_state({**state, "dates": {"day": bad}}, "m")


def test_a_column_of_dates_but_for_a_few_values_gets_a_hint(tmp_path: Path) -> None:
    lines = [f"{1 + row % 12}/{1 + row % 28}/2024,{'ab'[row % 12 > 5]}" for row in range(90)]
    path = write(tmp_path / "data.csv", "day,y", *lines, "soon,a", "late,b")
    found = read(path)
    assert found["read"]["dates"] == {}
    assert found["hints"][0] == (
        "'day' is read as categories, because 2 values are not dates (first: 'soon'). Correct "
        "them, or leave them empty, to use it as dates."
    )
    found = read(path, "--missing", "soon", "--missing", "late")
    assert found["read"]["dates"] == {"day": "month first"}


@pytest.mark.parametrize(
    ("name", "target", "dates"),
    [
        ("dc.csv", "ALIVE", {}),  # 1988, Holiday
        ("avengers.csv", "Death1", {"Probationary Introl": "months by name, years 1975 to 1991"}),
        ("space.csv", "price", {}),  # 2022-07-15, as computers write it
    ],
)
def test_what_of_published_files_is_read_as_dates(
    name: str, target: str, dates: dict[str, str]
) -> None:
    if not (SHARED / name).exists():
        pytest.skip(f"{name} is not here")
    out = fit(SHARED / name, target, "--json", "--cv", 3, "--no-nested").out
    assert json.loads(out)["read"]["dates"] == dates
