"""The documentation does what it says: every snippet runs, and prints what the page shows."""

import re
import runpy
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from pages import PAGES, ROOT, is_as_shown, read_snippets, run_snippet

import treefold

pytest.importorskip("pyarrow")
mpl.use("Agg")
WITH_SNIPPETS = [page for page in PAGES if any(read_snippets(page))]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the examples, where a reader tries things out."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "page", WITH_SNIPPETS, ids=[str(page.relative_to(ROOT)) for page in WITH_SNIPPETS]
)
@pytest.mark.usefixtures("reader")
def test_every_snippet_runs_and_prints_what_the_page_shows(page: Path) -> None:
    from matplotlib import pyplot  # noqa: PLC0415

    names: dict[str, Any] = {"__name__": "__main__"}
    for snippet in read_snippets(page):
        printed = run_snippet(snippet, page, names)
        if snippet.shown is not None:
            assert is_as_shown(snippet.shown, printed), f"line {snippet.line} printed:\n{printed}"
    pyplot.close("all")


def test_the_snippets_are_found() -> None:
    found = [snippet.language for page in PAGES for snippet in read_snippets(page)]
    assert found.count("python") >= 20
    assert found.count("sh") >= 8


def test_no_code_of_a_page_hides_from_the_tests() -> None:
    for page in PAGES:
        fences = [line for line in page.read_text().splitlines() if line.startswith("```")]
        languages = {fence.removeprefix("```") for fence in fences[::2]}
        assert languages <= {"python", "sh", "text", "sql"}, page


def test_links_lead_to_files_that_are_there() -> None:
    pages = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    links = [
        (page, link)
        for page in pages
        for link in re.findall(r"(?:\]\(|src=\")([^)\s\"#]+)", page.read_text(encoding="utf-8"))
        if not link.startswith("http")
    ]
    assert len(links) > 100
    assert [(page, link) for page, link in links if not (page.parent / link).is_file()] == []


def test_the_reference_has_every_public_name() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    listed = set(re.findall(r"^::: (\S+)$", "\n".join(map(Path.read_text, pages)), re.MULTILINE))
    packages = {"model_selection": treefold.model_selection, "plot": treefold.plot}
    names = {f"treefold.{name}" for name in treefold.__all__} - {"treefold.__version__"}
    names -= {"treefold.plot_tree", *(f"treefold.{package}" for package in packages)}
    for package, module in packages.items():
        names |= {f"treefold.{package}.{name}" for name in module.__all__}
    assert listed - {"treefold.exceptions"} == names


def read_rows(page: Path, begin: str) -> list[set[str]]:
    """The cells of the tables of a page, from some text on."""
    lines = page.read_text(encoding="utf-8").partition(begin)[2].splitlines()
    return [{cell.strip() for cell in line.split("|")} for line in lines if line.startswith("|")]


FIRST_PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md"]
FIRST_PAGES += sorted((ROOT / "docs" / "tutorials").glob("*.md"))
_INTERNAL = r"famil(y|ies)|demands?|contracts?|members?|stratum|strata|bars?|forks?|plants?|stems?"


@pytest.mark.parametrize("page", FIRST_PAGES, ids=lambda page: page.name)
def test_the_first_pages_use_no_words_of_the_internals(page: Path) -> None:
    text = re.sub(r"\]\([^)]*\)", "]", page.read_text(encoding="utf-8"))  # where links lead to
    found = re.findall(rf"(?i).*\b(?:{_INTERNAL})\b.*", text)
    assert not found, found


def test_the_readme_begins_with_a_csv_file_and_pandas() -> None:
    code = next(each for each in read_snippets(FIRST_PAGES[0]) if each.language == "python").code
    assert "pd.read_csv(" in code
    assert len([line for line in code.splitlines() if line]) <= 10


def test_the_numbers_of_the_readme_are_those_of_the_benchmarks() -> None:
    measured = read_rows(ROOT / "docs" / "benchmarks.md", "## Numbers")
    evidence = read_rows(ROOT / "README.md", "## Evidence")[2:]
    assert len(evidence) >= 4
    for row in evidence:
        numbers = {cell for cell in row if re.fullmatch(r"[\d.]+( m?s)?", cell)}
        assert numbers
        assert any(numbers <= other for other in measured), row


def test_the_drawings_are_those_of_their_script() -> None:
    folder = ROOT / "docs" / "images"
    drawings = runpy.run_path(str(folder / "make_drawings.py"))["DRAWINGS"]
    for name, draw in drawings.items():
        assert (folder / f"{name}.svg").read_text(encoding="utf-8") == draw(), name


def test_the_figures_can_be_drawn_again(tmp_path: Path) -> None:
    folder = ROOT / "docs" / "images"
    runpy.run_path(str(folder / "make_figures.py"))["draw_all"](tmp_path)
    for picture in tmp_path.iterdir():
        assert (folder / picture.name).is_file()
    assert len(list(tmp_path.iterdir())) == 5
