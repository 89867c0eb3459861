"""Text columns with many values: sets of categories must not win by their number."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from cases import BASE_SEED
from family_trees import Workbench
from reference.criteria import chance_of_groups

from treefold import (
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    export_json,
    export_sql,
    load,
    save,
)
from treefold._native import Tree as NativeTree
from treefold.exceptions import ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::treefold.CardinalityWarning")
N_ROWS = 3000
SEEDS = [[BASE_SEED, seed] for seed in range(5)]
SHAPES = {"own names": 1.3, "ten rows each": 10, "four rows each": 4}  # rows per category


def make_table(seed: list[int], rows_each: float) -> tuple[pd.DataFrame, np.ndarray]:
    """A number that tells something of the target, and names that tell nothing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N_ROWS)
    names = rng.permutation(np.arange(N_ROWS) / rows_each).astype(int)
    frame = pd.DataFrame({"name": [f"n{name}" for name in names], "x": x})
    return frame, x + 5.0 * rng.normal(size=N_ROWS)


def root_column(model: Any) -> str:
    return str(model.feature_names_in_[model.tree_.feature[0]])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_names_that_tell_nothing_do_not_win_by_their_number(criterion: str, shape: str) -> None:
    for seed in SEEDS:
        X, y = make_table(seed, SHAPES[shape])
        kind: Any = DecisionTreeRegressor
        if criterion != "squared_error":
            kind, y = DecisionTreeClassifier, y > 0
        as_they_come = kind(criterion=criterion, max_depth=1, min_samples_category=1).fit(X, y)
        assert root_column(as_they_come) == "name", seed  # or the test shows nothing
        assert root_column(kind(criterion=criterion, max_depth=1).fit(X, y)) == "x", seed


def test_the_gain_ratio_gives_noise_no_chance_either() -> None:
    for seed in SEEDS:
        X, y = make_table(seed, SHAPES["own names"])
        model = DecisionTreeClassifier(criterion="gain_ratio", max_depth=1).fit(X, y > 0)
        assert root_column(model) == "x", seed


@pytest.mark.parametrize("n_classes", [2, 4])
def test_more_classes_give_noise_no_chance_either(n_classes: int) -> None:
    for seed in SEEDS:
        X, y = make_table(seed, 10)
        labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        assert root_column(DecisionTreeClassifier(max_depth=1).fit(X, labels)) == "x", seed


def test_names_that_tell_much_are_used() -> None:
    for seed in SEEDS:
        X, y = make_table(seed, 10)
        effect = np.random.default_rng(seed).normal(size=N_ROWS)
        y = y + 5 * effect[pd.factorize(X["name"])[0]]
        assert root_column(DecisionTreeRegressor(max_depth=1).fit(X, y)) == "name", seed


TARGETS_OF_NOISE = {
    "numbers": lambda rng, n: rng.normal(size=n),
    "two classes": lambda rng, n: (rng.random(n) < 0.5) * 1.0,
    "a rare class": lambda rng, n: (rng.random(n) < 0.1) * 1.0,
}


@pytest.mark.parametrize("target", TARGETS_OF_NOISE)
@pytest.mark.parametrize("rows_each", [2, 3, 10, 40])
def test_the_allowance_is_more_than_chance_gains(target: str, rows_each: int) -> None:
    """By the definition of the contract, on targets that have nothing to do with the names."""
    rng = np.random.default_rng([BASE_SEED, rows_each])
    n_groups, gains = 30, []
    codes = np.repeat(np.arange(n_groups), rows_each).astype(float)[:, None]
    for _ in range(40):
        model = DecisionTreeRegressor(
            max_depth=1, categorical_features=[0], min_samples_category=1
        ).fit(codes, TARGETS_OF_NOISE[target](rng, len(codes)))
        gains.append(gain_of(model))
    assert np.mean(gains) < chance_of_groups(n_groups)
    assert np.mean(gains) > 0.5 * chance_of_groups(n_groups)


@pytest.mark.parametrize("target", TARGETS_OF_NOISE)
@pytest.mark.parametrize("n_names", [10, 100])
def test_names_of_noise_win_less_often_than_a_number_of_noise(target: str, n_names: int) -> None:
    wins = 0
    for seed in range(40):
        rng = np.random.default_rng([BASE_SEED, seed])
        names = np.repeat(np.arange(n_names), 2)
        X = pd.DataFrame({"name": [f"n{name}" for name in names], "x": rng.normal(size=len(names))})
        y = TARGETS_OF_NOISE[target](rng, len(names))
        kind: Any = DecisionTreeRegressor if target == "numbers" else DecisionTreeClassifier
        model = kind(max_depth=1).fit(X, y)
        wins += model.get_n_leaves() > 1 and root_column(model) == "name"
    assert wins < 20  # of 40


