"""`treefold fit`: what it prints, and what its options change."""

import json
import shlex
from datetime import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import LOANS, Result, assert_golden, assert_mistake, fit, run, run_apart, write

import treefold

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")

ORDER = (
    "Verdict Read Target Columns Missing Hint Folds Score Chosen Path Tree Columns At Work "
    "Wrote Next"
)
ROWS = 300


def fit_json(path: Path, target: str, *more: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fit(path, target, "--json", *more).out)
    return found


def make_data(path: Path, n_rows: int = ROWS, **columns: Any) -> Path:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, n_rows)).round(2)
    data = {"a": a, "b": b, "y": np.where(a + 0.5 * b > 0, "yes", "no")}
    csv.write_csv(pa.table({**data, **columns}), path)
    return path


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    model = tmp_path_factory.mktemp("models") / "loans.treefold"
    return run_apart("fit", LOANS, "--target", "default", "--model", model), model


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return fit_json(LOANS, "default", "--cv", 5)


def test_the_first_command_of_the_readme_prints_everything_in_order(
    loans: tuple[Result, Path],
) -> None:
    result, _ = loans
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    labels = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert labels == ORDER.split()
    assert len(lines) <= 43
    paths = ("Read", "Wrote", "Next")
    assert max(len(line) for line in lines if not line.startswith(paths)) <= 100
    assert "\x1b" not in result.out + result.err


def test_the_output_is_golden(loans: tuple[Result, Path]) -> None:
    assert_golden("fit_loans.txt", loans[0].out)


def test_json_is_golden_apart_from_times(found: dict[str, Any]) -> None:
    found = {**found, "treefold": "", "work": {"trees": found["work"]["trees"]}}
    found["read"] = {**found["read"], "file": "loans.csv"}
    assert_golden("fit_loans.json", json.dumps(_round(found), indent=1) + "\n")


