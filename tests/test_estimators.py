"""The estimators keep scikit-learn's contract, and every parameter matters."""

import copy
import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    parametrize_with_checks,
)

from treefold import DecisionTreeClassifier, DecisionTreeRegressor, ParameterError
from treefold.threads import effective_n_jobs

IRIS = load_iris()
CANCER = load_breast_cancer()
DIABETES = load_diabetes()
TREES = [DecisionTreeClassifier, DecisionTreeRegressor]
LATER = ("splitter", "monotonic_cst", "min_samples_category")  # parameters


@parametrize_with_checks(
    [
        DecisionTreeClassifier(),
        DecisionTreeClassifier(criterion="gain_ratio", class_weight="balanced"),
        DecisionTreeClassifier(max_leaf_nodes=5, max_features="sqrt", random_state=0),
        DecisionTreeRegressor(),
        DecisionTreeRegressor(ccp_alpha=0.01, n_jobs=2),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_the_estimators_pass_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_names_of_columns_are_checked_in_the_words_of_scikit_learn(tree: Any) -> None:
    check_dataframe_column_names_consistency(tree.__name__, tree())


def test_a_subclass_has_parameters_of_its_own() -> None:
    class Named(DecisionTreeClassifier):
        def __init__(self, name: str = "", max_depth: int | None = None) -> None:
            super().__init__(max_depth=max_depth)
            self.name = name

    assert DecisionTreeClassifier().get_params()["min_samples_leaf"] == 1
    assert clone(Named("oak", 3)).get_params() == {"name": "oak", "max_depth": 3}
    assert "name" not in DecisionTreeClassifier().get_params()


def test_parameters_and_defaults_are_those_of_scikit_learn() -> None:
    ours_only = {"min_impurity": 0.0, "categorical_features": "from_dtype", "n_jobs": None}
    ours_only["min_samples_category"] = 2
    for ours, theirs in (
        (DecisionTreeClassifier(), sklearn.tree.DecisionTreeClassifier()),
        (DecisionTreeRegressor(), sklearn.tree.DecisionTreeRegressor()),
    ):
        expected = {**theirs.get_params(), **ours_only}
        assert expected == ours.get_params()


@pytest.mark.parametrize("tree", TREES)
def test_code_that_names_the_splitter_of_scikit_learn_runs_unchanged(tree: Any) -> None:
    named = tree(splitter="best", monotonic_cst=None).fit(IRIS.data, IRIS.target)
    plain = tree().fit(IRIS.data, IRIS.target)
    assert named.get_params() == plain.get_params() == clone(named).get_params()
    assert_array_equal(named.tree_.threshold, plain.tree_.threshold)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"splitter": "random"}, "splitter='random' is not available in {}: .*every threshold"),
        ({"splitter": "worst"}, "'splitter' parameter of {} must be 'best'. Got 'worst' instead"),
        ({"splitter": None}, "'splitter' parameter of {} must be 'best'. Got None instead"),
        ({"monotonic_cst": [1, 0, 0, 0]}, r"monotonic_cst=\[1, 0, 0, 0\] is not available in {}"),
    ],
)
def test_random_splits_and_monotonic_constraints_are_refused_by_name(
    tree: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message.format(tree.__name__)):
        tree(**options).fit(IRIS.data, IRIS.target)


