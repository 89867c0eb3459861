"""Lazy trees say what whole trees say, and grow no more than is asked for."""

import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import nan

import numpy as np
import pandas as pd
import pytest
from cases import BASE_SEED, Case, draw_case, draw_rules
from core_trees import core_rules, make_source, make_table
from mixed_data import CATEGORICAL, make_mixed
from reference import lazy as twin
from reference.grower import Rules
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from treefold import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LazyBaggingClassifier,
    LazyBaggingRegressor,
    LazyDecisionTreeClassifier,
    LazyDecisionTreeRegressor,
    ParameterError,
    Table,
    save,
)
from treefold.data.target import Target
from treefold.estimators.bags import draw_counts
from treefold.family import Member, ask_family

DATA = make_mixed(400, BASE_SEED)
TEST = make_mixed(90, BASE_SEED + 1)
X, TWO, MANY, NUMBERS = (
    DATA.X,
    DATA.targets["two classes"],
    DATA.targets["many classes"],
    DATA.targets["regression"],
)
COMMON = {"categorical_features": CATEGORICAL, "random_state": 3, "min_samples_split": 5}
BAGS = {**COMMON, "n_estimators": 7}


# The core against its plain twin ------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_answers_and_work_are_those_of_the_plain_twin(criterion):
    rng = random.Random(f"lazy {criterion} {BASE_SEED}")
    for _ in range(150):
        case = draw_rules(rng, draw_case(rng, criterion, n_rows=rng.randint(1, 25)))
        counts = [float(n) for n in twin.draw_counts(rng.randrange(99), 0, len(case.rows))]
        rules = replace(case.rules, max_leaf_nodes=0)
        case = replace(case, weights=counts, multipliers=None, rules=rules)
        questions = draw_questions(rng, case)
        answers = twin.ask(case.problem, questions)
        values, work = ask_core(case, questions)
        assert values.tolist() == [answers.values[k] for k in range(len(questions))], case
        assert work["nodes_grown"] == answers.nodes_grown, case
        assert work["rows_scanned"] == answers.rows_scanned, case
        assert work["stack_words"] == answers.stack_words, case


def draw_questions(rng, case):
    """Values that were trained on, values in between, unknown categories, missing."""
    questions = []
    for _ in range(rng.randint(1, 6)):
        question = list(rng.choice(case.rows))
        for column, n in enumerate(case.n_categories):
            change = float(rng.randrange(n + 2)) if n else rng.choice(case.rows)[column] / 2 + 0.1
            question[column] = rng.choice([question[column], change, nan])
        questions.append(question)
    return questions


def ask_core(case: Case, questions):
    kind = np.int32 if case.n_classes else np.float64
    classes = np.arange(case.n_classes) if case.n_classes else None
    weights = np.array(case.weights)
    member = Member(
        np.flatnonzero(weights).astype(np.uint32),
        core_rules(case.rules, len(case.n_categories), None),
        weights,
        np.arange(len(questions), dtype=np.uint32),
    )
    answers, work = ask_family(
        make_table(case),
        Target(np.array(case.target, dtype=kind), classes),
        [member],
        questions=make_source(questions, case.n_categories),
    )
    return answers[0], work


def test_bags_are_functions_of_their_keys():
    for seed, tree, n_rows in [(0, 0, 1), (0, 1, 10), (2**32 - 1, 7, 100), (5, 99, 33)]:
        counts = draw_counts(seed, tree, n_rows)
        assert counts.tolist() == twin.draw_counts(seed, tree, n_rows)
        assert counts.sum() == n_rows
    many = np.concatenate([draw_counts(1, tree, 1000) for tree in range(50)])
    assert np.mean(many == 0) == pytest.approx(np.exp(-1), abs=0.01)


# Estimators: eager = single = batched -----------------------------------------------------------


def make_pair(target, is_bagged, **options):
    """An eager estimator, and its lazy twin."""
    is_class = target is not NUMBERS
    if is_bagged:
        eager, lazy = (
            (BaggingClassifier, LazyBaggingClassifier)
            if is_class
            else (BaggingRegressor, LazyBaggingRegressor)
        )
        return eager(**{**BAGS, **options}), lazy(**{**BAGS, **options})
    eager, lazy = (
        (DecisionTreeClassifier, LazyDecisionTreeClassifier)
        if is_class
        else (DecisionTreeRegressor, LazyDecisionTreeRegressor)
    )
    return eager(**{**COMMON, **options}), lazy(**{**COMMON, **options})


def predict(model, rows):
    name = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    return getattr(model, name)(rows)


