"""Make the pictures of the documentation: python docs/images/make_figures.py [folder].

The picture of the benchmarks shows what stands in the tables of their page, and nothing else.
"""

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from pyarrow import csv

from treefold import DecisionTreeClassifierCV, plot

ROOT = Path(__file__).parents[2]
STYLE = {"savefig.facecolor": "white", "font.size": 9, "figure.dpi": 110}


def draw_all(folder: Path) -> None:
    """Draw them all into a folder."""
    mpl.use("Agg")
    with mpl.rc_context(STYLE):
        draw_loans(folder)
        draw_benchmarks(folder)


def draw_loans(folder: Path) -> None:
    """Fit the loans and draw everything there is to be seen."""
    options = csv.ConvertOptions(strings_can_be_null=True)
    loans = csv.read_csv(ROOT / "examples" / "loans.csv", convert_options=options)
    X = loans.drop_columns(["default", "application_date"])
    y = loans["default"].to_numpy()
    model = DecisionTreeClassifierCV(min_samples_leaf=[5, 20], cv=10).fit(X, y)
    pictures = {
        "path": lambda ax: plot.path(model, ax=ax),
        "stability": lambda ax: plot.stability(model, ax=ax),
        "importance": lambda ax: plot.importance(model, X, y, ax=ax, max_columns=6),
        "tree": lambda ax: plot.tree(
            model, max_depth=2, filled=True, rounded=True, impurity=False, fontsize=7, ax=ax
        ),
    }
    for name, draw in pictures.items():
        figure = Figure(figsize=(8, 4), layout="constrained")
        draw(figure.subplots())
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})


def draw_benchmarks(folder: Path) -> None:
    """Draw how many times scikit-learn's time is ours, row by row, and the bars."""
    rows = read_table("| work | ours | scikit-learn | ratio | bar | |")
    timed = [row for row in rows if "against one" not in row[0] and "exponent" not in row[0]]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.subplots()
    places = range(len(timed))
    ratios = [float(row[3]) for row in timed]
    colours = ["#009e73" if "mean" in row[0] else "#0072b2" for row in timed]
    ax.barh(places, ratios, color=colours)
    for place, row in zip(places, timed, strict=True):
        ax.text(float(row[3]) + 0.2, place, row[3], va="center", fontsize="small")
        if row[4]:
            ax.plot([float(row[4])] * 2, [place - 0.45, place + 0.45], color="#d55e00", linewidth=2)
    ax.axvline(1, color="black", linewidth=0.8)
    ax.set_yticks(list(places), [row[0] for row in timed])
    ax.set_ylim(len(timed) - 0.4, -0.6)
    ax.margins(x=0.06)
    ax.set_xlabel("scikit-learn's time / ours (orange: the bar that was set before)")
    figure.savefig(folder / "benchmarks.png", metadata={"Software": None})


def read_table(head: str) -> list[list[str]]:
    """Read the table of the benchmarks' page that has this head."""
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    lines = text.partition(head)[2].splitlines()[2:]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]
    ]


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