@pytest.mark.parametrize("tree", TREES)
def test_a_pickle_of_an_earlier_version_has_the_parameters_that_came_later(tree: Any) -> None:
    state = tree(max_depth=2).fit(IRIS.data, IRIS.target).__getstate__()
    old = {name: value for name, value in state.items() if name not in LATER}
    model = tree.__new__(tree)
    model.__setstate__(old)
    assert model.get_params() == tree(max_depth=2).get_params()
    assert clone(model).fit(IRIS.data, IRIS.target).get_depth() == 2


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_attributes_have_the_shapes_of_scikit_learn(criterion: str) -> None:
    ours = DecisionTreeClassifier(criterion=criterion).fit(IRIS.data, IRIS.target)
    theirs = sklearn.tree.DecisionTreeClassifier(criterion=criterion).fit(IRIS.data, IRIS.target)
    assert_array_equal(theirs.classes_, ours.classes_)
    assert theirs.n_classes_ == ours.n_classes_
    assert theirs.n_features_in_ == ours.n_features_in_
    assert theirs.n_outputs_ == ours.n_outputs_
    assert theirs.max_features_ == ours.max_features_
    for name in ("feature", "threshold", "impurity", "n_node_samples", "value", "n_classes"):
        expected, actual = getattr(theirs.tree_, name), getattr(ours.tree_, name)
        assert expected.shape[1:] == actual.shape[1:], name
        assert expected.dtype.kind == actual.dtype.kind, name
    for name in ("n_features", "n_outputs", "max_n_classes"):
        assert getattr(theirs.tree_, name) == getattr(ours.tree_, name)
    assert_allclose(theirs.tree_.impurity[0], ours.tree_.impurity[0])
    assert_allclose(theirs.tree_.value[0], ours.tree_.value[0])


def test_the_arrays_of_the_tree_are_read_only_views() -> None:
    tree = DecisionTreeClassifier().fit(IRIS.data, IRIS.target).tree_
    for name in ("children_left", "children_right", "feature", "threshold", "value", "impurity"):
        array = getattr(tree, name)
        assert np.shares_memory(array, getattr(tree._native, name)), name
        assert not array.flags.writeable, name
    assert tree.capacity == tree.node_count == len(tree.feature)
    assert tree.n_leaves == (tree.children_left == -1).sum()


def test_labels_of_any_kind_come_back() -> None:
    kinds = [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([-1, 1], dtype=np.int8),
        np.array([3, 10**12]),
        np.array([0, 2**63], dtype=np.uint64),
        np.array([0.0, 5.0]),
        np.array([False, True]),
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
    ]
    for labels in kinds:
        y = labels[CANCER.target]
        model = DecisionTreeClassifier().fit(CANCER.data, y)
        assert_array_equal(labels, model.classes_)
        assert model.classes_.dtype == labels.dtype
        assert_array_equal(y, model.predict(CANCER.data))


def test_labels_may_be_a_series_a_category_or_a_list() -> None:
    names = IRIS.target_names[IRIS.target]
    for y in (names.tolist(), pd.Series(names), pd.Series(names, dtype="category")):
        model = DecisionTreeClassifier().fit(IRIS.data, y)
        assert_array_equal(names, model.predict(IRIS.data))


def test_a_column_of_targets_warns() -> None:
    for tree in TREES:
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
            tree().fit(IRIS.data, IRIS.target.reshape(-1, 1))


def test_predictions_agree_with_each_other() -> None:
    model = DecisionTreeClassifier(max_depth=3).fit(IRIS.data, IRIS.target)
    shares = model.predict_proba(IRIS.data)
    assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(IRIS.data))
    assert_array_equal(shares, model.tree_.predict(IRIS.data))
    assert_allclose(np.exp(model.predict_log_proba(IRIS.data)), shares)
    assert_allclose(shares.sum(axis=1), 1)
    leaves = model.apply(IRIS.data)
    assert_array_equal(leaves, model.tree_.apply(IRIS.data))
    assert_array_equal(shares, model.tree_.value[leaves, 0])
    # The same answers whether rows are more than nodes, or fewer.
    assert_array_equal(model.predict(IRIS.data)[:2], model.predict(IRIS.data[:2]))


def test_the_decision_path_ends_in_the_leaf() -> None:
    model = DecisionTreeRegressor().fit(DIABETES.data, DIABETES.target)
    path = model.decision_path(DIABETES.data)
    assert path.shape == (len(DIABETES.data), model.tree_.node_count)
    assert (path != model.tree_.decision_path(DIABETES.data)).nnz == 0
    last = path.indices[path.indptr[1:] - 1]
    assert_array_equal(model.apply(DIABETES.data), last)
    assert path.getnnz(axis=1).max() == model.get_depth() + 1


