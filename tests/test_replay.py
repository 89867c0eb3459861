"""Replayed trees are the trees that growing again gives, bit for bit."""

import random
from dataclasses import asdict, astuple
from itertools import pairwise, product

import numpy as np
import pytest
from cases import BASE_SEED, Case, draw_case, draw_rules
from core_trees import grow_core, read_tree
from mixed_data import CATEGORICAL, make_mixed
from reference import replay as twin
from reference.pruning import node_costs, pruning_path

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, _native
from treefold.replay import (
    Cell,
    full_rules,
    make_cell,
    replay_leaf_map,
    replay_nodes,
    replay_sizes,
    replay_sums,
    replay_tree,
)

CRITERIA = ["gini", "entropy", "gain_ratio", "squared_error"]
GROWN = ("max_depth", "min_samples_split", "min_impurity_decrease", "max_leaf_nodes")


def assert_same_tree(expected: _native.Tree, actual: _native.Tree, *what: object) -> None:
    arrays = actual.to_arrays()
    for name, array in expected.to_arrays().items():
        assert array.tobytes() == arrays[name].tobytes(), (name, *what)


def grow_again(case: Case, cell: Cell) -> _native.Tree:
    tree = grow_core(case.with_rules(**{name: getattr(cell, name) for name in GROWN}))
    return tree.prune(cell.ccp_alpha) if cell.ccp_alpha > 0 else tree


def release(case: Case) -> Case:
    return case.with_rules(**{name: getattr(Cell(), name) for name in GROWN})


def draw_cell(rng: random.Random, tree: _native.Tree) -> Cell:
    """Limits that bind, half of them on the very number that decides."""
    read = read_tree(tree)
    splits = [node for node, feature in enumerate(read.feature) if feature >= 0]
    decreases = [twin.decrease(read, node) for node in splits] or [0.0]
    alphas = tree.pruning_path()[0].tolist()
    draws = {
        "max_depth": lambda: rng.randint(1, 5),
        "min_samples_split": lambda: rng.choice(read.n_node_samples[:9]),
        "min_impurity_decrease": lambda: nudge(rng, rng.choice(decreases)),
        "max_leaf_nodes": lambda: rng.randint(1, len(splits) + 2),
        "ccp_alpha": lambda: nudge(rng, rng.choice([*alphas, rng.uniform(0, alphas[-1])])),
    }
    names = rng.sample(list(draws), rng.randint(1, 5))
    return Cell(**{name: draws[name]() for name in names})


def nudge(rng: random.Random, number: float) -> float:
    """The number itself, or one of its neighbours."""
    return max(0.0, rng.choice([number, number, np.nextafter(number, 0), np.nextafter(number, 1)]))


# Growing again -----------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
def test_replayed_trees_are_those_that_growing_again_gives(criterion):
    rng = random.Random(f"replay {criterion} {BASE_SEED}")
    for _ in range(200):
        case = release(draw_rules(rng, draw_case(rng, criterion, n_rows=rng.randint(1, 30))))
        full = grow_core(case)
        for _ in range(4):
            cell = draw_cell(rng, full)
            assert_same_tree(grow_again(case, cell), replay_tree(full, cell), case, cell)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_alphas_on_the_path_of_the_filtered_tree_cut_what_growing_again_cuts(criterion):
    """Every alpha of the tree that is pruned is a close call of the quick pruning."""
    rng = random.Random(f"close {criterion} {BASE_SEED}")
    for _ in range(60):
        case = release(draw_case(rng, criterion, n_rows=rng.randint(10, 60)))
        full = grow_core(case)
        limits = asdict(draw_cell(rng, full)) | {"ccp_alpha": 0.0}
        alphas = replay_tree(full, Cell(**limits)).pruning_path()[0]
        for alpha in alphas[alphas > 0].tolist():
            for ccp_alpha in (np.nextafter(alpha, 0), alpha):
                cell = Cell(**limits | {"ccp_alpha": float(ccp_alpha)})
                assert_same_tree(grow_again(case, cell), replay_tree(full, cell), case, cell)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_where_many_alphas_tie_the_order_of_cuts_decides_as_in_pruning(kind):
    """Alternating targets: sums differ in their last bits only, up to the root."""
    for n_rows in range(2, 150, 3):
        x = np.arange(n_rows)
        full = kind().fit(x[:, None], x % 2 * 0.1 if kind is DecisionTreeRegressor else x % 2)
        full = full.tree_._native
        alphas = full.pruning_path()[0]
        alphas = np.concatenate([alphas, np.nextafter(alphas, 0), np.nextafter(alphas, 1)])
        cells = [Cell(ccp_alpha=float(alpha)) for alpha in alphas[alphas > 0]]
        expected = [full.prune(cell.ccp_alpha).n_leaves for cell in cells]
        assert replay_sizes(full, cells)[0].tolist() == expected, n_rows


