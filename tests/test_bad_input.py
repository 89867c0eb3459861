"""Bad input is refused with a message that names the cause, and changes nothing."""

import copy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from treefold import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    InputError,
    InputTypeError,
    ParameterError,
)

X = np.array([[0.0, 5.0], [1.0, 4.0], [2.0, 3.0], [3.0, 2.0]])
Y = np.array([0, 0, 1, 1])
FRAME = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "colour": ["red", "blue", "red", "blue"]})


@dataclass
class Case:
    """One fit that must fail."""

    name: str
    message: str
    X: Any = field(default_factory=lambda: X)
    y: Any = field(default_factory=lambda: Y)
    weight: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    error: type[Exception] = InputError
    estimator: type = DecisionTreeClassifier


def with_value(value: Any, row: int = 2, column: int = 1) -> np.ndarray:
    changed = X.astype(object) if isinstance(value, str | dict) else X.copy()
    changed[row, column] = value
    return changed


def broken_sparse() -> sparse.csr_array:
    matrix = sparse.csr_array(X)
    matrix.indices = matrix.indices.copy()
    matrix.indices[1] = 77
    return matrix


def param(name: str, value: Any, message: str = "must be", **more: Any) -> Case:
    shown = f"{name}={value!r}"[:60]
    return Case(shown, message, params={name: value}, error=ParameterError, **more)


DATA_CASES = [
    Case("X is one-dimensional", r"Expected 2D array, got 1D array instead.*Reshape", X=X[:, 0]),
    Case("X has three dimensions", "Expected 2D array, got 3D array", X=X[None]),
    Case("X is a number", "Expected 2D array, got scalar array", X=7),
    Case("X is None", "X is of type NoneType. Give a numpy array", X=None, error=InputTypeError),
    Case("X is text", "X is of type str. Give a numpy array", X="hello", error=InputTypeError),
    Case("X is a set", "X is of type set", X={1, 2}, error=InputTypeError),
    Case("X is ragged", "Give every row the same number of values", X=[[1, 2], [3]]),
    Case("X has no rows", r"Found array with 0 sample\(s\) \(shape=\(0, 2\)\)", X=X[:0], y=Y[:0]),
    Case("X has no columns", r"0 feature\(s\) \(shape=\(4, 0\)\)", X=X[:, :0]),
    Case("frame without columns", r"0 feature\(s\)", X=pd.DataFrame(index=range(4))),
    Case("frame without rows", r"0 sample\(s\)", X=FRAME[:0], y=Y[:0]),
    Case("X is a np.matrix", "np.matrix is not supported", X=np.matrix(X), error=InputTypeError),
    Case("infinity", "[Cc]olumn 1.*row 2|row 2.*column 1", X=with_value(np.inf)),
    Case("minus infinity", "[Cc]olumn 1.*row 2|row 2.*column 1", X=with_value(-np.inf)),
    Case("infinity in float32", "[Cc]olumn 1", X=with_value(np.inf).astype(np.float32)),
    Case("infinity in a sparse matrix", "[Cc]olumn 1", X=sparse.csc_array(with_value(np.inf))),
    Case(
        "infinity in a named column",
        "[Cc]olumn 'age'",
        X=FRAME.assign(age=[1.0, 2.0, np.inf, 3.0]),
    ),
    Case(
        "infinity among categories",
        "[Cc]olumn 1.*row 2",
        X=with_value(np.inf),
        params={"categorical_features": [1]},
    ),
    Case("too large for float64", "[Cc]olumn 0", X=np.array([["1e999"], ["1"]], object), y=[0, 1]),
    Case("long double too large", "[Cc]olumn 0", X=np.longdouble([["1e4000"], [1]]), y=[0, 1]),
    Case("complex numbers", "Complex data not supported", X=X + 1j),
    Case("complex masked", "Complex data not supported", X=np.ma.array(X + 1j, mask=X == 0)),
    Case("complex sparse", "Complex data not supported", X=sparse.csr_array(X + 1j)),
    Case("complex objects", "Complex data not supported", X=(X + 1j).astype(object)),
    Case(
        "numpy's complex objects",
        r"Complex data not supported: Column 0 holds np.complex128\(1\+2j\) \(row 2\)",
        X=np.array([[1.0], [2.0], [np.complex128(1 + 2j)], [3.0]], object),
    ),
    Case(
        "text among numbers",
        r"Column 1 has 1 value that is not a number \(first: 'unknown', row 2.*"
        "Declare it in categorical_features, or clean it",
        X=with_value("unknown"),
    ),
    Case(
        "dict among numbers", "argument must be a string", X=with_value({"a": 1}), error=TypeError
    ),
    Case("text array", "has 4 values that are not numbers", X=np.array([["a"]] * 4)),
    Case(
        "bytes in a frame",
        "Column 'b'",
        X=pl.DataFrame({"b": [b"a", b"b", b"a", b"b"]}),
        error=InputTypeError,
    ),
    Case(
        "lists in a frame",
        "Column 'b' has type List.*cannot split",
        X=pl.DataFrame({"b": [[1], [2], [3], [4]]}),
        error=InputTypeError,
    ),
    Case(
        "mixed objects in a frame",
        "Column 'm' mixes labels that cannot be ordered",
        X=pd.DataFrame({"m": pd.Series([1, "a", 2, "b"], dtype=object)}),
        params={"categorical_features": ["m"]},
        error=InputTypeError,
    ),
    Case(
        "unhashable objects in a frame",
        "Column 'm' holds objects that are neither numbers nor labels",
        X=pd.DataFrame({"m": [{}, {}, {}, {}]}),
        error=InputTypeError,
    ),
    Case(
        "text that no one declared",
        "Column 'colour' holds text.*categorical_features does not name it",
        X=FRAME,
        params={"categorical_features": None},
    ),
    Case(
        "column names of two types",
        "only supported if all input features have string names",
        X=pd.DataFrame({"a": X[:, 0], 1: X[:, 1]}),
        error=InputTypeError,
    ),
    Case(
        "a column name twice",
        "Column name 'a' occurs more than once",
        X=pd.DataFrame(X, columns=["a", "a"]),
    ),
    Case(
        "a column number twice",
        "Column name 0 occurs more than once",
        X=pd.DataFrame(X, columns=[0, 0]),
    ),
    Case(
        "dates beyond microseconds",
        r"X holds dates or durations \(dtype datetime64\[s\]\) that are too long ago",
        X=np.array([[0], [2**54], [2**55], [1]], dtype="M8[s]"),
    ),
    Case(
        "dates as objects beyond microseconds",
        "Column 'd' holds dates or durations",
        X=pd.DataFrame({"d": pd.Series(list(np.array([0, 2**54, 1, 2], "M8[s]")), dtype=object)}),
    ),
    Case(
        "durations beyond microseconds",
        "Column 'd' holds dates or durations",
        X=pd.DataFrame({"d": np.array([0, 2**54, 2**55, 1], dtype="m8[s]")}),
    ),
    Case("sparse matrix with wrong indices", "not consistent with its shape", X=broken_sparse()),
]

