"""The data sets of "Efficient algorithms for decision tree cross-validation", ready to grow from.

Each is an encoded table with its target and the paper's rules: no leaf below ten rows. The family
of a cross-validation is the final tree and the tree without each fold; that of bagging counts every
row as often as it was drawn.
"""

import copy
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from benchmarks.data import Data, load
from treefold import Table, _native
from treefold.data.target import Target
from treefold.family import Family, Member, Sharing, choose_sharing, grow_family

MIN_SAMPLES_LEAF = 10


@dataclass(frozen=True)
class PaperSet:
    """A data set of the paper (MAGIC is ours) and what is asked of it.

    `updates`: statistic updates, serial / shared, or None for means, which grow one at a time.
    """

    title: str
    name: str
    updates: float | None
    is_regression: bool = False


SETS = (
    PaperSet("Mushroom", "mushroom", 9),
    PaperSet("Nursery", "nursery", 7),
    PaperSet("Car", "car", 4.5),
    PaperSet("LED", "led", 3.9),
    PaperSet("Letter", "letter", 3.2),
    PaperSet("Connect-4", "connect4", 3.1),
    PaperSet("Pen Digits", "pendigits", 3),
    PaperSet("Adult", "adult", 1.9),
    PaperSet("Yeast", "yeast", 1.9),
    PaperSet("Abalone", "abalone", None, is_regression=True),
    PaperSet("Spam", "spambase", 1.6),
    PaperSet("MAGIC", "magic_gamma", 1.5),
    PaperSet("Internet Ads", "internet_ads", 1.25),
)
QUICK_SETS = tuple(own for own in SETS if own.title in ("Mushroom", "Letter", "Adult", "Abalone"))
QUICK_ROWS = 400


@dataclass(frozen=True)
class Ground:
    """A table on which families grow."""

    title: str
    data: Data
    table: _native.Table
    target: Target
    rules: _native.Rules

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    def folds(self, n_folds: int) -> list[Member]:
        """The final tree, then the tree without each fold."""
        splitter = KFold(n_folds, shuffle=True, random_state=0)
        held_out = [test.astype(np.uint32) for _, test in splitter.split(np.empty(self.n_rows))]
        nothing = np.empty(0, dtype=np.uint32)
        return [Member(None, self.rules, left_out=own) for own in (nothing, *held_out)]

    def bags(self, n_bags: int) -> list[Member]:
        """Trees on as many rows as there are, drawn with replacement."""
        random = np.random.default_rng(0)
        members = []
        for _ in range(n_bags):
            drawn = random.integers(self.n_rows, size=self.n_rows)
            weights = np.bincount(drawn, minlength=self.n_rows).astype(np.float64)
            rows = np.flatnonzero(weights).astype(np.uint32)
            members.append(Member(rows, self.rules, weights))
        return members

    def grow(self, members: list[Member], sharing: Sharing, n_threads: int = 1) -> Family:
        return grow_family(self.table, self.target, members, sharing=sharing, n_threads=n_threads)

    def choose(self, members: list[Member]) -> Sharing:
        """What "auto" stands for."""
        return choose_sharing(self.table, self.target, members)

    def limited(self, max_depth: int) -> "Ground":
        """The same ground, where trees have at most this depth."""
        rules = copy.copy(self.rules)
        rules.max_depth = max_depth
        return replace(self, rules=rules)

    def score(self, members: list[Member], trees: list[_native.Tree]) -> float:
        """Mean accuracy (numbers: R2) of the trees on the rows that they do not train on."""
        source = _native.Source(self.n_rows, self.table.n_columns)
        source.add_table(self.table)
        scores = []
        for member, tree in zip(members, trees, strict=True):
            held_out = member.left_out
            if held_out is not None and len(held_out):
                answers = tree.value[tree.apply(source, 1)[held_out]]
                scores.append(self._score_rows(answers, self.target.values[held_out]))
        return float(np.mean(scores))

    def _score_rows(self, answers: NDArray[np.float64], truth: NDArray[np.generic]) -> float:
        if self.target.n_classes:
            return float(np.mean(answers.argmax(axis=1) == truth))
        y = truth.astype(np.float64)
        return float(1 - np.sum((y - answers[:, 0]) ** 2) / np.sum((y - y.mean()) ** 2))


def make_ground(
    wanted: PaperSet, as_categories: bool = False, max_rows: int | None = None
) -> Ground:
    """Read and encode a data set.

    By default categories are their codes, ordered, and rows with missing values are left out, as
    when the bars were measured; `as_categories` takes every row and categories for what they are.
    """
    data = load_rows(wanted.name, max_rows)
    if not as_categories:
        complete = ~np.isnan(data.X).any(axis=1)
        data = replace(data, X=data.X[complete], y=data.y[complete], categorical=[])
    table = Table.from_data(data.X, categorical_features=data.categorical or None)
    return Ground(
        wanted.title,
        data,
        table._native,
        make_target(data, wanted.is_regression),
        make_rules(wanted.is_regression, table.n_columns),
    )


@lru_cache(maxsize=1)
def load_whole(name: str) -> Data:
    """Read a table; the last one is kept, because parts of it are asked for one after the other."""
    return load(name)


def load_rows(name: str, max_rows: int | None) -> Data:
    """Take a table, or a random part of its rows."""
    data = load_whole(name)
    if max_rows is None or max_rows >= len(data.y):
        return data
    rows = np.random.default_rng(0).permutation(len(data.y))[:max_rows]
    return replace(data, X=data.X[rows], y=data.y[rows])


def make_target(data: Data, is_regression: bool) -> Target:
    if is_regression:
        return Target(data.y.astype(np.float64))
    classes, numbers = np.unique(data.y, return_inverse=True)
    return Target(numbers.astype(np.int32), classes)


def make_rules(is_regression: bool, n_columns: int) -> _native.Rules:
    rules = _native.Rules()
    rules.criterion = "squared_error" if is_regression else "gini"
    rules.min_samples_leaf = MIN_SAMPLES_LEAF
    rules.max_features = n_columns
    return rules