def gain_of(model: DecisionTreeRegressor) -> float:
    """What the root's split explains, in variances of a row."""
    tree = model.tree_
    n, impurity = tree.n_node_samples, tree.impurity
    sums = n * impurity
    return float((sums[0] - sums[1:].sum()) / impurity[0])


# Rare categories -------------------------------------------------------------------------------

COLOURS = ["red"] * 6 + ["blue"] * 6 + ["pink", "teal", "grey"]
TARGETS = [0.0] * 6 + [5.0] * 6 + [9.0, 8.0, 9.5]


def colours(*labels: str | None) -> pd.DataFrame:
    return pd.DataFrame({"colour": pd.Series(labels, dtype="str")})


def fit_colours(**params: Any) -> DecisionTreeRegressor:
    return DecisionTreeRegressor(**params).fit(colours(*COLOURS), TARGETS)


def test_rare_categories_go_together_and_unseen_ones_with_them() -> None:
    model = fit_colours(min_samples_category=2)
    rare = np.mean(TARGETS[-3:])
    assert model.predict(colours("pink", "grey", "lime")).tolist() == [rare] * 3
    assert model.predict(colours("red", "blue")).tolist() == [0.0, 5.0]


def test_without_rare_categories_unseen_ones_go_as_missing_does() -> None:
    model = fit_colours(min_samples_category=1)
    assert model.predict(colours("lime")).tolist() == model.predict(colours(None)).tolist()
    assert model.predict(colours("pink", "teal")).tolist() == [9.0, 8.0]


def test_two_categories_are_told_apart_however_rare_they_are() -> None:
    model = DecisionTreeRegressor(min_samples_category=5).fit(colours("a", "b"), [1.0, 2.0])
    assert model.predict(colours("a", "b")).tolist() == [1.0, 2.0]