TARGET_CASES = [
    Case("y is None", "requires y to be passed, but the target y is None", y=None),
    Case("y is shorter", "X has 4 rows, but y has 3 values", y=Y[:3]),
    Case("y is longer", "X has 4 rows, but y has 5 values", y=[0, 1, 0, 1, 0]),
    Case("y has two columns", "y has 2 columns, but DecisionTreeClassifier", y=np.c_[Y, Y]),
    Case("y has three dimensions", "y should be a 1d array", y=Y.reshape(1, 2, 2)),
    Case("y is a number", "y should be a 1d array", y=1),
    Case("y is ragged", "y should be a 1d array", y=[[1], [1, 2], [3], [4]]),
    Case("y is sparse", "y is a sparse matrix", y=sparse.csr_array(Y), error=InputTypeError),
    Case("y has NaN", r"Input y contains NaN.*row 1", y=[0, np.nan, 1, 1]),
    Case("y has None", "Input y contains NaN", y=np.array(["a", None, "b", "b"], object)),
    Case("y has NaT", r"Input y contains NaT.*row 2", y=np.array([0, 1, "NaT", 1], "M8[D]")),
    Case("y has no duration", "Input y contains NaT.*row 2", y=np.array([0, 1, "NaT", 1], "m8[s]")),
    Case(
        "y has NaT among objects",
        "Input y contains NaN.*row 1",
        y=np.array([np.timedelta64(1, "s"), np.timedelta64("NaT")] * 2, object),
    ),
    Case(
        "y has a decimal NaN",
        "Input y contains NaN.*row 1",
        y=[Decimal(1), Decimal("NaN"), Decimal(1), Decimal(2)],
    ),
    Case(
        "y hides a value",
        "Input y contains masked values.*row 3",
        y=np.ma.array(Y, mask=[0, 0, 0, 1]),
    ),
    Case(
        "y hides a number",
        "Input y contains masked values.*row 3",
        y=np.ma.array([1.0, 2.0, 3.0, 999.0], mask=[0, 0, 0, 1]),
        estimator=DecisionTreeRegressor,
    ),
    Case("y has infinity", "Input y contains infinity", y=[0, np.inf, 1, 1]),
    Case("y is continuous", "Unknown label type: continuous", y=[0.1, 0.2, 0.3, 0.4]),
    Case("y is complex", "Complex data not supported", y=Y + 1j),
    Case(
        "regression on complex objects",
        r"Complex data not supported: y holds np.complex128\(1\+2j\) \(row 3\)",
        y=np.array([1.0, 2.0, 3.0, np.complex128(1 + 2j)], object),
        estimator=DecisionTreeRegressor,
    ),
    Case("y mixes types", "cannot be ordered", y=np.array([1, "a", 2, "b"], object)),
    Case("y holds lists", "Unknown label type", y=np.array([{}, {}, {}, {}], object)),
    Case(
        "regression on text",
        "y must hold numbers to fit DecisionTreeRegressor",
        y=["a", "b", "a", "b"],
        estimator=DecisionTreeRegressor,
    ),
    Case(
        "regression on dates",
        "y must hold numbers to fit DecisionTreeRegressor, but has dtype datetime64",
        y=np.array(["2020-01-01"] * 4, dtype="datetime64[D]"),
        estimator=DecisionTreeRegressor,
    ),
    Case(
        "regression on NaN",
        "Input y contains NaN",
        y=[1.0, np.nan, 2.0, 3.0],
        estimator=DecisionTreeRegressor,
    ),
    Case(
        "regression on too large a number",
        "y must hold numbers to fit DecisionTreeRegressor.*too large",
        y=[10**400, 1, 2, 3],
        estimator=DecisionTreeRegressor,
    ),
    Case(
        "regression on infinity",
        "Input y contains infinity",
        y=[1.0, -np.inf, 2.0, 3.0],
        estimator=DecisionTreeRegressor,
    ),
]

