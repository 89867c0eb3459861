"""Agreement with scikit-learn's trees on real data.

Both trees are walked from the root together. Where they part the same rows in the same way, the
walk goes on; where they do not, both splits must be worth the same (scikit-learn breaks ties at
random). Columns are rounded to float32 first, because scikit-learn rounds them.
"""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from cases import BASE_SEED
from sklearn import datasets, tree
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from treefold import DecisionTreeClassifier, DecisionTreeRegressor

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
CLASSIFICATION = ["iris", "wine", "breast_cancer", "digits"]
LARGE = {"magic_gamma": True, "letter": True, "california": False, "abalone": False}


def load(name):
    data = getattr(datasets, f"load_{name}")()
    return data.data.astype(np.float32).astype(np.float64), data.target


def load_large(name):
    path = SHARED / name / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{name} is not on this machine")
    frame = pq.read_table(path).to_pandas()
    X = frame.drop(columns="target").select_dtypes("number")
    return X.to_numpy(dtype=np.float32).astype(np.float64), frame["target"].to_numpy()


def decreases(model_tree):
    """The impurity decrease of each inner node, as a share of the root's weight."""
    w, impurity = model_tree.weighted_n_node_samples, model_tree.impurity
    cost = w * impurity / w[0]
    left, right = model_tree.children_left, model_tree.children_right
    return np.where(left == -1, np.nan, cost - cost[left] - cost[right])


def walk_together(ours, theirs, X):
    """Compare node by node; returns how many inner nodes agreed and how many were ties."""
    X32 = X.astype(np.float32)
    inside = [model.decision_path(data).tocsc() for model, data in ((ours, X), (theirs, X32))]
    gains = [decreases(model.tree_) for model in (ours, theirs)]
    trees = [model.tree_ for model in (ours, theirs)]

    def rows(side, node):
        return inside[side][:, [node]].indices

    n_same, n_ties, stack = 0, 0, [(0, 0)]
    while stack:
        nodes = stack.pop()
        are_leaves = [t.children_left[node] == -1 for t, node in zip(trees, nodes, strict=True)]
        assert trees[0].impurity[nodes[0]] == pytest.approx(trees[1].impurity[nodes[1]], abs=1e-9)
        scale = trees[0].impurity[0]
        if any(are_leaves):  # of equal targets scikit-learn may see a variance of 1e-16
            assert all(are_leaves) or trees[1].impurity[nodes[1]] < 1e-9 * scale, nodes
            continue
        own, other = gains[0][nodes[0]], gains[1][nodes[1]]
        assert own == pytest.approx(other, rel=1e-9, abs=1e-9 * scale), nodes
        lefts, rights = (
            [t[side][node] for side, node in enumerate(nodes)]
            for t in zip(*((t.children_left, t.children_right) for t in trees), strict=True)
        )
        if np.array_equal(np.sort(rows(0, lefts[0])), np.sort(rows(1, lefts[1]))):
            stack += [tuple(lefts), tuple(rights)]
            n_same += 1
        else:
            n_ties += 1
    return n_same, n_ties


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_classification_trees_agree_up_to_ties(name, criterion):
    X, y = load(name)
    ours = DecisionTreeClassifier(criterion=criterion).fit(X, y)
    theirs = tree.DecisionTreeClassifier(criterion=criterion, random_state=BASE_SEED).fit(X, y)
    n_same, n_ties = walk_together(ours, theirs, X)
    assert n_same + n_ties > 0


def test_regression_trees_agree_up_to_ties():
    X, y = load("diabetes")
    ours = DecisionTreeRegressor().fit(X, y)
    theirs = tree.DecisionTreeRegressor(random_state=BASE_SEED).fit(X, y)
    n_same, _ = walk_together(ours, theirs, X)
    assert n_same > 50


@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 3},
        {"min_samples_split": 20},
        {"min_samples_leaf": 7},
        {"min_weight_fraction_leaf": 0.03},
        {"min_impurity_decrease": 0.01},
        {"class_weight": {0: 1.0, 1: 4.0}},
    ],
    ids=lambda params: next(iter(params)),
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_trees_agree_under_rules_and_weights(params, is_weighted):
    X, y = load("breast_cancer")
    weights = np.random.default_rng(BASE_SEED).integers(1, 4, len(y)) if is_weighted else None
    ours = DecisionTreeClassifier(**params).fit(X, y, sample_weight=weights)
    theirs = tree.DecisionTreeClassifier(random_state=BASE_SEED, **params)
    theirs.fit(X, y, sample_weight=weights)
    n_same, n_ties = walk_together(ours, theirs, X)
    assert n_same + n_ties > 0


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_trees_agree_on_data_with_missing_values(name):
    X, y = load(name)
    X[np.random.default_rng(BASE_SEED).random(X.shape) < 0.1] = np.nan
    ours = DecisionTreeClassifier(max_depth=4).fit(X, y)
    theirs = tree.DecisionTreeClassifier(max_depth=4, random_state=BASE_SEED).fit(X, y)
    n_same, n_ties = walk_together(ours, theirs, X)
    assert n_same + n_ties > 0


@pytest.mark.parametrize("name", list(LARGE))
def test_large_trees_agree_up_to_ties(name):
    X, y = load_large(name)
    if LARGE[name]:
        ours, theirs = DecisionTreeClassifier(max_depth=10), tree.DecisionTreeClassifier
    else:
        ours, theirs = DecisionTreeRegressor(max_depth=10), tree.DecisionTreeRegressor
    ours.fit(X, y)
    other = theirs(max_depth=10, random_state=BASE_SEED).fit(X, y)
    n_same, n_ties = walk_together(ours, other, X)
    assert n_same > 5 * n_ties


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_accuracies_lie_among_those_of_scikit_learn(name):
    X, y = load(name)
    gaps, theirs_all = [], []
    for seed in range(3):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        own = cross_val_score(DecisionTreeClassifier(), X, y, cv=folds).mean()
        theirs = [
            cross_val_score(tree.DecisionTreeClassifier(random_state=s), X, y, cv=folds).mean()
            for s in range(2)
        ]
        gaps.append(own - np.mean(theirs))
        theirs_all += theirs
    assert abs(np.mean(gaps)) < 0.01 + 2 * np.std(theirs_all)


def test_regression_scores_lie_among_those_of_scikit_learn():
    X, y = load("diabetes")
    gaps, theirs_all = [], []
    for seed in range(5):
        folds = KFold(5, shuffle=True, random_state=seed)
        params = {"min_samples_leaf": 10}
        own = cross_val_score(DecisionTreeRegressor(**params), X, y, cv=folds).mean()
        other = tree.DecisionTreeRegressor(random_state=seed, **params)
        theirs = cross_val_score(other, X, y, cv=folds).mean()
        gaps.append(own - theirs)
        theirs_all.append(theirs)
    assert abs(np.mean(gaps)) < 0.02 + 2 * np.std(theirs_all)
