"""Tiny random data sets. A case prints itself when it fails; `core_trees` hands it to the core.

Every test that draws cases starts from `BASE_SEED`: set TREEFOLD_TEST_SEED to try others.
"""

import os
import random
from dataclasses import dataclass, replace
from math import nan

from reference.columns import encode_categories, encode_numbers
from reference.grower import Problem, Rules
from reference.statistics import add_up_classes, add_up_numbers

BASE_SEED = int(os.environ.get("TREEFOLD_TEST_SEED", "0"))
FEW_CATEGORIES, MANY_CATEGORIES = 4, 70  # 70: more than one word of bits


@dataclass(frozen=True)
class Case:
    rows: list[list[float]]
    n_categories: list[int]  # per column, 0 = numeric
    target: list[float]
    n_classes: int  # 0: regression
    weights: list[float] | None
    multipliers: list[float] | None
    rules: Rules

    @property
    def problem(self) -> Problem:
        columns = [
            encode_categories(values, n) if n else encode_numbers(values)
            for values, n in zip(zip(*self.rows, strict=True), self.n_categories, strict=True)
        ]
        if self.n_classes:
            additive = add_up_classes(self.target, self.n_classes, self.weights, self.multipliers)
        else:
            additive = add_up_numbers(self.target, self.weights)
        return Problem(columns, additive, self.rules)

    def with_rules(self, **changes) -> "Case":
        return replace(self, rules=replace(self.rules, **changes))


# Drawing ---------------------------------------------------------------------------------------


def draw_case(rng: random.Random, criterion: str, n_rows: int | None = None, kinds=None) -> Case:
    n_rows = n_rows or rng.choice([1, 2, 3, 4, 5, 6, 8, 10, 13])
    kinds = rng.choices(list(kinds or COLUMN_KINDS), k=rng.randint(1, 4))
    columns = [draw_column(rng, kind, n_rows) for kind in kinds]
    if rng.random() < 0.2:  # an exact duplicate: a tie in every node
        columns.append(list(columns[0]))
        kinds.append(kinds[0])
    n_classes = 0 if criterion == "squared_error" else rng.choice([1, 2, 2, 3, 5])
    return Case(
        rows=[list(row) for row in zip(*columns, strict=True)],
        n_categories=[COLUMN_KINDS[kind][0] for kind in kinds],
        target=draw_target(rng, n_rows, n_classes),
        n_classes=n_classes,
        weights=draw_weights(rng, n_rows),
        multipliers=draw_multipliers(rng, n_classes),
        rules=Rules(criterion, min_samples_category=rng.choice([1, 2, 2, 3, 5])),
    )


COLUMN_KINDS = {
    "few": (0, lambda rng: rng.choice([-1.0, 0.0, 1.0])),
    "some": (0, lambda rng: float(rng.randint(-4, 4)) / 2),
    "continuous": (0, lambda rng: rng.uniform(-1, 1)),
    "mostly zero": (0, lambda rng: rng.choice([0.0, 0.0, 0.0, -0.0, 3.0, -2.0, rng.random()])),
    "constant": (0, lambda rng: 7.0),
    "neighbours": (0, lambda rng: rng.choice([1.0, 1.0 + 2**-52, 1.0 + 2**-51, 1e308, -1e308])),
    "few categories": (FEW_CATEGORIES, lambda rng: float(rng.randrange(FEW_CATEGORIES))),
    "ten categories": (10, lambda rng: float(rng.randrange(10))),
    "many categories": (
        MANY_CATEGORIES,
        lambda rng: float(rng.choice([0, 1, 2, 31, 63, 64, 65, 66, 67, 68, 69])),
    ),
}


FEW_VALUED = [kind for kind in COLUMN_KINDS if kind not in ("continuous", "mostly zero")]


def draw_column(rng: random.Random, kind: str, n_rows: int) -> list[float]:
    missing = rng.choice([0.0, 0.0, 0.3])
    draw = COLUMN_KINDS[kind][1]
    return [nan if rng.random() < missing else draw(rng) for _ in range(n_rows)]


def draw_target(rng: random.Random, n_rows: int, n_classes: int) -> list[float]:
    if n_classes:
        return [rng.randrange(n_classes) for _ in range(n_rows)]
    draw = rng.choice(
        [
            lambda: float(rng.randint(-2, 2)),
            lambda: rng.gauss(0, 1),
            lambda: 1e6 + rng.random(),
            lambda: rng.choice([0.1, 0.2, 0.3]),
            lambda: rng.choice([-1, 1]) * 10 ** rng.uniform(-15, 15),
        ]
    )
    return [draw() for _ in range(n_rows)]


def draw_weights(rng: random.Random, n_rows: int) -> list[float] | None:
    draw = rng.choice(
        [
            None,
            lambda: 1.0,
            lambda: float(rng.randint(1, 3)),
            lambda: float(rng.randint(0, 2)),
            lambda: rng.randint(1, 1024) / 1024,
            lambda: rng.choice([0.0, rng.random()]),
            lambda: 10 ** rng.uniform(-8, 8),
        ]
    )
    if draw is None:
        return None
    weights = [draw() for _ in range(n_rows)]
    return weights if any(weights) else [1.0] * n_rows


def draw_multipliers(rng: random.Random, n_classes: int) -> list[float] | None:
    if n_classes == 0 or rng.random() < 0.6:
        return None
    draw = rng.choice([lambda: rng.choice([0.5, 1.0, 3.0]), lambda: rng.uniform(0.1, 4)])
    return [draw() for _ in range(n_classes)]


def draw_rules(rng: random.Random, case: Case) -> Case:
    """The same case under random rules."""
    choices = {
        "max_depth": lambda: rng.randint(0, 3),
        "min_samples_split": lambda: rng.randint(2, 6),
        "min_samples_leaf": lambda: rng.randint(1, 4),
        "min_weight_leaf": lambda: rng.choice([0.5, 1.0, 2.0, 2.25]),
        "max_features": lambda: rng.randint(1, len(case.n_categories)),
        "max_leaf_nodes": lambda: rng.randint(2, 6),
        "min_impurity_decrease": lambda: rng.choice([0.01, 0.0501, 0.1003]),
        "min_impurity": lambda: rng.choice([0.1001, 0.3003]),
        "seed": lambda: rng.getrandbits(64),
        "tree": lambda: rng.randrange(5),
    }
    names = rng.sample(list(choices), rng.randint(0, 4))
    if "max_features" in names:
        names.append("seed")
    return case.with_rules(**{name: choices[name]() for name in names})
