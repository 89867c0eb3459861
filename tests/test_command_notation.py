"""Numbers and dates as people write them: $45,000.00, 12%, 1.234,56, 01.02.2024."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import assert_mistake, fit, run, write

import treefold

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")

from treefold.command.notation import (  # noqa: E402
    NumberForm,
    clean_numbers,
    find_number_form,
)

SHARED = Path(__file__).parents[2] / "shared" / "data" / "csv"


def read(path: Path, target: str, *more: object) -> dict[str, Any]:
    out = fit(path, target, "--json", "--cv", 3, "--no-nested", *more).out
    found: dict[str, Any] = json.loads(out)
    return found


def find(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not here")
    return path


@pytest.mark.parametrize(
    ("texts", "mark", "unit", "numbers"),
    [
        (["$45,000.00", "$7"], ".", "$", ["45000.00", "7"]),
        (["$45,000", "$1,200"], ".", "$", ["45000", "1200"]),
        (["$56.7M", "$999K", "250", "$1.2 billion"], ".", "$", ["56.7e6", "999e3", "250", "1.2e9"]),
        (["-$5.10", "$-5.2", "($3)"], ".", "$", ["-5.10", "-5.2", "-3"]),
        (["US$ 5.5", "7 US$"], ".", "US$", ["5.5", "7"]),
        (["1.234,56 €", "9 €"], ",", "€", ["1234.56", "9"]),
        (["12%", "3.5 %"], ".", "%", ["12", "3.5"]),
        (["12%", "3%"], None, "%", ["12", "3"]),
        (["1.234,56", "7"], ",", "", ["1234.56", "7"]),
        (["1 234 567,5", "0,25"], ",", "", ["1234567.5", "0.25"]),
        (["1,234,567", "12"], ".", "", ["1234567", "12"]),
        (["45,000", "12.5"], ".", "", ["45000", "12.5"]),
        (["1'234.5", "+3", "\u22124"], ".", "", ["1234.5", "3", "-4"]),
        (["5", "1e-3"], None, "", ["5", "1e-3"]),
    ],
)
def test_numbers_are_read_as_what_they_are(
    texts: list[str], mark: str | None, unit: str, numbers: list[str]
) -> None:
    values = pa.array(texts)
    assert find_number_form(values, None) == NumberForm(mark, unit)
    assert clean_numbers(values, mark, unit).to_pylist() == numbers


@pytest.mark.parametrize(
    "texts",
    [
        ["12", "a"], ["1 2"], ["1,23,456"], ["1,2345.5"], ["0,123.5"], ["1.2.3"],
        ["12,50", "12.50"], ["$5$"], ["($5"], ["5)"], ["(5)"], ["12M"], ["A12"], ["5%%"],
        ["$50,000 - $99,999"],
        ["--5"], [""], ["$"], ["12:30"], ["1,000,00"], ["$-(5)"], ["-", "?"],
    ],
)  # fmt: skip
def test_what_is_no_number_is_left_alone(texts: list[str]) -> None:
    assert find_number_form(pa.array(texts), None) is None


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["45,000", "1,200"], "'45,000' is 45000 if the decimal mark is a point, but 45.000 if"),
        (["7", "€45.000"], "'€45.000' is 45.000 if the decimal mark is a point, but 45000 if"),
        (["$5", "€5"], "several currencies ($, €)"),
        (["5%", "7"], "some of its values have a % and others have none"),
    ],
)
def test_what_can_be_read_in_two_ways_is_not_guessed(texts: list[str], why: str) -> None:
    doubt = find_number_form(pa.array(texts), None)
    assert isinstance(doubt, str)
    assert why in doubt
    if "mark" in why:
        for mark in (".", ","):
            found = find_number_form(pa.array(texts), mark)
            assert isinstance(found, NumberForm)
            assert found.mark == mark


MONEY = ["price,share,day,class"] + [
    f'"${row * 977 % 90_000:,}.50",{row % 13}%,{1 + row % 12}/{1 + row % 28}/2024,'
    f"{'high ' if row * 977 % 90_000 > 45_000 else ' low'}"
    for row in range(120)
]


def test_a_line_says_what_was_read_as_what(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", *MONEY, "-,?,n/a,low", "?,-,3/1/2024,low")
    out = fit(path, "class", "--cv", 3, "--no-nested").out
    assert out.partition("\nRead ")[2].splitlines()[1:4] == [
        "          read as numbers: price ($), share (%)",
        "          read as dates: day (month first)",
        "          read as missing: '-' in price, share; '?' in price, share",
    ]
    found = read(path, "class")
    assert found["columns"]["categorical"] == []
    assert list(found["target"]["classes"]) == ["high", "low"]
    assert found["tree"][1]["condition"].startswith("price <= 45")


def test_money_is_a_number_to_predict(tmp_path: Path) -> None:
    found = read(write(tmp_path / "data.csv", *MONEY), "price", "--drop", "class")
    assert found["target"]["task"] == "regression"


def test_a_model_reads_other_files_as_its_own(tmp_path: Path) -> None:
    data, model = write(tmp_path / "data.csv", *MONEY), tmp_path / "m.treefold"
    fit(data, "class", "--cv", 3, "--model", model)
    money = run("predict", model, data)
    assert money.code == 0, money.err
    table = csv.read_csv(data)
    number = [float(str(text)[1:].replace(",", "")) for text in table["price"]]
    plain = pa.table({"price": number, "share": [5] * 120, "class": table["class"]})
    csv.write_csv(plain, tmp_path / "plain.csv")
    parquet.write_table(plain, tmp_path / "plain.parquet")
    comma = [f"{one:.2f}".replace(".", ",") for one in number]
    lines = ["price;share", *(f"{one};5" for one in comma)]
    write(tmp_path / "comma.csv", *lines)
    for name in ("plain.csv", "plain.parquet", "comma.csv"):
        assert run("predict", model, tmp_path / name).out == money.out
    for test in (data, tmp_path / "plain.csv", tmp_path / "plain.parquet"):
        rows = read(data, "class", "--drop", "share", "--test", test)["scores"]["rows"]
        assert rows["test"]["accuracy"] == 1
    write(tmp_path / "euro.csv", "price", "€45")
    assert_mistake(run("predict", model, tmp_path / "euro.csv"), "'€45' is not a number")


def test_a_money_target_is_read_in_the_test_file_too(tmp_path: Path) -> None:
    data = write(tmp_path / "data.csv", *MONEY)
    found = read(data, "price", "--test", data)
    assert found["scores"]["rows"]["test"]["n_rows"] == 120
    gaps = write(tmp_path / "gaps.csv", *MONEY, "-,5%,1/1/2024,low", " ,5%,1/1/2024,low")
    assert read(gaps, "price", "--test", gaps)["scores"] == found["scores"]
    euro = write(tmp_path / "euro.csv", *[line.replace("$", "€") for line in MONEY])
    result = run("fit", data, "--target", "price", "--cv", 3, "--test", euro)
    assert_mistake(result, "row 1, column 'price': '€0.50' is not a number")


@pytest.mark.parametrize(
    ("other", "options", "kind"),
    [
        ("{}.5", [], {"x": "thousands separators"}),
        ('"{},5"', [], None),
        ("{}", [], {}),
        ("{}", ["--decimal", "."], {"x": "thousands separators"}),
        ("{}", ["--decimal", ","], None),
    ],
)
def test_the_rest_of_the_file_or_the_user_says_the_decimal_mark(
    tmp_path: Path, other: str, options: list[object], kind: dict[str, str] | None
) -> None:
    lines = [f'"{1 + row % 50},{100 + row}",{other.format(row % 7)},{"ab"[row % 2]}'
             for row in range(200)]  # fmt: skip
    found = read(write(tmp_path / "data.csv", "x,other,y", *lines), "y", *options)
    assert found["read"]["numbers"] == (kind or {})
    assert found["read"]["kind"] == ("CSV, decimal comma" if kind is None else "CSV")
    hints = [hint for hint in found["hints"] if "'x' is left as text" in hint]
    assert len(hints) == (kind == {})
    assert all("Say which: --decimal . or --decimal ," in hint for hint in hints)


@pytest.mark.parametrize("values", ["1,{}", "€{}.000"])
def test_a_target_of_two_meanings_is_refused(tmp_path: Path, values: str) -> None:
    lines = [f'{row % 31},"{values.format(100 + row)}"' for row in range(60)]
    path = write(tmp_path / "data.csv", "x,y", *lines)
    result = run("fit", path, "--target", "y")
    assert_mistake(result, "Target 'y' holds numbers, but '")
    assert "--decimal . or --decimal ," in result.err
    assert read(path, "y", "--decimal", ".")["target"]["task"] == "regression"


def test_a_few_words_do_not_make_classes_of_a_target_of_numbers(tmp_path: Path) -> None:
    lines = [f"{row % 31},${row * 7}" for row in range(60)] + ["3,unknown"]
    path = write(tmp_path / "data.csv", "x,y", *lines)
    result = run("fit", path, "--target", "y")
    assert_mistake(result, "one value is not a number (first: 'unknown')")
    found = read(path, "y", "--missing", "unknown")
    assert found["target"]["task"] == "regression"
    assert found["read"]["rows_without_target"] == 1


def test_words_for_missing_values_are_those_of_the_model_too(tmp_path: Path) -> None:
    lines = [f"{row % 7},{'uvw'[row % 3]},{'ab'[row % 7 > 3]}" for row in range(90)]
    lines += ["none,none,a", "999,u,b"]
    path, model = write(tmp_path / "data.csv", "x,letter,y", *lines), tmp_path / "m.treefold"
    options = ["--missing", "none", "--missing", "999", "--model", model]
    found = read(path, "y", *options)
    assert found["columns"]["categorical"] == ["letter"]
    assert found["missing"] == {"x": 2 / 92, "letter": 1 / 92}
    gone = write(tmp_path / "gone.csv", "x,letter", ",", ",u")
    said = write(tmp_path / "said.csv", "x,letter", "999,none", "none,u")
    assert run("predict", model, said).out == run("predict", model, gone).out
    assert run("predict", model, said).err == ""


def test_spaces_around_labels_are_stripped(tmp_path: Path) -> None:
    lines = [f"{['u', ' u', 'v ', 'v'][row % 4]},{'no' if row % 4 < 2 else ' yes'}"
             for row in range(80)]  # fmt: skip
    path, model = write(tmp_path / "data.csv", "x, y", *lines), tmp_path / "m.treefold"
    found = read(path, "y", "--model", model)
    assert found["target"]["classes"] == {"no": 40, "yes": 40}
    assert found["chosen"]["leaves"] == 2
    result = run("predict", model, write(tmp_path / "new.csv", " x", "u ", " v", '" "'))
    assert result.out.split()[1:3] == ['"no"', '"yes"']
    assert result.err == ""


def test_text_that_is_text_in_parquet_stays_text(tmp_path: Path) -> None:
    codes = [f"0{row % 9}" for row in range(90)]
    price = [f"${1 + row % 17},000.00" for row in range(90)]
    table = pa.table({"code": codes, "price": price, "y": ["ab"[row % 9 > 4] for row in range(90)]})
    parquet.write_table(table, tmp_path / "data.parquet")
    found = read(tmp_path / "data.parquet", "y")
    assert found["columns"]["categorical"] == ["code"]
    assert found["read"]["numbers"] == {"price": "$"}


def test_the_box_office_is_a_number() -> None:
    found = read(find("biopics.csv"), "box_office", "--drop", "site", "--drop", "title")
    assert found["target"]["task"] == "regression"
    assert found["target"]["max"] == 350_000_000
    assert found["read"]["rows_without_target"] == 324
    assert found["read"]["numbers"] == {"box_office": "$"}


def test_answers_about_incomes_stay_answers() -> None:
    found = read(find("comma.csv"), "Gender", "--drop", "RespondentID")
    assert found["read"]["numbers"] == {}
    assert "Household Income" in found["columns"]["categorical"]


def test_a_dash_is_missing_among_numbers() -> None:
    found = read(find("drug.csv"), "alcohol_use", "--drop", "age")
    assert found["columns"]["categorical"] == []
    assert len(found["read"]["missing_words"]["-"]) == 6


def test_random_numbers_are_read_as_written(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    numbers = (random.normal(size=300) * 10 ** random.integers(0, 8, 300)).round(2)
    for mark, group in ((".", ","), (",", "."), (",", " "), (".", "'")):
        swap = str.maketrans(",.", group + mark)
        texts = [f"{one:,.2f}".translate(swap) for one in numbers]
        form = find_number_form(pa.array(texts), None)
        assert form == NumberForm(mark, "")
        again = clean_numbers(pa.array(texts), mark, "").cast("float64").to_numpy()
        np.testing.assert_array_equal(again, numbers)


@pytest.mark.parametrize(
    "reading",
    [
        {},
        {"numbers": {"x": {"mark": ";"}}, "dates": {}, "layout": {"missing": []}, "widths": []},
        {"numbers": {"x": {"mark": 1}}, "dates": {}, "layout": {"missing": []}, "widths": []},
        {"numbers": {}, "dates": {}, "layout": {"missing": [1]}, "widths": []},
        {"numbers": {}, "dates": {}, "layout": {"missing": []}, "widths": ["x"]},
        {"numbers": {}, "dates": [], "layout": {"missing": []}, "widths": []},
        {"numbers": {}, "dates": {}, "layout": {"missing": [], "other": 1}, "widths": []},
    ],
)
def test_a_file_that_says_nothing_sensible_of_reading_is_refused(
    tmp_path: Path, reading: dict[str, Any]
) -> None:
    model = treefold.DecisionTreeClassifier().fit(pa.table({"x": [1, 2]}), [0, 1])
    model._reading = reading
    treefold.save(model, tmp_path / "m.treefold")
    data = write(tmp_path / "data.csv", "x", "1")
    result = run("predict", tmp_path / "m.treefold", data)
    assert_mistake(result, "m.treefold' does not say how its columns are read")
    assert treefold.load(tmp_path / "m.treefold").fit([[1], [2]], [0, 1]).__dict__.get(
        "_reading"
    ) is None  # fmt: skip
