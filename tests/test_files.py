"""Models come back from their files as they were; old files keep loading."""

import io
import os
import pickle
import stat
import sys
from datetime import date
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from fuzz_files import read, write
from numpy.testing import assert_array_equal
from saved_models import make_ensembles, make_saved
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

import treefold
from treefold import (
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    DecisionTreeRegressorCV,
    ModelFileError,
    load,
    save,
)
from treefold.files import dump_bytes, load_bytes
from treefold.files.container import FORMAT
from treefold.model.tree import _FORMAT as STATE_FORMAT

NAMES = list(make_saved())
DATA = Path(__file__).parent / "data"
NOT_STORED = {"n_jobs", "verbose"}


def through_joblib(model: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


WAYS = {
    "file": lambda model: load_bytes(dump_bytes(model)),
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "joblib": through_joblib,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_equal_bit_for_bit(name: str, way: str) -> None:
    model, rows = make_saved()[name]
    twin = WAYS[way](model)
    assert type(twin) is type(model)
    assert_array_equal(model.apply(rows), twin.apply(rows))
    assert_array_equal(model.predict(rows), twin.predict(rows))
    assert model.predict(rows).dtype == twin.predict(rows).dtype
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(rows).tobytes() == twin.predict_proba(rows).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_everything_else_is_equal_too(name: str) -> None:
    model, _ = make_saved()[name]
    twin = load_bytes(dump_bytes(model))
    native, again = model.tree_._native.to_arrays(), twin.tree_._native.to_arrays()
    for field, array in native.items():
        assert array.tobytes() == again[field].tobytes(), field
    assert_array_equal(model.tree_._missing_columns, twin.tree_._missing_columns)
    schema, restored = model.tree_.schema, twin.tree_.schema
    assert (schema.categories, schema.families) == (restored.categories, restored.families)
    assert schema.kinds == restored.kinds
    assert treefold.export_text(model) == treefold.export_text(twin)
    assert_array_equal(model.feature_importances_, twin.feature_importances_)
    attributes = {key for key in vars(model) if key.endswith("_")}
    assert attributes == {key for key in vars(twin) if key.endswith("_")}
    ours, theirs = model.get_params(), twin.get_params()
    for key in ours.keys() - NOT_STORED - {"cv"}:
        assert repr(ours[key]) == repr(theirs[key]), key
    assert dump_bytes(model) == dump_bytes(twin)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", list(make_ensembles()))
def test_ensembles_come_back_as_they_were(name: str, way: str) -> None:
    model, rows = make_ensembles()[name]
    twin = WAYS[way](model)
    assert type(twin) is type(model)
    assert model.predict(rows).tobytes() == twin.predict(rows).tobytes()
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(rows).tobytes() == twin.predict_proba(rows).tobytes()
        assert_array_equal(model.classes_, twin.classes_)
    assert model.work_ == twin.work_
    assert len(model.estimators_) == len(twin.estimators_)
    for ours, theirs in zip(model.estimators_, twin.estimators_, strict=True):
        assert ours.get_params() == theirs.get_params()
        assert treefold.export_text(ours) == treefold.export_text(theirs)
        assert_array_equal(ours.predict(rows), theirs.predict(rows))
    assert dump_bytes(model) == dump_bytes(twin)
    for key in model.get_params().keys() - NOT_STORED - {"random_state"}:
        assert getattr(model, key) == getattr(twin, key)


def test_ensembles_without_a_tree_or_with_other_classes_are_refused() -> None:
    data = dump_bytes(make_ensembles()["classes, bags"].model)
    changes: dict[str, Any] = {
        "has no trees": lambda model: model.update(trees=[]),
        "'voting' parameter": lambda model: model["params"].update(voting="loud"),
        "'n_estimators' parameter": lambda model: model["params"].update(n_estimators=0),
        "'peak_bytes' is -1": lambda model: model["work"].update(peak_bytes=-1),
        "'max_features' is 99": lambda model: model.update(max_features=99),
        "labels stand for": lambda model: model["classes"]["$text"].pop(),
        "'schema' is missing": lambda model: model.pop("schema"),
    }
    for message, change in changes.items():
        document, arrays = read(data)
        change(document["model"])
        if not document["model"]["trees"]:
            arrays.clear()
        with pytest.raises(ModelFileError, match=message):
            load_bytes(write(document, arrays))
    document, arrays = read(data)
    document["model"]["trees"][1]["n_classes"] = 1
    arrays["trees.1.value"] = np.ones(len(arrays["trees.1.feature"]))
    with pytest.raises(ModelFileError, match="different classes"):
        load_bytes(write(document, arrays))


def test_of_two_classes_the_one_to_find_comes_back() -> None:
    model = clone(make_saved()["booleans"].model).fit([[0.0], [1.0]], ["no", "yes"])
    assert not hasattr(load_bytes(dump_bytes(model)), "_positive")
    model._positive = 0
    for way in WAYS.values():
        assert way(model)._positive == 0
    assert not hasattr(model.fit([[0.0], [1.0]], [3, 4]), "_positive")
    model._positive = 1
    document, arrays = read(dump_bytes(model))
    for wrong in (2, -1, "yes", True, None):
        document["model"]["positive"] = wrong
        with pytest.raises(ModelFileError, match="positive"):
            load_bytes(write(document, arrays))


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("CV")])
def test_the_evidence_comes_back(name: str) -> None:
    model, _ = make_saved()[name]
    twin = load_bytes(dump_bytes(model))
    assert model.best_params_ == twin.best_params_
    for attribute in ("best_index_", "best_score_", "n_splits_"):
        assert getattr(model, attribute) == getattr(twin, attribute)
    assert repr(model.evaluation_) == repr(twin.evaluation_)
    assert model.evaluation_.to_frame().equals(twin.evaluation_.to_frame())
    assert repr(model.scorer_) == repr(twin.scorer_)
    for results in ("cv_results_", "stability_"):
        ours, theirs = getattr(model, results), getattr(twin, results)
        assert list(ours) == list(theirs)
        for key, values in ours.items():
            assert_array_equal(values, theirs[key], err_msg=key)
            assert isinstance(values, list) or values.dtype == theirs[key].dtype
    shown = treefold.export_text(model, show_stability=True)
    assert shown == treefold.export_text(twin, show_stability=True)


