"""Many trees grown together: members share what they add up (Blockeel and Struyf).

Glossary
    member     one tree that somebody wants: the rows it trains on, its weights and its rules
    stratum    of a row: the members that train on it
    group      members whose nodes hold much the same rows; one step of growth serves them all
    present    of a row in a group: the members in whose node it lies; it counts for those of them
               that train on it, for the others it is held out and only travels along
    clean      a row that is present for all members of the group that train on it
    ambiguous  a row that is not: for some members it lies here, for others elsewhere
    fork       members of a group go apart, because their splits divide the rows too differently
    asked      the rows that want an answer of a member; nodes that none of them reaches are leaves

Sharing never shows in a tree. A row is added up once for all members that it counts for, but every
choice is made from one member's own sums: those of the patterns that contain the member. So who is
in a group with whom (`tolerance`) changes the work and nothing else.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush

from reference import draws
from reference.columns import MISSING, Column
from reference.grower import (
    Node,
    Problem,
    Rules,
    drawn_columns,
    judge_columns,
    make_node,
    must_be_leaf,
    number,
    settle_missing,
    take_best,
)
from reference.statistics import Additive, Vector, add, add_up_classes, add_up_numbers

Members = frozenset[int]


@dataclass(frozen=True)
class Member:
    rows: frozenset[int]
    rules: Rules
    multipliers: Sequence[float] | None = None
    weights: Sequence[float] | None = None  # of its own (a bag); None: those of the family
    asked: frozenset[int] | None = None  # None: the whole tree


@dataclass(frozen=True)
class Family:
    columns: Sequence[Column]
    target: Sequence[float]
    n_classes: int  # 0: regression
    weights: Sequence[float] | None
    members: Sequence[Member]

    def problem(self, member: Member) -> Problem:
        """What the member is alone: rows that it does not train on have weight zero."""
        weights = member.weights or self.weights or [1.0] * len(self.target)
        own = [w if row in member.rows else 0.0 for row, w in enumerate(weights)]
        return Problem(self.columns, self.add_up(own, member.multipliers), member.rules)

    def add_up(self, weights, multipliers) -> Additive:
        if self.n_classes:
            return add_up_classes(self.target, self.n_classes, weights, multipliers)
        return add_up_numbers(self.target, weights)


@dataclass
class Group:
    nodes: dict[int, Node]  # of each member
    present: dict[int, Members]  # of each row


@dataclass
class Work:
    """A statistic update is one row into one accumulator of one column."""

    serial_statistic_updates: int = 0
    statistic_updates: int = 0
    ambiguous_rows: int = 0
    forks: int = 0
    nodes_by_members: Counter[int] = field(default_factory=Counter)
    distinct_tests_per_level: list[float] = field(default_factory=list)  # the paper's f(i)


class Growth:
    """Level by level: search each group, fork it."""

    def __init__(self, family: Family, tolerance: float = 0.1) -> None:
        self.family, self.tolerance = family, tolerance
        self.work = Work()
        self.problems = [family.problem(member) for member in family.members]
        self.shared = family.add_up(family.weights, None)
        self.scales = list(map(self.find_scale, range(len(self.problems))))
        self.stratum: list[Members] = [
            frozenset(m for m, problem in enumerate(self.problems) if counts(problem, row))
            for row in range(len(family.target))
        ]
        self.roots = {m: self.make_root(m) for m in range(len(self.problems))}

    def grow(self) -> list[list[Node]]:
        """The nodes of each member's tree, in preorder."""
        everyone = frozenset(self.roots)
        level = [Group(dict(self.roots), dict.fromkeys(range(len(self.stratum)), everyone))]
        while level:
            children, n_tests = [], []
            for group in level:
                dividing = self.search(group)
                if dividing:
                    n_tests.append(len({chosen_test(group.nodes[m]) for m in dividing}))
                children += self.fork(group, dividing)
            if n_tests:
                self.work.distinct_tests_per_level.append(sum(n_tests) / len(n_tests))
            level = children
        for m, root in self.roots.items():
            cut_best_first(root, self.family.members[m].rules.max_leaf_nodes)
        return [number(root) for root in self.roots.values()]

    def make_root(self, m: int) -> Node:
        rules = self.problems[m].rules
        rows = [row for row, members in enumerate(self.stratum) if m in members]
        return make_node(rows, "", draws.root_key(rules.seed, rules.tree), self.problems[m])

    # What a group adds up ----------------------------------------------------------------------

    def find_scale(self, m: int) -> Sequence[Fraction] | None:
        """What one unit of each shared sum is to the member; None: its weights are its own."""
        member, own = self.family.members[m], self.problems[m].additive
        if member.weights is not None:
            return None
        multipliers = [Fraction(1)] * len(own.units)
        if member.multipliers is not None:
            multipliers[1:] = map(Fraction, member.multipliers)
        units = zip(self.shared.units, own.units, multipliers, strict=True)
        return [unit * multiplier / own_unit for unit, own_unit, multiplier in units]

    def accumulators(self, row: int, members: Members) -> Iterator[tuple[Members, Vector]]:
        """Where a row is added up: once for all members of equal weights, once for each other."""
        pattern = members & self.stratum[row]
        together = frozenset(m for m in pattern if self.scales[m] is not None)
        if together:
            yield together, self.shared.vectors[row]
        for m in pattern - together:
            yield frozenset({m}), self.problems[m].additive.vectors[row]

    def add_up(self, column: Column, group: Group, seekers: Members):
        """By member: the statistics of each code, from one pass over the rows of the group."""
        vectors: dict[tuple[int, Members], list[Vector]] = defaultdict(list)
        for row, members in group.present.items():
            for pattern, vector in self.accumulators(row, members & seekers):
                vectors[column.codes[row], pattern].append(vector)
        length = len(self.shared.units)
        sums = {place: add(parts, length) for place, parts in vectors.items()}
        by_member: dict[int, dict[int, Vector]] = {m: {} for m in seekers}
        for m in seekers:
            own: dict[int, list[Vector]] = defaultdict(list)
            for (code, pattern), total in sums.items():
                if m in pattern:
                    own[code].append(total)
            by_member[m] = {code: self.read(add(own[code], length), m) for code in sorted(own)}
        return by_member

    def read(self, total: Vector, m: int) -> Vector:
        scale = self.scales[m]
        if scale is None:
            return total
        return tuple(int(entry * factor) for entry, factor in zip(total, scale, strict=True))

    # Search, fork ------------------------------------------------------------------------------

    def search(self, group: Group) -> list[int]:
        """Choose the split of each member; return the members whose nodes divide."""
        self.work.nodes_by_members[len(group.nodes)] += 1
        seekers = frozenset(m for m, node in group.nodes.items() if self.may_split(m, node, group))
        tables = [self.add_up(column, group, seekers) for column in self.family.columns]
        looked, dividing = {}, []
        for m in sorted(seekers):
            node, problem = group.nodes[m], self.problems[m]
            looked[m] = drawn_columns([table[m] for table in tables], node, problem)
            splits = judge_columns({c: tables[c][m] for c in looked[m]}, node, problem)
            if take_best(splits, node, self.roots[m], problem):
                settle_missing(node, problem)
                dividing.append(m)
        self.count_updates(group, looked)
        return dividing

    def may_split(self, m: int, node: Node, group: Group) -> bool:
        asked = self.family.members[m].asked
        is_asked = asked is None or any(m in group.present.get(row, ()) for row in asked)
        return is_asked and not must_be_leaf(node, self.problems[m])

    def fork(self, group: Group, dividing: list[int]) -> list[Group]:
        """A child on each side for every party of members that divide the rows much alike."""
        sides = {m: self.divide(m, group) for m in dividing}
        limit = self.tolerance * len(group.present)
        parties: list[list[int]] = []
        for m in dividing:
            near = [p for p in parties if self.n_apart(m, p[0], sides) <= limit]
            near[0].append(m) if near else parties.append([m])
        self.work.forks += max(len(parties) - 1, 0)
        return [
            self.make_child(group, party, sides, is_left)
            for party in parties
            for is_left in (True, False)
        ]

    def divide(self, m: int, group: Group) -> dict[int, bool]:
        """The side of every row that is present for the member, held-out rows among them."""
        node = group.nodes[m]
        column = self.family.columns[node.split.column]
        seen = {column.codes[row] for row in node.rows}
        return {
            row: sends_left(node, column, column.codes[row], seen)
            for row, members in group.present.items()
            if m in members
        }

    def n_apart(self, a: int, b: int, sides: Mapping[int, Mapping[int, bool]]) -> int:
        """Rows that count for both members, and which they send to different sides."""
        common = sides[a].keys() & sides[b].keys()
        both = (row for row in common if {a, b} <= self.stratum[row])
        return sum(sides[a][row] != sides[b][row] for row in both)

    def make_child(self, group: Group, party: list[int], sides, is_left: bool) -> Group:
        present = {}
        for row in group.present:
            members = frozenset(m for m in party if sides[m].get(row) is is_left)
            if members:
                present[row] = members
        child = Group({}, present)
        for m in party:
            parent = group.nodes[m]
            rows = [row for row, members in present.items() if m in members & self.stratum[row]]
            key = draws.left_key(parent.key) if is_left else draws.right_key(parent.key)
            path = parent.path + ("L" if is_left else "R")
            child.nodes[m] = make_node(rows, path, key, self.problems[m])
            parent.children.append(child.nodes[m])
        return child

    # Work --------------------------------------------------------------------------------------

    def count_updates(self, group: Group, looked: Mapping[int, Sequence[int]]) -> None:
        """Serial: each member adds up its own rows. Shared: a clean row once, an ambiguous one
        for each member that it counts for."""
        for column in range(len(self.family.columns)):
            lookers = frozenset(m for m, columns in looked.items() if column in columns)
            for row, members in group.present.items():
                self.work.serial_statistic_updates += len(members & lookers & self.stratum[row])
                for pattern, _ in self.accumulators(row, members & lookers):
                    all_of_it = next(self.accumulators(row, lookers))[0]
                    is_clean = len(pattern) == 1 or pattern == all_of_it
                    self.work.ambiguous_rows += not is_clean
                    self.work.statistic_updates += 1 if is_clean else len(pattern)


def counts(problem: Problem, row: int) -> bool:
    return problem.additive.weight(problem.additive.vectors[row]) > 0


def sends_left(node: Node, column: Column, code: int, seen: set[int]) -> bool:
    """The split also has to answer for rows that the member has never seen."""
    if code == MISSING:
        return node.missing_left
    if not column.is_categorical:
        return column.values[code] <= node.split.threshold
    return code in node.split.left_codes if code in seen else node.unseen_left


def chosen_test(node: Node) -> tuple:
    return node.split.column, node.split.left_codes, node.split.missing_left


def cut_best_first(root: Node, max_leaf_nodes: int) -> None:
    """What splitting the best leaf first, up to a number of leaves, keeps of the whole tree."""
    frontier: list[tuple[float, int, str, Node]] = []
    newcomers, n_leaves = [root], 1
    while max_leaf_nodes:
        for node in newcomers:
            if node.children:
                heappush(frontier, (-node.decrease, node.depth, node.path, node))
        if not frontier or n_leaves == max_leaf_nodes:
            break
        newcomers = heappop(frontier)[-1].children
        n_leaves += 1
    for *_, node in frontier:
        node.children = []