@pytest.mark.parametrize("criterion", CRITERIA)
def test_core_replays_as_the_twin_does(criterion):
    rng = random.Random(f"twin {criterion} {BASE_SEED}")
    for _ in range(100):
        case = release(draw_case(rng, criterion))
        full = grow_core(case)
        read = read_tree(full)
        cell = place_alpha(rng, read, draw_cell(rng, full))
        expected = twin.leaf_map(read, twin.Cell(**asdict(cell)))
        assert replay_leaf_map(full, [cell])[0].tolist() == expected, (case, cell)


def place_alpha(rng: random.Random, read, cell: Cell) -> Cell:
    """An alpha in a wide gap of the path: the twin is exact, the core rounds."""
    limits = twin.Cell(**asdict(cell))
    splits = twin.best_first(read, twin.filter_splits(read, limits), limits)
    costs = node_costs(read.impurity, read.weighted_n_node_samples)
    path = [float(step.alpha) for step in pruning_path(twin.children_of(read, splits), costs)]
    wide = [(a + b) / 2 for a, b in pairwise(path) if b - a > 1e-8 * (1 + float(costs[0]))]
    ccp_alpha = rng.choice([0.0, *wide, 2 * path[-1] + float(costs[0])])
    return Cell(*astuple(cell)[:4], ccp_alpha)


def test_shortcuts_give_other_trees():
    """Filtering a best-first or a pruned tree is not what growth does."""
    rng = random.Random(f"shortcuts {BASE_SEED}")
    n_other = {"max_leaf_nodes": 0, "ccp_alpha": 0}
    for _ in range(150):
        full = grow_core(release(draw_case(rng, "gini", n_rows=25)))
        for last, value in {"max_leaf_nodes": rng.randint(3, 7), "ccp_alpha": 0.02}.items():
            depth = Cell(max_depth=3)
            shortcut = replay_tree(replay_tree(full, Cell(**{last: value})), depth)
            proper = replay_tree(full, Cell(max_depth=3, **{last: value}))
            n_other[last] += shortcut.n_leaves != proper.n_leaves
    assert min(n_other.values()) > 0


# Estimators --------------------------------------------------------------------------------------

MIXED = make_mixed(1_000, seed=BASE_SEED)
TASKS = {
    "two classes": (DecisionTreeClassifier, {"class_weight": "balanced", "criterion": "entropy"}),
    "many classes": (DecisionTreeClassifier, {"min_samples_leaf": 3}),
    "regression": (DecisionTreeRegressor, {"max_features": 5, "random_state": 3}),
}
GRID = {
    "max_depth": [None, 7],
    "min_samples_split": [2, 0.04],
    "min_impurity_decrease": [0.0, 0.001],
    "max_leaf_nodes": [None, 30],
    "ccp_alpha": [0.0, 0.002],
}


@pytest.mark.parametrize("task", list(TASKS))
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_grid_of_estimators_is_replayed_from_one(task, is_weighted):
    """Numbers, categories, missing values, weights of zero; fractions are of rows that count."""
    kind, parameters = TASKS[task]
    weights = MIXED.weights if is_weighted else None
    n_rows = np.count_nonzero(MIXED.weights) if is_weighted else len(MIXED.X)

    def fit(**path):
        model = kind(categorical_features=CATEGORICAL, **parameters, **path)
        return model.fit(MIXED.X, MIXED.targets[task], weights).tree_._native

    full = fit()
    grid = list(product(*GRID.values()))
    for values in random.Random(f"grid {BASE_SEED}").sample(grid, 12):
        path = dict(zip(GRID, values, strict=True))
        cell = make_cell(path, n_rows)
        assert_same_tree(fit(**path), replay_tree(full, cell), task, cell)


def test_midpoints_of_the_path_give_every_subtree_of_the_path():
    model = DecisionTreeClassifier(min_samples_leaf=5)
    X, y = MIXED.X, MIXED.targets["many classes"]
    path = model.cost_complexity_pruning_path(X, y)
    full = model.fit(X, y).tree_._native
    alphas = np.unique(path.ccp_alphas)
    midpoints = np.sqrt(alphas[1:-1] * alphas[2:])
    cells = [Cell(ccp_alpha=float(alpha)) for alpha in midpoints]
    pruned = [full.prune(cell.ccp_alpha) for cell in cells]
    n_leaves, depths = replay_sizes(full, cells)
    assert n_leaves.tolist() == [tree.n_leaves for tree in pruned]
    assert depths.tolist() == [tree.max_depth for tree in pruned]
    assert len(set(n_leaves.tolist())) == len(cells) > 64
    for cell, tree in list(zip(cells, pruned, strict=True))[::10]:
        assert_same_tree(tree, replay_tree(full, cell), cell)


# Many cells at once ------------------------------------------------------------------------------


