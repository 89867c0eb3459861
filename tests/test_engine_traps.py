"""Traps that other tree libraries fell into: deep trees, memory, files, export, pruning.

Trap numbers are those of the design notes; the others are in `test_traps.py`.
"""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from cases import BASE_SEED
from core_trees import make_source
from numpy.testing import assert_array_equal

import treefold
from treefold import DecisionTreeClassifier, DecisionTreeRegressor, _native


def chain(n_rows):
    """Alternating classes: each split peels off one row, so the tree is as deep as it can be."""
    X = np.arange(n_rows, dtype=np.float64).reshape(-1, 1)
    return X, np.arange(n_rows) % 2


# Depth ------------------------------------------------------------------------------------------


def test_very_deep_trees_are_grown_applied_and_copied():
    """Trap 20: recursion overflowed the stack."""
    X, y = chain(20_000)
    model = DecisionTreeClassifier().fit(X, y)
    assert model.get_depth() == 19_999
    probe = X[:: len(X) // 50]
    assert_array_equal(model.predict(probe), y[:: len(X) // 50])
    assert model.decision_path(X[-2:]).sum() == 2 * 20_000
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(twin.tree_.threshold, model.tree_.threshold)
    assert model.feature_importances_.tolist() == [1.0]


def test_deep_trees_are_pruned_printed_and_converted():
    """Trap 20: pruning, export and conversion too."""
    X, y = chain(3_000)
    model = DecisionTreeClassifier().fit(X, y)
    assert model.get_depth() == 2_999
    path = model.cost_complexity_pruning_path(X, y)
    pruned = DecisionTreeClassifier(ccp_alpha=path.ccp_alphas[-1]).fit(X, y)
    assert pruned.get_n_leaves() == 1
    assert "class" in treefold.export_text(model)
    assert_array_equal(model.to_sklearn().predict(X), y)


# Memory and files -------------------------------------------------------------------------------


def test_a_saved_tree_is_small():
    """Trap 22: class counts as float64 in every node were most of a model."""
    rng = np.random.default_rng(0)
    model = DecisionTreeClassifier().fit(rng.random((5000, 5)), rng.integers(0, 2, 5000))
    assert len(pickle.dumps(model)) < 100 * model.tree_.node_count


def test_equal_trees_have_equal_pickles():
    """Trap 26: pickles held uninitialised memory."""
    rng = np.random.default_rng(1)
    X, y = rng.random((500, 4)), rng.integers(0, 3, 500)
    pickles = set()
    for filler in (b"\xff", b"\x00", b"\xaa"):
        _ = [bytearray(filler * size) for size in (100, 10_000, 1_000_000)]  # dirty the heap
        pickles.add(pickle.dumps(DecisionTreeClassifier(random_state=0).fit(X, y)))
    assert len(pickles) == 1


def tree_with_everything():
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.random(60), rng.integers(0, 70, 60), rng.integers(0, 4, 60)])
    rows[::7, 0] = np.nan
    source = make_source(rows.astype(float), [0, 70, 0])
    rules = _native.Rules()
    rules.criterion, rules.max_depth, rules.max_leaf_nodes = "gini", 2**31 - 1, 0
    rules.min_samples_split, rules.min_samples_leaf, rules.max_features = 2, 1, 3
    target = rng.integers(0, 3, 60).astype(np.int32)
    tree = _native.grow(_native.Table(source, 1), target, 3, None, rules, 1)
    return tree, source


def mutable_arrays(tree):
    return {name: np.array(array) for name, array in tree.to_arrays().items()}


def test_a_tree_survives_the_way_through_its_arrays():
    """Trap 27: what growth made must load."""
    tree, source = tree_with_everything()
    again = _native.Tree.from_arrays(mutable_arrays(tree), 3)
    assert_array_equal(again.apply(source, 1), tree.apply(source, 1))
    for name, array in tree.to_arrays().items():
        assert_array_equal(array, again.to_arrays()[name], err_msg=name)


BROKEN = {
    "child beyond the end": ("children_right", lambda a: poke(a, 0, len(a))),
    "child before its parent": ("children_right", lambda a: poke(a, inner(a)[-1], 0)),
    "child that is its parent": ("children_right", lambda a: poke(a, inner(a)[-1], inner(a)[-1])),
    "negative child": ("children_right", lambda a: poke(a, 0, -7)),
    "root turned leaf": ("children_right", lambda a: poke(a, 0, -1)),
    "column beyond the end": ("feature", lambda a: poke(a, 0, 3)),
    "huge column": ("feature", lambda a: poke(a, 0, 2**31 - 1)),
    "negative column": ("feature", lambda a: poke(a, 0, -1)),
    "too few nodes": ("feature", lambda a: a[:-1]),
    "too many thresholds": ("threshold", lambda a: np.append(a, 0.0)),
    "no values": ("value", lambda a: a[:0]),
    "too few values": ("value", lambda a: a[:-1]),
    "falling offsets": ("category_begin", lambda a: poke(a, 1, 10**6)),
    "negative offsets": ("category_begin", lambda a: poke(a, 0, -5)),
    "words cut off": ("category_words", lambda a: a[:-1]),
    "huge category count": ("n_categories", lambda a: poke(a, 1, 2**30)),
    "negative category count": ("n_categories", lambda a: poke(a, 1, -1)),
    "category column turned numeric": ("n_categories", lambda a: poke(a, 1, 0)),
    "negative row count": ("n_node_samples", lambda a: poke(a, 0, -1)),
    "a side of unknown categories that is none": (
        "unknown_go_to_left",
        lambda a: poke(a, 0, 2),
    ),
    "unknown side of float32": ("float32_side", lambda a: poke(a, 0, 3)),
    "impurity not a number": ("impurity", lambda a: poke(a, 0, np.nan)),
    "infinite weight": ("weighted_n_node_samples", lambda a: poke(a, 0, np.inf)),
    "value not a number": ("value", lambda a: poke(a.ravel(), 0, np.nan)),
}


def poke(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def inner(children_right):
    return np.flatnonzero(children_right != -1)


@pytest.mark.parametrize("name", list(BROKEN))
def test_crafted_arrays_are_refused(name):
    """Trap 27: a crafted file read and wrote out of bounds."""
    tree, _ = tree_with_everything()
    field, spoil = BROKEN[name]
    arrays = mutable_arrays(tree)
    arrays[field] = spoil(arrays[field])
    with pytest.raises((ValueError, TypeError)):
        _native.Tree.from_arrays(arrays, 3)


def test_missing_arrays_are_refused():
    """Trap 27: every field is needed, but for one that files of before do not have."""
    tree, _ = tree_with_everything()
    for name in set(tree.to_arrays()) - {"unknown_go_to_left"}:
        arrays = mutable_arrays(tree)
        del arrays[name]
        with pytest.raises((ValueError, TypeError, KeyError)):
            _native.Tree.from_arrays(arrays, 3)


def test_randomly_spoilt_arrays_are_refused_or_harmless():
    """Trap 27: whatever loads can be asked anything."""
    rng = np.random.default_rng(BASE_SEED)
    tree, source = tree_with_everything()
    n_refused = 0
    for _ in range(400):
        arrays = mutable_arrays(tree)
        name = rng.choice(["children_right", "feature", "category_begin", "n_categories"])
        array = arrays[name]
        place = rng.integers(len(array))
        array[place] = rng.choice([-3, -1, 0, 1, 2, 7, len(array) - 1, len(array), 2**30])
        try:
            loaded = _native.Tree.from_arrays(arrays, 3)
        except ValueError:
            n_refused += 1
            continue
        leaves = loaded.apply(source, 1)
        assert ((leaves >= 0) & (leaves < loaded.node_count)).all()
        loaded.decision_path(source, 1)
        loaded.prune(0.01)
        loaded.feature_importances()
    assert n_refused > 100


# Export and pruning -----------------------------------------------------------------------------


def test_exported_thresholds_part_float32_rows_alike():
    """Trap 28: rounding a threshold to float32 flips the rows that lie on it."""
    rng = np.random.default_rng(3)
    X = rng.random((400, 3)).astype(np.float32)
    model = DecisionTreeClassifier().fit(X, rng.integers(0, 2, 400))
    tree = model.tree_
    rows = []
    for threshold in tree.threshold[tree.children_left != -1]:
        near = np.float32(threshold)
        rows += [near, np.nextafter(near, np.float32(-9)), np.nextafter(near, np.float32(9))]
    probe = np.repeat(np.array(rows, dtype=np.float32)[:, None], 3, axis=1)
    exported = model.to_sklearn()
    assert_array_equal(model.apply(probe), exported.apply(probe))
    assert_array_equal(model.predict_proba(X), exported.predict_proba(X))


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_published_alphas_give_the_published_trees(kind):
    """Trap 30: float noise and negative alphas."""
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 6, size=(150, 3)), rng.integers(0, 3, 150)
    path = kind().cost_complexity_pruning_path(X, y)
    assert path.ccp_alphas[0] == 0
    assert (np.diff(path.ccp_alphas) >= 0).all()
    full = kind().fit(X, y).tree_._native
    n_leaves = [full.prune(alpha).n_leaves for alpha in path.ccp_alphas]
    assert n_leaves == sorted(n_leaves, reverse=True)
    assert n_leaves[-1] == 1
    for alpha in path.ccp_alphas[path.ccp_alphas > 0]:
        below = full.prune(float(np.nextafter(alpha, 0)))
        assert below.n_leaves > full.prune(float(alpha)).n_leaves


FORK = """
import os
import numpy as np
from treefold import DecisionTreeClassifier
rng = np.random.default_rng(5)
X, y = rng.random((2000, 5)), rng.integers(0, 2, 2000)
expected = DecisionTreeClassifier(n_jobs=2).fit(X, y).tree_.node_count
process = os.fork()
if process == 0:
    model = DecisionTreeClassifier(n_jobs=2).fit(X, y)
    os._exit(0 if model.tree_.node_count == expected else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_process_after_fork_can_fit():
    """Trap 23: thread pools that do not survive fork."""
    subprocess.run([sys.executable, "-W", "error", "-c", FORK], check=True, timeout=60)


HOLD = """
import threading
from treefold import DecisionTreeClassifier
is_held, never = threading.Event(), threading.Event()
def hold():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    is_held.set()
    never.wait()
threading.Thread(target=hold, daemon=True).start()
is_held.wait()
"""


def test_a_tree_that_a_thread_holds_at_exit_is_no_leak():
    """The bindings called it one, in many lines, whenever a service ended."""
    result = subprocess.run(
        [sys.executable, "-c", HOLD], check=True, timeout=60, capture_output=True, text=True
    )
    assert result.stderr == ""


def test_weights_may_not_lift_a_target_beyond_float64():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [1.7e308, 1.6e308, -1.6e308, -1.7e308]
    weights = np.array([3.0, 2.0, 3.0, 2.0])
    with pytest.raises(ValueError, match="Divide all weights by the same number"):
        DecisionTreeRegressor(max_depth=1).fit(X, y, sample_weight=weights)
    model = DecisionTreeRegressor(max_depth=1).fit(X, y, sample_weight=weights / 4)
    assert model.tree_.threshold[0] == 1.5
    np.testing.assert_allclose(model.predict(X[:1]), [1.66e308], rtol=1e-15)
