"""Which rows are held out together."""

import json
import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import assert_mistake, fit, run

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")

from treefold import Table  # noqa: E402
from treefold.command.folds import find_duplicates, make_folds  # noqa: E402
from treefold.command.mistakes import UserError  # noqa: E402
from treefold.command.options import FitOptions  # noqa: E402
from treefold.findings.folds import Folds  # noqa: E402
from treefold.findings.target import Target  # noqa: E402

POLLUTION = Path(__file__).parents[2] / "shared" / "data" / "csv" / "pollution.csv.gz"
RANDOM = np.random.default_rng(5)
N_ROWS = 400
X = RANDOM.integers(0, 1000, (N_ROWS, 2)).astype(float)
CODES = (RANDOM.random(N_ROWS) < 0.2).astype(int)
TARGET = Target("y", CODES, (0, 1), tuple(np.bincount(CODES).tolist()), 1, CODES)


def make(X: Any = X, target: Target = TARGET, columns: Any = None, **options: Any) -> Folds:
    table = Table.from_data(X)
    asked = FitOptions("data.csv", "y", **options)
    return make_folds(table, target, pa.table(columns or {}), asked)


def assert_partition(folds: Folds, n_rows: int = N_ROWS) -> np.ndarray[Any, Any]:
    """Every row is held out once; give the fold of each."""
    fold_of = np.full(n_rows, -1)
    for number, (train, test) in enumerate(folds.splits):
        assert (fold_of[test] == -1).all()
        fold_of[test] = number
        assert sorted([*train, *test]) == list(range(n_rows))
    assert (fold_of >= 0).all()
    return fold_of


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cv", [2, 3, 10])
def test_folds_are_stratified_and_equal(seed: int, cv: int) -> None:
    fold_of = assert_partition(make(cv=cv, seed=seed))
    for code in (0, 1):
        counts = np.bincount(fold_of[code == CODES], minlength=cv)
        assert counts.max() - counts.min() <= 1
    sizes = np.bincount(fold_of)
    assert sizes.max() - sizes.min() <= 2


def test_the_seed_decides_and_nothing_else() -> None:
    assert (assert_partition(make(seed=1)) == assert_partition(make(seed=1))).all()
    assert (assert_partition(make(seed=1)) != assert_partition(make(seed=2))).any()


@pytest.mark.parametrize("seed", range(4))
def test_duplicate_rows_stay_in_one_fold(seed: int) -> None:
    rows = RANDOM.integers(0, 60, N_ROWS)
    twins = X[rows]
    target = Target("y", CODES[rows], (0, 1), (), 1, CODES[rows])
    folds = make(twins, target, cv=5, seed=seed)
    fold_of = assert_partition(folds)
    for row in range(60):
        assert len(set(fold_of[rows == row])) <= 1
    assert folds.n_duplicates == N_ROWS - len(np.unique(rows))
    assert np.bincount(fold_of).min() > N_ROWS / 5 * 0.7


def test_rows_that_must_repeat_are_shuffled_like_any_others() -> None:
    data = RANDOM.integers(0, 3, (N_ROWS, 2)).astype(float)
    folds = make(data, cv=5)
    assert_partition(folds)
    assert "only 18 different ones are possible" in folds.description


def test_rows_that_differ_anywhere_are_no_duplicates() -> None:
    data = np.array([[1, 2], [1, 2], [2, 1], [np.nan, 2], [np.nan, 2], [1, 2]], dtype=float)
    y = np.array([0, 0, 0, 1, 1, 1])
    numbers = find_duplicates(Table.from_data(data), y)
    assert (numbers[0] == numbers[1], numbers[3] == numbers[4]) == (True, True)
    assert len(set(numbers.tolist())) == 4


