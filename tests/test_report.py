"""`--report` and `treefold.report`: one HTML file with everything in it, whatever the data hold."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import LOANS, assert_mistake, fit, run, write
from reports import BACKWARDS, HOSTILE, LONG, SCRIPT, Page, read, write_hostile
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treefold
from treefold import DecisionTreeClassifierCV, DecisionTreeRegressorCV
from treefold.exceptions import InputError, ParameterError
from treefold.model_selection import GridSearchCV, RandomizedSearchCV, one_standard_error

pytest.importorskip("vl_convert")
pytest.importorskip("jinja2")

SECTIONS = [
    "answer", "warnings", "path", "tree", "held-out", "thresholds", "columns", "rules", "profile",
    "card", "reading",
]  # fmt: skip
FETCHING = ("src", "srcset", "data", "poster", "action", "xlink:href", "background")


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, dict[str, Any]]:
    path = tmp_path_factory.mktemp("reports") / "loans.html"
    out = fit(LOANS, "default", "--cv", 5, "--report", path, "--json").out
    return read(path), json.loads(out)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("hostile")
    data = write_hostile(folder / "hostile.csv")
    fit(data, f"target {SCRIPT}", "--cv", 3, "--report", folder / "hostile.html")
    return read(folder / "hostile.html")


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save the time that charts take, where they are not what is tested."""
    drawing = '<svg width="1" height="1"></svg>'
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda *_, **__: drawing)


def report(tmp_path: Path, *arguments: Any, **named: Any) -> Page:
    treefold.report(arguments[0], tmp_path / "report.html", *arguments[1:], **named)
    page = read(tmp_path / "report.html")
    check(page)
    return page


def check(page: Page) -> None:
    """What holds for every report."""
    assert [one["id"] for one in page.find("section")] == SECTIONS
    assert len(page.raw.encode()) < 2_000_000
    for _, attributes in page.elements:
        assert not any(name in attributes for name in FETCHING)
        assert not any(name.startswith("on") for name in attributes)
        address = attributes.get("href")
        assert address is None or address.startswith(("#", "data:,"))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {one["aria-describedby"] for _, one in page.elements if "aria-describedby" in one} <= {
        *ids
    }
    assert "url(" not in page.raw
    assert "@import" not in page.raw
    for drawing in page.find("svg"):
        assert drawing["role"] == "img"
        assert drawing["aria-label"]
    assert len(page.find("svg")) == len(page.find("figure")) == page.raw.count(">Numbers of this")


def test_a_report_has_all_sections_and_fetches_nothing(loans: tuple[Page, Any]) -> None:
    page, _ = loans
    check(page)
    assert page.find("html") == [{"lang": "en"}]
    assert any(one.get("name") == "viewport" for one in page.find("meta"))
    policy = next(one["content"] for one in page.find("meta") if "http-equiv" in one)
    assert str(policy).startswith("default-src 'none'")
    assert "prefers-color-scheme: dark" in page.raw
    assert "@media print" in page.raw


def test_its_numbers_are_those_of_the_json(loans: tuple[Page, dict[str, Any]]) -> None:
    page, found = loans
    kept = page.findings
    later = {"wrote", "next", "work"}  # known only once the report is there
    assert kept == {name: value for name, value in found.items() if name not in later}
    nested = found["scores"]["rows"]["nested"]
    shown = f"{nested['score']:.4f} ± {nested['standard_error']:.4f}"
    assert page.text.count(shown) >= 3  # tile, sentence, table
    assert f"{nested['AUC']:.3f}" in page.text
    assert f"{nested['accuracy']:.1%}" in page.text
    for node in found["tree"]:
        assert node["condition"] in page.text
        assert f"{node['rows']:,}" in page.text
        assert f"{node['share']:.1%}" in page.text
    for one in found["importance"]:
        assert f"{one['loss']:.4f}" in page.text
    best = found["thresholds"]["best"]
    assert f"{best['threshold']:.2f} {best['n_called']:,.0f} {best['n_right']:,.0f}" in page.text


