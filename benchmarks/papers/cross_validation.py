"""Cross-validation in one growth: how much is shared, and what it is worth.

The algorithms of the paper are the modes of `grow_family`: S is "none", OS is "overlap", CV is
"folds"; "auto" chooses. Times are those of growth on a ready table, one thread unless said
otherwise, in turns. The figures of the paper that have a counterpart are drawn to docs/figures.

    python -m benchmarks.papers.cross_validation [--check | --quick]
"""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers import figures
from benchmarks.papers.factors import report_factors
from benchmarks.papers.footprint import report_memory
from benchmarks.papers.grounds import QUICK_ROWS, QUICK_SETS, SETS, Ground, PaperSet, make_ground
from benchmarks.timing import Board, Times, parse_arguments, time_in_turns
from treefold.family import Member

AUTO_BAR = 0.97  # of the speed of growing one at a time
FOLDS = (2, 5, 10, 20, 50)
BAGS = (10, 25, 50, 100)
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)  # of the rows
LEVEL_SETS = ("Nursery", "Adult", "Letter", "MAGIC")
BAG_ROWS = 20_000  # at most, where the number of bags varies
FIGURES = Path(__file__).parents[2] / "docs" / "figures"
MODES: dict[str, Any] = {"S": "none", "OS": "overlap", "CV": "folds", "auto": "auto"}
Race = dict[str, Times]


