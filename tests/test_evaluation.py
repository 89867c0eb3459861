"""An evaluation says what it knows: as an object, as plain data, as a frame, as text."""

import dataclasses
import json
import pickle
import sys

import numpy as np
import pandas as pd
import pytest

from treefold import Evaluation


@pytest.fixture
def full():
    return Evaluation(
        "r2",
        {"r2": np.array([0.5, 0.7]), "neg_mean_squared_error": np.array([-3.0, -2.0])},
        path={
            "ccp_alpha": np.array([0.0, 0.25]),
            "param_max_depth": np.ma.array([3, 0], mask=[False, True]),
            "mean_test_score": np.array([0.4, 0.6]),
            "n_leaves": np.array([9, 2]),
        },
        chosen={"index": 1, "params": {"ccp_alpha": 0.25, "criterion": "<b>"}, "rule": "one_se"},
        baseline=np.array([-0.01, 0.0]),
        nested={"test_score": np.array([0.45, 0.55]), "best_params": [{}, {}]},
        indices={"test": [np.array([0, 2]), np.array([1])]},
        predictions=[np.array([1.0, 2.0]), np.array([np.nan])],
        notes=("pooled",),
    )


def test_mean_and_standard_error_are_those_of_the_splits(full):
    assert full.score == pytest.approx(0.6)
    assert full.standard_error == pytest.approx(np.std([0.5, 0.7], ddof=1) / np.sqrt(2))
    assert np.isnan(Evaluation("r2", {"r2": np.array([0.5])}).standard_error)


def test_it_does_not_change(full):
    with pytest.raises(dataclasses.FrozenInstanceError):
        full.scoring = "accuracy"


def test_plain_data_are_json(full):
    plain = full.to_dict()
    assert json.loads(json.dumps(plain)) is not None
    assert plain["chosen"]["index"] == 1
    assert plain["path"]["param_max_depth"] == [3, None]
    assert plain["indices"] == {"test": [[0, 2], [1]]}
    assert set(plain) == {field.name for field in dataclasses.fields(Evaluation)}


def test_the_frame_has_one_row_per_candidate_or_split(full):
    frame = full.to_frame()
    assert list(frame) == ["ccp_alpha", "param_max_depth", "mean_test_score", "n_leaves"]
    assert frame["mean_test_score"].tolist() == [0.4, 0.6]
    assert isinstance(Evaluation("r2", full.test_scores).to_frame(), pd.DataFrame)
    assert len(Evaluation("r2", full.test_scores).to_frame()) == 2


def test_a_frame_without_pandas_says_what_to_do(full, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        full.to_frame()


def test_the_text_names_score_choice_baseline_and_doubts(full):
    text = repr(full)
    assert text.startswith("Evaluation: r2 0.600 ± 0.100 (2 splits)")
    assert "2 leaves; index 1 of 2; rule one_se" in text
    assert "without any split -0.005" in text
    assert "nested 0.500 ± 0.050 (2 outer splits)" in text
    assert "pooled" in text
    pooled = dataclasses.replace(full, test_scores={"r2": np.array([0.5])})
    assert repr(pooled).startswith("Evaluation: r2 0.500 (pooled over 2 splits)")
    assert "a little too good" not in text  # nested scores are there
    assert "a little too good" in repr(dataclasses.replace(full, nested=None))


def test_the_html_is_escaped_and_marks_the_choice(full):
    html = full._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert html.count("font-weight:bold") == 1
    assert "2 candidates" in html
    assert "<details>" not in Evaluation("r2", full.test_scores)._repr_html_()


def test_it_survives_pickling(full):
    again = pickle.loads(pickle.dumps(full))
    assert json.dumps(again.to_dict()) == json.dumps(full.to_dict())