def test_a_file_holds_nothing_about_single_rows() -> None:
    model, _ = make_saved()["numbers CV"]
    assert len(model.evaluation_.predictions) == 3
    twin = load_bytes(dump_bytes(model))
    assert (twin.evaluation_.predictions, twin.evaluation_.indices) == (None, None)
    splits = [(np.arange(100, 200), np.arange(100)), (np.arange(100), np.arange(100, 200))]
    X = np.arange(200.0).reshape(-1, 1)
    listed = DecisionTreeRegressorCV(cv=splits).fit(X, X[:, 0])
    counted = DecisionTreeRegressorCV(cv=2).fit(X, X[:, 0])
    assert abs(len(dump_bytes(listed)) - len(dump_bytes(counted))) < 500


def test_what_a_file_cannot_hold_is_named_and_asked_for_again() -> None:
    model, rows = make_saved()["numbers CV"]
    twin = load_bytes(dump_bytes(model))
    assert repr(twin.cv) == f"<not stored: {KFold(3, shuffle=True, random_state=0)!r}>"
    assert "not stored" in repr(clone(twin))
    assert_array_equal(model.predict(rows), load_bytes(dump_bytes(twin)).predict(rows))
    with pytest.raises(ValueError, match=r"Expected `?cv`? as an integer.*not stored: KFold"):
        twin.fit([[0.0], [1.0]], [0.0, 1.0])

    def score(estimator: Any, X: Any, y: Any) -> float:
        return float(np.mean(estimator.predict(X) == y))

    X = np.arange(40.0).reshape(-1, 1)
    by_function = DecisionTreeClassifierCV(scoring=score).fit(X, X[:, 0] % 8 > 3)
    twin = load_bytes(dump_bytes(by_function))
    assert "score" in repr(twin.scorer_)
    with pytest.raises(ValueError, match="'scoring' parameter"):
        twin.fit(X, X[:, 0] > 3)
    random = DecisionTreeRegressor(random_state=np.random.RandomState(0)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"random_state.*not stored: RandomState"):
        load_bytes(dump_bytes(random)).fit(X, X[:, 0])


