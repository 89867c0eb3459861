"""`treefold predict`: the model again, on other files."""

import io
import json
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import LOANS, assert_mistake, fit, run, write

import treefold

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")

LINES = LOANS.read_text().splitlines()[:301]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "loans.treefold"
    fit(LOANS, "default", "--cv", 3, "--model", path)
    return path


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("houses")
    lines = [f"{i % 9},{i % 9 * 10 + i % 2}.5" for i in range(90)]
    data = write(folder / "houses.csv", "rooms,price", *lines)
    fit(data, "price", "--cv", 3, "--model", folder / "houses.treefold")
    return folder / "houses.treefold"


def predict(model: Path, data: object, *more: object) -> Any:
    result = run("predict", model, data, *more)
    assert result.code == 0, result.err
    return csv.read_csv(io.BytesIO(result.out.encode())) if result.out else result


@pytest.fixture(scope="module")
def answers(model: Path) -> Any:
    return predict(model, LOANS, "--proba")


def test_answers_are_those_of_the_model(model: Path, answers: Any) -> None:
    loans = csv.read_csv(LOANS, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    loaded = treefold.load(model)
    X = loans.drop_columns(["default"])
    assert answers["prediction"].to_pylist() == loaded.predict(X).tolist()
    shares = np.column_stack([answers["probability_no"], answers["probability_yes"]])
    np.testing.assert_array_equal(shares, loaded.predict_proba(X))


def test_another_order_and_more_columns_are_fine(model: Path, answers: Any, tmp_path: Path) -> None:
    table = csv.read_csv(LOANS)
    names = table.column_names[::-1]
    table = table.select(names).append_column("more", pa.array(["x"] * len(table)))
    csv.write_csv(table, tmp_path / "other.csv")
    assert predict(model, tmp_path / "other.csv", "--proba") == answers
    parquet.write_table(table, tmp_path / "other.parquet")
    options = csv.ConvertOptions(strings_can_be_null=True)
    table = csv.read_csv(tmp_path / "other.csv", convert_options=options)
    parquet.write_table(table, tmp_path / "other.parquet")
    assert predict(model, tmp_path / "other.parquet", "--proba") == answers
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(table, tmp_path / "other.feather")
    assert predict(model, tmp_path / "other.feather", "--proba") == answers


def test_rows_come_in_batches_without_seams(
    model: Path, answers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treefold.command.reading._BLOCK", 5000)
    assert predict(model, LOANS, "--proba") == answers


def test_stdin_is_read(model: Path) -> None:
    data = "\n".join(LINES).encode()
    result = run("predict", model, "-", stdin=data)
    assert result.code == 0, result.err
    assert len(result.out.splitlines()) == len(LINES)


def test_unseen_categories_are_missing_and_said_so(model: Path, tmp_path: Path) -> None:
    fields = LINES[1].split(",")
    place = LINES[0].split(",").index("employment")
    fields[place] = "astronaut"
    new = write(tmp_path / "new.csv", LINES[0], ",".join(fields))
    fields[place] = ""
    gone = write(tmp_path / "gone.csv", LINES[0], ",".join(fields))
    result = run("predict", model, new, "--proba")
    assert result.out == run("predict", model, gone, "--proba").out
    assert "'employment' has 1 category that the model has never seen" in result.err


def test_a_missing_column_is_named(model: Path, tmp_path: Path) -> None:
    table = csv.read_csv(LOANS).drop_columns(["burden", "late_payments"])
    csv.write_csv(table, tmp_path / "less.csv")
    result = run("predict", model, tmp_path / "less.csv")
    assert_mistake(
        result, "less.csv' lacks the columns 'burden', 'late_payments', which the model needs"
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_a_file_of_something_else_is_told_from_the_model(
    model: Path, tmp_path: Path, suffix: str
) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    writers = {"csv": csv.write_csv, "parquet": parquet.write_table}
    path = tmp_path / f"other.{suffix}"
    write_file = writers.get(suffix, feather.write_feather)
    write_file(pa.table({name: [1, 2] for name in "abcdefg"}), path)
    message = "lacks the columns 'employment', 'burden', "
    seen = "It has 'a', 'b', 'c', 'd', 'e' and 2 more; rename them"
    result = run("predict", model, path)
    assert_mistake(result, message)
    assert seen in result.err
    result = run("fit", LOANS, "--target", "default", "--cv", 2, "--test", path)
    assert_mistake(result, f"--test: '{path}' has no column 'default'")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("burden", "'a lot' is not a number"),
        ("burden", "inf is not finite"),
        ("application_date", "'soon' is not a date such as"),
    ],
)
def test_an_unreadable_value_is_named_with_file_row_and_column(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str, words: str
) -> None:
    monkeypatch.setattr("treefold.command.reading._BLOCK", 5000)
    lines = list(LINES)
    fields = lines[211].split(",")
    fields[lines[0].split(",").index(column)] = words.split(" is not", maxsplit=1)[0].strip("'")
    lines[211] = ",".join(fields)
    output = write(tmp_path / "old.csv", "an old file")
    result = run("predict", model, write(tmp_path / "bad.csv", *lines), "-o", output)
    assert_mistake(result, f"bad.csv', row 211, column '{column}'")
    assert words in result.err
    assert output.read_text() == "an old file\n"
    assert {path.name for path in tmp_path.iterdir()} == {"old.csv", "bad.csv"}


ZONED = [f"2024-01-{day:02} 00:00:00+02:00" for day in range(1, 21)]
FINE = [f"2024-01-{day:02} 00:00:00.123456789" for day in range(1, 21)]


@pytest.mark.parametrize("days", [ZONED, FINE], ids=["zoned", "nanoseconds"])
def test_dates_are_read_as_fit_reads_them(tmp_path: Path, days: list[str]) -> None:
    lines = [f"{day},{'ab'[row > 9]}" for row, day in enumerate(days)] * 3
    data, path = write(tmp_path / "data.csv", "day,y", *lines), tmp_path / "m.treefold"
    fit(data, "y", "--cv", 3, "--model", path)
    table = csv.read_csv(data)
    assert predict(path, data)["prediction"] == table["y"]
    parquet.write_table(table, tmp_path / "data.parquet")
    assert predict(path, tmp_path / "data.parquet")["prediction"] == table["y"]
    lines[12] = "garbage,a"
    bad = write(tmp_path / "bad.csv", "day,y", *lines)
    assert_mistake(run("predict", path, bad), "row 13, column 'day': 'garbage' is not a date")


def test_odd_columns_of_a_binary_file_are_a_mistake(tmp_path: Path) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    texts, path = ["u", "v"] * 30, tmp_path / "m.treefold"
    table = pa.table({"a": range(60), "c": texts, "y": texts})
    parquet.write_table(table, tmp_path / "good.parquet")
    fit(tmp_path / "good.parquet", "y", "--cv", 3, "--model", path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        feather.write_feather(table.drop_columns(["c"]), tmp_path / "less.feather", version=1)
    assert_mistake(run("predict", path, tmp_path / "less.feather"), "lacks the column 'c'")
    lists = pa.array([[text] for text in texts])
    parquet.write_table(table.set_column(1, "c", lists), tmp_path / "lists.parquet")
    result = run("predict", path, tmp_path / "lists.parquet")
    assert_mistake(result, "row 1, column 'c': \"['u']\" is not text (but list<")
    named = table.append_column("id", lists)
    parquet.write_table(named, tmp_path / "ids.parquet")
    command = ["predict", path, tmp_path / "ids.parquet", "--id", "id", "-o"]
    assert_mistake(run(*command, tmp_path / "out.csv"), "--id: 'id' holds list<")
    assert run(*command, tmp_path / "out.parquet").code == 0
    assert parquet.read_table(tmp_path / "out.parquet")["id"].to_pylist() == lists.to_pylist()


def test_numbers_are_read_as_numbers_whatever_their_form(houses: Path, tmp_path: Path) -> None:
    texts = ["3", "3.0", " 3 ", "3e0", "", "true", "1"]
    data = write(tmp_path / "new.csv", "rooms", *(f'"{text}"' for text in texts))
    answers = predict(houses, data)["prediction"].to_pylist()
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert answers[5] == answers[6]


def test_the_threshold_decides_about_the_class_asked_for(model: Path, answers: Any) -> None:
    yes = np.array(answers["probability_yes"])
    low = predict(model, LOANS, "--threshold", "0.2")["prediction"].to_pylist()
    assert low == np.where(yes >= 0.2, "yes", "no").tolist()
    other = predict(model, LOANS, "--threshold", "0.2", "--positive", "no")
    no = np.array(answers["probability_no"])
    assert other["prediction"].to_pylist() == np.where(no >= 0.2, "no", "yes").tolist()


def test_the_threshold_is_about_the_class_that_fit_looked_for(
    model: Path, answers: Any, tmp_path: Path
) -> None:
    other = tmp_path / "no.treefold"
    found = fit(LOANS, "default", "--cv", 3, "--positive", "no", "--model", other).out
    assert "--positive" not in found.splitlines()[-1]
    no = np.array(answers["probability_no"])
    low = predict(other, LOANS, "--threshold", "0.9")["prediction"].to_pylist()
    assert low == np.where(no >= 0.9, "no", "yes").tolist()
    yes = predict(other, LOANS, "--threshold", "0.2", "--positive", "yes")
    assert yes == predict(model, LOANS, "--threshold", "0.2")


def test_an_ensemble_answers_too(tmp_path: Path) -> None:
    loans = csv.read_csv(LOANS, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    X, y = loans.drop_columns(["default"]), np.array(loans["default"])
    bags = treefold.BaggingClassifier(n_estimators=3, max_depth=3, random_state=0).fit(X, y)
    path = tmp_path / "bags.treefold"
    treefold.save(bags, path)
    answers = predict(path, LOANS, "--proba")
    assert answers["prediction"].to_pylist() == bags.predict(X).tolist()
    np.testing.assert_array_equal(answers["probability_yes"], bags.predict_proba(X)[:, 1])
    assert_mistake(run("predict", path, LOANS, "--explain"), "this model has 3")
    for form in ("text", "json", "dot", "sql", "svg"):
        assert_mistake(run("show", path, "--format", form), "One tree can be written")


def test_explanations_and_identifiers_stand_beside_the_answers(model: Path) -> None:
    table = predict(model, LOANS, "--explain", "--id", "application_date")
    assert table.column_names == ["application_date", "prediction", "because"]
    assert str(table["application_date"][0]) == "2020-01-01"
    assert "late_payments > 1.5" in table["because"][0].as_py()
    tree = treefold.load(model).tree_
    assert len(set(table["because"].to_pylist())) == tree.n_leaves


def test_the_output_is_csv_or_parquet_by_its_name(
    model: Path, answers: Any, tmp_path: Path
) -> None:
    for name in ("out.csv", "out.parquet"):
        result = run("predict", model, LOANS, "--proba", "-o", tmp_path / name)
        assert result.code == 0, result.err
        assert result.out == ""
        assert "wrote 4,000 rows" in result.err
    assert csv.read_csv(tmp_path / "out.csv") == answers
    assert parquet.read_table(tmp_path / "out.parquet") == answers


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_identifiers_are_copied_whatever_they_spell(model: Path, tmp_path: Path, name: str) -> None:
    words = ["NA", "null", "NaN", "nan", "", "007", " x ", "#N/A"]
    lines = [f"{word},{line}" for word, line in zip(words, LINES[1:], strict=False)]
    data = write(tmp_path / "data.csv", f"country,{LINES[0]}", *lines)
    assert run("predict", model, data, "--id", "country", "-o", tmp_path / name).code == 0
    if name == "out.csv":
        out = (tmp_path / name).read_text().splitlines()[1:]
        assert [line.split(",")[0].strip('"') for line in out] == words
    else:
        found = parquet.read_table(tmp_path / name)["country"].to_pylist()
        assert found == [word or None for word in words]


def test_an_identifier_may_be_a_column_of_the_model(model: Path, tmp_path: Path) -> None:
    place = LINES[0].split(",").index("burden")
    rows = [line.split(",") for line in LINES[1:21]]
    texts = []
    for word in ("NA", ""):
        for row in rows:
            row[place] = word
        data = write(tmp_path / "data.csv", LINES[0], *map(",".join, rows))
        result = run("predict", model, data, "--id", "burden")
        assert result.code == 0, result.err
        texts.append(result.out.replace('"NA",', ","))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "1.5"], "threshold"),
        (["--positive", "maybe"], "does not know 'maybe'"),
        (["--id", "nobody"], "has no column 'nobody'"),
        (["--id", "prediction"], "a column 'prediction' of their own"),
        (["--proba", "--id", "probability_yes"], "a column 'probability_yes' of their own"),
        (["-o", "answers.xlsx"], "neither in .csv nor in .parquet"),
        (["-o", "no/folder/answers.csv"], "no folder 'no/folder'"),
    ],
)
def test_a_bad_option_is_named(model: Path, options: list[str], message: str) -> None:
    assert_mistake(run("predict", model, LOANS, *options), message)


