"""What a tree learns: class numbers or real numbers, and how much each row counts.

Rows of weight zero do not exist: they count neither for fractions of rows nor for balanced class
weights. A class of weight zero makes its rows such rows.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from treefold.data.columns import EXACT, is_missing, number_distinct, refuse_complex
from treefold.exceptions import InputError, InputTypeError, ParameterError, warn

__all__ = ["Target", "read_class_target", "read_real_target", "select_rows"]

Weights = NDArray[np.float64] | None
_SMALLEST = float(np.finfo(np.float64).tiny)  # that float64 holds with all its digits
_SCALE_WEIGHTS = "Divide all weights by the same number: only their ratios matter."


@dataclass(frozen=True, slots=True)
class Target:
    """The target and the weights of the rows, checked and encoded."""

    values: NDArray[np.int32] | NDArray[np.float64]
    classes: NDArray[Any] | None = None  # the label of each class number; None for regression
    weights: Weights = None
    multipliers: NDArray[np.float64] | None = None  # one per class

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        return len(self.values) if self.weights is None else int(np.count_nonzero(self.weights))

    def own(self) -> "Target":
        """The same in arrays of its own, for whoever keeps it: y and weights may be borrowed."""
        weights = None if self.weights is None else self.weights.copy()
        return replace(self, values=self.values.copy(), weights=weights)

    def total_weight(self) -> float:
        """Weight of all rows, class weights included; the same for any order of the rows."""
        if self.multipliers is None:
            return float(len(self.values)) if self.weights is None else math.fsum(self.weights)
        counts = np.bincount(self.values, minlength=self.n_classes).astype(np.float64)
        if self.weights is not None:
            for number in range(self.n_classes):
                counts[number] = math.fsum(self.weights[self.values == number])
        return math.fsum(counts * self.multipliers)


def read_class_target(
    y: Any, sample_weight: Any, class_weight: Any, n_rows: int, owner: str
) -> Target:
    """Read class labels of any kind, and the weights of rows and classes."""
    labels = _read_vector(y, n_rows, owner)
    classes, numbers = _number_classes(labels)
    target = Target(numbers, classes, _read_weights(sample_weight, n_rows))
    return _weigh_classes(target, class_weight)


def select_rows(target: Target, rows: NDArray[Any], class_weight: Any = None) -> Target:
    """Take some rows, as if they had been read alone, but with the class numbers of all rows."""
    weights = None if target.weights is None else target.weights[rows]
    if weights is not None:
        _check_weights(weights)
    selected = Target(target.values.take(rows), target.classes, weights)
    return selected if target.classes is None else _weigh_classes(selected, class_weight)


def _weigh_classes(target: Target, class_weight: Any) -> Target:
    numbers, weights = target.values, target.weights
    multipliers = _class_multipliers(class_weight, target)
    if multipliers is not None and not multipliers.all():
        weights = np.where(multipliers[numbers] == 0, 0.0, 1.0 if weights is None else weights)
        multipliers = np.where(multipliers == 0, 1.0, multipliers)
        if not weights.any():
            raise InputError("The class weights leave no row of a weight other than zero.")
    if multipliers is not None:
        with np.errstate(over="ignore"):
            total = float(np.bincount(numbers, weights, target.n_classes) @ multipliers)
        if not math.isfinite(total):
            raise InputError(f"Weighted rows add up to more than float64 holds. {_SCALE_WEIGHTS}")
    return Target(numbers, target.classes, weights, multipliers)


def read_real_target(y: Any, sample_weight: Any, n_rows: int, owner: str) -> Target:
    """Read the numbers to be predicted, and the weights of rows."""
    values = _read_vector(y, n_rows, owner)
    if values.dtype.kind in "mM":
        raise InputError(f"y must hold numbers to fit {owner}, but has dtype {values.dtype}.")
    if values.dtype != np.float64:
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"y must hold numbers to fit {owner}: {error}. Clean y, or use a classifier."
            ) from None
    _check_finite(values)
    values = np.require(values, requirements=["C", "A"])
    weights = _read_weights(sample_weight, n_rows)
    if weights is not None:
        _check_products(weights, values)
    return Target(values, None, weights)


def _check_products(weights: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    """Refuse weights that take a target out of float64's range: nodes add up products."""
    with np.errstate(over="ignore", under="ignore"):
        products = np.abs(weights * values)
    is_small = (products < _SMALLEST) & (weights != 0) & (np.abs(values) >= _SMALLEST)
    is_lost = is_small | ~np.isfinite(products)
    if is_lost.any():
        row = int(np.argmax(is_lost))
        raise InputError(
            f"The weight {weights[row]} and the target {values[row]} of row {row} have a product "
            f"that float64 does not hold. {_SCALE_WEIGHTS}"
        )


