"""Trees that are cross-validated in fit refuse what has no meaning, and stay as they were."""

import pickle

import numpy as np
import pytest
from cases import BASE_SEED
from mixed_data import make_mixed
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold

from treefold import DecisionTreeClassifierCV, DecisionTreeRegressorCV
from treefold.exceptions import InputError, ParameterError

DATA = make_mixed(240, BASE_SEED)


def test_a_failing_scorer_fails_and_changes_nothing():
    y = DATA.targets["regression"]
    model = DecisionTreeRegressorCV(cv=3).fit(DATA.X, y)
    before = pickle.dumps(model)
    model.set_params(scoring=make_scorer(lambda truth, predicted: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        model.fit(DATA.X, y)
    assert pickle.dumps(model.set_params(scoring="r2")) == before


def test_an_interrupt_changes_nothing(monkeypatch):
    y = DATA.targets["regression"]
    model = DecisionTreeRegressorCV(cv=3).fit(DATA.X, y)
    before = pickle.dumps(model)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("treefold.evaluation.growing.grow_family", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(DATA.X, -y)
    assert pickle.dumps(model) == before


ROWS = np.arange(240)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"rule": "two_se"}, ParameterError, "'rule' parameter of DecisionTreeClassifierCV"),
        ({"scoring": ["accuracy"]}, ParameterError, "the name of one metric"),
        ({"scoring": "nonsense"}, ValueError, "Got 'nonsense' instead"),
        ({"scoring": "r2", "criterion": "x"}, ParameterError, "of DecisionTreeClassifierCV must"),
        ({"min_samples_leaf": []}, ParameterError, "'min_samples_leaf' parameter holds no"),
        ({"min_samples_leaf": [1, 0]}, ParameterError, "'min_samples_leaf' parameter of Decision"),
        ({"ccp_alpha": [0.1, -1.0]}, ParameterError, "'ccp_alpha' parameter of Decision"),
        ({"ccp_alpha": "paths"}, ParameterError, "'ccp_alpha' parameter of Decision"),
        ({"max_depth": "path"}, ParameterError, "'max_depth' parameter of Decision"),
        ({"cv": 1}, ValueError, "n_splits=2 or more"),
        ({"cv": 500}, InputError, "only n_samples=240 rows"),
        ({"cv": "five"}, ValueError, "Expected `cv`"),
        ({"cv": []}, InputError, "gives no split"),
        ({"cv": [(ROWS, ROWS[:0])]}, InputError, "Split 0 of cv"),
        ({"cv": [(ROWS[:0], ROWS)]}, InputError, "no training rows"),
        ({"cv": [(ROWS, ROWS + 9)]}, InputError, "rows that the data do not have"),
        ({"cv": [(ROWS[:9] // 2, ROWS[9:])]}, InputError, "come twice"),
        ({"n_jobs": 0}, ParameterError, "n_jobs=0"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        DecisionTreeClassifierCV(**parameters).fit(DATA.X, DATA.targets["two classes"])


def test_bad_data_are_refused():
    y = DATA.targets["two classes"]
    with pytest.raises(InputError, match="one class only, 'a'"):
        DecisionTreeClassifierCV().fit(DATA.X, ["a"] * 240)
    with pytest.raises(InputError, match="held-out rows of split 0 have a sample weight of zero"):
        DecisionTreeClassifierCV(cv=KFold(4)).fit(DATA.X, y, sample_weight=ROWS >= 60)
    with pytest.raises(ParameterError, match="takes no 'colour'"):
        DecisionTreeClassifierCV().fit(DATA.X, y, colour=3)
    undefined = DecisionTreeClassifierCV(cv=KFold(2), scoring="roc_auc")
    with pytest.raises(InputError, match="the metric is undefined"):
        undefined.fit(DATA.X, np.sort(y))
