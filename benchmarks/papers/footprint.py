"""Memory of a family against that of one fit, each in a process of its own."""

import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

from benchmarks.papers.grounds import PaperSet, make_ground
from benchmarks.peers.memory import read_peak, start_peak

VARIED = ("Connect-4", "Adult", "Letter", "Mushroom")  # sets on which the number of folds varies
MEGABYTE = 2**20


class Footprint(NamedTuple):
    """Bytes: of the process with its libraries, of the data and table, of growth at its peak."""

    title: str
    n_folds: int
    system: int
    data: int
    fit: int
    family: int


def measure(wanted: PaperSet, n_folds: int, max_rows: int | None, answer: Connection) -> None:
    """In a child. A fit before the family would leave free memory behind: each has its own."""
    system = read_peak()
    ground = make_ground(wanted, max_rows=max_rows)
    members = ground.folds(max(n_folds, 2))[: n_folds + 1]
    before = start_peak()
    family = ground.grow(members, "auto")
    answer.send((system, max(before - system, 0), read_peak() - before))
    del family


def measure_apart(wanted: PaperSet, n_folds: int, max_rows: int | None) -> Sequence[int]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=measure, args=(wanted, n_folds, max_rows, sender))
    child.start()
    sender.close()
    try:
        answer: Sequence[int] = receiver.recv()
    except EOFError:
        raise SystemExit(f"the process that measured {wanted.title} died") from None
    child.join()
    return answer


def report_memory(
    sets: Sequence[PaperSet], folds: Sequence[int], max_rows: int | None
) -> list[Footprint]:
    """Print growth of the family / growth of one fit, for each number of folds."""
    print("\npeak memory of growth above the table: one fit, family, family / fit")
    footprints = []
    for wanted in sets:
        fit = measure_apart(wanted, 0, max_rows)[2]
        for n_folds in folds if wanted.title in VARIED else (10,):
            system, data, family = measure_apart(wanted, n_folds, max_rows)
            footprints.append(Footprint(wanted.title, n_folds, system, data, fit, family))
            sizes = f"{fit / MEGABYTE:7.1f} MB {family / MEGABYTE:7.1f} MB"
            print(f"{wanted.title:<14} {n_folds:3} folds {sizes} {family / max(fit, 1):6.1f}")
    return footprints