def _read_vector(y: Any, n_rows: int, owner: str) -> NDArray[Any]:
    if y is None:
        raise InputError(
            f"This {owner} estimator requires y to be passed, but the target y is None."
        )
    if sparse.issparse(y):
        raise InputTypeError("y is a sparse matrix. Give it as an array: y.toarray().ravel().")
    try:
        values = _to_array(y)
    except ValueError as error:
        raise InputError(
            f"y should be a 1d array, but could not be read as one: {error}."
        ) from None
    refuse_complex(values, "y")
    if values.ndim == 2 and values.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples, ), for example using ravel().",
            DataConversionWarning,
        )
        values = values.ravel()
    if values.ndim == 2:
        raise InputError(
            f"y has {values.shape[1]} columns, but {owner} predicts one target. Fit one tree per "
            "column, for instance by sklearn.multioutput."
        )
    if values.ndim != 1:
        raise InputError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
    if len(values) != n_rows:
        raise InputError(
            f"X has {n_rows} rows, but y has {len(values)} values. Give one target per row."
        )
    _check_visible(y, "y")
    return values


def _to_array(y: Any) -> NDArray[Any]:
    values = np.asarray(y)
    is_list = not hasattr(y, "__array__")
    if is_list and values.dtype.kind == "f" and np.abs(values).max(initial=0) >= EXACT:
        return np.asarray(y, dtype=object)  # [2**63 + 1, -1]: whole numbers that float64 rounds
    return values


def _check_visible(values: Any, name: str) -> None:
    """Refuse a masked array that hides values: numpy would show what is behind the mask."""
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        row = int(np.argmax(np.ma.getmaskarray(values)))
        raise _refuse(name, "masked values", row)


def _refuse(name: str, what: str, row: int) -> InputError:
    return InputError(
        f"Input {name} contains {what}. (First: row {row}.) Drop such rows, or repair them."
    )


def _check_finite(values: NDArray[Any]) -> None:
    finite = np.isfinite(values)
    if finite.all():
        return
    row = int(np.argmin(finite))
    what = "NaN" if np.isnan(values[row]) else "infinity or a value too large for dtype('float64')"
    raise _refuse("y", what, row)