def test_importances_match_scikit_learn_where_the_trees_agree() -> None:
    ours = DecisionTreeRegressor(max_depth=3).fit(DIABETES.data, DIABETES.target)
    theirs = sklearn.tree.DecisionTreeRegressor(max_depth=3).fit(DIABETES.data, DIABETES.target)
    assert_allclose(theirs.feature_importances_, ours.feature_importances_)
    for normalize in (True, False):
        assert_allclose(
            theirs.tree_.compute_feature_importances(normalize),
            ours.tree_.compute_feature_importances(normalize),
        )


def test_importances_of_a_stump_without_splits_are_zero() -> None:
    model = DecisionTreeClassifier().fit(IRIS.data, np.zeros(150))
    assert_array_equal(np.zeros(4), model.feature_importances_)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    "dump", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, copy.copy]
)
def test_a_copy_predicts_alike(tree: Any, dump: Any) -> None:
    model = tree(max_depth=4).fit(CANCER.data, CANCER.target)
    twin = dump(model)
    assert_array_equal(model.predict(CANCER.data), twin.predict(CANCER.data))
    assert_array_equal(model.tree_.impurity, twin.tree_.impurity)
    assert model.tree_.max_depth == twin.tree_.max_depth


def test_a_pickle_of_another_format_is_refused() -> None:
    rebuild, (state,) = DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1]).tree_.__reduce__()
    with pytest.raises(ValueError, match="written in format 99"):
        rebuild({**state, "format": 99})


def test_a_pickle_with_a_crafted_tree_is_refused() -> None:
    rebuild, (state,) = DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1]).tree_.__reduce__()
    with pytest.raises(ValueError, match=r"feature|column"):
        rebuild({**state, "feature": np.array([7, -2, -2])})


def test_a_very_deep_tree_works_everywhere() -> None:
    row = np.arange(1_000)
    model = DecisionTreeRegressor().fit(row.reshape(-1, 1), (-2.0) ** -row)
    assert model.get_depth() > 100
    assert pickle.loads(pickle.dumps(model)).get_depth() == model.get_depth()
    assert len(model.feature_importances_) == 1


# Each parameter changes the tree in the way that its name says.


def leaves_of(model: Any, X: Any) -> np.ndarray:
    return np.unique(model.apply(X), return_counts=True)[1]


@pytest.mark.parametrize("tree", TREES)
def test_max_depth_limits_the_depth(tree: Any) -> None:
    assert tree(max_depth=2).fit(CANCER.data, CANCER.target).get_depth() == 2
    assert tree(max_depth=10**12).fit(CANCER.data, CANCER.target).get_depth() > 2


@pytest.mark.parametrize("value", [20, 20 / 569, np.int64(20)])
def test_min_samples_leaf_is_a_number_or_a_share(value: Any) -> None:
    model = DecisionTreeClassifier(min_samples_leaf=value).fit(CANCER.data, CANCER.target)
    assert leaves_of(model, CANCER.data).min() >= 20
    assert model.get_n_leaves() > 2


@pytest.mark.parametrize("value", [100, 100 / 569])
def test_min_samples_split_is_a_number_or_a_share(value: Any) -> None:
    model = DecisionTreeClassifier(min_samples_split=value).fit(CANCER.data, CANCER.target)
    tree = model.tree_
    assert tree.n_node_samples[tree.children_left >= 0].min() >= 100
    assert leaves_of(model, CANCER.data).min() < 50


def test_min_weight_fraction_leaf_counts_without_weights_too() -> None:
    model = DecisionTreeClassifier(min_weight_fraction_leaf=0.1).fit(CANCER.data, CANCER.target)
    assert leaves_of(model, CANCER.data).min() >= 0.1 * 569
    assert model.get_n_leaves() > 2


def test_min_weight_fraction_leaf_counts_class_weights() -> None:
    params = {"min_weight_fraction_leaf": 0.1, "class_weight": {0: 5.0}}
    weight = np.linspace(0.5, 2, 569)
    model = DecisionTreeClassifier(**params).fit(CANCER.data, CANCER.target, weight)
    total = np.where(CANCER.target == 0, 5.0, 1.0) @ weight
    tree = model.tree_
    assert_allclose(total, tree.weighted_n_node_samples[0])
    assert tree.weighted_n_node_samples.min() >= 0.1 * total * (1 - 1e-12)
    assert model.get_n_leaves() > 2


