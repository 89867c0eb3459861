"""The same codes give the same tree, bit for bit, whatever way they came and whoever grew it."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cases import BASE_SEED
from mixed_data import CATEGORICAL, LABELS, make_mixed
from scipy import sparse

import treefold
from treefold import rules

ARRAYS = ["children_left", "children_right", "feature", "threshold", "missing_go_to_left"]
ARRAYS += ["impurity", "n_node_samples", "weighted_n_node_samples", "value"]
ARRAYS += ["n_categories", "category_begin", "category_words"]
TARGETS = ["two classes", "many classes", "regression"]
mixed = cache(make_mixed)


def fit(X, target, weights=None, rows=slice(None), **params):
    y = mixed().targets[target][rows]
    kind = (
        treefold.DecisionTreeRegressor
        if target == "regression"
        else treefold.DecisionTreeClassifier
    )
    return kind(**params).fit(X, y, sample_weight=weights)


@cache
def dense_tree(target, is_weighted=False, columns="all", criterion=None):
    weights = mixed().weights if is_weighted else None
    return fit(numbers(columns), target, weights, **kinds(columns), **judged_by(criterion))


def judged_by(criterion):
    """Gain ratio peels off row after row, so its trees are cut short."""
    if criterion is None:
        return {}
    return {"criterion": criterion, "max_depth": 12 if criterion == "gain_ratio" else None}


def numbers(columns):
    return mixed().X if columns == "all" else mixed().X[:, :10]


def kinds(columns):
    return {"categorical_features": CATEGORICAL if columns == "all" else None}


def assert_same(expected, actual):
    for name in ARRAYS:
        want, got = (np.asarray(getattr(model.tree_._native, name)) for model in (expected, actual))
        assert want.dtype == got.dtype, name
        assert want.shape == got.shape, name
        assert want.tobytes() == got.tobytes(), name


# Ways to hold the numeric columns ---------------------------------------------------------------


def with_wide_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def with_explicit_zeros(X):
    rows, columns = np.indices(X.shape)
    return sparse.csc_matrix((X.ravel(), (rows.ravel(), columns.ravel())), shape=X.shape)


def unsorted(X):
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:end] = X.indices[start:end][::-1]
        X.data[start:end] = X.data[start:end][::-1]
    X.has_sorted_indices = False
    return X


ARRAY_WAYS = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "float32": lambda X: X.astype(np.float32),
    "other byte order": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
}
SPARSE_WAYS = {
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr array": sparse.csr_array,
    "csc array": sparse.csc_array,
    "csc of float32": lambda X: sparse.csc_array(X.astype(np.float32)),
    "csc with int64 indices": lambda X: with_wide_indices(sparse.csc_matrix(X)),
    "csr with int64 indices": lambda X: with_wide_indices(sparse.csr_matrix(X)),
    "csc with explicit zeros": with_explicit_zeros,
    "csc unsorted": lambda X: unsorted(sparse.csc_matrix(X)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("way", [*ARRAY_WAYS, *SPARSE_WAYS])
def test_numbers_give_the_same_tree_however_they_are_held(way, target):
    X = (ARRAY_WAYS | SPARSE_WAYS)[way](numbers("numeric"))
    assert_same(dense_tree(target, columns="numeric"), fit(X, target))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "bool"])
def test_whole_numbers_give_the_same_tree_in_every_dtype(dtype):
    X = np.nan_to_num(mixed().X[:, 4:7]) % (2 if dtype == "bool" else 100)
    assert_same(fit(X, "many classes"), fit(X.astype(dtype), "many classes"))
    sparse_X = sparse.csc_array(X.astype(dtype))
    assert_same(fit(X, "many classes"), fit(sparse_X, "many classes"))


# Ways to hold categories as well ----------------------------------------------------------------


def frame_columns(missing):
    """Names and values; categories as labels, missing ones as None."""
    X = mixed().X
    columns = {}
    for column, values in enumerate(X.T):
        if column in CATEGORICAL:
            labels = LABELS[CATEGORICAL.index(column)]
            columns[f"x{column}"] = [None if np.isnan(v) else labels[int(v)] for v in values]
        else:
            columns[f"x{column}"] = [missing if np.isnan(v) else v for v in values]
    return columns


def make_pandas():
    frame = pd.DataFrame(frame_columns(np.nan))
    return frame.astype(
        {f"x{c}": pd.CategoricalDtype(LABELS[i]) for i, c in enumerate(CATEGORICAL)}
    )


def make_pyarrow():
    table = pa.table(frame_columns(None))
    for labels, column in zip(LABELS, CATEGORICAL, strict=True):
        numbers = [None if np.isnan(x) else int(x) for x in mixed().X[:, column]]
        encoded = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(labels))
        table = table.set_column(column, f"x{column}", encoded)
    return table


FRAME_WAYS = {
    "pandas categories": make_pandas,
    "pandas text": lambda: pd.DataFrame(frame_columns(np.nan)),
    "pandas nullable": lambda: pd.DataFrame(frame_columns(None)).convert_dtypes(),
    "polars text": lambda: pl.DataFrame(frame_columns(None), strict=False),
    "polars enum": lambda: pl.DataFrame(frame_columns(np.nan)).with_columns(
        pl.col(f"x{c}").cast(pl.Enum(LABELS[i])) for i, c in enumerate(CATEGORICAL)
    ),
    "pyarrow text": lambda: pa.table(frame_columns(None)),
    "pyarrow dictionaries": make_pyarrow,
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("way", list(FRAME_WAYS))
def test_frames_give_the_same_tree_as_arrays(way, target):
    assert_same(dense_tree(target), fit(cached_frame(way), target))


@cache
def cached_frame(way):
    return FRAME_WAYS[way]()


# Who grows it, and when -------------------------------------------------------------------------


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n_jobs", [2, 3, 8])
def test_threads_do_not_change_the_tree(n_jobs, target, is_weighted):
    weights = mixed().weights if is_weighted else None
    actual = fit(mixed().X, target, weights, n_jobs=n_jobs, categorical_features=CATEGORICAL)
    assert_same(dense_tree(target, is_weighted), actual)
    as_leaves = actual.apply(mixed().X)
    assert np.array_equal(as_leaves, dense_tree(target, is_weighted).apply(mixed().X))


@pytest.mark.parametrize("criterion", ["entropy", "gain_ratio"])
def test_threads_and_sparsity_do_not_change_entropy_trees(criterion):
    expected = dense_tree("many classes", columns="numeric", criterion=criterion)
    X = sparse.csc_matrix(numbers("numeric"))
    assert_same(expected, fit(X, "many classes", n_jobs=3, **judged_by(criterion)))


@pytest.mark.parametrize(
    "params",
    [
        {"max_features": 4, "random_state": 3},
        {"max_leaf_nodes": 50},
        {"min_samples_leaf": 20},
        {"class_weight": "balanced", "max_depth": 8},
        {"min_weight_fraction_leaf": 0.01},
        {"ccp_alpha": 1e-3},
    ],
    ids=lambda params: next(iter(params)),
)
def test_threads_and_sparsity_do_not_change_a_tree_under_rules(params):
    X, weights = numbers("numeric"), mixed().weights
    expected = fit(X, "many classes", weights, **params)
    assert_same(expected, fit(X, "many classes", weights, n_jobs=3, **params))
    assert_same(expected, fit(sparse.csc_matrix(X), "many classes", weights, n_jobs=2, **params))


@pytest.mark.parametrize("target", TARGETS)
def test_a_table_used_again_gives_the_same_tree(target):
    table = treefold.Table.from_data(mixed().X, categorical_features=CATEGORICAL)
    for _ in range(2):
        model = fit(table, target)
        assert_same(dense_tree(target), model)
        assert np.array_equal(model.apply(table), dense_tree(target).apply(mixed().X))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_the_order_of_the_rows_does_not_matter(target, is_weighted):
    rows = np.random.default_rng(1).permutation(len(mixed().X))
    weights = mixed().weights[rows] if is_weighted else None
    actual = fit(mixed().X[rows], target, weights, rows, categorical_features=CATEGORICAL)
    assert_same(dense_tree(target, is_weighted), actual)


@pytest.mark.parametrize("target", TARGETS)
def test_scans_in_float64_and_exact_scans_grow_the_same_tree(monkeypatch, target):
    monkeypatch.setattr(rules, "SEARCH", "exact")
    assert_same(fit(mixed().X, target, **kinds("all")), dense_tree(target))


@pytest.mark.parametrize("columns", ["all", "numeric"])
@pytest.mark.parametrize("target", ["two classes", "many classes"])
def test_rows_that_count_several_times_are_counted_as_exact_scans_do(monkeypatch, target, columns):
    X, random = numbers(columns), np.random.default_rng(BASE_SEED)
    weights = random.poisson(1.0, size=len(X)).astype(np.float64)
    few_values = np.round(np.nan_to_num(X), 1)  # kept histograms, and no missing value
    mostly_zero = np.where(random.random(X.shape) < 0.7, 0.0, few_values)
    cases = [(X, kinds(columns)), (few_values, kinds(columns))]
    cases.append((sparse.csc_array(mostly_zero), {}))
    for table, params in cases:
        fast = fit(table, target, weights, **params)
        with monkeypatch.context() as patch:
            patch.setattr(rules, "SEARCH", "exact")
            assert_same(fit(table, target, weights, **params), fast)


@pytest.mark.parametrize("target", TARGETS)
def test_columns_looked_up_in_nodes_give_the_tree_of_kept_orders(target):
    """One column in 40 is tried, so no order is kept: rows are sorted, or looked up if sparse."""
    X = np.hstack([numbers("numeric")[:3000]] * 4)
    X[np.random.default_rng(0).random(X.shape) < 0.8] = 0.0
    params = {"max_features": 1, "random_state": 5, "rows": slice(3000)}
    dense = fit(X, target, **params)
    assert len(np.unique(dense.tree_.feature)) > 30
    assert_same(dense, fit(sparse.csc_array(X), target, **params))
    assert_same(dense, fit(X, target, n_jobs=2, **params))


@pytest.mark.parametrize("target", TARGETS)
def test_zero_weights_equal_absent_rows(target):
    data = mixed()
    kept = data.weights > 0
    X = np.where(kept[:, None], data.X, 12345.0)[
        :, :10
    ]  # what a row of no weight holds is no matter
    actual = fit(X, target, data.weights)
    expected = fit(data.X[kept][:, :10], target, data.weights[kept], kept)
    assert_same(expected, actual)


# Builds -----------------------------------------------------------------------------------------


def save_trees(path):
    """Every tree of this file's data; run in a process of its own, for each build."""
    models = {
        f"{target} {is_weighted}": dense_tree(target, is_weighted)
        for target in TARGETS
        for is_weighted in (False, True)
    }
    for criterion in ("entropy", "gain_ratio"):
        models[criterion] = dense_tree("many classes", False, "numeric", criterion)
    arrays = {
        f"{key} {name}": np.asarray(getattr(model.tree_._native, name))
        for key, model in models.items()
        for name in ARRAYS
    }
    np.savez(path, build=treefold._native.build, **arrays)


def test_portable_and_avx2_builds_grow_the_same_trees(tmp_path):
    here = Path(__file__).parent
    saved = {}
    for build in ("baseline", ""):
        path = tmp_path / f"{build}.npz"
        code = f"import test_same_tree; test_same_tree.save_trees({str(path)!r})"
        places = [str(here), *filter(None, [os.environ.get("PYTHONPATH")])]
        env = os.environ | {"TREEFOLD_BUILD": build, "PYTHONPATH": os.pathsep.join(places)}
        subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=300)
        saved[build] = np.load(path)
    assert saved["baseline"]["build"] == "baseline"
    names = [name for name in saved[""].files if name != "build"]
    differing = [n for n in names if saved[""][n].tobytes() != saved["baseline"][n].tobytes()]
    assert differing == []
