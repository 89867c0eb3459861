"""Figures in the style of the paper, from what was measured.

Numbers in the names are those of the paper: 10 levels, 11 and 16 timings, 12, 13 and 17 speed, 19
and 20 memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.papers.footprint import MEGABYTE, Footprint
from benchmarks.timing import Times

mpl.rcParams["svg.hashsalt"] = "treefold"  # the same file from the same numbers
mpl.rcParams["font.size"] = 8
COLORS = {"S": "#9a9a9a", "OS": "#e0a030", "CV": "#2f6fb0"}


@dataclass(frozen=True)
class Levels:
    """Seconds of growth down to each level, by mode; distinct tests chosen on each level."""

    seconds: dict[str, list[float]]
    tests: list[float]


@dataclass(frozen=True)
class Drawing:
    """Draws into a folder, or nowhere."""

    folder: Path | None

    def save(self, number: int | str, figure: Any) -> None:
        figure.tight_layout()
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"cross_validation_{number}.svg"
            figure.savefig(path, metadata={"Date": None})
            print(f"drawn: docs/figures/{path.name}")

    def levels(self, levels: Mapping[str, Levels]) -> None:
        """10: what each level adds, and how many tests its nodes choose."""
        figure, grid = start(2, len(levels), width=2.4 * len(levels), height=3.4)
        for place, (title, own) in enumerate(levels.items()):
            upper, lower = grid[0][place], grid[1][place]
            for mode, seconds in own.seconds.items():
                steps = [b - a for a, b in pairwise(seconds)]
                upper.plot([max(1e3 * s, 0) for s in steps], color=COLORS[mode], label=mode)
            upper.set_title(title)
            lower.bar(range(len(own.tests)), own.tests, color="#888888")
            lower.set_xlabel("level")
        grid[0][0].set_ylabel("ms on this level")
        grid[1][0].set_ylabel("f: tests per node")
        grid[0][0].legend()
        self.save(10, figure)

    def timings(
        self, number: int, races: Mapping[str, Mapping[str, Times]], modes: Sequence[str], what: str
    ) -> None:
        """11, 16: seconds relative to those of the final tree alone."""
        figure, grid = start(1, 1, width=7, height=2.6)
        axes = grid[0][0]
        for shift, mode in enumerate(modes):
            places = [set_ + 0.8 * (shift / len(modes)) for set_ in range(len(races))]
            ratios = [
                [s / race["final"].best for s in race[mode].rounds] for race in races.values()
            ]
            best = [min(own) for own in ratios]
            spread = [max(own) - min(own) for own in ratios]
            axes.bar(
                places,
                best,
                0.8 / len(modes),
                color=COLORS[mode],
                label=mode,
                yerr=[[0] * len(best), spread],
                error_kw={"lw": 0.6},
            )
        axes.set_xticks([set_ + 0.3 for set_ in range(len(races))], list(races), rotation=30)
        axes.set_ylabel("time / one tree")
        axes.set_title(f"{what}: best round, and the worst")
        axes.margins(y=0.25)
        axes.legend(ncols=len(modes), loc="upper right")
        self.save(number, figure)

    def speeds(
        self,
        number: int | str,
        races: Mapping[Any, Mapping[str, Mapping[str, Times]]],
        modes: Sequence[str],
        what: str,
    ) -> None:
        """12, 13, 17: how many times faster than one at a time, a point for each data set."""
        figure, grid = start(1, len(modes), width=3.6 * len(modes), height=2.6)
        for axes, mode in zip(grid[0], modes, strict=True):
            for place, by_set in enumerate(races.values()):
                for shift, race in enumerate(by_set.values()):
                    x = place + 0.7 * shift / len(by_set)
                    pairs = zip(race["S"].rounds, race[mode].rounds, strict=True)
                    speeds = [serial / shared for serial, shared in pairs]
                    axes.plot([x, x], [min(speeds), max(speeds)], color=COLORS[mode], lw=1)
                    best = race["S"].best / race[mode].best
                    axes.plot([x], [best], ".", color=COLORS[mode], ms=3)
            axes.axhline(1, color="black", lw=0.5)
            axes.set_xticks([place + 0.3 for place in range(len(races))], [str(n) for n in races])
            axes.set_xlabel(what)
            axes.set_title(f"{mode}: speed against S")
        self.save(number, figure)

    def memory(self, footprints: Sequence[Footprint]) -> None:
        """19: of all data sets at ten folds; 20: by the number of folds."""
        tens = [own for own in footprints if own.n_folds == 10]
        figure, grid = start(1, 1, width=7, height=2.6)
        axes, bottom = grid[0][0], [0.0] * len(tens)
        for part, color in (("system", "#cccccc"), ("data", "#e0a030"), ("family", "#2f6fb0")):
            sizes = [getattr(own, part) / MEGABYTE for own in tens]
            axes.bar(range(len(tens)), sizes, bottom=bottom, color=color, label=part)
            bottom = [a + b for a, b in zip(bottom, sizes, strict=True)]
        axes.set_xticks(range(len(tens)), [own.title for own in tens], rotation=30)
        axes.set_ylabel("MB")
        axes.legend()
        self.save(19, figure)
        figure, grid = start(1, 1, width=4, height=2.6)
        for title in dict.fromkeys(own.title for own in footprints):
            line = [own for own in footprints if own.title == title]
            if len(line) > 1:
                sizes = [own.family / MEGABYTE for own in line]
                grid[0][0].plot([own.n_folds for own in line], sizes, ".-", label=title)
        grid[0][0].set_xlabel("number of folds")
        grid[0][0].set_ylabel("MB of growth")
        grid[0][0].legend()
        self.save(20, figure)


def start(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Any, Any]:
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)