def test_the_picture_of_the_documentation_is_of_today() -> None:
    """If not: python examples/make_report_picture.py."""
    image = pytest.importorskip("PIL.Image")
    text = json.loads(fit(LOANS, "default", "--json").out)["verdict"]["text"]
    with image.open(LOANS.parents[1] / "docs" / "images" / "report.png") as picture:
        assert picture.text["Verdict"] == text


def test_lines_in_charts_say_what_they_mark(loans: tuple[Page, Any]) -> None:
    page, found = loans
    best = found["thresholds"]["best"]["threshold"]
    for text in ("chosen", "0.50", f"{best:.2f}: highest F1"):
        assert f">{text}</text>" in page.raw, text


def test_truth_values_are_called_so(tmp_path: Path) -> None:
    lines = [f"{row % 3 == 0},{row % 7},{'ab'[row % 3 == 0]}" for row in range(90)]
    (tmp_path / "data.csv").write_text("alone,x,y\n" + "\n".join(lines) + "\n")
    fit(tmp_path / "data.csv", "y", "--cv", 3, "--report", tmp_path / "report.html")
    text = read(tmp_path / "report.html").text
    assert "alone is true" in text
    assert re.search("alone true or false 1 . 2 false 60, true 30", text)


def test_the_tree_folds_without_a_script(loans: tuple[Page, dict[str, Any]]) -> None:
    page, found = loans
    n_splits = sum(not node["is_leaf"] for node in found["tree"])
    assert page.raw.count('<summary class="node"') == n_splits
    assert page.raw.count('class="node leaf" data-row tabindex="0"') == n_splits + 1
    for node in found["tree"]:
        assert f'id="facts-{node["node"]}"' in page.raw
    steady = next(node["split"] for node in found["tree"] if "split" in node)
    assert f"in {steady['folds_same_column']} of {steady['folds']} folds" in page.text


def test_the_card_tells_the_command_and_the_data(loans: tuple[Page, Any]) -> None:
    page, _ = loans
    assert re.search(r"treefold fit \S+loans.csv --target default --cv 5 --report \S+", page.text)
    assert re.search(r"SHA-256 of the file [0-9a-f]{64}\b", page.text)
    assert f"treefold {treefold.__version__}, Python" in page.text


@pytest.mark.usefixtures("no_drawing")
def test_the_same_model_gives_the_same_file(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifierCV().fit(X, y)
    assert report(tmp_path, model).raw == report(tmp_path, model).raw


@pytest.mark.usefixtures("no_drawing")
def test_like_notes_are_one(tmp_path: Path) -> None:
    lines = ["y,a,b,c"]
    kinds = ["large"] * 80 + ["rare"] * 3 + ["few"] * 5
    for place, kind in enumerate(kinds):
        gap = "" if place % 2 else place
        lines.append(f"{kind},{place % 7},{gap},{gap}")
    data = write(tmp_path / "data.csv", *lines)
    fit(data, "y", "--cv", 3, "--report", tmp_path / "out.html")
    text = read(tmp_path / "out.html").text
    assert text.count("Classes of few rows: “rare” (3 rows), “few” (5 rows).") == 1
    assert text.count("Missing in many rows: “b” (50%), “c” (50%).") == 1
    assert text.count("rests on little") == 1


# Hostile data -----------------------------------------------------------------------------------


def test_hostile_text_is_only_text(hostile: Page) -> None:
    check(hostile)
    assert len(hostile.find("script")) == 2  # ours: the findings, and the folding
    assert hostile.find("img") == hostile.find("b <b>") == []
    assert "window.hacked = 1" in hostile.text
    assert "{{ 7 * 7 }}" in hostile.text


def test_what_cannot_be_seen_is_written_out(hostile: Page) -> None:
    assert not re.search("[\u0007\u202a-\u202e\u2066-\u2069]", hostile.raw)
    assert "\\u202egnp.exe\\u2066" in hostile.text


def test_long_names_are_cut_short_but_kept_for_programs(hostile: Page) -> None:
    assert max(map(len, hostile.texts)) < 110_000
    assert LONG[:400] not in hostile.text
    used = hostile.findings["columns"]["used"]
    assert LONG.strip() in [name.strip() for name in used]
    assert BACKWARDS in used


def test_hostile_names_do_no_harm_from_python(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.normal(size=90) for name in HOSTILE})
    X["kind"] = pd.Categorical(random.choice(HOSTILE, 90))
    y = random.choice(HOSTILE[:3], 90)
    y[X[HOSTILE[0]] > 0] = HOSTILE[3]
    page = report(tmp_path, DecisionTreeClassifierCV(cv=3, rule="best").fit(X, y), X, y)
    assert len(page.find("script")) == 2
    assert page.find("img") == []