def test_two_folds_have_five_parts_each() -> None:
    folds = make(cv=2, repeats=2)
    assert len(folds.parts) == 20
    for repeat in (0, 1):
        rows = np.concatenate([part for _, part in folds.parts[10 * repeat : 10 * repeat + 10]])
        assert np.array_equal(np.sort(rows), np.arange(N_ROWS))
    for number, (train, part) in enumerate(folds.parts):
        assert np.isin(part, folds.splits[number // 5][1]).all()
        assert sorted([*train, *part]) == list(range(N_ROWS))
    assert make(cv=3).parts == []


def test_groups_stay_together() -> None:
    groups = [f"g{number}" for number in RANDOM.integers(0, 30, N_ROWS)]
    fold_of = assert_partition(make(columns={"g": groups}, groups="g", cv=5))
    for group in set(groups):
        assert len({fold for fold, one in zip(fold_of, groups, strict=True) if one == group}) == 1
    shares = [CODES[fold_of == fold].mean() for fold in range(5)]
    assert max(shares) - min(shares) < 0.08


@pytest.mark.parametrize("role", ["groups", "folds"])
@pytest.mark.parametrize("n_missing", [0, 40])
def test_categories_are_numbered_as_their_text_is(role: str, n_missing: int) -> None:
    texts: list[str | None] = [f"g{number}" for number in RANDOM.integers(0, 8, N_ROWS)]
    if role == "groups":
        texts[:n_missing] = [None] * n_missing
    plain = pa.chunked_array([texts[:100], texts[100:]])
    categories = pa.chunked_array([chunk.dictionary_encode() for chunk in plain.chunks])
    expected = assert_partition(make(columns={"g": plain}, **{role: "g"}))
    found = assert_partition(make(columns={"g": categories}, **{role: "g"}))
    assert (found == expected).all()


def test_repeats_make_other_folds() -> None:
    folds = make(cv=4, repeats=3)
    assert len(folds.splits) == 12
    tests = [tuple(test) for _, test in folds.splits]
    assert len(set(tests)) == 12


def test_time_holds_out_what_comes_later() -> None:
    times = RANDOM.integers(0, 50, N_ROWS)
    folds = make(columns={"t": times}, time="t", cv=6)
    assert len(folds.splits) == 6
    assert len(folds.parts) == 7  # one more to choose by for the first
    for train, test in folds.parts:
        assert times[train].max() < times[test].min()
    assert folds.splits == folds.parts[1:]
    held_out = np.concatenate([test for _, test in folds.splits])
    assert len(set(held_out)) == len(held_out) > N_ROWS * 0.7


def test_three_times_make_two_folds() -> None:
    folds = make(columns={"t": np.arange(N_ROWS) % 3}, time="t")
    assert [len(folds.splits), len(folds.parts)] == [2, 2]


TIMES = {
    "dates": [date(2019, 11, 1) + timedelta(days=row // 3) for row in range(N_ROWS)],
    "decimals": [Decimal(row // 3) / 4 for row in range(N_ROWS)],
}


@pytest.mark.parametrize("kind", TIMES)
def test_time_is_what_dates_and_numbers_have(kind: str) -> None:
    expected = make(columns={"t": np.arange(N_ROWS) // 3}, time="t").splits
    found = make(columns={"t": TIMES[kind]}, time="t").splits
    assert all(map(np.array_equal, [b for _, b in found], [b for _, b in expected]))


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([f"{row:02}/11/2019" for row in range(N_ROWS)], "string values (first: '00/11/2019')"),
        ([[row] for row in range(N_ROWS)], "list<item: int64> values (first: [0])"),
        ([time(row % 24) for row in range(N_ROWS)], "time64[us] values (first: datetime.time(0"),
        ([float("nan"), *range(1, N_ROWS)], "'t' has 1 missing values"),
        ([None, *range(1, N_ROWS)], "'t' has 1 missing values"),
    ],
)
def test_what_has_no_order_in_time_is_a_mistake(times: list[Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        make(columns={"t": times}, time="t")


def test_a_column_may_say_the_folds() -> None:
    column = RANDOM.choice(["a", "b", "c"], N_ROWS)
    fold_of = assert_partition(make(columns={"f": column}, folds="f"))
    assert len({(one, fold) for one, fold in zip(column, fold_of, strict=True)}) == 3


def test_numbers_are_stratified_by_tenths() -> None:
    values = RANDOM.exponential(size=N_ROWS)
    fold_of = assert_partition(make(target=Target("y", values), cv=8))
    means = [values[fold_of == fold].mean() for fold in range(8)]
    assert max(means) - min(means) < 0.35


def make_file(path: Path) -> Path:
    columns = {"x": X[:, 0], "y": CODES, "g": np.arange(N_ROWS) // 40, "f": np.arange(N_ROWS) % 4}
    columns["t"] = np.arange(N_ROWS) // 3
    csv.write_csv(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--groups", "g", "--cv", "3"], "groups of 'g' stay together"),
        (["--time", "t", "--cv", "4"], "4 in time order of 't'"),
        (["--time", "g,t", "--cv", "4"], "4 in time order of 'g', 't'"),
        (["--folds", "f"], "4, as column 'f' says"),
        (["--repeats", "2", "--cv", "3"], "3 x 2 repeats, shuffled with seed 0"),
    ],
)
def test_fit_says_how_folds_were_made(tmp_path: Path, options: list[str], words: str) -> None:
    path = make_file(tmp_path / "data.csv")
    found = json.loads(fit(path, "y", "--json", *options).out)
    assert words in found["folds"]["description"]
    role = options[0].removeprefix("--")
    if role != "repeats":
        assert options[1].split(",")[0] not in found["columns"]["used"]
    splits = {row["n_splits"] for row in found["scores"]["rows"].values()}
    assert splits == {found["folds"]["splits"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "g", "--time", "t"], "two ways to make folds"),
        (["--time", "t", "--repeats", "2"], "no meaning with --time"),
        (["--folds", "f", "--cv", "3"], "both say which folds"),
        (["--groups", "g", "--cv", "11"], "more folds than there are groups in 'g' (10)"),
        (["--folds", "x"], "that makes no folds"),
        (["--cv", "500"], "--cv 500 asks for more folds"),
        (["--groups", "y"], "--groups: 'y' is the target"),
        (["--time", "g,nothing"], "--time: there is no column 'nothing'"),
        (["--time", "g,g"], "--time: a column is named twice in 'g,g'"),
        (["--time", "y,t"], "--time: 'y' is the target"),
    ],
)
def test_folds_that_cannot_be_are_a_mistake(
    tmp_path: Path, options: list[str], message: str
) -> None:
    path = make_file(tmp_path / "data.csv")
    assert_mistake(run("fit", path, "--target", "y", *options), message)


# Rows that follow in time -------------------------------------------------------------------------

N_HOURS = 24 * 80


def make_weather(path: Path, **options: Any) -> Path:
    """Write hours of a course that wanders: what is near in time is alike."""
    n_rows = options.get("n_rows", N_HOURS)
    hours = [datetime(2020, 11, 20) + timedelta(hours=hour) for hour in range(n_rows)]
    level = np.cumsum(np.random.default_rng(0).normal(size=n_rows)).round(2)
    columns: dict[str, Any] = {"No": np.arange(1, n_rows + 1)}
    if options.get("is_date", False):
        columns["moment"] = hours
    else:
        columns |= {part: [getattr(one, part) for one in hours] for part in PARTS}
    columns["x"] = np.random.default_rng(2).random(n_rows)
    columns["level"] = [None if row % 9 == 4 else one for row, one in enumerate(level.tolist())]
    table = pa.table(columns)
    if options.get("is_shuffled", False):
        table = table.take(np.random.default_rng(1).permutation(n_rows))
    csv.write_csv(table, path)
    return path


PARTS = ("year", "month", "day", "hour")


def test_row_numbers_are_left_out_where_targets_are_missing(tmp_path: Path) -> None:
    found = json.loads(fit(make_weather(tmp_path / "a.csv"), "level", "--json").out)
    assert found["columns"]["left_out"] == {"identifier": ["No"]}
    assert found["read"]["rows_without_target"] > 0


@pytest.mark.parametrize("is_date", [False, True])
def test_rows_that_follow_in_time_get_a_hint_with_the_option_to_try(
    tmp_path: Path, is_date: bool
) -> None:
    path = make_weather(tmp_path / "a.csv", is_date=is_date)
    found = json.loads(fit(path, "level", "--json").out)
    assert found["verdict"]["reasons"] == ["time"]
    assert found["giveaways"] == []  # time itself is none
    (hint,) = found["hints"] + found["warnings"]
    names = ["moment"] if is_date else list(PARTS)
    listed = ", ".join(f"'{name}'" for name in names)
    assert hint.startswith(f"The rows follow in time (by {listed})")
    option = f"--time {','.join(names)}"
    assert hint.endswith(f"what comes later: {option}")
    shuffled, later = map(float, re.findall(r"R2 (\S+); (\S+) from earlier", hint)[0])
    assert shuffled > 0.9
    assert later < shuffled - 0.1
    found = json.loads(fit(path, "level", "--json", *option.split()).out)
    assert found["hints"] == []
    assert found["folds"]["description"].startswith(f"10 in time order of {listed}")
    assert names[0] not in found["columns"]["used"]
    assert set(names[1:]) <= set(found["columns"]["used"])  # months and hours come again
    assert found["scores"]["rows"]["nested"]["score"] < 0.5


def test_later_rows_are_held_out_by_all_parts_of_a_date() -> None:
    hours = [datetime(2020, 11, 20) + timedelta(hours=hour) for hour in range(N_ROWS)]
    order = np.random.default_rng(1).permutation(N_ROWS)
    columns = {part: [getattr(hours[place], part) for place in order] for part in PARTS}
    folds = make(columns=columns, time=",".join(PARTS), cv=4)
    for train, test in folds.splits:
        assert order[train].max() < order[test].min()


def test_no_hint_where_rows_do_not_follow_or_folds_are_given(tmp_path: Path) -> None:
    shuffled = make_weather(tmp_path / "a.csv", is_shuffled=True, n_rows=400)
    assert json.loads(fit(shuffled, "level", "--json").out)["hints"] == []
    ordered = make_weather(tmp_path / "b.csv", n_rows=400)
    given = (["--groups", "day"], ["--folds", "day"], ["--drop", "year"], ["--id", "year"])
    for option in given:
        assert json.loads(fit(ordered, "level", "--json", *option).out)["hints"] == []


def test_of_a_tree_without_a_split_time_says_nothing(tmp_path: Path) -> None:
    days = [date(2020, 1, 1) + timedelta(days=day) for day in range(N_ROWS)]
    y = np.random.default_rng(5).permutation(N_ROWS) % 2
    csv.write_csv(pa.table({"day": days, "y": y}), tmp_path / "data.csv")
    found = json.loads(fit(tmp_path / "data.csv", "y", "--json").out)
    assert found["verdict"]["kind"] == "nothing"
    assert found["hints"] == []


def test_a_hint_has_a_score_where_a_class_comes_late_and_rows_have_weights(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"  # the second class comes late
    days = [date(2020, 1, 1) + timedelta(days=day) for day in range(N_ROWS)]
    y = np.where(np.arange(N_ROWS) < 300, "a", np.where(np.arange(N_ROWS) % 3, "b", "a"))
    csv.write_csv(pa.table({"day": days, "x": X[:, 0], "y": y, "w": X[:, 1] + 1}), path)
    for more in (["--scoring", "roc_auc"], ["--weights", "w"]):
        found = json.loads(fit(path, "y", "--json", *more).out)
        (hint,) = found["hints"] + found["warnings"]
        assert re.search(
            r"learn from later rows \(\D+ [\d.]+; [\d.]+ from earlier rows only\)", hint
        )


@pytest.mark.skipif(not POLLUTION.exists(), reason="the file is not part of the project")
def test_hours_of_a_real_file_are_known_for_time(tmp_path: Path) -> None:
    found = json.loads(fit(POLLUTION, "pm2.5", "--json", "--no-nested").out)
    assert found["columns"]["left_out"] == {"identifier": ["No"]}
    assert found["verdict"]["reasons"] == ["time"]
    assert found["warnings"][0].endswith("--time year,month,day,hour")


def write_rows(path: Path, n_rows: int) -> Path:
    lines = ["x,g,y", *(f"{row % 7},{row % 3},{row * 1.25}" for row in range(n_rows))]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("n_rows", "options", "words"),
    [
        (20, [], "10, shuffled with seed 0, stratified"),
        (17, [], "8 (not 10: there are only 17 different rows), shuffled"),
        (3, [], "2 (not 10: there are only 3 different rows), shuffled"),
        (17, ["--cv", 10], "10, shuffled with seed 0, stratified"),
        (60, ["--groups", "g"], "3 (not 10: there are only 3 groups in 'g'), shuffled"),
        (17, ["--time", "x,g"], "6 (not 10: there are only 17 rows) in time order"),
        (90, ["--time", "x,g"], "10 in time order"),
    ],
)
def test_there_are_ten_folds_where_there_are_rows_for_ten(
    tmp_path: Path, n_rows: int, options: list[object], words: str
) -> None:
    path = write_rows(tmp_path / "data.csv", n_rows)
    found = json.loads(fit(path, "y", "--json", *options).out)
    assert found["folds"]["description"].startswith(words)
