"""How the benchmarks time, compare and judge.

Contestants take turns inside one process, so that a slow minute of the machine hits all of them;
each is judged by its best round, because noise only ever adds time. Ratios are "how many times
faster than the peer"; bars belong to the scripts that call this.
"""

import argparse
import gc
import itertools
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

ROUNDS = 5
MIN_ROUNDS = 3
BUDGET_SECONDS = 60.0  # no new round after this, once MIN_ROUNDS are done
QUICK_SECONDS = 0.5  # work that is done sooner is repeated up to here: its best round is steadier


@dataclass(frozen=True)
class Arguments:
    """What every benchmark script can be asked."""

    check: bool
    quick: bool
    full: bool = False


@dataclass(frozen=True)
class Times:
    """The rounds of one contestant, in seconds."""

    rounds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    def __str__(self) -> str:
        """Best round, and how much longer the worst one took."""
        spread = 100 * (max(self.rounds) / self.best - 1)
        return f"{format_seconds(self.best)} (+{spread:.0f}%)"


@dataclass
class Board:
    """Collects what was measured against what was wanted."""

    title: str
    arguments: Arguments
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        print(f"\n== {self.title}\n{describe_machine()}")
        if self.arguments.quick:
            print("quick: small sizes, to see that the script works; bars do not apply")

    def race(self, work: str, ours: Callable[[], object], peer: Callable[[], object]) -> float:
        """Time both, print them, return peer's best time / our best time."""
        times = time_in_turns({"ours": ours, "peer": peer}, self.arguments)
        ratio = times["peer"].best / times["ours"].best
        print(f"{work:<44} ours {times['ours']!s:<18} peer {times['peer']!s:<18} {ratio:6.2f}x")
        return ratio

    def at_least(self, what: str, value: float, bar: float) -> None:
        """Judge a value that should be high."""
        self._judge(f"{what}: {value:.2f}, bar >= {bar:g}", value >= bar)

    def at_most(self, what: str, value: float, bar: float) -> None:
        """Judge a value that should be low."""
        self._judge(f"{what}: {value:.2f}, bar <= {bar:g}", value <= bar)

    def finish(self) -> None:
        """Leave with an error if --check was asked and a bar was missed."""
        if self.failures and self.arguments.check:
            print("\nmissed:\n  " + "\n  ".join(self.failures), file=sys.stderr)
            raise SystemExit(1)

    def _judge(self, verdict: str, is_met: bool) -> None:
        if not self.arguments.quick:
            print(f"   {'ok    ' if is_met else 'MISSED'} {verdict}")
        if not is_met:
            self.failures.append(verdict)


def parse_arguments(description: str | None, full: str = "") -> Arguments:
    """Read --check or --quick; and --full, if the script says what it does there."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    choice.add_argument("--quick", action="store_true", help="small sizes, no bars")
    if full:
        parser.add_argument("--full", action="store_true", help=full)
    return Arguments(**vars(parser.parse_args()))


def time_in_turns(
    contestants: Mapping[str, Callable[[], object]],
    arguments: Arguments,
    n_rounds: int = ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Times]:
    """Run the contestants in turns, for several rounds, every other one backwards.

    Who runs after somebody else finds caches and heap as that one left them.
    """
    rounds: dict[str, list[float]] = {name: [] for name in contestants}
    n_rounds, least = (2, 0.0) if arguments.quick else (n_rounds, QUICK_SECONDS)
    gc.collect()
    gc.freeze()  # what is there already need not be looked at after every run
    begin = time.perf_counter()
    for done in itertools.count():
        seconds = time.perf_counter() - begin
        if done >= n_rounds and seconds > least:
            break
        if done >= MIN_ROUNDS and seconds > BUDGET_SECONDS:
            break
        for name in list(contestants)[:: -1 if done % 2 else 1]:
            rounds[name].append(time_once(contestants[name], clock))
    gc.unfreeze()
    return {name: Times(tuple(seconds)) for name, seconds in rounds.items()}


def time_once(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call; its garbage is collected outside the clock."""
    gc.collect()
    gc.disable()
    try:
        begin = clock()
        result = run()
        seconds = clock() - begin
    finally:
        gc.enable()
    del result
    return seconds


def repeat(run: Callable[[], object], times: int) -> Callable[[], None]:
    """Return a callable that runs `run` several times: for work of microseconds."""

    def run_all() -> None:
        for _ in range(times):
            run()

    return run_all


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean of ratios: twice as fast here and twice as slow there is 1."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def format_seconds(seconds: float) -> str:
    """Three digits and a unit."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} us"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def describe_machine() -> str:
    """Processor count and versions: what a number needs beside it."""
    names = ("treefold", "scikit-learn", "numpy")
    versions = ", ".join(f"{name} {find_version(name)}" for name in names)
    python = platform.python_version()
    return f"{os.cpu_count()} CPUs, {platform.machine()}, Python {python}, {versions}"


def find_version(package: str) -> str:
    """Its version, or 'in place' for a build that is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "in place"
