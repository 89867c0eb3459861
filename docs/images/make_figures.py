"""Make the pictures of the page on pictures: python docs/images/make_figures.py [folder]."""

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from pyarrow import csv

from treefold import DecisionTreeClassifierCV, plot

ROOT = Path(__file__).parents[2]
STYLE = {"savefig.facecolor": "white", "font.size": 9, "figure.dpi": 110}


def draw_all(folder: Path) -> None:
    """Fit the loans and draw everything there is to be seen."""
    mpl.use("Agg")
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
    with mpl.rc_context(STYLE):
        for name, draw in pictures.items():
            figure = Figure(figsize=(8, 4), layout="constrained")
            draw(figure.subplots())
            figure.savefig(folder / f"{name}.png", metadata={"Software": None})


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
