"""What a node adds up: one vector of integers, the sum of its rows' vectors.

Every float is an integer times a power of two. On a grid fine enough for all rows, weights and
targets *are* integers, so their sums are exact and do not depend on the order of the rows. The
vector of a row is

    classes      (1, x_0, ..., x_{C-1})   x_c its weight times the class multiplier, or 0
    numbers      (1, w, w*y)              w*y rounded to float64 once per row; w = 1 without
                                          weights

The core rounds class weights that need more than 61 bits; this twin never does (`class_bits` says
when the two may differ in a last bit).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Additive:
    """The vectors of all rows, and what an integer of each entry is worth."""

    vectors: tuple[Vector, ...]
    units: tuple[Fraction, ...]
    targets: tuple[float, ...]
    n_classes: int  # 0: regression

    def total(self, rows: Iterable[int]) -> Vector:
        return add([self.vectors[row] for row in rows], len(self.units))

    def weight(self, stats: Vector) -> Fraction:
        return weight(stats, self.n_classes) * self.units[1]

    def is_pure(self, rows: Sequence[int]) -> bool:
        return len({self.targets[row] for row in rows}) <= 1

    def mean(self, rows: Sequence[int]) -> float:
        """S/W, correctly rounded; of equal targets that target."""
        if self.is_pure(rows):
            return self.targets[rows[0]] + 0.0  # of the two zeros always the same
        _, w, s = (n * unit for n, unit in zip(self.total(rows), self.units, strict=True))
        return float(s / w)


def add(vectors: Sequence[Vector], length: int) -> Vector:
    return tuple(map(sum, zip(*vectors, strict=True))) if vectors else (0,) * length


def subtract(total: Vector, part: Vector) -> Vector:
    return tuple(a - b for a, b in zip(total, part, strict=True))


def weight(stats: Vector, n_classes: int) -> int:
    """W, in grid units."""
    return sum(stats[1:]) if n_classes else stats[1]


def to_grid(numbers: Iterable[float | Fraction]) -> tuple[list[int], Fraction]:
    """The numbers as integers, and the unit of the coarsest power-of-two grid that holds them."""
    exact = [Fraction(number) for number in numbers]
    finest = max((number.denominator for number in exact), default=1)
    return [int(number * finest) for number in exact], Fraction(1, finest)


def add_up_classes(
    classes: Sequence[int],
    n_classes: int,
    weights: Sequence[float] | None = None,
    multipliers: Sequence[float] | None = None,
) -> Additive:
    exact = [Fraction(1)] * len(classes) if weights is None else list(map(Fraction, weights))
    if multipliers is not None:
        exact = [w * Fraction(multipliers[c]) for w, c in zip(exact, classes, strict=True)]
    on_grid, unit = to_grid(exact)
    vectors = tuple(
        (1, *(w if c == own else 0 for c in range(n_classes)))
        for w, own in zip(on_grid, classes, strict=True)
    )
    return Additive(vectors, (Fraction(1), *[unit] * n_classes), tuple(classes), n_classes)


def add_up_numbers(targets: Sequence[float], weights: Sequence[float] | None = None) -> Additive:
    targets = [float(y) for y in targets]
    w = [1.0] * len(targets) if weights is None else [float(x) for x in weights]
    s = [x * y for x, y in zip(w, targets, strict=True)]
    grids = [to_grid(numbers) for numbers in (w, s)]
    vectors = tuple((1, *entries) for entries in zip(*(grid for grid, _ in grids), strict=True))
    units = (Fraction(1), *(unit for _, unit in grids))
    return Additive(vectors, units, tuple(targets), 0)


def class_bits(additive: Additive) -> int:
    """Bits that the weight of all rows takes on the grid of the weights."""
    return sum(map(sum, (vector[1:] for vector in additive.vectors))).bit_length()