WEIGHT_CASES = [
    Case("weights too few", "sample_weight has 3 values, but X has 4 rows", weight=[1, 1, 1]),
    Case("weights in two dimensions", "must be 1D array or scalar", weight=np.ones((4, 2))),
    Case(
        "negative weight",
        r"Negative values in sample_weight \(first: -1.0 in row 1\)",
        weight=[1, -1, 1, 1],
    ),
    Case("weight is NaN", "sample_weight contains NaN", weight=[1, np.nan, 1, 1]),
    Case("weight is infinite", "sample_weight contains infinity", weight=[1, np.inf, 1, 1]),
    Case(
        "a weight is masked",
        "sample_weight contains masked values.*row 2",
        weight=np.ma.array(np.ones(4), mask=[0, 0, 1, 1]),
    ),
    Case("complex weights", "Complex data not supported: sample_weight", weight=np.ones(4) + 1j),
    Case(
        "complex weights among objects",
        r"Complex data not supported: sample_weight.*row 1",
        weight=np.array([1.0, np.complex64(1j), 1.0, 1.0], object),
    ),
    Case(
        "complex class weights",
        "class_weight must hold numbers",
        params={"class_weight": {0: np.complex128(1j), 1: 1.0}},
        error=ParameterError,
    ),
    Case("all weights zero", "at least one non-zero number", weight=np.zeros(4)),
    Case("a weight is too large", "sample_weight must hold numbers", weight=[10**400, 1, 1, 1]),
    Case("weights are text", "sample_weight must hold numbers", weight=["a", "b", "c", "d"]),
    Case(
        "all classes of weight zero",
        "leave no row",
        params={"class_weight": {0: 0.0, 1: 0.0}},
    ),
]