def test_a_column_of_rare_categories_only_is_constant() -> None:
    X = pd.DataFrame({"name": list("abcdef"), "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    y = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    model = DecisionTreeRegressor(max_features=1, max_depth=1, min_samples_category=2)
    for seed in range(6):  # drawn or not, it does not stand in the way
        assert root_column(model.set_params(random_state=seed).fit(X, y)) == "x"


def test_rows_are_counted_not_weights() -> None:
    X, weights = colours(*COLOURS), np.where(np.arange(15) < 12, 0.1, 100.0)
    model = DecisionTreeRegressor(min_samples_category=2).fit(X, TARGETS, sample_weight=weights)
    assert len(set(model.predict(colours("pink", "teal", "grey")).tolist())) == 1


def test_impurities_stay_what_they_are() -> None:
    X = pd.DataFrame({"colour": ["a", "b", "c", "d"] * 10})
    y = np.tile([0.0, 1.0, 2.0, 3.0], 10)
    models = [DecisionTreeRegressor(min_samples_category=m).fit(X, y) for m in (1, 2)]
    assert models[0].tree_.impurity.tolist() == models[1].tree_.impurity.tolist()
    assert models[0].feature_importances_.tolist() == [1.0]


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", None, True])
def test_odd_numbers_of_rows_are_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="'min_samples_category' parameter of Dec"):
        fit_colours(min_samples_category=value)


def test_it_can_be_tuned() -> None:
    model = DecisionTreeClassifierCV(min_samples_category=[1, 3, 8])
    model.fit(colours(*COLOURS * 4), np.tile(np.array(TARGETS) > 4, 4))
    assert model.best_params_["min_samples_category"] in (1, 3, 8)
    assert len(set(model.cv_results_["param_min_samples_category"].tolist())) == 3


# Where else unseen categories go ----------------------------------------------------------------


def mixed_answers() -> tuple[DecisionTreeRegressor, pd.DataFrame]:
    """Nodes with and without rare categories, missing values on either side; rows of all kinds."""
    rng = np.random.default_rng([BASE_SEED, 9])
    labels = np.array([*"abcdefgh", None], dtype=object)
    codes = rng.choice(9, size=300, p=[0.3, 0.2, 0.2, 0.1, 0.04, 0.02, 0.02, 0.02, 0.1])
    X = pd.DataFrame({"c": labels[codes], "k": rng.integers(0, 12, 300) * 1.0})
    X["k"] = np.where(rng.random(300) < 0.1, np.nan, X["k"])
    y = np.where(codes == 8, 3.0, codes % 3) + rng.normal(size=300)
    model = DecisionTreeRegressor(
        max_depth=7, min_samples_category=4, categorical_features=["c", "k"]
    ).fit(X, y)
    rows = pd.DataFrame(
        [(c, k) for c in [*"abcdefgh", "zz", None] for k in [*range(14), np.nan]],
        columns=["c", "k"],
    )
    return model, rows


def test_sql_sends_unseen_categories_where_the_tree_does() -> None:
    model, rows = mixed_answers()
    split = model.tree_.threshold != model.tree_.threshold
    native = model.tree_._native
    assert (native.unknown_go_to_left != native.missing_go_to_left)[split].any()
    expected = model.predict(rows)
    database = duckdb.connect()
    database.register("numbered", rows.assign(n=range(len(rows))))
    database.execute("CREATE TABLE t AS SELECT * FROM numbered")
    for is_nan in (False, True):
        if is_nan:
            database.execute("UPDATE t SET k = 'NaN'::DOUBLE WHERE k IS NULL")
        query = f"SELECT {export_sql(model)} FROM t ORDER BY n"
        actual = [row[0] for row in database.execute(query).fetchall()]
        assert actual == expected.tolist()


def test_files_and_json_say_where_unseen_categories_go(tmp_path: Path) -> None:
    model, rows = mixed_answers()
    save(model, tmp_path / "model.treefold")
    read = load(tmp_path / "model.treefold")
    assert read.predict(rows).tolist() == model.predict(rows).tolist()
    unseen = [
        node["split"]["unseen"] == "left"
        for node in json.loads(export_json(model))["nodes"]
        if node.get("split", {}).get("kind") == "category"
    ]
    is_set = np.isnan(model.tree_.threshold)
    assert unseen == model.tree_._native.unknown_go_to_left[is_set].astype(bool).tolist()


def test_trees_that_do_not_say_so_send_unseen_categories_as_missing_values() -> None:
    model, _ = mixed_answers()
    arrays = dict(model.tree_._native.to_arrays())
    del arrays["unknown_go_to_left"]
    old = NativeTree.from_arrays(arrays, 0)
    assert old.unknown_go_to_left.tolist() == old.missing_go_to_left.tolist()


# Together as alone -------------------------------------------------------------------------------


def make_bench(seed: list[int], is_class: bool, m: int, weights: np.ndarray | None) -> Workbench:
    rng = np.random.default_rng(seed)
    n_rows = 240
    X = np.column_stack(
        (
            rng.integers(0, 60, n_rows),
            rng.integers(0, 12, n_rows),
            rng.integers(0, 5, n_rows),
            rng.normal(size=n_rows),
            rng.integers(0, 7, n_rows),
        )
    ).astype(float)
    X[rng.random(n_rows) < 0.1, 1] = np.nan
    y = rng.normal(size=n_rows) + X[:, 2] + X[:, 3]
    if is_class:
        y = np.digitize(y, [1.0, 3.0] if seed[-1] % 2 else [2.0])
    return Workbench(X, y, weights, [0, 1, 2], {"min_samples_category": m})


@pytest.mark.parametrize("m", [2, 3, 8])
@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("sharing", ["none", "folds", "overlap"])
def test_members_choose_by_their_own_rare_categories(sharing: str, is_class: bool, m: int) -> None:
    for seed in range(4):
        rng = np.random.default_rng([BASE_SEED, seed, m])
        weights = rng.random(240) if seed == 3 else None
        bench = make_bench([BASE_SEED, m, seed], is_class, m, weights)
        fold = rng.integers(0, 9, 240)
        rows = [np.flatnonzero(fold != k) for k in range(9)] + [np.arange(240)]
        bench.assert_as_alone(rows, sharing)


def test_bags_grow_the_trees_of_their_rows() -> None:
    _, rows = mixed_answers()
    X = rows.sample(200, replace=True, random_state=0)
    y = np.random.default_rng(0).normal(size=200)
    bags = [
        BaggingRegressor(
            n_estimators=5, random_state=0, min_samples_category=m, categorical_features=["c", "k"]
        )
        for m in (1, 4)
    ]
    answers = [bag.fit(X, y).predict(rows) for bag in bags]
    assert not np.array_equal(*answers)  # the parameter reaches the trees
