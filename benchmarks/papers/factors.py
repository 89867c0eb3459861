"""Where the speed comes from, one factor at a time: kernel, path, sharing, threads.

kernel   one tree per fold: scikit-learn's seconds / ours, our encoding included
path     480 settings of max_depth, min_samples_split and ccp_alpha: a tree grown for each / one
         tree grown and all of them read off
sharing  the trees of all folds, one at a time / together, on a ready table
threads  together, on one thread / on two
"""

import itertools
import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.tree import DecisionTreeClassifier as PeerClassifier

from benchmarks.papers.grounds import MIN_SAMPLES_LEAF, QUICK_ROWS, SETS, Ground, make_ground
from benchmarks.timing import Board, time_in_turns
from treefold import Table
from treefold.replay import Cell, full_rules, replay_sizes
from treefold.rules import UNLIMITED_DEPTH

NAMES = ("Adult", "Letter")
DEPTHS = (2, 4, 6, 8, 12, 16, 24, UNLIMITED_DEPTH)
SPLITS = (2, 5, 10, 20, 50, 100)
SAMPLED = 24  # settings for which trees are grown; the time is scaled to all of them


def report_factors(board: Board) -> None:
    """Print the four factors of two data sets."""
    print(f"\nfactors apart (path: {SAMPLED} of 480 settings grown, scaled)")
    for wanted in SETS:
        if wanted.title not in NAMES:
            continue
        ground = make_ground(wanted, max_rows=QUICK_ROWS if board.arguments.quick else None)
        factors = {
            "kernel": race(board, *kernel_contestants(ground)),
            "path": race(board, *path_contestants(ground)) * 480 / SAMPLED,
            "sharing": race(board, *sharing_contestants(ground)),
            "threads": race(board, *thread_contestants(ground)),
        }
        print(f"{wanted.title:<14}", "  ".join(f"{name} {f:.2f}" for name, f in factors.items()))


def race(board: Board, slow: Callable[[], object], fast: Callable[[], object]) -> float:
    times = time_in_turns({"slow": slow, "fast": fast}, board.arguments, 3)
    return times["slow"].best / times["fast"].best


Contestants = tuple[Callable[[], object], Callable[[], object]]


def kernel_contestants(ground: Ground) -> Contestants:
    members = ground.folds(10)
    X, y = ground.data.X.astype(np.float32), ground.target.values
    rows = np.arange(ground.n_rows)
    row_sets = [rows if own.left_out is None else np.delete(rows, own.left_out) for own in members]

    def fit_peer() -> None:
        for rows in row_sets:
            model = PeerClassifier(min_samples_leaf=MIN_SAMPLES_LEAF)
            model.fit(X[rows], y[rows])

    def fit_ours() -> None:
        Table.from_data(ground.data.X)
        ground.grow(members, "none")

    return fit_peer, fit_ours


def path_contestants(ground: Ground) -> Contestants:
    alphas = np.geomspace(1e-5, 1e-2, 10)
    cells = [
        Cell(depth, split, 0.0, 0, float(alpha))
        for depth, split, alpha in itertools.product(DEPTHS, SPLITS, alphas)
    ]
    everything = ground.folds(2)[0]

    def grow_each() -> None:
        for cell in cells[:: len(cells) // SAMPLED]:
            limited = ground.limited(cell.max_depth)
            limited.rules.min_samples_split = cell.min_samples_split
            member = replace(everything, rules=limited.rules)
            limited.grow([member], "none").trees[0].prune(cell.ccp_alpha)

    def grow_once() -> None:
        member = replace(everything, rules=full_rules(ground.rules))
        replay_sizes(ground.grow([member], "none").trees[0], cells)

    return grow_each, grow_once


def sharing_contestants(ground: Ground) -> Contestants:
    members = ground.folds(10)
    return lambda: ground.grow(members, "none"), lambda: ground.grow(members, "auto")


def thread_contestants(ground: Ground) -> Contestants:
    members = ground.folds(10)
    n_threads = min(2, os.cpu_count() or 1)
    return (
        lambda: ground.grow(members, "auto"),
        lambda: ground.grow(members, "auto", n_threads),
    )