# Kinds of models --------------------------------------------------------------------------------


def test_a_regression_shows_residuals(tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    page = report(tmp_path, DecisionTreeRegressorCV().fit(X, y), X, y)
    for words in (
        "Predicted against actual",
        "Residuals",
        "the target is a number",
        "with an R2 of",
    ):
        assert words in page.text
    assert "nested" in page.findings["scores"]["rows"]
    assert page.findings["importance"][0]["column"] in ("bmi", "s5")


def test_many_classes_show_what_is_taken_for_what(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    y = np.array([f"class {one:02}" for one in np.digitize(X[:, 0], np.linspace(-1.5, 1.5, 24))])
    page = report(tmp_path, DecisionTreeClassifierCV(cv=3).fit(X, y))
    for words in ("taken for what", "the 12 largest of 25 classes", "other classes", "Calibration"):
        assert words in page.text


def test_a_tree_without_splits_says_so(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(80, 2)), random.integers(0, 2, 80)
    model = DecisionTreeClassifierCV(max_depth=1, min_samples_leaf=39).fit(X, y)
    assert model.get_n_leaves() == 1
    page = report(tmp_path, model, X, y)
    assert "No split helps" in page.text
    assert "The tree asks for no column." in page.text
    assert "Folds share most of their rows" not in page.text


def test_warnings_are_not_cut_short(tmp_path: Path) -> None:
    person, random = np.arange(400) // 5, np.random.default_rng(7)
    level, a = random.normal(size=(2, 80))[:, person] + random.normal(size=(2, 400)) / 1e3
    lines = [f"{one},{other + random.normal() / 2}" for one, other in zip(a, level, strict=True)]
    (tmp_path / "data.csv").write_text("a,a level that persons keep\n" + "\n".join(lines) + "\n")
    scoring = ("--scoring", "explained_variance")
    asked = ("--json", "--report", tmp_path / "report.html", *scoring)
    out = fit(tmp_path / "data.csv", "a level that persons keep", *asked).out
    (warning,) = json.loads(out)["warnings"]
    assert len(warning) > 300
    assert warning in read(tmp_path / "report.html").text


@pytest.mark.usefixtures("no_drawing")
def test_a_deep_tree_is_cut_to_what_can_be_read(tmp_path: Path) -> None:
    X = np.arange(1200.0).reshape(-1, 1)
    y = np.random.default_rng(0).normal(size=1200)
    model = DecisionTreeRegressorCV(ccp_alpha=0.0, min_samples_leaf=1, cv=2).fit(X, y)
    page = report(tmp_path, model)
    assert model.get_n_leaves() == 1200
    assert "the branches with the most rows are shown" in page.text
    assert "nodes below are not shown" in page.text


@pytest.mark.usefixtures("no_drawing")
def test_leave_one_out_has_pooled_answers(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3] == 1
    model = DecisionTreeClassifierCV(cv=LeaveOneOut(), scoring="roc_auc")
    model.fit(X, y)
    page = report(tmp_path, model, X, y)
    assert "50 splits by LeaveOneOut()" in page.text
    assert "without a standard error" in page.text


@pytest.mark.usefixtures("no_drawing")
def test_groups_and_weights_are_those_of_the_fit(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    groups, weights = np.arange(150) % 7, np.linspace(0.5, 2, 150)
    model = DecisionTreeClassifierCV(cv=GroupKFold(4)).fit(X, y, weights, groups=groups)
    page = report(tmp_path, model, X, y, sample_weight=weights, groups=groups)
    assert "4 splits by GroupKFold" in page.text
    kept = page.findings["scores"]["rows"]["cross_validation"]
    assert kept["score"] == -model.best_score_
    with pytest.raises(InputError, match="give another tree"):
        treefold.report(model, tmp_path / "no.html", X, y, groups=groups)
    assert not (tmp_path / "no.html").exists()


@pytest.mark.usefixtures("no_drawing")
@pytest.mark.parametrize("option", ["--groups", "--time"])
def test_the_command_line_says_how_rows_were_held_out(tmp_path: Path, option: str) -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 120)).round(3)
    rows = [f"{x},{z},{place % 12},{'yes' if x + z > 0 else 'no'}" for place, (x, z) in
            enumerate(zip(a, b, strict=True))]  # fmt: skip
    data = write(tmp_path / "data.csv", "a,b,when,y", *rows)
    fit(data, "y", option, "when", "--cv", 4, "--report", tmp_path / "out.html")
    page = read(tmp_path / "out.html")
    check(page)
    assert page.findings["folds"]["description"] in page.text


@pytest.mark.usefixtures("no_drawing")
def test_a_model_from_a_file_is_reported_without_its_rows(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    treefold.save(DecisionTreeClassifierCV().fit(X, y), tmp_path / "iris.treefold")
    page = report(tmp_path, treefold.load(tmp_path / "iris.treefold"))
    assert "is not known of this model" in page.text


# Searches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_data", [False, True])
def test_a_search_is_reported(tmp_path: Path, with_data: bool) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    search = GridSearchCV(
        treefold.DecisionTreeClassifier(),
        {"max_depth": [1, 2, 3], "min_samples_leaf": [1, 5]},
        cv=KFold(4, shuffle=True, random_state=0),
        scoring="neg_log_loss",
        refit=one_standard_error,
    ).fit(X, y)
    page = report(tmp_path, search, *((X, y) if with_data else ()))
    assert "log loss against max_depth" in page.text
    assert "not nested" in page.text
    assert ("taken for what" in page.text) == with_data
    row = page.findings["scores"]["rows"]["cross_validation"]
    mean = search.cv_results_["mean_test_score"][search.best_index_]
    assert row["score"] == pytest.approx(-mean, rel=1e-12)


def test_a_search_of_pipelines_and_several_metrics_is_reported(tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), treefold.DecisionTreeRegressor())
    search = RandomizedSearchCV(
        pipeline,
        {"decisiontreeregressor__max_depth": [1, 2, 3, 4]},
        n_iter=3,
        random_state=0,
        scoring=["r2", "neg_mean_absolute_error"],
        refit="neg_mean_absolute_error",
    ).fit(X, y)
    page = report(tmp_path, search)
    assert "MAE : mean over 5 splits." in page.text
    with pytest.raises(ParameterError, match="search of pipelines"):
        treefold.report(search, tmp_path / "no.html", X, y)


# Mistakes ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_drawing")
def test_what_cannot_be_reported_is_refused(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifierCV().fit(X, y)
    path = tmp_path / "report.html"
    with pytest.raises(ParameterError, match="Got DecisionTreeClassifier"):
        treefold.report(treefold.DecisionTreeClassifier().fit(X, y), path)
    with pytest.raises(ParameterError, match="both X and y"):
        treefold.report(model, path, X)
    with pytest.raises(InputError, match="give another tree"):
        treefold.report(model, path, X[::-1] * 2, y)
    with pytest.raises(IsADirectoryError):
        treefold.report(model, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_refuses_before_any_work(tmp_path: Path) -> None:
    out = tmp_path / "both"
    result = run("fit", LOANS, "--target", "default", "--model", out, "--report", out)
    assert_mistake(result, "--model and --report both name")
    assert_mistake(run("fit", LOANS, "--target", "default", "--report", tmp_path), "directory")


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifierCV().fit(X, y)
    monkeypatch.setattr("treefold.reporting.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="vl-convert-python and jinja2 and pyarrow"):
        treefold.report(model, tmp_path / "out.html")
    result = run("fit", LOANS, "--target", "default", "--report", tmp_path / "out.html")
    assert_mistake(result, 'pip install "treefold[report]"')
