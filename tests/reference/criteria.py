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
from math import frexp, ldexp, sqrt

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


def quality(
    criterion: str, total: Vector, left: Vector, allowance: float = 0.0
) -> float | Fraction:
    """`allowance`: of the gain, what a column owes to chance."""
    return QUALITIES[criterion](total, left, subtract(total, left), allowance)


def gini_quality(total: Vector, left: Vector, right: Vector, allowance: float) -> float:
    def purity(stats: Vector) -> float:
        return float(sum(x * x for x in stats[1:])) / float(sum(stats[1:]))

    return purity(left) + purity(right) - allowance


def squared_error_quality(total: Vector, left: Vector, right: Vector, allowance: float) -> float:
    _, w, s = total
    _, w_left, s_left = left
    d = float(s_left * w - w_left * s)
    return d * d / (float(w_left) * float(right[1])) - allowance


def entropy_quality(total: Vector, left: Vector, right: Vector, allowance: float) -> Fraction:
    w = sum(total[1:])
    return to_thirty_digits(_gain(total, left, right), w) * w - Fraction(allowance)


def gain_ratio_quality(total: Vector, left: Vector, right: Vector, allowance: float) -> Fraction:
    information = total_entropy((sum(left[1:]), sum(right[1:])))
    gain = CONTEXT.subtract(_gain(total, left, right), Decimal(allowance))
    return to_thirty_digits(gain, information)


def _gain(total: Vector, left: Vector, right: Vector) -> Decimal:
    both = CONTEXT.add(total_entropy(left[1:]), total_entropy(right[1:]))
    return CONTEXT.subtract(total_entropy(total[1:]), both)


FREE_GROUPS = 5  # of categories, whose sets have no more chances than the cuts of a number
CHANCE_PER_GROUP, CHANCE_SPREAD = 0.95, 1.75
CHANCE_BITS = 0.72


def chance_of_groups(n_groups: int) -> float:
    """What the best set of so many groups gains by chance, in units of `chance_gain`.

    Where there is nothing to find, all that k more groups explain has the mean k and the standard
    deviation sqrt(2 k). Of normal means the best division in two takes 2 / pi of that; of few
    rows each and a rare class nearly all.
    """
    more = max(n_groups - FREE_GROUPS, 0)
    return CHANCE_PER_GROUP * more + CHANCE_SPREAD * sqrt(more)


def chance_gain(criterion: str, total: Vector, node_impurity: float, additive: Additive) -> float:
    """What one more group of categories explains by chance: as much as a row varies.

    In the units of `quality`. Gains of entropy are 1 / (2 ln 2) where sums of squares are a
    variance.
    """
    if criterion == "squared_error":
        return _chance_of_numbers(total, node_impurity, additive)
    weight_of_row = float(sum(total[1:])) / float(total[0])
    if criterion == "gini":
        return _spread(total) * weight_of_row
    return CHANCE_BITS * weight_of_row


def _spread(total: Vector) -> float:
    """Of gini, along the class whose order gains most: with two classes that is the impurity."""
    weight, squares = float(sum(total[1:])), float(sum(x * x for x in total[1:]))
    most = 0.0
    for x in total[1:]:
        own, others = float(x), float(sum(total[1:]) - x)
        if own and others:
            more = others / weight + (squares - own * own) / (weight * others)
            most = max(most, own / weight * more)
    return most


def _chance_of_numbers(total: Vector, node_impurity: float, additive: Additive) -> float:
    """A quality is the weight times the gain, in squared units of the sums."""
    spread, of_spread = frexp(node_impurity)
    weight, of_weight = frexp(float(additive.weight(total)))
    unit = additive.units[2]
    of_unit = unit.numerator.bit_length() - unit.denominator.bit_length()
    return ldexp(
        spread * (weight * weight / float(total[0])),
        of_spread + 2 * of_weight - 2 * of_unit,
    )


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
