"""Comparing our model selection with scikit-learn's, run on the same estimators."""

import warnings

import numpy as np
import pandas as pd
from sklearn import model_selection

from treefold import model_selection as our_selection

TIMES = ("fit_time", "score_time", "refit_time")


def make_data(n_rows=160, seed=0):
    """Numbers with ties and missing values, three classes, numbers to predict, weights, groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).round(1)
    score = X[:, 0] + np.sin(2 * X[:, 1]) + rng.normal(scale=0.4, size=n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    return {
        "X": X,
        "classes": np.digitize(score, [-0.8, 0.9]),
        "binary": (score > 0).astype(int),
        "numbers": score.round(2),
        "weights": rng.integers(0, 4, n_rows) + 0.5 * rng.integers(0, 2, n_rows),
        "groups": rng.integers(0, 12, n_rows),
    }


def make_frame(X):
    """Columns of every kind beside the first of X."""
    rng = np.random.default_rng(1)
    colours = np.array(["red", "green", "blue", "grey", None, "rare"], dtype=object)
    numbers = rng.choice(6, size=160, p=[0.3, 0.25, 0.2, 0.14, 0.1, 0.01])
    numbers[3] = 5
    return pd.DataFrame(
        {
            "colour": colours[numbers],
            "size": pd.Categorical(rng.choice(["s", "m"], 160), ["s", "m", "l"]),
            "code": rng.integers(0, 9, 160),
            "x": X[:, 0],
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, 160), "D"),
        }
    )


def poison(X, row, value=np.inf):
    """X with a value that no tree reads."""
    X = X.copy()
    X[row, 1] = value
    return X


def both(name, *arguments, **options):
    """Call our function and scikit-learn's."""
    return (
        getattr(module, name)(*arguments, **options) for module in (our_selection, model_selection)
    )


def assert_same(ours, theirs):
    """The two hold the same, times aside."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for name in ours:
            if not str(name).endswith(TIMES):
                assert_same(ours[name], theirs[name])
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif hasattr(ours, "get_params"):
        assert_same_estimator(ours, theirs)
    elif isinstance(ours, np.ma.MaskedArray):
        np.testing.assert_array_equal(ours.mask, theirs.mask)
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist()
    else:
        np.testing.assert_array_equal(ours, theirs)


def assert_same_estimator(ours, theirs):
    """Every attribute is the same, and the tree node by node."""
    if hasattr(ours, "steps"):
        for (_, one), (_, other) in zip(ours.steps, theirs.steps, strict=True):
            assert_same_estimator(one, other)
        return
    assert type(ours) is type(theirs)
    if isinstance(ours, str):
        assert ours == theirs
        return
    one, other = ours.get_params(deep=False), theirs.get_params(deep=False)
    assert repr({**one, "random_state": 0}) == repr({**other, "random_state": 0})
    assert sorted(vars(ours)) == sorted(vars(theirs))
    if not hasattr(theirs, "tree_"):
        return
    one, other = ours.tree_, theirs.tree_
    arrays = one._native.to_arrays(), other._native.to_arrays()
    for name in arrays[0]:
        np.testing.assert_array_equal(arrays[0][name], arrays[1][name], name)
    assert one.schema.categories == other.schema.categories
    assert one.schema.families == other.schema.families
    np.testing.assert_array_equal(one._missing_columns, other._missing_columns)
    for name in ("classes_", "n_classes_", "n_features_in_", "feature_names_in_", "max_features_"):
        if hasattr(theirs, name):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def outcome(call):
    """What a call gives or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call()
        except Exception as error:
            value = (type(error).__name__, _head(str(error)))
    return value, sorted(
        {(warning.category.__name__, _head(str(warning.message))) for warning in caught}
    )


def _head(text):
    """The part of a message before tracebacks and details."""
    return text.split("Below are more details")[0].split("Details:")[0]