def assert_same_bits(one, other):
    assert one.shape == other.shape
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("target", [TWO, MANY, NUMBERS], ids=["two", "many", "numbers"])
@pytest.mark.parametrize("is_bagged", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_depth": 4, "min_samples_leaf": 3},
        {"max_features": 3},
        {"min_weight_fraction_leaf": 0.02, "min_impurity_decrease": 1e-4},
    ],
    ids=repr,
)
@pytest.mark.parametrize("weights", [None, DATA.weights], ids=["unweighted", "weighted"])
def test_eager_single_and_batched_say_the_same(target, is_bagged, options, weights):
    eager, lazy = make_pair(target, is_bagged, **options)
    expected = predict(eager.fit(X, target, weights), TEST.X)
    lazy.fit(X, target, weights)
    assert_same_bits(predict(lazy, TEST.X), expected)
    few = TEST.X[:5]
    assert_same_bits(predict(lazy.set_params(strategy="single"), few), expected[:5])


@pytest.mark.parametrize("criterion", ["entropy", "gain_ratio"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}])
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_classes_votes_and_criteria(criterion, class_weight, voting):
    options = {"criterion": criterion, "class_weight": class_weight, "voting": voting}
    options |= {"max_depth": 5, "n_estimators": 4}
    eager, lazy = make_pair(TWO, True, **options)
    expected = eager.fit(X, TWO).predict_proba(TEST.X)
    assert_same_bits(lazy.fit(X, TWO).predict_proba(TEST.X), expected)
    votes = np.array([tree.predict_proba(TEST.X) for tree in eager.estimators_])
    if voting == "hard":
        votes = np.eye(2)[votes.argmax(axis=2)]
    np.testing.assert_allclose(expected, votes.mean(axis=0), rtol=0, atol=1e-15)
    assert (eager.predict(TEST.X) == eager.classes_[expected.argmax(axis=1)]).all()


def test_any_order_and_any_division_into_batches():
    _, lazy = make_pair(MANY, True)
    lazy.fit(X, MANY)
    expected = predict(lazy, TEST.X)
    order = np.random.default_rng(0).permutation(len(TEST.X))
    assert_same_bits(predict(lazy, TEST.X[order]), expected[order])
    parts = [predict(lazy, TEST.X[rows]) for rows in np.array_split(np.arange(90), 4)]
    assert_same_bits(np.concatenate(parts), expected)
    larger = np.tile(TEST.X, (6, 1))  # than the training set
    assert_same_bits(predict(lazy, larger), np.tile(expected, (6, 1)))


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_any_number_of_threads(n_jobs):
    eager, lazy = make_pair(NUMBERS, True, n_jobs=n_jobs)
    one, _ = make_pair(NUMBERS, True)
    expected = one.fit(X, NUMBERS).predict(TEST.X)
    assert_same_bits(eager.fit(X, NUMBERS).predict(TEST.X), expected)
    assert_same_bits(lazy.fit(X, NUMBERS).predict(TEST.X), expected)


def test_several_threads_may_ask_at_once():
    _, lazy = make_pair(TWO, True)
    lazy.fit(X, TWO)
    parts = np.array_split(np.arange(90), 6)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda rows: lazy.predict_proba(TEST.X[rows]), parts))
    assert_same_bits(np.concatenate(found), lazy.predict_proba(TEST.X))


def test_sparse_frames_and_tables():
    plain = np.nan_to_num(X[:, :10])
    options = {"categorical_features": None}
    eager, lazy = make_pair(TWO, True, **options)
    expected = eager.fit(plain, TWO).predict_proba(plain[:20])
    for train, rows in [
        (plain, plain[:20]),
        (sparse.csr_array(plain), sparse.csr_array(plain[:20])),
        (sparse.csc_array(plain), plain[:20]),
        (Table.from_data(plain), Table.from_data(plain[:20])),
        (plain.tolist(), plain[:20].tolist()),
    ]:
        assert_same_bits(lazy.fit(train, TWO).predict_proba(rows), expected)


def test_unknown_categories_and_missing_values_go_as_in_whole_trees():
    frame = pd.DataFrame({"a": X[:, 0], "c": np.array(list("xyz"))[np.arange(400) % 3]})
    asked = pd.DataFrame({"a": [np.nan, 0.1, 0.2, np.nan], "c": ["new", "x", None, "y"]})
    for is_bagged in (False, True):
        eager, lazy = make_pair(TWO, is_bagged, categorical_features="from_dtype")
        expected = eager.fit(frame, TWO).predict_proba(asked)
        assert_same_bits(lazy.fit(frame, TWO).predict_proba(asked), expected)
        assert lazy.feature_names_in_.tolist() == ["a", "c"]


