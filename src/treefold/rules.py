"""Parameters of the estimators -> the rules by which one tree grows.

Parameters mean what they mean in scikit-learn: whole numbers count rows or columns, fractions are
shares of them. Everything is checked here, before any data is touched: the core takes rules as
they are.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from treefold import _native
from treefold.data.target import Target
from treefold.exceptions import ParameterError, warn

__all__ = ["PATH_PARAMETERS", "UNLIMITED_DEPTH", "Cell"]
__all__ += ["check_parameters", "draw_seed", "is_fraction", "is_whole"]
__all__ += ["make_cell", "make_rules"]

PATH_PARAMETERS = (
    "max_depth",
    "min_samples_split",
    "min_impurity_decrease",
    "max_leaf_nodes",
    "ccp_alpha",
)
UNLIMITED_DEPTH = 2**31 - 1
SEARCH = "fastest"  # or "exact", without filters in floating point: tests compare the two
ORDER = "last"  # node that waits is divided next, or "level": all of them; tests compare the two
_LARGEST = 2**31 - 1
_NOT_ADDITIVE = {
    "absolute_error": "medians",
    "poisson": "logarithms of means",
}
Check = tuple[Callable[[Any], bool], str]


def is_whole(value: Any, low: int) -> bool:
    """Whether a parameter is a whole number of at least this."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low


def _is_real(value: Any, low: float, high: float = math.inf) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return low <= float(value) <= high
    except OverflowError:  # 10**400: float64 has no such number
        return False


def is_fraction(value: Any) -> bool:
    """Whether a parameter is a share, of more than nothing."""
    return not isinstance(value, Integral) and _is_real(value, 0.0, 1.0) and float(value) > 0


def _is_finite(value: Any) -> bool:
    return _is_real(value, 0.0) and math.isfinite(value)


_CHECKS: dict[str, Check] = {
    "splitter": (lambda v: isinstance(v, str) and v == "best", "'best'"),
    "max_depth": (lambda v: v is None or is_whole(v, 1), "an int of at least 1, or None"),
    "min_samples_split": (
        lambda v: is_whole(v, 2) or is_fraction(v),
        "an int of at least 2, or a float in the range (0.0, 1.0]",
    ),
    "min_samples_leaf": (
        lambda v: is_whole(v, 1) or (is_fraction(v) and v < 1.0),
        "an int of at least 1, or a float in the range (0.0, 1.0)",
    ),
    "min_weight_fraction_leaf": (
        lambda v: _is_real(v, 0.0, 0.5),
        "a float in the range [0.0, 0.5]",
    ),
    "max_features": (
        lambda v: (
            v is None
            or (isinstance(v, str) and v in ("sqrt", "log2"))
            or is_whole(v, 1)
            or is_fraction(v)
        ),
        "an int of at least 1, a float in the range (0.0, 1.0], 'sqrt', 'log2' or None",
    ),
    "max_leaf_nodes": (lambda v: v is None or is_whole(v, 2), "an int of at least 2, or None"),
    "min_impurity_decrease": (_is_finite, "a finite number of at least 0"),
    "min_impurity": (_is_finite, "a finite number of at least 0"),
    "ccp_alpha": (_is_finite, "a finite number of at least 0"),
    "min_samples_category": (lambda v: is_whole(v, 1), "an int of at least 1"),
    "random_state": (
        lambda v: (
            v is None or (is_whole(v, 0) and v < 2**32) or isinstance(v, np.random.RandomState)
        ),
        "an int in the range [0, 4294967295], a numpy RandomState or None",
    ),
}


def check_parameters(estimator: Any, criteria: tuple[str, ...]) -> None:
    """Refuse parameters that have no meaning, in one place and before anything else."""
    owner = type(estimator).__name__
    _check_criterion(estimator.criterion, criteria, owner)
    _refuse_what_only_scikit_learn_has(estimator, owner)
    for name, (is_valid, wanted) in _CHECKS.items():
        value = getattr(estimator, name)
        if not is_valid(value):
            raise ParameterError(
                f"The {name!r} parameter of {owner} must be {wanted}. Got {value!r} instead."
            )
    class_weight = getattr(estimator, "class_weight", None)
    is_balanced = isinstance(class_weight, str) and class_weight == "balanced"
    if not (class_weight is None or is_balanced or isinstance(class_weight, dict)):
        raise ParameterError(
            f"The 'class_weight' parameter of {owner} must be 'balanced', a dict of class label "
            f"to weight, or None. Got {class_weight!r} instead."
        )


