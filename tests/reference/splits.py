"""Every candidate split of a node, by brute force, and which one wins.

A candidate sends some of the codes present in the node left, and the missing rows to a side of
their own. Its rows are added up afresh: no running sums, so nothing can go stale.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import inf, nan

from reference.columns import MISSING, Column
from reference.criteria import chance_gain, chance_of_groups, impurity, quality
from reference.statistics import Additive, Vector, add, subtract

MAX_EXHAUSTIVE = 8  # categories


@dataclass(frozen=True)
class Split:
    column: int
    threshold: float  # NaN: categorical
    left_codes: frozenset[int]  # of those present in the node
    missing_left: bool | None  # None: the node has no missing values
    quality: float | Fraction  # less the allowance for chance
    left: Vector
    rare_left: bool | None = None  # None: the node has no rare categories
    allowance: float = 0.0

    @property
    def left_set(self) -> int:
        """The categories as a binary number, bit c for category c."""
        return sum(1 << code for code in self.left_codes)

    @property
    def rank(self) -> tuple[float | Fraction, int, float, bool]:
        """Lowest first: quality, column, position in the column, missing left."""
        position = self.left_set if self.threshold != self.threshold else self.threshold
        return (-self.quality, self.column, position, self.missing_left is False)


@dataclass(frozen=True)
class Limits:
    """A candidate counts only if both sides have this many rows and this much weight."""

    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_samples_category: int = 1  # of categories: fewer rows make a rare one

    def allow(self, side: Vector, additive: Additive) -> bool:
        return side[0] >= max(self.min_samples_leaf, 1) and (
            additive.weight(side) >= Fraction(self.min_weight_leaf)
        )


def find_splits(
    criterion: str,
    columns: dict[int, Column],
    rows: Sequence[int],
    additive: Additive,
    limits: Limits,
) -> list[Split]:
    """All splits that count, the winner first."""
    tables = {
        number: (column, add_up_codes(column, rows, additive)) for number, column in columns.items()
    }
    node_impurity = impurity(criterion, rows, additive)
    return judge_splits(
        criterion, tables, additive.total(rows), additive, limits, node_impurity=node_impurity
    )


def judge_splits(
    criterion: str,
    tables: dict[int, tuple[Column, dict[int, Vector]]],
    total: Vector,
    additive: Additive,
    limits: Limits,
    *,
    node_impurity: float,
) -> list[Split]:
    """The same from the statistics of each code, however they were added up."""
    splits = []
    chance = chance_gain(criterion, total, node_impurity, additive)
    for number, (column, by_code) in tables.items():
        rare = rare_categories(column, by_code, limits)
        groups = join(by_code, rare)
        allowance = allow_for_sets(column, groups, limits) * chance
        for threshold, left_groups, missing_left in candidates(column, groups, additive.n_classes):
            parts = [groups[code] for code in left_groups]
            if missing_left:
                parts.append(groups[MISSING])
            left = add(parts, len(total))
            sides = (left, subtract(total, left))
            if all(limits.allow(side, additive) for side in sides):
                worth = quality(criterion, total, left, allowance)
                rare_left = rare[0] in left_groups if rare else None
                codes = frozenset([*left_groups, *(rare if rare_left else [])])
                place = (number, threshold, codes, missing_left)
                splits.append(Split(*place, worth, left, rare_left, allowance))
    return sorted(splits, key=lambda split: split.rank)


def rare_categories(column: Column, by_code: dict[int, Vector], limits: Limits) -> list[int]:
    """Those that go together. Two categories divide in one way only: they stay apart."""
    present = [code for code in by_code if code != MISSING]
    if not column.is_categorical or len(present) <= 2:
        return []
    return [code for code in present if by_code[code][0] < limits.min_samples_category]


def join(by_code: dict[int, Vector], rare: Sequence[int]) -> dict[int, Vector]:
    """The groups of categories, by their lowest: the rare ones are one."""
    groups = {code: stats for code, stats in by_code.items() if code not in rare}
    if rare:
        groups[rare[0]] = tuple(map(sum, zip(*(by_code[code] for code in rare), strict=True)))
    return {code: groups[code] for code in sorted(groups)}


def allow_for_sets(column: Column, groups: dict[int, Vector], limits: Limits) -> float:
    """What makes sets win by their number: more chances than the cuts of a number have."""
    if not column.is_categorical or limits.min_samples_category == 1:
        return 0.0
    return chance_of_groups(sum(code != MISSING for code in groups))


def add_up_codes(column: Column, rows: Sequence[int], additive: Additive) -> dict[int, Vector]:
    """The statistics of each code that occurs in the node, MISSING among them."""
    rows_of: dict[int, list[int]] = {}
    for row in rows:
        rows_of.setdefault(column.codes[row], []).append(row)
    return {code: additive.total(rows_of[code]) for code in sorted(rows_of)}


Candidate = tuple[float, Sequence[int], bool | None]


def candidates(column: Column, by_code: dict[int, Vector], n_classes: int) -> Iterator[Candidate]:
    present = [code for code in by_code if code != MISSING]
    if column.is_categorical:
        two_sided = ((nan, left) for left in left_sets(by_code, present, n_classes))
        all_present = nan
    else:
        two_sided = (
            (midpoint(column.values[low], column.values[high]), [c for c in present if c <= low])
            for low, high in pairwise(present)
        )
        all_present = inf
    sides = (True, False) if MISSING in by_code else (None,)
    for threshold, left in two_sided:
        yield from ((threshold, left, missing_left) for missing_left in sides)
    if MISSING in by_code and present:
        yield (all_present, present, False)


def midpoint(low: float, high: float) -> float:
    """The float64 nearest to the middle; the low value where that would be the high one."""
    middle = float((Fraction(low) + Fraction(high)) / 2)
    return middle if middle < high else low


def left_sets(
    by_code: dict[int, Vector], present: list[int], n_classes: int
) -> Iterable[tuple[int, ...]]:
    """Sets of categories to send left; each holds the lowest category present."""
    classes = [c for c in range(1, n_classes + 1) if any(stats[c] for stats in by_code.values())]
    if n_classes and len(classes) > 2 and len(present) <= MAX_EXHAUSTIVE:
        return subsets(present)
    if n_classes:  # of two classes, the order by one is the order by the other reversed
        shares = [lambda x, c=c: Fraction(x[c], sum(x[1:])) for c in classes]
    else:  # the mean as it is reported, in float64: w*y is rounded, exact means would split hairs
        shares = [lambda x: float(Fraction(x[2], x[1]))]
    return {left for share in shares for left in prefixes(by_code, present, share)}


def subsets(present: list[int]) -> Iterator[tuple[int, ...]]:
    lowest, *others = present
    for size in range(len(others)):
        for chosen in combinations(others, size):
            yield (lowest, *chosen)


def prefixes(by_code: dict[int, Vector], present: list[int], share) -> Iterator[tuple[int, ...]]:
    """Prefixes of the order by share; categories of equal share move together.

    If all are equal, the lowest goes alone: the node must be able to split at zero gain.
    """
    share_of = {code: share(by_code[code]) for code in present}
    limits = sorted(set(share_of.values()))[:-1]
    if not limits and len(present) > 1:
        yield (present[0],)
    for limit in limits:
        low = tuple(code for code in present if share_of[code] <= limit)
        high = tuple(code for code in present if share_of[code] > limit)
        yield low if present[0] in low else high
