"""Pickles made before the modules stood in rooms load, and answer as they did."""

import lzma
import pickle
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from treefold._aliases import MOVED

# Made by the version of November 2026 that had no rooms; answers are those of that version.
with lzma.open(Path(__file__).parent / "data" / "before_rooms.pkl.xz") as file:
    SAVED = pickle.load(file)


@pytest.mark.parametrize("name", sorted(SAVED["models"]))
def test_a_pickle_of_the_version_before_loads_and_answers_alike(name):
    saved, answers = SAVED["models"][name]
    X = pd.DataFrame(SAVED["frame"]) if name == "classifier" else np.array(SAVED["X"])
    model = pickle.loads(saved)
    assert model.predict(X).tolist() == answers
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(X).tolist() == answers
    assert type(again) is type(model)


@pytest.mark.parametrize("name", sorted(MOVED))
def test_old_names_are_those_at_the_new_place(name):
    old, new = import_module(name), import_module(MOVED[name])
    assert all(getattr(old, each) is getattr(new, each) for each in new.__all__)
    with pytest.raises(AttributeError):
        _ = old.nonsense


def test_a_module_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        import_module("treefold.nonsense")