@pytest.mark.parametrize("option", [["--proba"], ["--threshold", "0.5"]])
def test_numbers_have_no_shares(houses: Path, tmp_path: Path, option: list[str]) -> None:
    data = write(tmp_path / "new.csv", "rooms", "3")
    assert_mistake(run("predict", houses, data, *option), "predicts a number")


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "no.treefold", "this is no model")
    for command in (["predict", path, LOANS], ["show", path]):
        assert_mistake(run(*command), "no.treefold")
    assert_mistake(run("predict", tmp_path / "none", LOANS), "does not exist")


def test_a_file_without_rows_is_a_mistake(model: Path, tmp_path: Path) -> None:
    assert_mistake(run("predict", model, write(tmp_path / "a.csv", LINES[0])), "has no rows")


@pytest.mark.skipif(not Path("/sys").is_dir(), reason="needs a folder that nobody may write to")
def test_a_read_only_folder_is_named(model: Path) -> None:
    commands = [
        ["predict", model, LOANS, "-o", "/sys/out.csv"],
        ["show", model, "-o", "/sys/out.csv"],
        ["fit", LOANS, "--target", "default", "--cv", 3, "--no-nested", "--model", "/sys/out.csv"],
    ]
    for command in commands:
        assert_mistake(run(*command), "'/sys/out.csv' cannot be written: ")