EXPECTED_FEATURES = [
    (None, 30), ("sqrt", 5), ("log2", 4), (3, 3), (99, 30), (0.5, 15), (0.001, 1), (1.0, 30)
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), EXPECTED_FEATURES)
def test_max_features_is_a_number_a_share_or_a_root(value: Any, expected: int) -> None:
    model = DecisionTreeClassifier(max_features=value, random_state=0)
    assert model.fit(CANCER.data, CANCER.target).max_features_ == expected


def test_random_state_drives_the_draw_and_nothing_else() -> None:
    def thresholds(**params: Any) -> list[float]:
        model = DecisionTreeClassifier(**params).fit(CANCER.data, CANCER.target)
        return model.tree_.threshold.tolist()

    assert thresholds() == thresholds(random_state=5)
    drawn = {"max_features": 2}
    assert thresholds(random_state=5, **drawn) == thresholds(random_state=5, **drawn)
    assert thresholds(random_state=5, **drawn) != thresholds(random_state=6, **drawn)
    generator = np.random.RandomState(0)
    first = thresholds(random_state=generator, **drawn)
    assert first != thresholds(random_state=generator, **drawn)
    assert first == thresholds(random_state=np.random.RandomState(0), **drawn)


def test_no_random_number_is_used_where_nothing_is_drawn() -> None:
    generator = np.random.RandomState(0)
    DecisionTreeClassifier(random_state=generator).fit(IRIS.data, IRIS.target)
    assert generator.randint(1000) == np.random.RandomState(0).randint(1000)


def test_max_leaf_nodes_limits_the_leaves() -> None:
    model = DecisionTreeClassifier(max_leaf_nodes=4).fit(CANCER.data, CANCER.target)
    assert model.get_n_leaves() == 4


def test_min_impurity_decrease_stops_weak_splits() -> None:
    strict = DecisionTreeClassifier(min_impurity_decrease=0.01).fit(CANCER.data, CANCER.target)
    theirs = sklearn.tree.DecisionTreeClassifier(min_impurity_decrease=0.01)
    assert strict.get_n_leaves() == theirs.fit(CANCER.data, CANCER.target).get_n_leaves()


def test_min_impurity_makes_leaves_of_nearly_pure_nodes() -> None:
    model = DecisionTreeClassifier(min_impurity=0.2).fit(CANCER.data, CANCER.target)
    tree = model.tree_
    assert tree.impurity[tree.children_left >= 0].min() > 0.2
    assert (
        2
        <= model.get_n_leaves()
        < DecisionTreeClassifier().fit(CANCER.data, CANCER.target).get_n_leaves()
    )


