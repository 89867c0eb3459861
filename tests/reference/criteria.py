"""How good a split is (higher is better) and how impure a node is.

`quality` decides; it sees the statistics of the node and of the left side, in grid units. Scaling
by a power of two changes no comparison, so units are not needed. gini and squared error round
exactly as the contract says, so equal floats are ties there. The entropies are taken to 50 digits
here (the core has 57 bits of log2): qualities that agree to 30 digits count as equal.

`impurity` is what is reported and what the stopping rules look at.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from reference.statistics import Additive, Vector, subtract

CONTEXT = Context(prec=50)
LN2 = CONTEXT.ln(Decimal(2))


@lru_cache(maxsize=100_000)
def x_log2_x(x: int) -> Decimal:
    if x == 0:
        return Decimal(0)
    return CONTEXT.multiply(x, CONTEXT.divide(CONTEXT.ln(Decimal(x)), LN2))


def total_entropy(x: Vector) -> Decimal:
    """h(x) = W log2 W - sum of x_c log2 x_c: the entropy times the weight."""
    if sum(map(bool, x)) <= 1:
        return Decimal(0)
    terms = Decimal(0)
    for x_c in x:
        terms = CONTEXT.add(terms, x_log2_x(x_c))
    return CONTEXT.subtract(x_log2_x(sum(x)), terms)


def quality(criterion: str, total: Vector, left: Vector) -> float | Fraction:
    return QUALITIES[criterion](total, left, subtract(total, left))


def gini_quality(total: Vector, left: Vector, right: Vector) -> float:
    def purity(stats: Vector) -> float:
        return float(sum(x * x for x in stats[1:])) / float(sum(stats[1:]))

    return purity(left) + purity(right)


def squared_error_quality(total: Vector, left: Vector, right: Vector) -> float:
    _, w, s = total
    _, w_left, s_left = left
    d = float(s_left * w - w_left * s)
    return d * d / (float(w_left) * float(right[1]))


def entropy_quality(total: Vector, left: Vector, right: Vector) -> Fraction:
    w = sum(total[1:])
    return to_thirty_digits(_gain(total, left, right), w) * w


def gain_ratio_quality(total: Vector, left: Vector, right: Vector) -> Fraction:
    information = total_entropy((sum(left[1:]), sum(right[1:])))
    return to_thirty_digits(_gain(total, left, right), information)


def _gain(total: Vector, left: Vector, right: Vector) -> Decimal:
    both = CONTEXT.add(total_entropy(left[1:]), total_entropy(right[1:]))
    return CONTEXT.subtract(total_entropy(total[1:]), both)


def to_thirty_digits(numerator: Decimal, denominator: int | Decimal) -> Fraction:
    ratio = CONTEXT.divide(numerator, Decimal(denominator))
    return Fraction(round(Fraction(ratio) * 10**30), 10**30)


QUALITIES = {
    "gini": gini_quality,
    "entropy": entropy_quality,
    "gain_ratio": gain_ratio_quality,
    "squared_error": squared_error_quality,
}


def impurity(criterion: str, rows: Sequence[int], additive: Additive) -> float:
    if additive.is_pure(rows):
        return 0.0
    if criterion == "squared_error":
        return _mean_square(rows, additive)
    x = additive.total(rows)[1:]
    w = sum(x)
    if criterion == "gini":
        return float(Fraction(w * w - sum(x_c * x_c for x_c in x), w * w))
    return float(CONTEXT.divide(total_entropy(x), Decimal(w)))


def _mean_square(rows: Sequence[int], additive: Additive) -> float:
    """The weighted mean of (y - m)^2; the squares are float64, their sum is exact.

    From sums of squares it could be had without the rows, but with rounded w*y that cancels where
    targets are large and close together.
    """
    mean = additive.mean(rows)
    squares = [Fraction((additive.targets[row] - mean) ** 2) for row in rows]
    weights = [additive.vectors[row][1] for row in rows]
    return float(sum(w * square for w, square in zip(weights, squares, strict=True)) / sum(weights))
