"""A grid of path parameters scored from one scikit-learn tree per fold, by hand in NumPy.

The cleverest that a user of scikit-learn can do: `max_depth`, `min_samples_split` and `ccp_alpha`
only make a tree smaller, so one full tree per fold holds the trees of the whole grid. For each
`min_samples_split` the levels of its tree are gone through from the deepest up. Every node learns,
for all depths and alphas at once, whether it is a leaf, the risk and number of the leaves below it,
and how many held-out rows these predict rightly. The vector is shorter further down: settings of a
small `max_depth` do not look deep.

scikit-learn breaks ties between columns by draws whose order depends on the limits, so the scores
are GridSearchCV's only where no two columns tie (in nodes of few rows they do). `main` checks that.

    python -m benchmarks.peers.sklearn_paths
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.tree import DecisionTreeClassifier

from benchmarks.data import make_binary

Nodes = NDArray[np.int64]
Numbers = NDArray[np.float64]

DEPTHS = (2, 4, 6, 8, 10, 15, 20, None)
MIN_SAMPLES_SPLITS = (2, 5, 10, 20, 50, 100)
CCP_ALPHAS = (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1)
GRID: dict[str, list[Any]] = {
    "max_depth": list(DEPTHS),
    "min_samples_split": list(MIN_SAMPLES_SPLITS),
    "ccp_alpha": list(CCP_ALPHAS),
}


@dataclass(frozen=True)
class Settings:
    """All pairs of depth and alpha, deepest first."""

    max_depth: Numbers
    ccp_alpha: Numbers

    def count_below(self, depth: int) -> int:
        """Count those that may split nodes of this depth: they come first."""
        return int(np.count_nonzero(self.max_depth > depth))


def list_settings(grid: dict[str, list[Any]]) -> Settings:
    """Lay out the pairs."""
    depths = [np.inf if depth is None else depth for depth in grid["max_depth"]]
    pairs = np.array(list(product(sorted(depths, reverse=True), grid["ccp_alpha"])))
    return Settings(pairs[:, 0], pairs[:, 1])


def to_grid_order(scores: Numbers, grid: dict[str, list[Any]]) -> Numbers:
    """Bring scores (size, pair) into the order of GridSearchCV: alpha, depth, size."""
    depths = np.array([np.inf if depth is None else depth for depth in grid["max_depth"]])
    places = np.argsort(np.argsort(-depths, kind="stable"), kind="stable")
    cube = scores.reshape(len(scores), len(depths), -1)[:, places]
    return np.ascontiguousarray(cube.transpose(2, 1, 0)).ravel()


def list_facts(model: DecisionTreeClassifier, X: Numbers, y: NDArray[Any]) -> Numbers:
    """What a node adds as a leaf: its risk, one leaf, the rows that it predicts rightly."""
    tree = model.tree_
    predicted = model.classes_[tree.value[:, 0].argmax(axis=1)]
    path = model.decision_path(X)
    rows = np.repeat(np.arange(len(y)), np.diff(path.indptr))
    is_right = predicted[path.indices] == y[rows]
    facts = np.ones((3, tree.node_count))
    facts[0] = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    facts[2] = np.bincount(path.indices, weights=is_right, minlength=tree.node_count)
    return facts


def list_levels(left: Nodes, right: Nodes, is_split: NDArray[np.bool_]) -> list[Nodes]:
    """The nodes of each depth: left children of the level above, then right ones."""
    levels = [np.array([0])]
    while True:
        parents = levels[-1][is_split[levels[-1]]]
        if len(parents) == 0:
            return levels
        levels.append(np.concatenate([left[parents], right[parents]]))


def score_size(tree: Any, facts: Numbers, size: int, settings: Settings) -> Numbers:
    """Rows predicted rightly by each pair of depth and alpha, under one `min_samples_split`."""
    is_split = (tree.children_left >= 0) & (tree.n_node_samples >= size)
    levels = list_levels(tree.children_left, tree.children_right, is_split)
    below = np.empty((3, 0, settings.count_below(len(levels) - 1)))
    for depth in range(len(levels) - 1, -1, -1):
        level, n = levels[depth], settings.count_below(depth)
        own = np.repeat(facts[:, level, None], settings.count_below(depth - 1), axis=2)
        parents = np.flatnonzero(is_split[level])
        sums = below[:, : len(parents)] + below[:, len(parents) :]
        saved = facts[0, level[parents], None] - sums[0]
        alphas = settings.ccp_alpha[:n]
        is_cut = (saved <= alphas * (sums[1] - 1)) & (alphas > 0)
        own[:, parents, :n] = np.where(is_cut, own[:, parents, :n], sums)
        below = own
    return np.asarray(below[2, 0])


def search_grid(
    X: Numbers, y: NDArray[Any], grid: dict[str, list[Any]], cv: KFold, n_jobs: int = 1
) -> Numbers:
    """Mean accuracy of each setting of the grid, in the order of GridSearchCV."""
    settings = list_settings(grid)

    def score_fold(train: Nodes, test: Nodes) -> Numbers:
        model = DecisionTreeClassifier(random_state=0).fit(X[train], y[train])
        facts = list_facts(model, X[test], y[test])
        sizes = grid["min_samples_split"]
        right = [score_size(model.tree_, facts, size, settings) for size in sizes]
        return np.array(right) / len(test)

    folds: Iterable[tuple[Nodes, Nodes]] = cv.split(X)
    workers = joblib.Parallel(n_jobs=n_jobs, prefer="threads")
    scores = list(workers(joblib.delayed(score_fold)(train, test) for train, test in folds))
    return to_grid_order(np.mean(scores, axis=0), grid)


def check(X: Numbers, y: NDArray[Any], grid: dict[str, list[Any]]) -> float:
    """The largest difference from GridSearchCV."""
    cv = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), grid, cv=cv, refit=False)
    theirs = search.fit(X, y).cv_results_["mean_test_score"]
    worst = float(np.abs(search_grid(X, y, grid, cv) - theirs).max())
    print(f"{len(theirs)} settings, {X.shape[1]} column(s): {worst:.2g} from GridSearchCV at most")
    return worst


def main() -> None:
    """Check against GridSearchCV where no two columns tie: one column, or nodes of many rows."""
    X, y = make_binary(1_500, 6)
    large_nodes: dict[str, list[Any]] = GRID | {"min_samples_split": [60, 100]}
    if max(check(X[:, :1], y, GRID), check(X, y, large_nodes)) > 1e-12:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