CLASSES = {
    "int8": np.array([3, -1], dtype=np.int8),
    "float32": np.array([0.0, 1.0], dtype=np.float32),
    "uint64": np.array([0, 2**64 - 1], dtype=np.uint64),
    "text": np.array(["b", "ä\n'\"\\"]),
    "objects": np.array(["b", "a"], dtype=object),
    "dates": np.array(["2020-01-01", "1960-05-05"], dtype="M8[D]"),
    "one long, many short": np.array(["a" * 100_000, "b"]),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_class_labels_of_any_kind_come_back(kind: str) -> None:
    y = CLASSES[kind]
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], y)
    twin = load_bytes(dump_bytes(model))
    assert_array_equal(y, twin.predict([[0.0], [1.0]]))
    assert twin.classes_.dtype == model.classes_.dtype


LABELS = {
    "numbers": [1.5, 2.0, 7.0],
    "booleans": [True, False, True],
    "dates": [date(2020, 1, 1), date(2021, 1, 1), date(2022, 1, 1)],
    "times": pd.to_datetime(["2020-01-01 10:00", "2021-01-01 11:30", "2022-01-01 00:00"]),
    "zones": pd.date_range("2020-01-01 10:00", periods=3, tz="Europe/Berlin"),
    "text": np.array(["\ud800", "a\x00", "\U0001f600"], dtype=object),
}


@pytest.mark.parametrize("kind", LABELS)
def test_categories_of_any_kind_come_back(kind: str) -> None:
    labels = LABELS[kind]
    is_array = isinstance(labels, np.ndarray)
    X = labels.reshape(-1, 1) if is_array else pd.DataFrame({"c": pd.Categorical(labels)})
    tree = DecisionTreeRegressor(categorical_features=[0], min_samples_category=1)
    model = tree.fit(X, [1.0, 2.0, 4.0])
    assert model.get_n_leaves() == len(set(labels))
    twin = load_bytes(dump_bytes(model))
    assert_array_equal(model.predict(X), twin.predict(X))


def test_labels_that_a_file_has_no_form_for_are_refused() -> None:
    bins = pd.DataFrame({"age": pd.cut([1.0, 5.0, 9.0], 3)})
    model = DecisionTreeRegressor().fit(bins, [0.0, 1.0, 2.0])
    with pytest.raises(ModelFileError, match=r"cannot hold .*Interval.*turn such labels into text"):
        dump_bytes(model)
    by_bytes = DecisionTreeClassifier().fit([[0.0], [1.0]], np.array([b"x", b"y"]))
    with pytest.raises(ModelFileError, match=r"dtype \|S1"):
        dump_bytes(by_bytes)


def test_only_fitted_models_of_the_library_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with pytest.raises(NotFittedError):
        save(DecisionTreeClassifier(), path)
    fitted = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])

    class Own(DecisionTreeClassifier):
        pass

    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}, cv=2)
    search.fit([[0.0], [1.0]] * 4, [0, 1] * 4)
    hints = {
        r"save\(search.best_estimator_": search,
        r"save\(pipeline\[-1\]": make_pipeline(fitted),
    }
    for hint, other in hints.items():
        with pytest.raises(ValueError, match=hint):
            save(other, path)
    save(search.best_estimator_, path)
    assert load(path).predict([[1.0]]) == [1]
    path.unlink()
    others = [make_pipeline(fitted), sklearn.tree.DecisionTreeClassifier(), None, fitted.tree_]
    for other in [*others, Own().fit([[0.0], [1.0]], [0, 1])]:
        with pytest.raises(ValueError, match="save writes treefold's own models"):
            save(other, path)
    assert not path.exists()