def _round(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _round(item) for key, item in value.items() if key != "next"}
    if isinstance(value, list):
        return [_round(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def test_json_tells_where_the_time_went(found: dict[str, Any]) -> None:
    seconds = found["work"]["seconds"]
    assert seconds["total"] == pytest.approx(
        seconds["imports"] + seconds["reading"] + seconds["rest"]
    )
    assert found["work"]["trees"] == 2 * (1 + 5 + 10) + 1 + 10  # the latter by stretches of time


def test_the_nested_score_comes_first_and_is_the_worst_of_the_three(
    found: dict[str, Any],
) -> None:
    rows = found["scores"]["rows"]
    assert next(iter(rows)) == "nested"
    assert rows["best_on_path"]["score"] <= rows["cross_validation"]["score"]
    assert rows["cross_validation"]["score"] < rows["baseline"]["score"]
    assert rows["nested"]["AUC"] > 0.75


def test_without_nesting_the_score_is_called_optimistic() -> None:
    out = fit(LOANS, "default", "--no-nested", "--cv", 3).out
    assert "nested" not in out.rsplit("Next", 1)[0]
    assert "cross-validation (optimistic)" in out


def test_the_model_that_is_written_is_the_one_that_was_scored(
    loans: tuple[Result, Path],
) -> None:
    result, path = loans
    model = treefold.load(path)
    assert f"{model.get_n_leaves()} leaves" in result.out
    assert f"{-model.evaluation_.nested['test_score'].mean():.4f} ±" in result.out
    assert f"treefold predict {path}" in result.out.splitlines()[-1]


def test_the_result_is_the_same_for_any_number_of_threads_and_for_parquet(tmp_path: Path) -> None:
    options = csv.ConvertOptions(strings_can_be_null=True)
    path = tmp_path / "loans.parquet"
    parquet.write_table(csv.read_csv(LOANS, convert_options=options), path)
    a = fit_json(LOANS, "default", "--cv", 3, "--jobs", 1)
    b = fit_json(path, "default", "--cv", 3, "--jobs", 2)
    for name in ("scores", "tree", "importance", "folds", "thresholds"):
        assert a[name] == b[name]


def test_another_seed_makes_other_folds(found: dict[str, Any]) -> None:
    other = fit_json(LOANS, "default", "--cv", 5, "--seed", 7)
    assert other["scores"] != found["scores"]


def test_the_next_command_repeats_what_shapes_the_model(tmp_path: Path) -> None:
    path = make_data(tmp_path / "data.csv", leak=np.arange(ROWS) % 7)
    given = ["--positive", "no", "--drop", "leak", "--categorical", "a", "--cv", "3", "--seed", "5"]
    given += ["--rule", "best", "--max-depth", "2", "--no-nested"]
    idle = ["--test", path, "--report", tmp_path / "r.html", "--jobs", 1, "--json"]
    words = shlex.split(fit_json(path, "y", *given, *idle)["next"])
    assert words[:3] == ["treefold", "fit", str(path)]
    assert sorted(words[3:]) == sorted(["--target", "y", *given, "--model", "model.treefold"])


def test_no_threshold_is_suggested_for_a_tree_without_a_split(tmp_path: Path) -> None:
    rows = [f"{place * 7919 % 101},{'yes' if place % 5 == 0 else 'no'}" for place in range(200)]
    path = write(tmp_path / "noise.csv", "a,b", *rows)
    model, report = tmp_path / "noise.treefold", tmp_path / "noise.html"
    result = fit(path, "b", "--cv", 4, "--model", model, "--report", report)
    assert "1 leaf, depth 0" in result.out
    assert "--threshold" not in result.out
    assert "At 0.50" not in result.out
    assert result.out.splitlines()[-1].endswith(f"treefold predict {model} {path}")
    assert "no split: all rows have the same share" in report.read_text("utf-8")
    assert fit_json(path, "b", "--cv", 4)["thresholds"] is None


def test_a_target_of_real_numbers_means_regression(tmp_path: Path) -> None:
    path = make_data(tmp_path / "data.csv")
    found = fit_json(path, "b", "--cv", 4)
    assert found["target"]["task"] == "regression"
    assert found["scores"]["measure"] == "r2"
    assert {"MAE", "RMSE"} <= found["scores"]["rows"]["nested"].keys()
    assert found["thresholds"] is None


def test_whole_numbers_are_classes_or_numbers_as_asked(tmp_path: Path) -> None:
    path = make_data(tmp_path / "data.csv", whole=np.arange(ROWS) % 3)
    assert fit_json(path, "whole", "--cv", 3)["target"]["task"] == "classification"
    found = fit_json(path, "whole", "--cv", 3, "--task", "regression")
    assert found["target"]["task"] == "regression"


@pytest.mark.parametrize(
    ("n_values", "n_rows", "task"),
    [
        (2, 12, "classification"),
        (3, 29, "regression"),
        (3, 30, "classification"),
        (20, 200, "classification"),
        (20, 199, "regression"),
        (21, 2100, "regression"),
    ],
)
def test_whole_numbers_are_classes_if_ten_rows_have_each(
    tmp_path: Path, n_values: int, n_rows: int, task: str
) -> None:
    lines = [f"{row / 7},{row % n_values}" for row in range(n_rows)]
    found = fit_json(write(tmp_path / "data.csv", "x,y", *lines), "y", "--cv", 2, "--no-nested")
    assert found["target"]["task"] == task


def test_dates_are_days_and_text_is_categories(tmp_path: Path) -> None:
    rows = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d},{'abc'[i % 3]}" for i in range(240)]
    labelled = [f"{row},{'new' if row[:7] > '2024-06' else 'old'}" for row in rows]
    path = write(tmp_path / "days.csv", "day,letter,age", *labelled)
    out = fit(path, "age", "--cv", 4).out
    assert "day <= 2024-0" in out
    assert "2 used, 1 of them categorical" in out


def test_identifiers_and_constants_are_left_out_with_a_word(tmp_path: Path) -> None:
    numbers = np.arange(ROWS)
    path = make_data(
        tmp_path / "data.csv",
        one=np.ones(ROWS),
        nothing=pa.nulls(ROWS),
        number=numbers,
        customer_id=np.random.default_rng(1).permutation(numbers) * 7,
        name=[f"person {number}" for number in numbers],
    )
    left_out = fit_json(path, "y", "--cv", 3)["columns"]["left_out"]
    assert left_out == {
        "one value only": ["one"],
        "no values": ["nothing"],
        "identifier": ["number", "customer_id", "name"],
    }


def test_a_column_that_gives_the_target_away_is_warned_about(tmp_path: Path) -> None:
    plain = make_data(tmp_path / "data.csv")
    assert fit_json(plain, "y", "--cv", 3)["warnings"] == []
    y = csv.read_csv(plain)["y"].to_pylist()
    path = make_data(tmp_path / "leak.csv", decided=[f"was {label}" for label in y])
    out = fit(path, "y", "--cv", 3).out
    assert "Warning   'decided' alone gives 100% of 'y' away." in out
    assert "--drop decided" in out
    amount = csv.read_csv(plain)["b"].to_numpy() * 3 + 1
    path = make_data(tmp_path / "leak.csv", amount=amount)
    assert "'amount' alone gives" in fit_json(path, "b", "--cv", 3)["warnings"][0]


def test_text_among_numbers_gives_a_hint(tmp_path: Path) -> None:
    values = [str(number % 12) for number in range(ROWS - 2)] + ["unknown", "?"]
    path = make_data(tmp_path / "data.csv", age=values)
    hints = fit_json(path, "y", "--cv", 3)["hints"]
    assert hints == [
        "'age' is read as categories, because 1 value is not a number (first: 'unknown'). "
        "To take it for missing: --missing unknown"
    ]


@pytest.mark.parametrize(("n_each", "is_said"), [(9, True), (10, False)])
def test_few_rows_per_category_give_a_hint(tmp_path: Path, n_each: int, is_said: bool) -> None:
    names = [f"name {number // n_each}" for number in range(30 * n_each)]
    y = np.arange(len(names)) % 2
    path = tmp_path / "data.csv"
    csv.write_csv(pa.table({"the name": names, "b": np.sin(np.arange(len(names))), "y": y}), path)
    hints = [hint for hint in fit_json(path, "y", "--cv", 3)["hints"] if "categories" in hint]
    expected = (
        "'the name' has 30 categories of 9.0 rows on average: little is known of each, and new "
        "rows may have others. The rarest go together. Without: --drop 'the name'"
    )
    assert hints == ([expected] if is_said else [])


def test_several_columns_of_few_rows_per_category_give_one_hint(tmp_path: Path) -> None:
    rows = np.arange(270)
    names = {name: [f"{name}{row // n}" for row in rows] for name, n in (("a", 9), ("b", 3))}
    csv.write_csv(pa.table({**names, "x": np.sin(rows), "y": rows % 2}), tmp_path / "data.csv")
    hints = fit_json(tmp_path / "data.csv", "y", "--cv", 3)["hints"]
    assert hints == [
        "'a' and 'b' have 3.0 to 9.0 rows per category on average: little is known of each, and "
        "new rows may have others. The rarest go together. Without: --drop a --drop b"
    ]


def test_names_of_things_with_several_rows_give_a_hint(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).permutation(90)
    columns = {"patient_id": rows // 3, "paid": rows // 3, "time": rows % 3, "y": np.sin(rows)}
    csv.write_csv(pa.table(columns), tmp_path / "data.csv")
    hints = fit_json(tmp_path / "data.csv", "y", "--cv", 3)["hints"]
    assert hints == [
        "'patient_id' seems to name what has 3.0 rows on average, which a tree may learn by "
        "heart. --groups patient_id keeps them together; --drop patient_id leaves it out"
    ]
    assert fit_json(tmp_path / "data.csv", "y", "--groups", "patient_id")["hints"] == []


def test_names_of_nearly_all_rows_do_not_ruin_the_tree(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    names = [f"name {number}" for number in rng.integers(0, 500, size=400)]
    table = pa.table({"name": names, "x": x, "y": x + 0.5 * rng.normal(size=400)})
    csv.write_csv(table, tmp_path / "data.csv")
    with_names = fit_json(tmp_path / "data.csv", "y")["scores"]
    without = fit_json(tmp_path / "data.csv", "y", "--drop", "name")["scores"]
    scores = [found["rows"]["nested"]["score"] for found in (with_names, without)]
    assert scores[0] > scores[1] - 0.02 > 0.7  # about 0.45 with the names as they come


def test_weights_count_and_balance_changes_the_tree(tmp_path: Path) -> None:
    path = make_data(tmp_path / "data.csv", w=(np.arange(ROWS) % 4).astype(float))
    plain = fit_json(path, "y", "--cv", 3, "--drop", "w")
    weighted = fit_json(path, "y", "--cv", 3, "--weights", "w")
    balanced = fit_json(path, "y", "--cv", 3, "--drop", "w", "--class-weight", "balanced")
    assert weighted["columns"]["used"] == plain["columns"]["used"]
    assert weighted["scores"] != plain["scores"]
    assert balanced["scores"]["measure"] == "balanced_accuracy"
    result = run("fit", path, "--target", "b", "--class-weight", "balanced")
    assert_mistake(result, "--class-weight is for classes")


def test_bad_weights_are_named(tmp_path: Path) -> None:
    path = make_data(tmp_path / "data.csv", w=np.arange(ROWS) - 5.0)
    assert_mistake(run("fit", path, "--target", "y", "--weights", "w"), "5 values that are missing")
    assert_mistake(run("fit", path, "--target", "b", "--weights", "y"), "not a number")


@pytest.mark.parametrize("kind", ["list", "struct", "time"])
@pytest.mark.parametrize("option", ["--groups", "--folds", "--weights", "--time"])
def test_a_role_that_a_type_cannot_play_is_a_mistake(
    tmp_path: Path, option: str, kind: str
) -> None:
    values = {"list": [1], "struct": {"k": 1}, "time": time(1)}
    odd = [values[kind]] * ROWS
    table = pa.table({"a": np.arange(ROWS) % 7, "odd": odd, "y": ["u", "v"] * (ROWS // 2)})
    parquet.write_table(table, tmp_path / "odd.parquet")
    result = run("fit", tmp_path / "odd.parquet", "--target", "y", option, "odd")
    what = "column 'odd'" if option == "--weights" else f"{option}: 'odd'"
    if option == "--groups" and kind == "time":
        what = "too few groups in 'odd' (1)"  # times of day can be told apart
    assert_mistake(result, what)
    assert len(result.err.splitlines()) == 1


def test_the_row_of_a_bad_weight_is_that_of_the_file(tmp_path: Path) -> None:
    lines = [f"{row % 7},{'ab'[row % 7 > 3]},1" for row in range(40)]
    lines[5], lines[15] = "1,,1", "1,a,-2"
    path = write(tmp_path / "data.csv", "x,y,w", *lines)
    result = run("fit", path, "--target", "y", "--weights", "w")
    assert_mistake(result, "first: -2.0, row 16 of '")


def test_the_rule_the_depth_and_the_score_are_as_asked() -> None:
    smallest = fit_json(LOANS, "default", "--cv", 3, "--no-nested")
    best = fit_json(LOANS, "default", "--cv", 3, "--no-nested", "--rule", "best")
    assert smallest["chosen"]["leaves"] < best["chosen"]["leaves"]
    shallow = fit_json(LOANS, "default", "--cv", 3, "--no-nested", "--max-depth", 2)
    assert shallow["chosen"]["depth"] <= 2


@pytest.mark.parametrize(
    "name", ["roc_auc", "average_precision", "f1", "recall", "accuracy", "neg_log_loss"]
)
def test_any_score_of_scikit_learn_decides(tmp_path: Path, name: str) -> None:
    path = make_data(tmp_path / "data.csv")
    found = fit_json(path, "y", "--cv", 3, "--no-nested", "--scoring", name)
    assert found["scores"]["measure"] == name
    assert found["scores"]["rows"]["cross_validation"]["score"] > 0


@pytest.mark.parametrize("name", ["r2", "f1_samples", "neg_max_error"])
def test_a_score_that_does_not_suit_the_target_is_named(name: str) -> None:
    result = run("fit", LOANS, "--target", "default", "--cv", 3, "--scoring", name)
    assert_mistake(result, f"--scoring: '{name}' does not suit the target 'default' (")
    assert result.err.endswith("such as neg_brier_score, roc_auc, accuracy, balanced_accuracy, f1, "
                               "neg_log_loss.\n")  # fmt: skip


def test_whole_numbers_are_classes_also_as_floats(tmp_path: Path) -> None:
    labels = np.where(np.arange(ROWS) % 10 == 3, np.nan, np.arange(ROWS) % 3 > 0)
    path = make_data(tmp_path / "data.csv", y=pa.array(labels, from_pandas=True))
    whole = make_data(tmp_path / "w.csv", y=pa.array(labels, from_pandas=True).cast("int64"))
    parquet.write_table(pa.table({"y": labels, "a": np.arange(ROWS) % 50}), tmp_path / "p.parquet")
    for one in (path, whole, tmp_path / "p.parquet"):
        found = fit_json(one, "y", "--cv", 3)
        assert list(found["target"]["classes"]) == ["0", "1"]
    assert fit_json(path, "y", "--cv", 3, "--task", "regression")["target"]["task"] == "regression"


def test_large_whole_numbers_are_targets_and_weights(tmp_path: Path) -> None:
    large = 2**53 + 1 + np.arange(ROWS, dtype=np.int64)
    path = tmp_path / "large.parquet"
    columns = {"y": large.astype(float) * 64, "a": np.arange(ROWS) % 7, "w": large}
    parquet.write_table(pa.table(columns), path)
    found = fit_json(path, "y", "--cv", 3, "--weights", "w")
    assert found["target"]["task"] == "regression"
    whole = fit_json(path, "w", "--cv", 3, "--drop", "y")
    assert whole["target"]["task"] == "regression"


def test_numbers_may_be_categories(tmp_path: Path) -> None:
    codes = np.arange(ROWS) % 5
    path = make_data(tmp_path / "data.csv", code=codes)
    found = fit_json(path, "y", "--cv", 3, "--categorical", "code")
    assert found["columns"]["categorical"] == ["code"]


def test_the_positive_class_is_the_one_asked_for(found: dict[str, Any]) -> None:
    other = fit_json(LOANS, "default", "--cv", 5, "--positive", "no")
    assert found["thresholds"]["positive"] == "yes"
    assert other["thresholds"]["positive"] == "no"
    assert other["thresholds"]["half"]["n_positive"] == 3107
    assert other["tree"][0]["share"] == pytest.approx(1 - found["tree"][0]["share"])


def test_a_better_threshold_has_a_higher_f1(found: dict[str, Any]) -> None:
    thresholds = found["thresholds"]
    assert thresholds["best"]["f1"] > thresholds["half"]["f1"]
    assert thresholds["best"]["recall"] > thresholds["half"]["recall"]


def test_a_test_file_is_scored_too(tmp_path: Path) -> None:
    lines = LOANS.read_text().splitlines()
    early = write(tmp_path / "early.csv", *lines[:3001])
    late = write(tmp_path / "late.csv", lines[0], *lines[3001:])
    found = fit_json(early, "default", "--cv", 3, "--test", late)
    row = found["scores"]["rows"]["test"]
    assert row["n_rows"] == 1000
    assert 0.7 < row["AUC"] < 0.95
    assert "test file" in fit(early, "default", "--cv", 3, "--test", late).out
    result = run("fit", early, "--target", "default", "--test", tmp_path / "none.csv")
    assert_mistake(result, "none.csv' does not exist")
    other = write(tmp_path / "other.csv", "default", "maybe")
    assert_mistake(
        run("fit", early, "--target", "default", "--cv", 3, "--test", other), "not one of"
    )


def test_importance_names_the_columns_that_matter(found: dict[str, Any]) -> None:
    ranked = [one["column"] for one in found["importance"]]
    assert ranked[0] == "late_payments"
    assert [one["loss"] for one in found["importance"]] == sorted(
        (one["loss"] for one in found["importance"]), reverse=True
    )


def test_a_model_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    result = run("fit", LOANS, "--target", "default", "--cv", 3, "--model", folder)
    assert_mistake(result, "--model: ")
    result = run("fit", LOANS, "--target", "default", "--cv", 3, "--model", tmp_path / "no" / "m")
    assert_mistake(result, "cannot be written")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_two_folds_choose_by_parts_of_themselves(tmp_path: Path) -> None:
    path = make_data(tmp_path / "data.csv", n_rows=80, half=np.arange(80) % 2)
    found = fit_json(path, "b", "--cv", 2, "--repeats", 3)
    assert next(iter(found["scores"]["rows"])) == "nested"
    assert found["work"]["trees"] == 2 * (1 + 3 * 2 + 3 * 10)
    found = fit_json(path, "b", "--folds", "half")
    assert "nested" not in found["scores"]["rows"]
    assert "a nested one takes 3 folds" in found["hints"][-1]
    assert "cross-validation (optimistic)" in fit(path, "b", "--folds", "half").out


@pytest.mark.parametrize(("target", "cv"), [("y", 35), ("b", 35), ("y", 80), ("b", 80)])
def test_many_folds_are_merged_for_the_nested_score(tmp_path: Path, target: str, cv: int) -> None:
    path = make_data(tmp_path / "data.csv", n_rows=80)
    found = fit_json(path, target, "--cv", cv)
    rows = found["scores"]["rows"]
    assert next(iter(rows)) == "nested"
    assert rows["nested"]["n_splits"] == rows["cross_validation"]["n_splits"]
    assert "merged into 10 for the nested score" in found["folds"]["description"]
    n_sizes = 2
    assert found["work"]["trees"] == n_sizes * (1 + cv + 1 + 10 + 45)
    assert (found["importance"] is None) == (cv == 80)
    out = fit(path, target, "--cv", cv).out
    assert "optimistic" not in out
    assert ("a single row cannot be shuffled" in out) == (cv == 80)


def test_names_and_categories_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    odd = "a\nb\x1b[31m\u202e"
    labels = np.where(np.arange(ROWS) % 3 > 0, odd, "x\ty")
    table = pa.table({odd: labels, "gone\r": ["one"] * ROWS, "y\x1b": labels})
    parquet.write_table(table, tmp_path / "odd.parquet")
    path = tmp_path / "m.treefold"
    out = fit(tmp_path / "odd.parquet", "y\x1b", "--cv", 3, "--model", path).out
    rules = run("show", path).out
    reasons = run("predict", path, tmp_path / "odd.parquet", "--explain").out
    error = run("fit", tmp_path / "odd.parquet", "--target", odd, "--weights", "gone\r").err
    for text in (out, rules, error):
        assert all(line.isprintable() for line in text.split("\n"))
    assert "'a\\u000ab\\u001b[31m\\u202e'" in out
    assert "├ a\\u000" in out
    assert "a\\u000ab\\u001b[31m\\u202e is" in reasons
    assert "├ a\\u000" in rules
    assert error.count("\n") == 1
    model = treefold.load(path)
    assert model.predict(table.select([odd])).tolist() == labels.tolist()


def test_a_terminal_gets_bold_labels_and_no_colour_if_it_wants_none(tmp_path: Path) -> None:
    path = make_data(tmp_path / "data.csv")
    y = csv.read_csv(path)["y"].to_pylist()
    path = make_data(path, leak=y)
    command = ["fit", path, "--target", "y", "--cv", 2]
    coloured = run_apart(*command, FORCE_COLOR="1").out
    assert "\x1b[1mTarget    \x1b[0my: 2 classes" in coloured
    assert "\x1b[33mWarning" in coloured
    plain = run_apart(*command, FORCE_COLOR="1", NO_COLOR="1").out
    assert "\x1b[33m" not in plain


def test_one_is_said_in_the_singular(tmp_path: Path) -> None:
    rows = [f"{place},{'no' if place % 10 < 5 else 'yes'}" for place in range(40)]
    path = write(tmp_path / "data.csv", "a,b", *rows, "7,", "0,no")
    out = " ".join(fit(path, "b", "--cv", 3).out.split())
    assert "42 rows, 2 columns (CSV) 1 row without a target is left out" in out
    assert "1 duplicate row stays with its twin" in out
    assert "at least 1 row per leaf" in out or "at least 5 rows per leaf" in out


def test_thresholds_are_told_in_standard_terms(found: dict[str, Any]) -> None:
    half = found["thresholds"]["half"]
    out = " ".join(fit(LOANS, "default", "--cv", 5).out.split())
    assert (
        f"At 0.50 recall {half['recall']:.0%} (finds {half['n_right']:.0f} of 893 'yes'), "
        f"precision {half['precision']:.0%} (of {half['n_called']:.0f} predicted)"
    ) in out
