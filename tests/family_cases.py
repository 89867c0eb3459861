"""Tiny random families: members over one small data set, for the twin and for the core."""

import random
from dataclasses import dataclass, replace

import numpy as np
from cases import Case, draw_case, draw_multipliers
from core_trees import core_rules
from reference.families import Family, Member

from treefold import family as core

KINDS = ("folds", "bags", "nested", "subsets", "prefixes", "repeats")
CLASS_CRITERIA = ["gini", "entropy", "gain_ratio"]


@dataclass(frozen=True)
class FamilyCase:
    case: Case
    members: list[Member]

    @property
    def reference(self) -> Family:
        case = self.case
        columns = case.problem.columns
        return Family(columns, case.target, case.n_classes, case.weights, self.members)

    def alone(self, member: Member) -> Case:
        """The data of one member, and nothing else."""
        case, rows = self.case, sorted(member.rows)
        weights = case.weights if member.weights is None else member.weights
        return replace(
            case,
            rows=[case.rows[row] for row in rows],
            target=[case.target[row] for row in rows],
            weights=None if weights is None else [weights[row] for row in rows],
            multipliers=member.multipliers,
            rules=member.rules,
        )

    def core_members(self) -> list[core.Member]:
        """Every other one is named by the rows that do not train."""
        n_rows, n_columns = len(self.case.rows), len(self.case.n_categories)
        members = []
        for number, member in enumerate(self.members):
            rows = set(member.rows) if number % 2 else set(range(n_rows)) - set(member.rows)
            named = np.array(sorted(rows), dtype=np.uint32)
            members.append(
                core.Member(
                    named if number % 2 else None,
                    core_rules(member.rules, n_columns, member.multipliers),
                    None if member.weights is None else np.array(member.weights, dtype=np.float64),
                    None if member.asked is None else np.array(sorted(member.asked), dtype="u4"),
                    left_out=None if number % 2 else named,
                )
            )
        return members


def draw_family(rng: random.Random, criterion: str, n_rows: int | None = None) -> FamilyCase:
    case = draw_case(rng, criterion, n_rows or rng.choice([2, 3, 5, 8, 12, 16]))
    if rng.random() < 0.3:
        case = case.with_rules(
            max_features=rng.randint(1, len(case.n_categories)), seed=rng.getrandbits(64)
        )
    row_sets = [rows for rows in draw_row_sets(rng, case) if has_weight(rows, case.weights)]
    everything = frozenset(range(len(case.rows)))
    members = [draw_member(rng, case, rows) for rows in [everything, *row_sets]]
    return FamilyCase(case, members)


def has_weight(rows, weights) -> bool:
    return any(weights is None or weights[row] > 0 for row in rows)


def draw_row_sets(rng: random.Random, case: Case) -> list[frozenset[int]]:
    rows = list(range(len(case.rows)))
    kind = rng.choice(KINDS)
    fold_of = [rng.randrange(min(len(rows), rng.choice([2, 3, 4, 99]))) for _ in rows]
    folds = sorted(set(fold_of))
    if kind == "folds":
        held_out = [{fold} for fold in folds]
    elif kind == "nested":
        held_out = [{a, b} for a in folds[:4] for b in folds[:4]]
    elif kind == "prefixes":
        return [frozenset(rows[: rng.randint(1, len(rows))]) for _ in range(4)]
    elif kind == "repeats":
        return [frozenset(rows)] * 3
    else:  # bags too: their weights are drawn with the member
        n_drawn = len(rows) if kind == "bags" else rng.randint(1, len(rows))
        return [frozenset(rng.choices(rows, k=n_drawn)) for _ in range(4)]
    return [frozenset(row for row in rows if fold_of[row] not in out) for out in held_out]


def draw_member(rng: random.Random, case: Case, rows: frozenset[int]) -> Member:
    """Members may differ in what they take for a good split, not only in rows."""
    rules, multipliers, weights = case.rules, case.multipliers, None
    if rng.random() < 0.3:
        rules = replace(rules, min_samples_leaf=rng.randint(1, 4))
    if rng.random() < 0.2:
        rules = replace(rules, max_depth=rng.randint(0, 3), min_samples_split=rng.randint(2, 5))
    if rng.random() < 0.2:
        rules = replace(rules, max_leaf_nodes=rng.randint(2, 5))
    if case.n_classes and rng.random() < 0.3:
        rules = replace(rules, criterion=rng.choice(CLASS_CRITERIA))
        multipliers = draw_multipliers(rng, case.n_classes)
    if rng.random() < 0.2:
        weights = [float(rng.randint(1, 3)) for _ in case.rows]
    return Member(rows, rules, multipliers, weights)