@pytest.mark.skipif(os.name == "nt", reason="pipes with names")
def test_a_pipe_is_written_to_and_stays_a_pipe(model: Path, answers: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        text = pool.submit(pipe.read_bytes)
        assert run("predict", model, LOANS, "--proba", "-o", pipe).code == 0
        assert csv.read_csv(io.BytesIO(text.result(timeout=60))) == answers
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_folder_that_refuses_is_named(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("treefold.atomic.os.open", refuse)
    assert_mistake(run("predict", model, LOANS, "-o", tmp_path / "out.csv"), "Permission denied")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_only_the_columns_that_the_tree_asks_for_are_needed(tmp_path: Path, suffix: str) -> None:
    random = np.random.default_rng(2)
    a = random.normal(size=90).round(2)
    columns = {
        "a": a,
        "noise": random.normal(size=90).round(2),
        "letter": random.choice(["u", "v"], 90),
        "day": [f"2024-01-{1 + row % 28:02}" for row in range(90)],
        "y": np.where(a > 0, "yes", "no"),
    }
    data, less, path = tmp_path / "data.csv", tmp_path / f"less.{suffix}", tmp_path / "m.treefold"
    csv.write_csv(pa.table(columns), data)
    write_file = csv.write_csv if suffix == "csv" else parquet.write_table
    write_file(pa.table({name: columns[name] for name in ("y", "a")}), less)
    fit(data, "y", "--cv", 3, "--model", path)
    assert predict(path, less) == predict(path, data)
    scores = [
        json.loads(fit(data, "y", "--cv", 3, "--json", "--test", test).out)["scores"]["rows"]
        for test in (data, less)
    ]
    assert scores[0] == scores[1]
    write_file(pa.table({name: columns[name] for name in ("y", "noise")}), less)
    assert_mistake(run("predict", path, less), "lacks the column 'a', which the model needs")


def test_a_single_row_is_one_row(model: Path, tmp_path: Path) -> None:
    one = write(tmp_path / "one.csv", *LINES[:2])
    result = run("predict", model, one, "-o", tmp_path / "answers.csv")
    assert "note: wrote 1 row to " in result.err


def test_a_tree_without_a_split_needs_rows_only(tmp_path: Path) -> None:
    lines = [f"{row % 5},{'ab'[row * row // 7 % 2]}" for row in range(60)]
    data, path = write(tmp_path / "data.csv", "x,y", *lines), tmp_path / "m.treefold"
    assert "1 leaf" in fit(data, "y", "--cv", 3, "--model", path).out
    other = write(tmp_path / "other.csv", "z", "1", "2", "3")
    assert predict(path, other).num_rows == 3


def test_an_ensemble_needs_the_columns_of_all_its_trees(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    table = pa.table({"a": random.normal(size=90), "b": random.normal(size=90), "c": [0] * 90})
    y = np.array(table["a"]) + np.array(table["b"]) > 0
    path = tmp_path / "m.treefold"
    treefold.save(treefold.BaggingClassifier(n_estimators=3).fit(table, y), path)
    csv.write_csv(table.drop_columns(["c"]), tmp_path / "less.csv")
    assert predict(path, tmp_path / "less.csv").num_rows == 90
    csv.write_csv(table.drop_columns(["b", "c"]), tmp_path / "less.csv")
    assert_mistake(run("predict", path, tmp_path / "less.csv"), "lacks the column 'b', which")