def test_a_bag_is_a_tree_with_the_weights_of_its_rows():
    eager, _ = make_pair(MANY, True)
    eager.fit(X, MANY)
    for number, tree in enumerate(eager.estimators_):
        weights = draw_counts(3, number, 400)
        alone = DecisionTreeClassifier(**COMMON).fit(X, MANY, sample_weight=weights)
        expected, actual = (one.tree_._native.to_arrays() for one in (alone, tree))
        for name in expected:
            np.testing.assert_array_equal(actual[name], expected[name], name)


@pytest.mark.parametrize("size", [1.7e308, np.finfo(np.float64).max])
def test_means_of_numbers_whose_sum_float64_does_not_hold(size):
    y = NUMBERS / np.abs(NUMBERS).max()  # with rows of all sizes
    y[:200] = np.where(np.arange(200) % 3, 1.0, -1.0)
    large = BaggingRegressor(n_estimators=20, random_state=3, max_depth=5).fit(X, y * size)
    total = np.zeros(len(TEST.X))
    for tree in large.estimators_:
        total += tree.predict(TEST.X) * 2.0**-40  # as if float64 had no end
    actual = large.predict(TEST.X)
    np.testing.assert_array_equal(actual, total / 20 * 2.0**40)
    lazy = LazyBaggingRegressor(n_estimators=20, random_state=3, max_depth=5).fit(X, y * size)
    np.testing.assert_array_equal(lazy.predict(TEST.X), actual)
    alone = np.concatenate([large.predict(TEST.X[row : row + 1]) for row in range(len(TEST.X))])
    np.testing.assert_array_equal(alone, actual)


@pytest.mark.parametrize("kind", [BaggingRegressor, LazyBaggingRegressor])
def test_the_mean_of_the_largest_number_is_the_largest_number(kind):
    largest = np.finfo(np.float64).max
    model = kind(n_estimators=7, random_state=0).fit([[0.0], [1.0]] * 3, [largest, 1.0] * 3)
    assert model.predict([[0.0]]) == [largest]
    assert np.isfinite(model.predict([[1.0]])).all()


def test_without_bags_all_trees_are_the_plain_tree():
    eager, lazy = make_pair(NUMBERS, True, bootstrap=False, n_estimators=1)
    expected = DecisionTreeRegressor(**COMMON).fit(X, NUMBERS).predict(TEST.X)
    assert_same_bits(eager.fit(X, NUMBERS).predict(TEST.X), expected)
    assert_same_bits(lazy.fit(X, NUMBERS).predict(TEST.X), expected)


def test_rows_of_weight_zero_do_not_exist():
    weights = np.where(np.arange(400) % 4 == 0, 0.0, 1.0)
    _, lazy = make_pair(TWO, True)
    expected = lazy.fit(X[weights > 0], TWO[weights > 0]).predict_proba(TEST.X)
    assert_same_bits(lazy.fit(X, TWO, weights).predict_proba(TEST.X), expected)


# Work ---------------------------------------------------------------------------------------------