def _refuse_what_only_scikit_learn_has(estimator: Any, owner: str) -> None:
    """Say of parameters that exist for scikit-learn's sake what cannot be had by them."""
    instead = "scikit-learn's tree of the same name has them."
    splitter, constraints = estimator.splitter, estimator.monotonic_cst
    if isinstance(splitter, str) and splitter == "random":
        raise ParameterError(
            f"splitter='random' is not available in {owner}: treefold tries every threshold, and "
            "equal splits are told apart by rule, so that a tree is always the same. Leave it at "
            f"'best' (max_features draws columns), or, for random thresholds, {instead}"
        )
    if constraints is not None:
        raise ParameterError(
            f"monotonic_cst={constraints!r} is not available in {owner}: treefold grows trees "
            f"without monotonic constraints. Leave it at None; {instead}"
        )


def _check_criterion(criterion: Any, criteria: tuple[str, ...], owner: str) -> None:
    if isinstance(criterion, str) and criterion in criteria:
        return
    if isinstance(criterion, str) and criterion in _NOT_ADDITIVE and "squared_error" in criteria:
        raise ParameterError(
            f"criterion={criterion!r} is not available in {owner}: it is not additive. treefold "
            "chooses splits from sums over rows, which is what makes its trees exact and fast, and "
            f"this criterion needs {_NOT_ADDITIVE[criterion]}. Use criterion='squared_error' (on a "
            "transformed y, such as log1p(y), if outliers or counts are the concern), or "
            "scikit-learn's DecisionTreeRegressor."
        )
    shown = ", ".join(map(repr, criteria))
    raise ParameterError(
        f"The 'criterion' parameter of {owner} must be one of {shown}. Got {criterion!r} instead."
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """The limits that only make a tree smaller, for one training set.

    `treefold.replay` reads the trees of many cells off one tree.
    """

    max_depth: int = UNLIMITED_DEPTH
    min_samples_split: int = 2
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int = 0  # 0: no limit
    ccp_alpha: float = 0.0


def make_cell(parameters: Mapping[str, Any], n_rows: int) -> Cell:
    """Turn checked path parameters into limits for this many rows of positive weight."""
    depth = parameters["max_depth"]
    return Cell(
        max_depth=UNLIMITED_DEPTH if depth is None else min(int(depth), UNLIMITED_DEPTH),
        min_samples_split=max(2, _count(parameters["min_samples_split"], n_rows)),
        min_impurity_decrease=float(parameters["min_impurity_decrease"]),
        max_leaf_nodes=min(int(parameters["max_leaf_nodes"] or 0), _LARGEST),
        ccp_alpha=float(parameters["ccp_alpha"]),
    )


def make_rules(estimator: Any, target: Target, n_columns: int) -> _native.Rules:
    """Turn checked parameters into rules for this many rows and columns."""
    n_rows = target.n_rows
    rules = _native.Rules()
    rules.criterion = _name_criterion(estimator.criterion)
    cell = make_cell({name: getattr(estimator, name) for name in PATH_PARAMETERS}, n_rows)
    rules.max_depth = cell.max_depth
    rules.min_samples_split = cell.min_samples_split
    rules.min_impurity_decrease = cell.min_impurity_decrease
    rules.max_leaf_nodes = cell.max_leaf_nodes
    rules.min_samples_leaf = _count(estimator.min_samples_leaf, n_rows)
    rules.min_samples_category = min(int(estimator.min_samples_category), _LARGEST)
    fraction = float(estimator.min_weight_fraction_leaf)
    rules.min_weight_leaf = fraction * target.total_weight() if fraction > 0 else 0.0
    rules.max_features = _count_features(estimator.max_features, n_columns)
    rules.min_impurity = float(estimator.min_impurity)
    rules.tree = 0
    rules.search = SEARCH
    rules.order = ORDER
    rules.class_multipliers = target.multipliers
    rules.seed = 0
    if rules.max_features < n_columns:  # otherwise nothing is drawn
        rules.seed = draw_seed(estimator.random_state)
    return rules


def _name_criterion(criterion: str) -> str:
    if criterion == "friedman_mse":
        warn(
            'Value `"friedman_mse"` for `criterion` is deprecated in scikit-learn. It maps to '
            '`"squared_error"` as both were always equivalent. Use `criterion="squared_error"` '
            "to remove this warning.",
            FutureWarning,
        )
        return "squared_error"
    return "entropy" if criterion == "log_loss" else criterion


def _count(value: Any, n_rows: int) -> int:
    """Rows: a number of them, or a share of those that there are."""
    if isinstance(value, Integral):
        return min(int(value), _LARGEST)
    return math.ceil(float(value) * n_rows)


def _count_features(value: Any, n_columns: int) -> int:
    """Columns to try in a node."""
    if value is None:
        return n_columns
    if value == "sqrt":
        return max(1, math.isqrt(n_columns))
    if value == "log2":
        return max(1, n_columns.bit_length() - 1)
    if isinstance(value, Integral):
        return min(int(value), n_columns)
    return max(1, int(float(value) * n_columns))


def draw_seed(random_state: Any) -> int:
    """Turn `random_state` into the seed of all draws."""
    if isinstance(random_state, Integral):
        return int(random_state)
    generator = check_random_state(random_state)
    return int(generator.randint(2**32, dtype=np.uint64))
