"""`treefold show`: a model file in other forms."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import GOLDEN, LOANS, assert_golden, assert_mistake, fit, run

import treefold

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "loans.treefold"
    fit(LOANS, "default", "--cv", 3, "--model", path)
    return path


def test_show_is_golden(model: Path) -> None:
    result = run("show", model)
    assert result.code == 0, result.err
    assert_golden("show_loans.txt", result.out)
    said = GOLDEN.joinpath("show_loans.txt").read_text()
    assert "Brier score (lower is better)" in said.splitlines()[0]


def test_show_says_the_scores_that_fit_said(model: Path) -> None:
    fitted = fit(LOANS, "default", "--cv", 3).out
    shown = run("show", model).out
    for kind in ("nested", "cross-validation", "best on", "naive"):
        (score,) = re.findall(rf"^ +{kind}.*?(\S+ ± \S+)", fitted, re.MULTILINE)
        assert re.findall(rf"^{kind}.*?(\S+ ± \S+)", shown, re.MULTILINE) == [score]


def test_show_gives_rows_and_shares_of_every_node(model: Path) -> None:
    tree = treefold.load(model).tree_
    lines = run("show", model).out.split("\n\n")[1].splitlines()
    assert lines[0].split()[:4] == ["rows", "'yes'", "held", "out"]
    assert len(lines) == tree.node_count + 2
    for node, line in enumerate(lines[1:-1]):
        share = tree.value[node, 0, 1]
        assert f" {tree.n_node_samples[node]:,} " in line
        assert f" {share:.1%} " in f"{line} "


def test_a_tree_without_folds_is_shown_without_them(tmp_path: Path) -> None:
    path = tmp_path / "plain.treefold"
    treefold.save(treefold.DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 5.0]), path)
    lines = [line.split() for line in run("show", path).out.splitlines()]
    assert lines[0] == ["rows", "mean"]
    assert lines[1:] == [
        ["all", "rows", "2", "4"],
        ["├", "feature_0", "<=", "1.5", "1", "3"],
        ["└", "feature_0", ">", "1.5", "1", "5"],
    ]


@pytest.mark.parametrize("form", ["json", "dot", "sql", "svg"])
def test_show_writes_what_the_library_exports(model: Path, form: str, tmp_path: Path) -> None:
    export = getattr(treefold, f"export_{form}")
    expected = str(export(treefold.load(model)))
    result = run("show", model, "--format", form)
    assert result.out.rstrip("\n") == expected.rstrip("\n")
    assert run("show", model, "--format", form, "-o", tmp_path / "out").out == ""
    assert (tmp_path / "out").read_text() == result.out
    if form == "json":
        json.loads(result.out)


@pytest.mark.parametrize("name", ["flags.csv", "flags.parquet"])
@pytest.mark.parametrize("options", [[], ["--categorical", "flag"]])
def test_sql_of_booleans_runs(tmp_path: Path, name: str, options: list[str]) -> None:
    duckdb = pytest.importorskip("duckdb")
    flags = [row % 3 > 0 for row in range(90)]
    table = pa.table({"flag": flags, "y": ["ab"[flag] for flag in flags]})
    csv.write_csv(table, tmp_path / "flags.csv")
    parquet.write_table(table, tmp_path / "flags.parquet")
    path, data = tmp_path / "m.treefold", tmp_path / name
    fit(data, "y", "--cv", 3, "--model", path, *options)
    query = run("show", path, "--format", "sql").out
    with duckdb.connect() as connection:
        found = connection.sql(f"SELECT {query} FROM '{data}'").fetchall()
    assert [answer for (answer,) in found] == table["y"].to_pylist()
    answers = run("predict", path, data).out.splitlines()[1:]
    assert [answer.strip('"') for answer in answers] == table["y"].to_pylist()


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """A model with half a character in the name of its column and in a class."""
    X = pd.DataFrame([[1.0], [2.0]], columns=pd.Index(["a\ud800"], dtype=object))
    path = tmp_path / "half.treefold"
    y = np.array(["no", "\udc00b"], dtype=object)
    treefold.save(treefold.DecisionTreeClassifier().fit(X, y), path)
    return path


def test_half_characters_are_shown_by_their_codes(half: Path) -> None:
    assert "a\\ud800 <= 1.5" in run("show", half).out
    shown = json.loads(run("show", half, "--format", "json").out)
    assert shown["features"] == ["a\ud800"]
    for form in ("dot", "svg"):
        assert run("show", half, "--format", form).code == 0


def test_half_characters_that_have_no_form_are_refused(half: Path, tmp_path: Path) -> None:
    result = run("show", half, "--format", "sql")
    assert_mistake(result, "The label '\\udc00b' of type str has no form in SQL")
    data = tmp_path / "data.csv"
    data.write_text("a\n1\n")
    result = run("predict", half, data)
    assert_mistake(result, "class '\\udc00b' of the model holds half a character")


def test_sql_has_dialects(model: Path) -> None:
    pytest.importorskip("sqlglot")
    assert run("show", model, "--format", "sql", "--dialect", "postgres").code == 0
    assert_mistake(run("show", model, "--format", "sql", "--dialect", "klingon"), "klingon")
    assert_mistake(run("show", model, "--dialect", "postgres"), "--dialect is for --format sql")