# Writing ------------------------------------------------------------------------------------------


def test_an_old_file_survives_a_save_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    first, _ = make_saved()["booleans"]
    second, _ = make_saved()["plain"]
    save(first, path)
    before = path.read_bytes()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, function, interrupt)
            with pytest.raises(KeyboardInterrupt):
                save(second, path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["model"]
    save(second, path)
    assert load(path).predict([[0.0] * 3]) == second.predict([[0.0] * 3])


def test_a_save_keeps_links_and_permissions(tmp_path: Path) -> None:
    model, _ = make_saved()["one leaf"]
    path, link = tmp_path / "model", tmp_path / "link"
    path.touch(0o640)
    path.chmod(0o640)
    link.symlink_to(path)
    save(model, link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    load(str(link))
    mask = os.umask(0o022)
    try:
        save(model, tmp_path / "new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o644


def test_places_that_cannot_be_written_are_errors_of_the_system(tmp_path: Path) -> None:
    model, _ = make_saved()["one leaf"]
    with pytest.raises(FileNotFoundError):
        save(model, tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError):
        save(model, tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs an endless file")
def test_an_endless_file_is_not_read_to_its_end() -> None:
    for name in ("/dev/zero", "/dev/urandom"):
        with pytest.raises(ModelFileError, match="no model file"):
            load(name)


def test_without_safetensors_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"pip install 'treefold\[files\]'"):
        dump_bytes(make_saved()["one leaf"].model)


# Files of earlier versions ------------------------------------------------------------------------


def read_answers(name: str) -> tuple[pd.DataFrame, list[str]]:
    lines = [line.split(",") for line in (DATA / name).read_text("utf-8").splitlines()[1:]]
    ages, towns, answers = zip(*lines, strict=True)
    rows = pd.DataFrame(
        {
            "age": [float(age) if age else np.nan for age in ages],
            "town": [town or None for town in towns],
        }
    )
    return rows, list(answers)


@pytest.mark.parametrize("kind", ["bagging", "classifier_cv", "regressor"])
@pytest.mark.parametrize("form", range(1, FORMAT + 1))
def test_a_file_of_every_format_keeps_loading(kind: str, form: int) -> None:
    rows, answers = read_answers(f"{kind}.csv")
    model = load(DATA / f"{kind}_format_{form}.treefold")
    assert [str(answer) for answer in model.predict(rows)] == answers


def test_a_pickle_of_this_version_keeps_loading() -> None:
    rows, answers = read_answers("regressor.csv")
    model = pickle.loads((DATA / f"regressor_state_{STATE_FORMAT}.pkl").read_bytes())
    assert [str(answer) for answer in model.predict(rows)] == answers


def test_half_characters_in_names_and_labels_come_back() -> None:
    half = "a\ud800b"  # a lone surrogate, which UTF-8 has no form for
    frame = pd.DataFrame(np.arange(8.0).reshape(-1, 1), columns=pd.Index([half], dtype=object))
    y = np.array(["x", half] * 4, dtype=object)
    weights = {half: np.array(2.0), "x": 1.0}  # the array has a name of its own in the file
    model = DecisionTreeClassifier(class_weight=weights, categorical_features=[half]).fit(frame, y)
    twin = load_bytes(dump_bytes(model))
    assert twin.feature_names_in_.tolist() == [half]
    assert twin.predict(frame).tolist() == model.predict(frame).tolist()
    assert twin.class_weight == weights