def test_ccp_alpha_prunes_along_the_published_path() -> None:
    model = DecisionTreeClassifier()
    path = model.cost_complexity_pruning_path(CANCER.data, CANCER.target)
    assert not hasattr(model, "tree_")
    assert path.ccp_alphas[0] == 0
    assert (np.diff(path.ccp_alphas) >= 0).all()
    assert (np.diff(path.impurities) >= 0).all()
    sizes = [
        DecisionTreeClassifier(ccp_alpha=alpha).fit(CANCER.data, CANCER.target).get_n_leaves()
        for alpha in path.ccp_alphas
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_class_weights_shift_the_decision() -> None:
    shallow = {"max_depth": 1}
    plain = DecisionTreeClassifier(**shallow).fit(CANCER.data, CANCER.target)
    heavy = DecisionTreeClassifier(class_weight={0: 50}, **shallow).fit(CANCER.data, CANCER.target)
    assert (
        heavy.predict_proba(CANCER.data)[:, 0].sum() > plain.predict_proba(CANCER.data)[:, 0].sum()
    )
    theirs = sklearn.tree.DecisionTreeClassifier(class_weight={0: 50}, **shallow)
    theirs.fit(CANCER.data, CANCER.target)
    assert_allclose(theirs.predict_proba(CANCER.data), heavy.predict_proba(CANCER.data))


def test_balanced_classes_weigh_the_same() -> None:
    y = np.repeat([0, 1, 2], [100, 40, 10])
    model = DecisionTreeClassifier(class_weight="balanced").fit(IRIS.data, y)
    assert_allclose(np.full(3, 1 / 3), model.tree_.value[0, 0])
    assert_allclose(150, model.tree_.weighted_n_node_samples[0])


def test_a_class_of_weight_zero_does_not_exist() -> None:
    model = DecisionTreeClassifier(class_weight={2: 0.0}).fit(IRIS.data, IRIS.target)
    keep = IRIS.target != 2
    expected = DecisionTreeClassifier().fit(IRIS.data[keep], IRIS.target[keep])
    assert_array_equal(expected.tree_.threshold, model.tree_.threshold)
    assert_array_equal(expected.predict(IRIS.data), model.predict(IRIS.data))
    assert model.n_classes_ == 3


@pytest.mark.parametrize("params", [{}, {"min_samples_leaf": 0.02}, {"class_weight": "balanced"}])
def test_rows_of_weight_zero_do_not_exist(params: Any) -> None:
    weight = (np.arange(150) % 3 > 0).astype(float)
    weighted = DecisionTreeClassifier(**params).fit(IRIS.data, IRIS.target, weight)
    keep = weight > 0
    expected = DecisionTreeClassifier(**params).fit(IRIS.data[keep], IRIS.target[keep])
    assert_array_equal(expected.tree_.threshold, weighted.tree_.threshold)
    assert_array_equal(expected.tree_.value, weighted.tree_.value)


def test_one_weight_for_all_rows_changes_nothing() -> None:
    plain = DecisionTreeRegressor().fit(DIABETES.data, DIABETES.target)
    scaled = DecisionTreeRegressor().fit(DIABETES.data, DIABETES.target, 3)
    assert_array_equal(plain.predict(DIABETES.data), scaled.predict(DIABETES.data))


def test_friedman_mse_is_squared_error_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match='"friedman_mse"` for `criterion` is deprecated'):
        model = DecisionTreeRegressor(criterion="friedman_mse").fit(DIABETES.data, DIABETES.target)
    expected = DecisionTreeRegressor().fit(DIABETES.data, DIABETES.target)
    assert_array_equal(expected.tree_.threshold, model.tree_.threshold)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_the_number_of_threads_changes_nothing(n_jobs: int | None) -> None:
    model = DecisionTreeClassifier(n_jobs=n_jobs).fit(CANCER.data, CANCER.target)
    expected = DecisionTreeClassifier().fit(CANCER.data, CANCER.target)
    assert_array_equal(expected.tree_.threshold, model.tree_.threshold)


def test_threads_respect_joblib_and_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert effective_n_jobs(None) == 1
    assert effective_n_jobs(3) == 3
    assert effective_n_jobs(-1) == joblib.cpu_count()
    with joblib.parallel_config("threading", n_jobs=2):
        assert effective_n_jobs(None) == 2
    for value, expected in (("2", 2), ("2,1", 2), ("99", 4), ("", 4), ("none", 4), ("0", 4)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert effective_n_jobs(4) == expected


@pytest.mark.parametrize("tree", TREES)
def test_the_tools_of_scikit_learn_accept_the_estimators(tree: Any) -> None:
    model = make_pipeline(StandardScaler(), tree(max_depth=3))
    assert cross_val_score(model, IRIS.data, IRIS.target, cv=3).shape == (3,)
    search = GridSearchCV(tree(), {"max_depth": [1, 3]}, cv=3).fit(CANCER.data, CANCER.target)
    assert search.best_params_ == {"max_depth": 3}
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_parallel_fits_in_threads_give_the_same_tree() -> None:
    fits = joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(DecisionTreeClassifier().fit)(CANCER.data, CANCER.target) for _ in range(4)
    )
    for model in fits[1:]:
        assert_array_equal(fits[0].tree_.threshold, model.tree_.threshold)