def _number_classes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Sort the distinct labels and number every row by its label."""
    kind = labels.dtype.kind
    if kind == "O":
        return _number_objects(labels)
    if kind == "f":
        return _number_floats(labels)
    if kind not in "iubUSMm":
        raise InputTypeError(f"Unknown label type: y has dtype {labels.dtype}.")
    if kind in "mM" and np.isnat(labels).any():
        raise _refuse("y", "NaT", int(np.argmax(np.isnat(labels))))
    return number_distinct(labels)


def _number_floats(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    _check_finite(labels)
    if (labels != np.floor(labels)).any():
        raise InputError(
            "Unknown label type: continuous. y holds numbers that are not whole, so it is not a "
            "set of classes. Use DecisionTreeRegressor, or turn y into classes."
        )
    if np.abs(labels).max(initial=0) < EXACT:
        classes, numbers = number_distinct(labels.astype(np.int64))
        return classes.astype(labels.dtype), numbers
    return number_distinct(labels)


def _number_objects(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    index: dict[Any, int] = {}
    try:
        codes = [index.setdefault(label, len(index)) for label in labels]
    except TypeError as error:
        raise InputTypeError(f"Unknown label type: y holds objects ({error}).") from None
    for label, code in index.items():
        if is_missing(label):
            raise _refuse("y", "NaN", codes.index(code))
    types = {type(label) for label in index}
    if all(issubclass(type_, bool | int | float | np.number) for type_ in types):
        plain = [_to_plain(label) for label in labels]
        numbers = np.array(plain)
        is_exact = numbers.dtype.kind != "f" or numbers.tolist() == plain
        if is_exact and numbers.dtype != object:
            return _number_classes(numbers)
        _check_whole(index)
    try:
        classes = sorted(index)
    except TypeError:
        names = ", ".join(sorted(type_.__name__ for type_ in types))
        raise InputTypeError(
            f"Unknown label type: y mixes labels that cannot be ordered ({names}). "
            "Give all labels one type."
        ) from None
    number_of = np.empty(len(index), dtype=np.int32)
    number_of[[index[label] for label in classes]] = np.arange(len(index), dtype=np.int32)
    # np.array would make two dimensions of tuples.
    plain_classes = np.fromiter(map(_to_plain, classes), dtype=object, count=len(classes))
    return plain_classes, number_of[codes]


def _to_plain(label: Any) -> Any:
    """Turn a number of numpy into one of Python, which compares with others exactly."""
    is_number = isinstance(label, np.number) and not isinstance(label, np.timedelta64)
    return label.item() if is_number else label


def _check_whole(labels: Iterable[Any]) -> None:
    """Look at the floats among whole numbers that are too large for them."""
    _number_floats(np.array([label for label in labels if isinstance(label, float | np.floating)]))


def _read_weights(sample_weight: Any, n_rows: int) -> Weights:
    if sample_weight is None:
        return None
    try:
        given = np.asarray(sample_weight)
        refuse_complex(given, "sample_weight")
        weights = np.asarray(given, dtype=np.float64)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"sample_weight must hold numbers: {error}.") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.ndim != 1:
        raise InputError(
            f"Sample weights must be 1D array or scalar, got {weights.ndim}D array. "
            f"Expected either a scalar value or a 1D array of length {n_rows}."
        )
    if len(weights) != n_rows:
        raise InputError(
            f"sample_weight has {len(weights)} values, but X has {n_rows} rows. "
            "Give one weight per row."
        )
    _check_visible(sample_weight, "sample_weight")
    _check_weights(weights)
    return np.require(weights, requirements=["C", "A"])


def _check_weights(weights: NDArray[np.float64]) -> None:
    finite = np.isfinite(weights)
    if not finite.all():
        row = int(np.argmin(finite))
        what = "NaN" if np.isnan(weights[row]) else "infinity"
        raise _refuse("sample_weight", what, row)
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise InputError(
            f"Negative values in sample_weight (first: {weights[row]} in row {row}). "
            "Weights say how often a row counts; give zero to leave it out."
        )
    if not weights.any():
        raise InputError("Sample weights must contain at least one non-zero number.")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise InputError(f"sample_weight adds up to more than float64 holds. {_SCALE_WEIGHTS}")


def _class_multipliers(class_weight: Any, target: Target) -> NDArray[np.float64] | None:
    assert target.classes is not None
    if class_weight is None:
        return None
    if isinstance(class_weight, str):  # "balanced": the rules let nothing else pass
        present = target.values if target.weights is None else target.values[target.weights > 0]
        counts = np.bincount(present, minlength=target.n_classes).astype(np.float64)
        n_present = np.count_nonzero(counts)
        multipliers = np.ones(target.n_classes)
        np.divide(len(present), n_present * counts, out=multipliers, where=counts > 0)
    else:
        is_present = np.bincount(target.values, minlength=target.n_classes) > 0
        multipliers = np.ones(target.n_classes)
        multipliers[is_present] = _multipliers_from(class_weight, target.classes[is_present])
    return None if (multipliers == 1).all() else multipliers


def _multipliers_from(class_weight: dict[Any, Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    labels = classes.tolist()
    unknown = [key for key in class_weight if key not in labels]
    unweighted = [label for label in labels if label not in class_weight]
    if unknown and unweighted:
        raise ParameterError(
            f"The classes {unweighted} are not in class_weight, and its keys {unknown} are not "
            "classes of y. Give class_weight the labels that y uses."
        )
    given = [class_weight.get(label, 1.0) for label in labels]
    try:
        refuse_complex(np.array(given), "class_weight")
        multipliers = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        multipliers = np.full(len(labels), np.nan)
    if not (np.isfinite(multipliers).all() and (multipliers >= 0).all()):
        raise ParameterError(
            "class_weight must hold numbers that are finite and not negative. "
            f"Got {class_weight!r} instead."
        )
    return multipliers