def test_less_is_grown_where_less_is_asked():
    eager, lazy = make_pair(TWO, True)
    whole = eager.fit(X, TWO).work_
    n_nodes = sum(tree.tree_.node_count for tree in eager.estimators_)
    assert whole["model_words"] == 4 * n_nodes
    lazy.fit(X, TWO)
    lazy.predict(TEST.X)
    batch = lazy.work_
    lazy.predict(TEST.X[:1])
    one = lazy.work_
    for name in ("nodes_grown", "rows_scanned", "stack_words"):
        assert 0 < one[name] < batch[name] <= whole[name], name
    assert batch["model_words"] == one["model_words"] == 0
    lazy.set_params(strategy="single").predict(TEST.X)
    single = lazy.work_
    assert single["nodes_grown"] > 5 * batch["nodes_grown"]
    assert single["stack_words"] == batch["stack_words"]
    assert one["peak_bytes"] == batch["peak_bytes"] == single["peak_bytes"] == whole["peak_bytes"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_order_of_the_rows_per_thread_is_what_grows_with_the_data(n_jobs):
    numbers = np.random.default_rng(BASE_SEED).normal(size=(2000, 6))  # an order per column
    lazy = LazyBaggingClassifier(n_estimators=8, random_state=0, n_jobs=n_jobs)
    lazy.fit(numbers, numbers[:, 0] > 0.1).predict(numbers)
    n_rows = max(np.count_nonzero(draw_counts(0, number, 2000)) for number in range(8))
    order = 4 * n_rows * (1 + 6)
    assert order <= lazy.work_["peak_bytes"] <= n_jobs * order
    lazy.predict(numbers[:1])
    assert n_rows < lazy.work_["stack_words"] < 3 * n_rows


def test_work_is_that_of_the_plain_twin_for_a_whole_estimator():
    X_few, y = X[:60, :3], TWO[:60]
    lazy = LazyBaggingClassifier(n_estimators=3, random_state=1).fit(X_few, y)
    lazy.predict(TEST.X[:9, :3])
    expected = []
    for number in range(3):
        weights = [float(n) for n in twin.draw_counts(1, number, 60)]
        problem = Case(
            X_few.tolist(), [0, 0, 0], y.tolist(), 2, weights, None, Rules("gini")
        ).problem
        expected.append(twin.ask(problem, TEST.X[:9, :3].tolist()))
    assert lazy.work_["nodes_grown"] == sum(each.nodes_grown for each in expected)
    assert lazy.work_["rows_scanned"] == sum(each.rows_scanned for each in expected)
    assert lazy.work_["stack_words"] == max(each.stack_words for each in expected)


# Estimators as scikit-learn wants them ------------------------------------------------------------

FEW = {"n_estimators": 3, "random_state": 0}
BAGGED = [BaggingClassifier, BaggingRegressor, LazyBaggingClassifier, LazyBaggingRegressor]
MODELS = [LazyDecisionTreeClassifier(), LazyDecisionTreeRegressor()]
MODELS += [kind(**FEW, bootstrap=is_drawn) for kind in BAGGED for is_drawn in (True, False)]
MODELS += [kind(**FEW, max_samples=0.7) for kind in BAGGED]


def list_checks():
    """Where rows are drawn, one of weight two is not the same as two rows, as in scikit-learn."""
    for model in MODELS:
        is_bagged, is_drawn = isinstance(model, tuple(BAGGED)), model.bootstrap
        for estimator, check in estimator_checks_generator(model):
            name = check.func.__name__
            if not is_bagged or is_drawn != name.startswith("check_sample_weight_equivalence"):
                yield pytest.param(estimator, check, id=f"{type(model).__name__}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(list_checks()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "'n_estimators' parameter of LazyBaggingClassifier must be an int"),
        ({"bootstrap": "yes"}, "'bootstrap' parameter of LazyBaggingClassifier must be a bool"),
        ({"voting": "loud"}, "'voting' parameter of LazyBaggingClassifier must be one of 'soft'"),
        ({"strategy": "x"}, "'strategy' parameter of LazyBaggingClassifier must be one of"),
        ({"max_depth": 0}, "'max_depth' parameter of LazyBaggingClassifier must be"),
        ({"criterion": "x"}, "'criterion' parameter of LazyBaggingClassifier must be"),
        ({"random_state": "x"}, "'random_state' parameter of LazyBaggingClassifier must be"),
    ],
)
def test_parameters_without_meaning_are_refused(options, message):
    lazy = LazyBaggingClassifier(n_estimators=2).fit(X, TWO)
    before = dict(vars(lazy))
    lazy.set_params(**options)
    with pytest.raises(ParameterError, match=message):
        lazy.fit(X, TWO)
    assert lazy._bags is before["_bags"]


def test_what_is_not_fitted_cannot_be_asked():
    for model in (LazyDecisionTreeClassifier(), BaggingRegressor()):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            model.predict(X)


def test_a_lazy_estimator_can_be_pickled_with_its_rows():
    _, lazy = make_pair(MANY, True)
    lazy.fit(X, MANY)
    copy = pickle.loads(pickle.dumps(lazy))
    assert_same_bits(copy.predict_proba(TEST.X), lazy.predict_proba(TEST.X))


def test_a_model_file_holds_no_rows_and_so_no_lazy_estimator(tmp_path):
    for is_bagged, twin_name in [(False, "DecisionTreeClassifier"), (True, "BaggingClassifier")]:
        _, lazy = make_pair(TWO, is_bagged)
        with pytest.raises(ParameterError, match=f"no training rows.*twin, {twin_name}, which"):
            save(lazy.fit(X, TWO), tmp_path / "model.treefold")
        assert not list(tmp_path.iterdir())


def test_a_batch_may_be_empty_where_it_may_be_for_a_tree():
    tree = DecisionTreeClassifier(**COMMON).fit(X, TWO)
    _, lazy = make_pair(TWO, True)
    lazy.fit(X, TWO)
    try:
        expected = tree.predict_proba(X[:0])
    except ValueError as error:
        with pytest.raises(type(error), match="0 sample"):
            lazy.predict_proba(X[:0])
    else:
        assert_same_bits(lazy.predict_proba(X[:0]), expected)