def draw_cells(rng: random.Random, tree: _native.Tree) -> list[Cell]:
    """A grid in random order, repeats included, with more alphas than a word has bits."""
    drawn = [draw_cell(rng, tree) for _ in range(4)]
    alphas = [float(tree.pruning_path()[0][-1]) * k / 70 for k in range(70)]
    cells = [Cell(*astuple(cell)[:4], alpha) for cell in drawn for alpha in alphas] + drawn
    return rng.sample(cells, len(cells))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_all_views_of_many_cells_agree_with_their_trees(n_threads):
    rng = random.Random(f"views {BASE_SEED}")
    random_numbers = np.random.default_rng(BASE_SEED)
    full = DecisionTreeClassifier().fit(MIXED.X[:400], MIXED.targets["many classes"][:400])
    leaves, full = full.apply(MIXED.X), full.tree_._native
    cells = draw_cells(rng, full)
    statistics = random_numbers.integers(0, 9, size=(full.node_count, 3)).astype(float)
    maps = replay_leaf_map(full, cells, n_threads)
    n_leaves, depths = replay_sizes(full, cells, n_threads)
    sums = replay_sums(full, cells, statistics, n_threads)
    assert (replay_nodes(full, leaves, cells, n_threads) == maps[:, leaves]).all()
    for k, cell in enumerate(cells):
        tree = replay_tree(full, cell)
        ends = np.unique(maps[k][full.children_left == -1])
        assert (n_leaves[k], depths[k]) == (tree.n_leaves, tree.max_depth), cell
        assert len(ends) == tree.n_leaves, cell
        assert (full.value[ends] == tree.value[tree.children_left == -1]).all(), cell
        assert (sums[k] == statistics[ends].sum(axis=0)).all(), cell


def test_rows_end_where_they_end_in_the_tree_that_was_grown_with_the_limits():
    X, y = MIXED.X, MIXED.targets["regression"]
    full = DecisionTreeRegressor().fit(X[:700], y[:700])
    paths = [{"max_depth": 4}, {"max_leaf_nodes": 9, "ccp_alpha": 1e-3}, {"min_samples_split": 50}]
    nodes = replay_nodes(full.tree_._native, full.apply(X), [Cell(**path) for path in paths])
    for path, ends in zip(paths, nodes, strict=True):
        expected = DecisionTreeRegressor(**path).fit(X[:700], y[:700]).predict(X)
        assert (full.tree_._native.value[ends, 0] == expected).all(), path


def test_no_cells_no_rows_and_no_splits_are_fine():
    stump = DecisionTreeClassifier().fit([[0.0], [0.0]], [0, 1]).tree_._native
    none = np.empty(0, dtype=np.int64)
    assert replay_leaf_map(stump, [Cell(max_leaf_nodes=5, ccp_alpha=1.0)]).tolist() == [[0]]
    assert replay_nodes(stump, none, [Cell()]).shape == (1, 0)
    assert replay_nodes(stump, none, []).shape[0] == 0
    assert replay_sizes(stump, [])[0].shape == (0,)


def test_nonsense_is_refused():
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_._native
    with pytest.raises(ValueError, match="a limit is not a number"):
        replay_sizes(tree, [Cell(ccp_alpha=float("nan"))])
    with pytest.raises(ValueError, match="a node that the tree does not have"):
        replay_nodes(tree, np.array([0, 3]), [Cell()])
    with pytest.raises(ValueError, match="one line per node"):
        replay_sums(tree, [Cell()], np.zeros((2, 1)))


# The tree to replay from -------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_tree_that_is_only_as_full_as_its_cells_need_serves_them(criterion):
    rng = random.Random(f"loosest {criterion} {BASE_SEED}")
    for _ in range(100):
        case = release(draw_case(rng, criterion))
        cells = [draw_cell(rng, grow_core(case)) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.3:  # one filter: the largest number of leaves is enough
            cells = [Cell(*astuple(cells[0])[:3], *astuple(cell)[3:]) for cell in cells]
        rules = full_rules(_native.Rules(), cells)
        full = grow_core(case.with_rules(**{name: getattr(rules, name) for name in GROWN}))
        for cell in cells:
            assert_same_tree(grow_again(case, cell), replay_tree(full, cell), case, cells)


def test_full_rules_change_nothing_but_the_limits():
    rules = _native.Rules()
    rules.criterion, rules.min_samples_leaf, rules.seed, rules.max_depth = "entropy", 4, 7, 3
    rules.class_multipliers = np.array([1.0, 2.0])
    full = full_rules(rules)
    assert (full.criterion, full.min_samples_leaf, full.seed) == ("entropy", 4, 7)
    assert full.class_multipliers.tolist() == [1.0, 2.0]
    assert full.max_depth == Cell().max_depth
    assert rules.max_depth == 3
    assert full_rules(rules, [Cell(max_depth=5), Cell(max_depth=2)]).max_depth == 5
