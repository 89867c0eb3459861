"""`treefold fit`: one definition per score, the same rows for all of them, one best candidate."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import assert_mistake, fit, run

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")

SHARED = Path(__file__).parents[2] / "shared" / "data" / "csv"
RANDOM = np.random.default_rng(11)
N_ROWS = 240
A, B = RANDOM.normal(size=(2, N_ROWS)).round(2)
SCORE = A + 0.5 * B + RANDOM.normal(size=N_ROWS)


def find(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not here")
    return path


def fit_json(path: Path, target: str, *more: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fit(path, target, "--json", *more).out)
    return found


def make(path: Path, **columns: Any) -> Path:
    table = {"a": A, "b": B, "y": np.where(SCORE > 0.3, "yes", "no"), **columns}
    csv.write_csv(pa.table(table), path)
    return path


def list_extras(found: dict[str, Any]) -> list[str]:
    rows = found["scores"]["rows"]
    return list(rows["baseline"].keys() - {"score", "standard_error", "n_splits"})


def assert_sound(found: dict[str, Any]) -> None:
    """What holds of the scores of every fit."""
    scores = found["scores"]
    rows, title = scores["rows"], scores["title"]
    assert len({row["n_splits"] for name, row in rows.items() if name != "test"}) == 1
    assert set(scores["definitions"]) == {title, *list_extras(found)}
    best = [one for one in found["path"] if one["is_best"]]
    assert [one["score"] for one in best] == [pytest.approx(rows["best_on_path"]["score"])]
    chosen = next(one for one in found["path"] if one["is_chosen"])
    assert chosen["score"] == pytest.approx(rows["cross_validation"]["score"])
    sign = -1 if scores["direction"].startswith("lower") else 1
    assert sign * best[0]["score"] == max(sign * one["score"] for one in found["path"])
    if title == "R2":
        assert rows["baseline"]["score"] == 0
        for name in ("nested", "cross_validation"):
            ratio = rows[name]["RMSE"] / rows["baseline"]["RMSE"]
            assert rows[name]["score"] == pytest.approx(1 - ratio**2)


def test_trees_without_a_split_have_an_auc_of_one_half(tmp_path: Path) -> None:
    path = make(tmp_path / "noise.csv", y=RANDOM.choice(["u", "v"], N_ROWS))
    found = fit_json(path, "y")
    assert_sound(found)
    assert found["chosen"]["leaves"] == 1
    rows = found["scores"]["rows"]  # a nested choice may have splits
    assert (rows["cross_validation"]["AUC"], rows["baseline"]["AUC"]) == (0.5, 0.5)
    found = fit_json(find("avengers.csv"), "Current?")
    assert_sound(found)
    assert found["scores"]["rows"]["baseline"]["AUC"] == 0.5


@pytest.mark.parametrize("name", ["roc_auc", "accuracy", "balanced_accuracy"])
def test_a_number_is_there_once(tmp_path: Path, name: str) -> None:
    found = fit_json(make(tmp_path / "data.csv"), "y", "--cv", 4, "--scoring", name)
    assert_sound(found)
    assert found["scores"]["title"] not in list_extras(found)


@pytest.mark.parametrize("name", ["r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"])
@pytest.mark.parametrize("weights", [[], ["--weights", "w"]])
def test_numbers_have_the_same_meaning_in_every_column(
    tmp_path: Path, name: str, weights: list[str]
) -> None:
    path = make(tmp_path / "data.csv", y=SCORE, g=np.arange(N_ROWS) // 9, w=np.exp(B).round(1))
    found = fit_json(path, "y", "--groups", "g", "--scoring", name, *weights)
    assert_sound(found)
    assert found["scores"]["title"] not in list_extras(found)


def test_r2_and_rmse_of_few_groups_agree() -> None:
    assert_sound(fit_json(find("exercise.csv"), "pulse", "--groups", "id"))


def test_the_best_may_have_another_leaf_size_and_says_so() -> None:
    found = fit_json(find("mpg.csv"), "mpg")
    assert_sound(found)
    chosen, best = (
        next(one for one in found["path"] if one[name]) for name in ("is_chosen", "is_best")
    )
    assert chosen["min_samples_leaf"] != best["min_samples_leaf"]
    out = fit(find("mpg.csv"), "mpg").out
    assert f"The best has at least {best['min_samples_leaf']} rows per leaf" in out


def test_auc_counts_the_splits_that_hold_both_classes(tmp_path: Path) -> None:
    fold = np.arange(N_ROWS) % 5
    y = np.where((SCORE > 0.3) & (fold > 0), "yes", "no")
    path = make(tmp_path / "data.csv", y=y, fold=fold)
    plain = fit_json(path, "y", "--folds", "fold")
    ranked = fit_json(path, "y", "--folds", "fold", "--scoring", "roc_auc")
    words = "mean over 4 of 5 splits with both classes"
    assert plain["scores"]["definitions"]["AUC"] == words == ranked["scores"]["definitions"]["AUC"]
    assert ranked["scores"]["rows"]["nested"]["n_splits"] == 4
    assert words in " ".join(fit(path, "y", "--folds", "fold").out.split())


def test_a_test_file_has_the_same_r2(tmp_path: Path) -> None:
    train = make(tmp_path / "train.csv", y=SCORE)
    test = make(tmp_path / "test.csv", y=SCORE + 1)
    row = fit_json(train, "y", "--cv", 3, "--test", test)["scores"]["rows"]["test"]
    total = np.mean((SCORE + 1 - SCORE.mean()) ** 2)
    assert row["score"] == pytest.approx(1 - row["RMSE"] ** 2 / total)


@pytest.mark.parametrize("cv", [[], ["--cv", 2], ["--cv", 40]])
def test_in_time_order_all_scores_are_over_the_same_rows(tmp_path: Path, cv: list[object]) -> None:
    path = make(tmp_path / "data.csv", t=np.arange(N_ROWS))
    found = fit_json(path, "y", "--time", "t", *cv)
    assert_sound(found)
    assert found["scores"]["rows"]["nested"]["n_splits"] == (cv or ["", 10])[1]
    plain = fit_json(path, "y", "--time", "t", "--no-nested", *cv)
    for name in ("cross_validation", "best_on_path", "baseline"):
        assert plain["scores"]["rows"][name] == found["scores"]["rows"][name]


def test_no_split_in_time_order_scores_as_naive() -> None:
    found = fit_json(find("space.csv"), "successful", "--time", "date")
    assert_sound(found)
    rows = found["scores"]["rows"]
    assert found["chosen"]["leaves"] == 1
    assert rows["cross_validation"]["score"] == rows["baseline"]["score"]


def test_three_times_leave_one_split_to_compare(tmp_path: Path) -> None:
    path = make(tmp_path / "data.csv", t=np.arange(N_ROWS) % 3)
    rows = fit_json(path, "y", "--time", "t")["scores"]["rows"]
    assert {row["n_splits"] for row in rows.values()} == {1}
    assert {row["standard_error"] for row in rows.values()} == {None}


def test_weighted_shares_are_called_so_and_have_the_plain_ones_beside_them(tmp_path: Path) -> None:
    y = np.where(SCORE > 1.5, "rare", "usual")
    path = make(tmp_path / "data.csv", y=y)
    plain = fit_json(path, "y", "--positive", "rare")
    assert "plain_share" not in plain["tree"][0]
    options = ("--positive", "rare", "--class-weight", "balanced", "--max-depth", 2)
    found = fit_json(path, "y", *options)
    root = found["tree"][0]
    assert root["share"] == pytest.approx(0.5)
    assert root["plain_share"] == pytest.approx((y == "rare").mean())
    left = next(one for one in found["tree"] if one["depth"] == 1)
    column, cut = left["condition"].split(" <= ")
    inside = (A if column == "a" else B) <= float(cut)
    assert left["plain_share"] == pytest.approx((y[inside] == "rare").mean())
    out = fit(path, "y", *options).out
    assert "of rows" in out
    assert "Class weights let every class count the same: shares" in out
    files = ("Read", "Wrote", "Next")
    assert max(len(line) for line in out.splitlines() if not line.startswith(files)) <= 100
    assert "Class weights" not in fit(path, "y").out


def test_weighted_shares_of_several_classes(tmp_path: Path) -> None:
    y = np.where(SCORE > 1.5, "rare", np.where(SCORE > 0, "high", "low"))
    path = make(tmp_path / "data.csv", y=y)
    root = fit_json(path, "y", "--class-weight", "balanced")["tree"][0]
    assert root["plain_share"] == pytest.approx((y == root["class"]).mean())


def test_single_rows_have_no_auc(tmp_path: Path) -> None:
    rows = slice(0, 60)
    y = np.where(SCORE > 0.3, "yes", "no")[rows]
    path = tmp_path / "data.csv"
    csv.write_csv(pa.table({"a": A[rows], "b": B[rows], "y": y}), path)
    found = fit_json(path, "y", "--cv", 60)
    assert found["scores"]["rows"]["nested"]["AUC"] is None
    assert found["scores"]["definitions"]["AUC"] == "mean over 0 of 60 splits with both classes"
    assert "nan" not in fit(path, "y", "--cv", 60).out
    result = run("fit", path, "--target", "y", "--cv", 60, "--scoring", "roc_auc")
    assert_mistake(result, "each fold holds out a single row. Give a smaller --cv")