class Study:
    """The grounds, the board and the clock that all parts share."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.is_quick = board.arguments.quick
        self.sets = QUICK_SETS if self.is_quick else SETS
        self.folds = FOLDS[:2] if self.is_quick else FOLDS
        self.bags = BAGS[:1] if self.is_quick else BAGS
        self.shares = SHARES[-2:] if self.is_quick else SHARES

    def ground(self, wanted: PaperSet, **options: Any) -> Ground:
        if self.is_quick:
            options["max_rows"] = min(QUICK_ROWS, options.get("max_rows") or QUICK_ROWS)
        return make_ground(wanted, **options)

    def race(
        self, ground: Ground, members: list[Member], modes: Sequence[str], n_rounds: int = 5
    ) -> Race:
        def runner(mode: str) -> Callable[[], object]:
            return lambda: ground.grow(members, MODES[mode])

        return time_in_turns({mode: runner(mode) for mode in modes}, self.board.arguments, n_rounds)


def report_updates(study: Study) -> None:
    """Statistic updates of ten folds and the final tree, serial / shared."""
    print("\nstatistic updates, serial / shared; categories as ordered codes | as categories")
    for wanted in study.sets:
        ratios = [
            count_ratio(study.ground(wanted, as_categories=as_categories))
            for as_categories in (False, True)
        ]
        shown = " | ".join("not counted" if r is None else f"{r:6.2f}" for r in ratios)
        print(f"{wanted.title:<14} {shown}")
        if wanted.updates is not None:
            study.board.at_least(f"{wanted.title}, updates", ratios[0] or 0.0, wanted.updates)


def count_ratio(ground: Ground) -> float | None:
    """None where growth does not count its work."""
    work = ground.grow(ground.folds(10), "folds").work
    if "statistic_updates" not in work:
        return None
    return float(work["serial_statistic_updates"] / work["statistic_updates"])


def report_wall(study: Study) -> dict[str, Race]:
    """Seconds of ten folds and the final tree, in all modes."""
    print("\nten folds and the final tree: best round (median, spread)")
    races = {}
    for wanted in study.sets:
        ground = study.ground(wanted)
        members = ground.folds(10)
        race = study.race(ground, members, list(MODES))
        race |= {"final": study.race(ground, members[:1], ["S"])["S"]}
        family = ground.grow(members, "auto")
        leaves = statistics.mean(tree.n_leaves for tree in family.trees)
        score = ground.score(members, family.trees)
        measure = "R2" if wanted.is_regression else "accuracy"
        print(f"{ground.data.label:<32} {leaves:6.1f} leaves, {measure} {score:.4f}")
        print("   " + "  ".join(f"{mode} {show(times)}" for mode, times in race.items()))
        print(f"   serial / shared {race['S'].best / race['CV'].best:.2f}")
        races[wanted.title] = race
    return races


def show(times: Times) -> str:
    return f"{times} (median {times.median * 1e3:.3g} ms)"


def report_auto(study: Study) -> dict[int, dict[str, Race]]:
    """The mode that is chosen, against one at a time, for other numbers of folds."""
    print("\nspeed against one at a time, by the number of folds: OS, CV, and what auto chose")
    races: dict[int, dict[str, Race]] = {n_folds: {} for n_folds in study.folds}
    for wanted in study.sets:
        ground = study.ground(wanted)
        for n_folds in study.folds:
            members = ground.folds(n_folds)
            race = study.race(ground, members, ["S", "OS", "CV"], 3)
            races[n_folds][wanted.title] = race
            print(f"{wanted.title:<14} {n_folds:3} folds  {show_speeds(race)}")
            judge_auto(study, ground, members, f"{n_folds} folds", race["S"])
    return races


def judge_auto(
    study: Study, ground: Ground, members: list[Member], what: str, alone: Times
) -> None:
    """What is chosen, against one at a time.

    If that is one at a time, the two differ by the time of the choice, which is measured: rounds of
    the same growth vary by more.
    """
    chosen = ground.choose(members)
    if chosen == "none":
        choice = time_in_turns({"choice": lambda: ground.choose(members)}, study.board.arguments)
        speed = alone.best / (alone.best + choice["choice"].best)
    else:
        race = study.race(ground, members, ["S", "auto"], 6)
        speed = race["S"].best / race["auto"].best
    study.board.at_least(f"{ground.title}, auto ({chosen}), {what}", speed, AUTO_BAR)


def show_speeds(race: Race) -> str:
    modes = [mode for mode in ("OS", "CV") if mode in race]
    return "  ".join(f"{mode} {race['S'].best / race[mode].best:5.2f}" for mode in modes)


def report_bags(study: Study) -> dict[str, Race]:
    """OS on 25 bags against one at a time."""
    print("\n25 bags, speed against one at a time: OS, and what auto chose")
    races = {}
    for wanted in study.sets:
        ground = study.ground(wanted)
        members = ground.bags(25)
        race = study.race(ground, members, ["S", "OS"], 3)
        race["final"] = study.race(ground, ground.folds(2)[:1], ["S"])["S"]
        print(f"{wanted.title:<14} {show_speeds(race)}")
        judge_auto(study, ground, members, "25 bags", race["S"])
        races[wanted.title] = race
    return races


def race_samples(study: Study, modes: Sequence[str], make: Callable[[Ground], list[Member]]) -> Any:
    """Races on a share of the rows of each data set."""
    races: dict[float, dict[str, Race]] = {share: {} for share in study.shares}
    for wanted in study.sets:
        n_rows = study.ground(wanted).n_rows
        for share in study.shares:
            ground = study.ground(wanted, max_rows=max(50, int(share * n_rows)))
            races[share][wanted.title] = study.race(ground, make(ground), modes, 3)
    return races


def race_bags(study: Study) -> dict[int, dict[str, Race]]:
    """Races of other numbers of bags, on at most BAG_ROWS rows."""
    races: dict[int, dict[str, Race]] = {n_bags: {} for n_bags in study.bags}
    for wanted in study.sets:
        ground = study.ground(wanted, max_rows=BAG_ROWS)
        for n_bags in study.bags:
            races[n_bags][wanted.title] = study.race(ground, ground.bags(n_bags), ["S", "OS"], 3)
    return races


def time_levels(study: Study) -> dict[str, figures.Levels]:
    """What each level of the forest costs: the time that one more level adds."""
    levels = {}
    for wanted in study.sets:
        if wanted.title not in LEVEL_SETS:
            continue
        ground = study.ground(wanted)
        family = ground.grow(ground.folds(10), "folds")
        depth = min(max(tree.max_depth for tree in family.trees), 15)
        seconds: dict[str, list[float]] = {"S": [], "CV": []}
        for limit in range(depth + 1):
            cut = ground.limited(limit)
            race = study.race(cut, cut.folds(10), ["S", "CV"], 3)
            for mode, times in race.items():
                seconds[mode].append(times.best)
        tests = [float(n) for n in family.work.get("distinct_tests_per_level", [])]
        levels[wanted.title] = figures.Levels(seconds, tests)
    return levels


def main() -> None:
    """Measure everything, draw the figures, judge."""
    board = Board("one growth for all folds", parse_arguments(__doc__))
    study = Study(board)
    report_updates(study)
    walls = report_wall(study)
    by_folds = report_auto(study)
    bags = report_bags(study)
    footprints = report_memory(study.sets, study.folds, QUICK_ROWS if study.is_quick else None)
    report_factors(board)
    drawing = figures.Drawing(None if study.is_quick else FIGURES)
    drawing.levels(time_levels(study))
    drawing.timings(11, walls, ("S", "OS", "CV"), "ten folds and the final tree")
    drawing.speeds(12, by_folds, ("OS", "CV"), "number of folds")
    samples = race_samples(study, ["S", "OS", "CV"], lambda ground: ground.folds(10))
    drawing.speeds(13, samples, ("OS", "CV"), "share of the rows, ten folds")
    drawing.timings(16, bags, ("S", "OS"), "25 bags")
    drawing.speeds(17, race_bags(study), ("OS",), f"number of bags, at most {BAG_ROWS:,} rows")
    samples = race_samples(study, ["S", "OS"], lambda ground: ground.bags(25))
    drawing.speeds("17_rows", samples, ("OS",), "share of the rows, 25 bags")
    drawing.memory(footprints)
    board.finish()


if __name__ == "__main__":
    main()
