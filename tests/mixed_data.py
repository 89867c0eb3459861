"""A data set with every kind of column, large enough that threads and all searches engage."""

from dataclasses import dataclass

import numpy as np

CATEGORICAL = [10, 11]
LABELS = [[f"c{c:02d}" for c in range(n)] for n in (6, 30)]


@dataclass(frozen=True)
class Mixed:
    X: np.ndarray  # float64, every value representable as float32; categories as numbers
    targets: dict[str, np.ndarray]
    weights: np.ndarray


def make_mixed(n_rows: int = 20_000, seed: int = 0) -> Mixed:
    """Continuous columns 0-3, few-valued 4-6, whole 7, mostly zero 8-9, categorical 10-11."""
    rng = np.random.default_rng(seed)
    continuous = rng.normal(size=(n_rows, 4))
    few = rng.integers(0, [2, 7, 32], size=(n_rows, 3))
    whole = rng.integers(-1000, 1000, size=(n_rows, 1))
    rare = rng.normal(size=(n_rows, 2)) * (rng.random((n_rows, 2)) < [0.02, 0.2])
    categories = np.column_stack([rng.permutation(n_rows) % n for n in (6, 30)])
    X = np.column_stack([continuous, few, whole, rare, categories]).astype(np.float32)
    X = X.astype(np.float64)
    score = X[:, 0] + np.sin(3 * X[:, 1]) + (X[:, 5] - 3) / 4 + X[:, 9] + (X[:, 11] % 5) / 3
    score += rng.normal(scale=0.5, size=n_rows)
    for column in (1, 5, 8, 11):
        X[rng.random(n_rows) < 0.1, column] = np.nan
    targets = {
        "two classes": (score > np.median(score)).astype(np.int64),
        "many classes": np.digitize(score, np.quantile(score, [0.1, 0.3, 0.45, 0.6, 0.8, 0.9])),
        "regression": score,
    }
    weights = np.where(rng.random(n_rows) < 0.1, 0.0, rng.gamma(2.0, size=n_rows))
    return Mixed(X, targets, weights)
