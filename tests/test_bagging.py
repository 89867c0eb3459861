"""Bags of some rows, answers for rows out of the bag, trees that are added later."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from cases import BASE_SEED
from mixed_data import CATEGORICAL, make_mixed
from numpy.testing import assert_allclose, assert_array_equal
from reference import lazy as twin
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score

from treefold import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    InputError,
    LazyBaggingClassifier,
    LazyBaggingRegressor,
    ParameterError,
    load,
    save,
)
from treefold.estimators.bags import draw_counts, draw_rows

DATA = make_mixed(300, BASE_SEED)
X, NUMBERS = DATA.X, DATA.targets["regression"]
TWO, MANY = DATA.targets["two classes"], DATA.targets["many classes"]
COMMON = {"categorical_features": CATEGORICAL, "random_state": 3, "n_estimators": 12}
CLASSES = (BaggingClassifier, LazyBaggingClassifier)
MEANS = (BaggingRegressor, LazyBaggingRegressor)
PAIRS = [pytest.param(CLASSES, TWO, id="two"), pytest.param(CLASSES, MANY, id="many")]
PAIRS += [pytest.param(MEANS, NUMBERS, id="numbers")]
EAGER = [pytest.param(BaggingClassifier, MANY), pytest.param(BaggingRegressor, NUMBERS)]


def answer(model: Any, rows: Any) -> Any:
    return getattr(model, "predict_proba" if hasattr(model, "classes_") else "predict")(rows)


def find_left_out(model: Any) -> Any:
    is_classifier = hasattr(model, "classes_")
    return getattr(model, "oob_decision_function_" if is_classifier else "oob_prediction_")


def weigh(number: int, max_samples: int, bootstrap: bool) -> Any:
    if bootstrap:
        return draw_counts(3, number, len(X), max_samples)
    return np.isin(np.arange(len(X)), draw_rows(3, number, len(X), max_samples)).astype(float)


# Draws --------------------------------------------------------------------------------------------


def test_bags_of_any_size_are_functions_of_their_keys() -> None:
    for seed, tree, n_rows, n_drawn in [(0, 0, 1, 3), (0, 1, 10, 4), (2**32 - 1, 7, 99, 250)]:
        counts = draw_counts(seed, tree, n_rows, n_drawn)
        assert counts.tolist() == twin.draw_counts(seed, tree, n_rows, n_drawn)
        assert counts.sum() == n_drawn
    for seed, tree, n_rows, n_drawn in [(0, 0, 1, 1), (0, 1, 10, 4), (2**32 - 1, 7, 99, 98)]:
        rows = draw_rows(seed, tree, n_rows, n_drawn)
        assert rows.tolist() == twin.draw_rows(seed, tree, n_rows, n_drawn)


def test_a_full_bag_is_the_same_whoever_draws_it() -> None:
    for n_rows in (1, 2, 1000):  # the core draws full bags, as it is faster
        assert draw_counts(5, 2, n_rows).tolist() == twin.draw_counts(5, 2, n_rows, n_rows)
        assert_array_equal(draw_counts(5, 2, n_rows), draw_counts(5, 2, n_rows, n_rows))


@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_small_bag_is_a_tree_with_the_weights_of_its_rows(bootstrap: bool) -> None:
    bags = BaggingClassifier(**COMMON, max_samples=40, bootstrap=bootstrap).fit(X, MANY)
    for number, tree in enumerate(bags.estimators_):
        plain = DecisionTreeClassifier(categorical_features=CATEGORICAL)
        plain.fit(X, MANY, sample_weight=weigh(number, 40, bootstrap))
        assert_array_equal(plain.tree_.threshold, tree.tree_.threshold)
        assert_array_equal(plain.tree_.value, tree.tree_.value)


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("max_samples", [1, 50, 0.001, 0.5, 1.0])
@pytest.mark.parametrize(("pair", "y"), PAIRS)
def test_eager_and_lazy_bags_of_some_rows_say_the_same(
    pair: Any, y: Any, max_samples: Any, bootstrap: bool
) -> None:
    eager, lazy = (
        kind(**COMMON, max_samples=max_samples, bootstrap=bootstrap).fit(X, y, DATA.weights)
        for kind in pair
    )
    assert answer(eager, X).tobytes() == answer(lazy, X).tobytes()


def test_a_share_counts_rows_of_a_weight_other_than_zero() -> None:
    weights = np.where(np.arange(len(X)) % 3 == 0, 0.0, 2.0)
    model = BaggingRegressor(**COMMON, max_samples=0.25, bootstrap=False)
    model.fit(X, NUMBERS, weights)
    assert {tree.tree_.n_node_samples[0] for tree in model.estimators_} == {50}


def test_all_rows_without_replacement_are_no_draw() -> None:
    full = BaggingRegressor(**COMMON, bootstrap=False, max_samples=1.0).fit(X, NUMBERS)
    plain = BaggingRegressor(**COMMON, bootstrap=False).fit(X, NUMBERS)
    assert full.predict(X).tobytes() == plain.predict(X).tobytes()


# Out of bag ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, DATA.weights], ids=["plain", "weighted"])
@pytest.mark.parametrize("max_samples", [None, 60, 0.5])
@pytest.mark.parametrize(("pair", "y"), PAIRS)
def test_a_row_is_answered_by_the_trees_that_did_not_see_it(
    pair: Any, y: Any, max_samples: Any, weights: Any
) -> None:
    options = {**COMMON, "max_samples": max_samples, "oob_score": True, "n_estimators": 25}
    eager, lazy = (kind(**options).fit(X, y, weights) for kind in pair)
    found = find_left_out(eager)
    assert found.tobytes() == find_left_out(lazy).tobytes()
    assert eager.oob_score_ == lazy.oob_score_
    if weights is None:
        n_drawn = {None: 300, 60: 60, 0.5: 150}[max_samples]
        total, n_trees = np.zeros(found.shape), np.zeros(len(X))
        for number, tree in enumerate(eager.estimators_):
            out = weigh(number, n_drawn, True) == 0
            total[out] += answer(tree, X[out])
            n_trees[out] += 1
        expected = (total.T / n_trees).T
        assert_allclose(expected, found, rtol=1e-12)


def test_the_score_is_that_of_scikit_learn_for_these_answers() -> None:
    classes = BaggingClassifier(**{**COMMON, "n_estimators": 40}, oob_score=True).fit(X, MANY)
    expected = classes.classes_[classes.oob_decision_function_.argmax(axis=1)]
    assert classes.oob_score_ == accuracy_score(MANY, expected)
    numbers = BaggingRegressor(**{**COMMON, "n_estimators": 40}, oob_score=True).fit(X, NUMBERS)
    assert numbers.oob_score_ == r2_score(NUMBERS, numbers.oob_prediction_)
    assert isinstance(numbers.oob_score_, float)
    huge = BaggingRegressor(**{**COMMON, "n_estimators": 40}, oob_score=True)
    huge.fit(X, np.ldexp(NUMBERS, 1000))
    assert huge.oob_score_ == pytest.approx(numbers.oob_score_)


def test_hard_votes_are_shares_of_trees() -> None:
    options = {**COMMON, "n_estimators": 40, "voting": "hard", "oob_score": True}
    eager, lazy = (kind(**options).fit(X, TWO) for kind in CLASSES)
    assert_allclose(eager.oob_decision_function_.sum(axis=1), 1.0)
    assert eager.oob_decision_function_.tobytes() == lazy.oob_decision_function_.tobytes()


@pytest.mark.parametrize("kind", [*CLASSES, *MEANS])
def test_a_row_that_is_in_every_bag_has_no_answer_and_a_warning_says_so(kind: Any) -> None:
    y = TWO if kind in CLASSES else NUMBERS
    with pytest.warns(UserWarning, match=r"Some inputs do not have OOB scores: \d+ of 300 rows"):
        model = kind(**{**COMMON, "n_estimators": 2}, oob_score=True).fit(X, y)
    is_in_all = (draw_counts(3, 0, 300) > 0) & (draw_counts(3, 1, 300) > 0)
    found = find_left_out(model).reshape(300, -1)
    assert_array_equal(is_in_all, np.isnan(found).all(axis=1))
    assert_array_equal(is_in_all, np.isnan(found).any(axis=1))
    answers = found.argmax(axis=1) if kind in CLASSES else found[:, 0]
    metric = accuracy_score if kind in CLASSES else r2_score
    assert model.oob_score_ == metric(y[~is_in_all], answers[~is_in_all])


@pytest.mark.parametrize("kind", [*CLASSES, *MEANS])
def test_where_no_row_is_left_out_there_is_no_score(kind: Any) -> None:
    model = kind(n_estimators=1, max_samples=50, random_state=0, oob_score=True)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores: 2 of 2 rows"):
        model.fit([[0.0], [1.0]], [0, 1])
    assert np.isnan(model.oob_score_)


@pytest.mark.parametrize(("pair", "y"), PAIRS)
def test_rows_of_weight_zero_have_no_part_in_the_score(pair: Any, y: Any) -> None:
    weights = np.where(np.arange(len(X)) % 4 == 0, 0.0, 1.0)
    options = {**COMMON, "n_estimators": 40, "oob_score": True}
    for kind in pair:
        with_zeros = kind(**options).fit(X, y, weights)
        without = kind(**options).fit(X[weights > 0], y[weights > 0])
        assert with_zeros.oob_score_ == without.oob_score_
        assert_array_equal(find_left_out(with_zeros)[weights > 0], find_left_out(without))


@pytest.mark.parametrize("kind", [*CLASSES, *MEANS])
def test_a_later_fit_without_it_has_no_score(kind: Any) -> None:
    y = TWO if kind in CLASSES else NUMBERS
    model = kind(**{**COMMON, "n_estimators": 40}, oob_score=True).fit(X, y)
    again = model.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(again) if name.startswith("oob_") and name != "oob_score"]


# Trees that are added -----------------------------------------------------------------------------


@pytest.mark.parametrize("random_state", [3, None, "generator"])
@pytest.mark.parametrize(("kind", "y"), EAGER)
def test_trees_that_are_added_are_those_of_one_fit(kind: Any, y: Any, random_state: Any) -> None:
    state = np.random.RandomState(0) if random_state == "generator" else random_state
    options = {**COMMON, "max_features": 3, "max_samples": 0.7, "random_state": state}
    steps = kind(**{**options, "n_estimators": 2}, warm_start=True).fit(X, y)
    first = steps.estimators_[0]
    for n_estimators in (3, 12):
        steps.set_params(n_estimators=n_estimators).fit(X, y)
    assert steps.estimators_[0] is first
    at_once = kind(**{**options, "random_state": steps._seed}).fit(X, y)
    assert answer(steps, X).tobytes() == answer(at_once, X).tobytes()
    for name in steps.work_.keys() - {"peak_bytes"}:  # which trees grew together matters there
        assert steps.work_[name] == at_once.work_[name], name
    for ours, theirs in zip(steps.estimators_, at_once.estimators_, strict=True):
        assert_array_equal(ours.tree_.threshold, theirs.tree_.threshold)


@pytest.mark.parametrize("way", ["file", "pickle", "clone"])
def test_a_model_that_was_stored_can_go_on(way: str, tmp_path: Any) -> None:
    options = {**COMMON, "random_state": None, "n_estimators": 2, "warm_start": True}
    model = BaggingRegressor(**options).fit(X, NUMBERS)
    if way == "file":
        save(model, tmp_path / "bags.treefold")
        twin_model = load(tmp_path / "bags.treefold")
    else:
        twin_model = pickle.loads(pickle.dumps(model))
    if way == "clone":  # is not fitted, and starts anew
        assert not hasattr(clone(model), "estimators_")
    for each in (model, twin_model):
        each.set_params(n_estimators=5).fit(X, NUMBERS)
    assert model.predict(X).tobytes() == twin_model.predict(X).tobytes()


def test_no_more_trees_than_there_are_are_not_grown() -> None:
    model = BaggingRegressor(**COMMON, warm_start=True).fit(X, NUMBERS)
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing n_estimators"):
        model.fit(X, NUMBERS)
    assert len(model.estimators_) == 12
    with pytest.raises(ParameterError, match=r"n_estimators=4 must be .* len\(estimators_\)=12"):
        model.set_params(n_estimators=4).fit(X, NUMBERS)
    assert len(model.set_params(warm_start=False).fit(X, NUMBERS).estimators_) == 4


def test_trees_of_other_data_are_not_mixed() -> None:
    frame = pd.DataFrame({"a": np.arange(60.0), "c": list("xyz") * 20})
    model = BaggingClassifier(n_estimators=2, warm_start=True, random_state=0)
    model.fit(frame, frame["c"] == "x")
    model.set_params(n_estimators=3)
    others = {
        "columns": (frame.rename(columns={"a": "b"}), frame["c"] == "x"),
        "categories": (frame.replace({"c": {"y": "w"}}), frame["c"] == "x"),
        "classes": (frame, frame["c"]),
    }
    for what, (rows, y) in others.items():
        with pytest.raises(InputError, match=f"warm_start=True .* other {what}"):
            model.fit(rows, y)
    assert len(model.fit(frame, frame["c"] == "x").estimators_) == 3


# Importance ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "y"), EAGER)
def test_importances_are_the_mean_of_those_of_the_trees(kind: Any, y: Any) -> None:
    model = kind(**COMMON).fit(X, y)
    expected = np.mean([tree.feature_importances_ for tree in model.estimators_], axis=0)
    assert_allclose(expected / expected.sum(), model.feature_importances_, rtol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(NotFittedError):
        _ = kind().feature_importances_


def test_trees_without_a_split_have_no_part_in_importances() -> None:
    model = BaggingRegressor(n_estimators=9, max_samples=2, random_state=1)
    model.fit([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]], [1.0, 2.0, 3.0])
    assert {tree.tree_.node_count for tree in model.estimators_} == {1, 3}
    assert_array_equal([1.0, 0.0], model.feature_importances_)
    flat = BaggingRegressor(n_estimators=2, random_state=0).fit(X, np.ones(300))
    assert_array_equal(np.zeros(X.shape[1]), flat.feature_importances_)


# Parameters ---------------------------------------------------------------------------------------


def test_names_and_defaults_are_those_of_scikit_learn() -> None:
    theirs = sklearn.ensemble.BaggingClassifier().get_params()
    for kind in (*CLASSES, *MEANS):
        ours = kind().get_params()
        for name in ("max_samples", "oob_score", "warm_start"):
            if name in ours:
                assert ours[name] == theirs[name]
        assert "warm_start" in ours or kind.__name__.startswith("Lazy")


@pytest.mark.parametrize("kind", [*CLASSES, *MEANS])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_samples": 0}, "'max_samples' parameter of {} must be an int of at least 1, a float"),
        ({"max_samples": 1.5}, r"a float in the range \(0.0, 1.0\] or None. Got 1.5"),
        ({"max_samples": True}, "'max_samples' parameter of {}"),
        ({"max_samples": 301, "bootstrap": False}, "max_samples=301 .* 300 rows .* replacement"),
        ({"oob_score": "yes"}, "'oob_score' parameter of {} must be a bool. Got 'yes'"),
        ({"oob_score": True, "bootstrap": False}, "Out of bag .* only available if bootstrap=True"),
    ],
)
def test_what_has_no_meaning_is_refused(kind: Any, options: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message.format(kind.__name__)):
        kind(**{**COMMON, **options}).fit(X, TWO if kind in CLASSES else NUMBERS)


def test_added_trees_have_no_score_out_of_the_bag() -> None:
    with pytest.raises(ParameterError, match=r"Out of bag .* if warm_start=False"):
        BaggingRegressor(oob_score=True, warm_start=True).fit(X, NUMBERS)
    with pytest.raises(ParameterError, match="'warm_start' parameter of BaggingRegressor must be"):
        BaggingRegressor(warm_start=1).fit(X, NUMBERS)


@pytest.mark.parametrize(("kind", "y"), EAGER)
def test_a_file_keeps_the_score_and_no_rows(kind: Any, y: Any, tmp_path: Any) -> None:
    model = kind(**{**COMMON, "n_estimators": 40}, oob_score=True, max_samples=0.5).fit(X, y)
    save(model, tmp_path / "bags.treefold")
    again = load(tmp_path / "bags.treefold")
    assert again.oob_score_ == model.oob_score_
    assert again.get_params() == {**model.get_params(), "n_jobs": None}
    assert not hasattr(again, "oob_decision_function_")
    assert not hasattr(again, "oob_prediction_")
    assert_array_equal(model.feature_importances_, again.feature_importances_)