PARAMETER_CASES = [
    param(
        "criterion",
        "absolute_error",
        "not additive.*squared_error",
        estimator=DecisionTreeRegressor,
    ),
    param("criterion", "poisson", "not additive.*squared_error", estimator=DecisionTreeRegressor),
    param("criterion", "gini", "must be one of 'squared_error'", estimator=DecisionTreeRegressor),
    param("criterion", "squared_error", "must be one of 'gini'"),
    param("criterion", None, "must be one of 'gini'"),
    param("max_depth", 0, "'max_depth' parameter of DecisionTreeClassifier.*Got 0 instead"),
    param("max_depth", -3),
    param("max_depth", 2.5),
    param("max_depth", True),
    param("max_depth", "deep"),
    param("min_samples_split", 1),
    param("min_samples_split", 0.0),
    param("min_samples_split", 1.5),
    param("min_samples_leaf", 0),
    param("min_samples_leaf", 1.0),
    param("min_samples_leaf", float("nan")),
    param("min_weight_fraction_leaf", 0.6),
    param("min_weight_fraction_leaf", -0.1),
    param("min_weight_fraction_leaf", None),
    param("max_features", 0),
    param("max_features", 0.0),
    param("max_features", "auto"),
    param("max_leaf_nodes", 1),
    param("max_leaf_nodes", 2.0),
    param("min_impurity_decrease", -1.0),
    param("min_impurity_decrease", float("inf")),
    param("min_impurity", -1.0),
    param("min_impurity", float("nan")),
    param("ccp_alpha", -0.5),
    param("ccp_alpha", "strong"),
    param("min_impurity_decrease", 10**400),
    param("min_impurity", 10**400),
    param("min_weight_fraction_leaf", 10**400),
    param("ccp_alpha", 10**400),
    param("random_state", -1),
    param("random_state", "seed"),
    param("random_state", 2**32),
    param("n_jobs", 0, "n_jobs=0 has no meaning"),
    param("n_jobs", 1.5, "n_jobs must be an int"),
    param("class_weight", "even", "'balanced', a dict"),
    param("class_weight", [1, 2], "'balanced', a dict"),
    param("class_weight", {0: -1.0}, "finite and not negative"),
    param("class_weight", {0: float("nan")}, "finite and not negative"),
    param("class_weight", {0: "a", 1: 1}, "finite and not negative"),
    param("class_weight", {0: [1.0], 1: 1}, "finite and not negative"),
    param("class_weight", {0: 10**400}, "finite and not negative"),
    param("class_weight", {"a": 2.0}, r"The classes \[0, 1\] are not in class_weight"),
    param("categorical_features", "colour", "did you mean"),
    param("categorical_features", [2], "names column 2, but X has columns 0 to 1"),
    param("categorical_features", [-1], "names column -1"),
    param("categorical_features", ["a"], "X has no column names"),
    param("categorical_features", [True], "mask of 1 booleans, but X has 2 columns"),
    param("categorical_features", [0, "a"], "only, names only"),
    param("categorical_features", [0.5], "column numbers only"),
    param("categorical_features", [[0]], "one-dimensional"),
    param("categorical_features", ["size"], "'size', which is not a column of X", X=FRAME),
]

CASES = DATA_CASES + TARGET_CASES + WEIGHT_CASES + PARAMETER_CASES


def snapshot(estimator: Any) -> dict[str, Any]:
    return dict(vars(estimator))


def assert_same_state(estimator: Any, before: dict[str, Any]) -> None:
    after = vars(estimator)
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bad_fit_is_refused_and_changes_nothing(case: Case) -> None:
    estimator = case.estimator().fit(FRAME, Y)
    answers = estimator.predict(FRAME)
    estimator.set_params(**case.params)
    data = copy.deepcopy(case.X)
    before = snapshot(estimator)
    with pytest.raises(case.error, match=f"(?s){case.message}") as caught:
        estimator.fit(data, case.y, sample_weight=case.weight)
    assert isinstance(caught.value, ValueError)
    assert_same_state(estimator, before)
    estimator.set_params(n_jobs=None)  # a bad n_jobs would be refused by predict, too
    assert np.array_equal(estimator.predict(FRAME), answers)


@pytest.mark.parametrize("case", CASES[:3] + TARGET_CASES[:2], ids=lambda case: case.name)
def test_a_bad_fit_leaves_an_unfitted_estimator_unfitted(case: Case) -> None:
    estimator = case.estimator(**case.params)
    before = snapshot(estimator)
    with pytest.raises(case.error, match=case.message):
        estimator.fit(case.X, case.y)
    assert before == snapshot(estimator)


@pytest.mark.parametrize("case", [PARAMETER_CASES[5], DATA_CASES[0]], ids=lambda case: case.name)
def test_the_pruning_path_refuses_what_fit_refuses(case: Case) -> None:
    estimator = case.estimator(**case.params)
    before = snapshot(estimator)
    with pytest.raises(case.error, match=case.message):
        estimator.cost_complexity_pruning_path(case.X, case.y)
    assert before == snapshot(estimator)


def test_a_one_dimensional_sparse_array_is_refused() -> None:
    vector = sparse.coo_array(X[:, 0])
    if vector.ndim == 2:
        pytest.skip("this version of scipy has no one-dimensional sparse arrays")
    with pytest.raises(InputError, match="Expected 2D input"):
        DecisionTreeClassifier().fit(vector, Y)


def test_there_are_at_least_sixty_cases() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert len(names) >= 60
