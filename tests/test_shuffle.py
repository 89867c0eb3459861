"""Trees that are cross-validated in fit shuffle their folds, unless they are told not to."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

import treefold
from treefold import DecisionTreeClassifierCV, DecisionTreeRegressorCV
from treefold.exceptions import ParameterError

RANDOM = np.random.default_rng(2)
N_ROWS = 200
X = RANDOM.normal(size=(N_ROWS, 3)).round(2)
NUMBERS = X[:, 0] + RANDOM.normal(size=N_ROWS) / 3
CLASSES = np.where(NUMBERS > 0.2, "yes", "no")
KINDS = {
    "classes": (DecisionTreeClassifierCV, CLASSES, StratifiedKFold),
    "numbers": (DecisionTreeRegressorCV, NUMBERS, KFold),
}


def held_out(model):
    return [sorted(test) for test in model.evaluation_.indices["test"]]


def fit(name, **parameters):
    kind, y, splitter = KINDS[name]
    return kind(min_samples_leaf=5, **parameters).fit(X, y), splitter, y


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("cv", [None, 4])
def test_folds_are_those_of_a_shuffled_splitter(name, seed, cv):
    model, splitter, y = fit(name, cv=cv, random_state=seed)
    folds = splitter(cv or 5, shuffle=True, random_state=seed or 0)
    assert held_out(model) == [sorted(test) for _, test in folds.split(X, y)]


@pytest.mark.parametrize("name", KINDS)
def test_without_shuffling_they_are_scikit_learns(name):
    model, splitter, y = fit(name, shuffle=False)
    assert held_out(model) == [sorted(test) for _, test in splitter(5).split(X, y)]


@pytest.mark.parametrize("name", KINDS)
def test_a_splitter_is_used_as_it_is(name):
    for cv in (KFold(3), list(KFold(3).split(X))):
        model, _, _ = fit(name, cv=cv, random_state=5)
        assert held_out(model) == [sorted(test) for _, test in KFold(3).split(X)]


def test_a_file_in_the_order_of_its_target_has_the_score_of_any_other():
    order = np.argsort(NUMBERS)
    model = DecisionTreeRegressorCV().fit(X[order], NUMBERS[order])
    ordered = DecisionTreeRegressorCV(shuffle=False).fit(X[order], NUMBERS[order])
    assert model.best_score_ > ordered.best_score_ + 0.2


def test_a_generator_gives_one_seed_for_columns_and_folds():
    state = np.random.RandomState(3)
    model = DecisionTreeRegressorCV(random_state=state, max_features=2).fit(X, NUMBERS)
    seed = model.best_params_["random_state"]
    again = DecisionTreeRegressorCV(random_state=seed, max_features=2).fit(X, NUMBERS)
    assert held_out(again) == held_out(model)
    assert again.best_score_ == model.best_score_


def test_what_is_no_answer_is_refused():
    with pytest.raises(ParameterError, match="'shuffle' parameter of DecisionTreeRegressorCV"):
        DecisionTreeRegressorCV(shuffle="yes").fit(X, NUMBERS)


@pytest.mark.parametrize("seed", [None, 3, np.random.RandomState(0)])
@pytest.mark.parametrize("max_features", [None, 2])
def test_a_report_fits_the_same_folds_again(tmp_path, seed, max_features):
    pytest.importorskip("vl_convert")
    pytest.importorskip("jinja2")
    pytest.importorskip("pyarrow")
    model, _, y = fit("numbers", random_state=seed, max_features=max_features)
    treefold.report(model, tmp_path / "report.html", X, y)
    text = (tmp_path / "report.html").read_text()
    words = "shuffled" if isinstance(seed, np.random.RandomState) else f"with seed {seed or 0}"
    assert f"5 folds, {words}" in text or f"5 folds, shuffled {words}" in text
