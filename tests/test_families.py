"""A member's tree is, node by node, the tree of an estimator fitted alone on its rows.

Whatever the sharing, the criterion, the weights, the columns, the family and the threads.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from core_trees import grow_core, make_table, open_rows
from family_cases import draw_family
from family_trees import SAME, Workbench, draw_folds, visited, without_each
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mixed_data import CATEGORICAL, make_mixed
from reference.splits import midpoint
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit

from treefold.data.target import Target
from treefold.family import grow_family

MODES = ["none", "overlap", "folds", "auto"]
SHARED_MODES = ["overlap", "folds", "auto"]
mode_of = pytest.mark.parametrize("sharing", MODES)

TREES = {  # name: target, criterion, parameters
    "gini": ("two classes", "gini", {}),
    "gini, many classes": ("many classes", "gini", {"min_samples_leaf": 4}),
    "entropy": ("many classes", "entropy", {}),
    "gain ratio": ("two classes", "gain_ratio", {"max_depth": 8, "min_samples_leaf": 3}),
    "regression": ("regression", "squared_error", {}),
    "balanced": ("many classes", "gini", {"class_weight": "balanced", "min_samples_leaf": 2}),
    "balanced entropy": ("two classes", "entropy", {"class_weight": "balanced"}),
    "drawn columns": ("many classes", "gini", {"max_features": 4, "random_state": 7}),
    "drawn, regression": ("regression", "squared_error", {"max_features": 5, "random_state": 1}),
    "stopped": ("regression", "squared_error", {"min_samples_split": 0.05, "max_depth": 6}),
    "stopped by decrease": ("two classes", "gini", {"min_impurity_decrease": 0.002}),
    "best first": ("two classes", "entropy", {"max_leaf_nodes": 12}),
    "least weight": ("many classes", "gini", {"min_weight_fraction_leaf": 0.01}),
}
N_ROWS = 180
WEIGHTS = ["none", "whole", "real"]
COLUMNS = ["mixed", "sparse", "few-valued", "continuous"]


@cache
def bench(tree="gini", weights="none", columns="mixed", n_rows=N_ROWS) -> Workbench:
    data = make_mixed(n_rows)
    target, criterion, params = TREES[tree]
    whole = np.random.default_rng(1).integers(0, 4, size=n_rows).astype(np.float64)
    choice = {
        "mixed": (data.X, CATEGORICAL),
        "sparse": (sparse.csr_array(data.X[:, 4:10]), None),
        "few-valued": (data.X[:, [4, 5, 6, 10, 11]], [3, 4]),
        "continuous": (data.X[:, :4], None),
    }
    X, categorical = choice[columns]
    return Workbench(
        X,
        data.targets[target],
        {"none": None, "whole": whole, "real": data.weights}[weights],
        categorical,
        {"criterion": criterion, **params},
    )


# Cross-validation -------------------------------------------------------------------------------


@mode_of
@pytest.mark.parametrize("tree", TREES)
def test_folds_and_final_tree_are_those_grown_alone(tree, sharing):
    for weights, n_folds in zip(WEIGHTS, (10, 3, 5), strict=True):
        work = bench(tree, weights)
        work.assert_as_alone(without_each(N_ROWS, draw_folds(N_ROWS, n_folds)), sharing)


@mode_of
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("tree", ["gini", "entropy", "regression", "drawn columns"])
def test_every_kind_of_column_is_shared(tree, columns, sharing):
    for weights in ("none", "real"):
        work = bench(tree, weights, columns)
        work.assert_as_alone(without_each(N_ROWS, draw_folds(N_ROWS, 7)), sharing)


@pytest.mark.parametrize(
    ("n_folds", "n_rows"), [(2, 130), (64, 130), (65, 130), (130, 130), (200, 203)]
)
@pytest.mark.parametrize(("tree", "weights"), [("gini", "none"), ("regression", "real")])
def test_any_number_of_folds(n_folds, n_rows, tree, weights):
    """65 members and more do not fit into one machine word; 130 folds leave out one row each."""
    work = bench(tree, weights, n_rows=n_rows)
    row_sets = without_each(n_rows, draw_folds(n_rows, n_folds))
    for sharing in MODES:
        work.assert_as_alone(row_sets, sharing)


@pytest.mark.parametrize("sharing", SHARED_MODES)
@pytest.mark.parametrize("tree", ["gini", "entropy", "regression"])
def test_threads_change_nothing(tree, sharing):
    work = bench(tree, "none", n_rows=2000)
    row_sets = without_each(2000, draw_folds(2000, 3))
    members = [work.member(rows, min_samples_leaf=5) for rows in row_sets]
    one, two = (work.grow(members, sharing, n_threads) for n_threads in (1, 2))
    for rows, *trees in zip(row_sets, one.trees, two.trees, strict=True):
        for tree_ in trees:
            work.assert_same(work.fit_alone(rows, min_samples_leaf=5), tree_)


@pytest.mark.parametrize("tree", TREES)
def test_many_trees_beside_each_other_are_those_grown_alone(tree):
    """With two threads and eleven trees, each thread grows trees of its own."""
    row_sets = without_each(N_ROWS, draw_folds(N_ROWS, 10))
    bench(tree).assert_as_alone(row_sets, "none", n_threads=2)


# Other families ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", ["overlap", "folds"])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("tree", ["gini", "regression"])
def test_few_members_out_of_many_part(tree, n_threads, sharing):
    n_rows, n_folds = 600, 40
    work = bench(tree, columns="continuous", n_rows=n_rows)
    row_sets = without_each(n_rows, draw_folds(n_rows, n_folds))
    family = work.grow([work.member(rows) for rows in row_sets], sharing, n_threads)
    for rows, grown in zip(row_sets, family.trees, strict=True):
        work.assert_same(work.fit_alone(rows), grown)
    n_nodes = family.work["nodes_by_members"]
    assert n_nodes[-1] > 0
    n_begin = len(n_nodes) - 1  # who begin together: workers divide them
    assert n_nodes[2 : n_begin // 6 + 1].sum() == 0


def nested_rows(n_rows: int, n_folds: int) -> list[np.ndarray]:
    fold_of, rows = draw_folds(n_rows, n_folds), np.arange(n_rows)
    pairs = [(a, b) for a in range(n_folds) for b in range(a, n_folds)]
    return [rows, *(rows[(fold_of != a) & (fold_of != b)] for a, b in pairs)]


ROW_SETS = {
    "TimeSeriesSplit": lambda n: [train for train, _ in TimeSeriesSplit(6).split(np.empty(n))],
    "ShuffleSplit": lambda n: [
        np.sort(train) for train, _ in ShuffleSplit(6, random_state=0).split(np.empty(n))
    ],
    "nested": lambda n: nested_rows(n, 5),
    "repeated": lambda n: [
        rows for seed in range(3) for rows in without_each(n, draw_folds(n, 4, seed))
    ],
    "folds in a row": lambda n: [train for train, _ in KFold(4).split(np.empty(n))],
    "the same rows": lambda n: [np.arange(n)] * 4,
    "disjoint": lambda n: [np.arange(n)[fold::3] for fold in range(3)],
    "one row": lambda n: [np.arange(n), *(np.array([row]) for row in (0, 5, n - 1))],
    "few rows": lambda n: [np.arange(n)[start : start + 3] for start in range(0, n, 40)],
    "one member": lambda n: [np.arange(1, n, 2)],
}


@pytest.mark.parametrize("kind", ROW_SETS)
def test_members_may_train_on_any_rows(kind):
    for tree, weights in (("gini, many classes", "none"), ("regression", "none"), ("gini", "real")):
        work = bench(tree, weights)
        row_sets = [rows for rows in ROW_SETS[kind](N_ROWS) if has_weight(work, rows)]
        for sharing in MODES:
            work.assert_as_alone(row_sets, sharing)


def has_weight(work, rows) -> bool:
    return work.weights is None or work.weights[rows].any()


@mode_of
@pytest.mark.parametrize("tree", ["gini", "entropy", "regression", "drawn columns"])
def test_bags_count_rows_as_often_as_they_were_drawn(tree, sharing):
    work = bench(tree)
    rng = np.random.default_rng(3)
    bags = [
        np.bincount(rng.integers(N_ROWS, size=N_ROWS), minlength=N_ROWS) * 1.0 for _ in range(5)
    ]
    bags.append(np.where(bags[0] > 0, 1 / 3, 0.0))
    row_sets = [np.flatnonzero(bag) for bag in bags]
    members = [work.member(rows, bag=bag) for rows, bag in zip(row_sets, bags, strict=True)]
    members.append(work.member(np.arange(N_ROWS)))
    family = work.grow(members, sharing)
    work.assert_same(work.fit_alone(np.arange(N_ROWS)), family.trees.pop())
    for rows, bag, tree_ in zip(row_sets, bags, family.trees, strict=True):
        work.assert_same(work.fit_alone(rows, bag), tree_)


@mode_of
@pytest.mark.parametrize("weights", ["none", "real"])
def test_members_may_differ_in_rules(sharing, weights):
    work = bench("gini, many classes", weights)
    work = replace(work, params={}, fits={})
    rules = [
        {"min_samples_leaf": leaf, "criterion": criterion, "class_weight": class_weight}
        for leaf, criterion, class_weight in [
            (1, "gini", None),
            (5, "gini", None),
            (20, "gini", "balanced"),
            (5, "entropy", None),
            (5, "gain_ratio", "balanced"),
        ]
    ]
    rules.append({"min_weight_fraction_leaf": 0.02, "max_depth": 4, "max_features": 3})
    rules[-1]["random_state"] = 5
    plan = [(r, rows) for r in rules for rows in without_each(N_ROWS, draw_folds(N_ROWS, 3))]
    family = work.grow([work.member(rows, **own) for own, rows in plan], sharing)
    for (own, rows), tree in zip(plan, family.trees, strict=True):
        work.assert_same(work.fit_alone(rows, **own), tree)


@mode_of
@pytest.mark.parametrize("tree", ["gini, many classes", "entropy", "balanced"])
def test_folds_may_lack_a_class(tree, sharing):
    work = bench(tree)
    order = np.argsort(work.y, kind="stable")
    work = replace(work, X=work.X[order], y=work.y[order], fits={})
    row_sets = [train for train, _ in KFold(6).split(work.X)]
    assert any(len(set(work.y[rows])) < work.target.n_classes for rows in row_sets)
    work.assert_as_alone([np.arange(N_ROWS), *row_sets], sharing)


# Held-out rows ----------------------------------------------------------------------------------


@mode_of
def test_thresholds_lie_between_values_of_the_members_own_rows(sharing):
    """Every second value is held out by one fold, the others by the other fold."""
    x = np.array([0.0, 0.9, 1.0, 1.001, 5.0, 5.9999, 6.0, 1e6, 2e6, 3e6])
    y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1])
    work = Workbench(x[:, None], y)
    row_sets = without_each(10, np.arange(10) % 2)
    family = work.grow([work.member(rows) for rows in row_sets], sharing)
    cuts = [sorted(tree.threshold[tree.feature >= 0]) for tree in family.trees[1:]]
    neighbours = [
        [(0.9, 1.001), (5.9999, 1e6), (1e6, 3e6)],
        [(1.0, 5.0), (5.0, 6.0), (6.0, 2e6)],
    ]
    assert cuts == [[midpoint(*pair) for pair in pairs] for pairs in neighbours]


@mode_of
@pytest.mark.parametrize("tree", ["gini", "entropy", "regression"])
def test_thresholds_are_midpoints_of_neighbours_that_train(tree, sharing):
    work = bench(tree, "none", "continuous")
    row_sets = without_each(N_ROWS, draw_folds(N_ROWS, 4))
    family = work.grow([work.member(rows, min_samples_leaf=3) for rows in row_sets], sharing)
    for rows, tree_ in zip(row_sets, family.trees, strict=True):
        assert_midpoints(work, rows, tree_)


def assert_midpoints(work: Workbench, rows, tree) -> None:
    passes = visited(tree, work.table._native).tocsc()
    for node in np.flatnonzero(np.isfinite(tree.threshold) & (tree.feature >= 0)):
        here = np.intersect1d(passes[:, [node]].nonzero()[0], rows)
        values = np.unique(work.X[here, tree.feature[node]])
        values = values[~np.isnan(values)]
        low = values[values <= tree.threshold[node]].max()
        high = values[values > tree.threshold[node]].min()
        assert tree.threshold[node] == midpoint(low, high)


@mode_of
@pytest.mark.parametrize("tree", ["gini", "regression", "drawn columns"])
def test_what_is_held_out_does_not_matter(tree, sharing):
    """Other values, categories, missing values and targets in fold 1 leave its tree as it was."""
    work = bench(tree)
    fold_of = draw_folds(N_ROWS, 4)
    row_sets = without_each(N_ROWS, fold_of)
    before = work.grow([work.member(rows) for rows in row_sets], sharing).trees[2]
    rng = np.random.default_rng(5)
    X, y = work.X.copy(), work.y.copy()
    out = np.flatnonzero(fold_of == 1)
    between = X[rng.permutation(N_ROWS)[: len(out)]] + rng.choice(
        [1e-9, -1e-9, 0.1, 1e12], (len(out), 1)
    )
    X[out, :10] = between[:, :10]
    X[out, 10] = rng.choice([0, 1, 2, np.nan], len(out))
    y[out] = y[out][::-1]
    other = replace(work, X=X, y=y, fits={})
    other.__dict__.pop("table", None), other.__dict__.pop("target", None)
    after = other.grow([other.member(rows) for rows in row_sets], sharing).trees[2]
    for name in [*SAME, "value", "category_begin", "category_words"]:
        assert getattr(before, name).tobytes() == getattr(after, name).tobytes(), name


# Demand -----------------------------------------------------------------------------------------


@mode_of
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(
    ("tree", "weights"), [("gini", "real"), ("regression", "none"), ("drawn columns", "none")]
)
def test_folds_that_answer_for_their_held_out_rows_grow_only_there(
    tree, weights, sharing, n_threads
):
    work, fold_of = bench(tree, weights), draw_folds(N_ROWS, 5)
    row_sets = without_each(N_ROWS, fold_of)
    asked = [None, *(np.flatnonzero(fold_of == fold)[:12] for fold in range(5))]
    asked[3] = np.array([], dtype=np.uint32)  # nobody asks
    members = [work.member(*pair) for pair in zip(row_sets, asked, strict=True)]
    family = work.grow(members, sharing, n_threads)
    work.assert_same(work.fit_alone(row_sets[0]), family.trees[0])
    for rows, own, part in zip(row_sets[1:], asked[1:], family.trees[1:], strict=True):
        whole = work.grow([work.member(rows)], "none").trees[0]
        assert_grown_where_asked(work, whole, part, own)


def assert_grown_where_asked(work: Workbench, whole, part, asked) -> None:
    """Walk both trees at once: equal where somebody asks, a leaf where nobody does."""
    passes = visited(whole, work.table._native)[asked]
    is_asked = passes.sum(axis=0) > 0
    pairs, n_seen = [(0, 0)], 0
    while pairs:
        here, there = pairs.pop()
        n_seen += 1
        for name in ("impurity", "n_node_samples", "weighted_n_node_samples", "value"):
            assert getattr(whole, name)[here].tobytes() == getattr(part, name)[there].tobytes()
        if not is_asked[here] or whole.feature[here] < 0:
            assert part.feature[there] < 0
            continue
        for name in ("feature", "threshold", "missing_go_to_left"):
            assert getattr(whole, name)[here].tobytes() == getattr(part, name)[there].tobytes()
        assert words(whole, here) == words(part, there)
        pairs.append((whole.children_left[here], part.children_left[there]))
        pairs.append((whole.children_right[here], part.children_right[there]))
    assert n_seen == part.node_count


def words(tree, node) -> list[int]:
    return tree.category_words[tree.category_begin[node] : tree.category_begin[node + 1]].tolist()


@mode_of
@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "asked"])
@pytest.mark.parametrize("tree", TREES)
def test_rows_that_ask_are_told_their_leaves(tree, is_whole, sharing):
    rng = np.random.default_rng(4)
    is_whole |= tree == "best first"  # which leaves are best, no part of the tree tells
    for columns, n_threads in zip(COLUMNS, (1, 2, 3, 1), strict=True):
        work, fold_of = bench(tree, columns=columns), draw_folds(N_ROWS, 9)
        row_sets = without_each(N_ROWS, fold_of)
        asked = [rng.integers(0, N_ROWS, 60) for _ in row_sets]  # held out or not, some twice
        asked[-1] = None
        members = [
            work.member(rows, own, is_whole=is_whole)
            for rows, own in zip(row_sets, asked, strict=True)
        ]
        family = work.grow(members, sharing, n_threads)
        assert family.leaves.pop().size == 0
        for own, grown, leaves in zip(asked[:-1], family.trees[:-1], family.leaves, strict=True):
            found = grown.apply(open_rows(work.table._native, own), 1)
            np.testing.assert_array_equal(leaves, found)
        if is_whole:
            for rows, grown in zip(row_sets, family.trees, strict=True):
                work.assert_same(work.fit_alone(rows), grown)


@mode_of
@pytest.mark.parametrize("target", ["two classes", "regression"])
def test_rows_that_ask_are_told_the_leaves_of_pairs(target, sharing):
    """Columns without gaps and full trees: nodes of two rows, which are finished at once where
    nobody asks."""
    data = make_mixed(N_ROWS)
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    work = Workbench(X, data.targets[target])
    members = [
        work.member(rows, np.arange(N_ROWS), is_whole=True)
        for rows in without_each(N_ROWS, draw_folds(N_ROWS, 3))
    ]
    family = work.grow(members, sharing)
    for tree, leaves in zip(family.trees, family.leaves, strict=True):
        assert (tree.n_node_samples[tree.feature >= 0] == 2).any()
        np.testing.assert_array_equal(leaves, tree.apply(open_rows(work.table._native), 1))


# Hypothesis -------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.randoms(use_true_random=False),
    st.sampled_from(["gini", "entropy", "gain_ratio", "squared_error"]),
    st.booleans(),
    st.sampled_from([None, 40]),
)
def test_random_families_get_the_trees_of_their_members(rng, criterion, is_sparse, n_rows):
    """Tables of the member's rows only; real and zero weights, multipliers, categories, draws."""
    family = draw_family(rng, criterion, n_rows)
    case = family.case
    table = make_table(case, is_sparse)
    kind = np.int32 if case.n_classes else np.float64
    weights = None if case.weights is None else np.array(case.weights, dtype=np.float64)
    classes = np.arange(case.n_classes) if case.n_classes else None
    target = Target(np.array(case.target, dtype=kind), classes, weights)
    alone = [grow_core(family.alone(member), is_sparse) for member in family.members]
    for sharing in MODES:
        grown = grow_family(table, target, family.core_members(), sharing=sharing)
        for member, expected, actual in zip(family.members, alone, grown.trees, strict=True):
            for name in [*SAME, "value", "n_categories", "category_begin", "category_words"]:
                want, got = getattr(expected, name), getattr(actual, name)
                assert want.tobytes() == got.tobytes(), f"{sharing} {name}\n{member}\n{family}"
        for is_whole in (True, False):
            assert_leaves(table, target, family, sharing, is_whole)


def assert_leaves(table, target, family, sharing, is_whole) -> None:
    asked = np.arange(table.n_rows, dtype=np.uint32)
    members = [
        replace(one, asked=asked, is_whole=is_whole or one.rules.max_leaf_nodes > 0)
        for one in family.core_members()
    ]
    grown = grow_family(table, target, members, sharing=sharing)
    for leaves, tree in zip(grown.leaves, grown.trees, strict=True):
        assert leaves.tolist() == tree.apply(open_rows(table), 1).tolist(), f"{sharing}\n{family}"
