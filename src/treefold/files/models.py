"""Estimators as states, and back. A new estimator enters `_HOMES` and says what it adds."""

import reprlib
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from treefold.data.states import take, take_count
from treefold.estimators.asking import LazyEnsemble
from treefold.exceptions import ModelFileError, ParameterError
from treefold.files.codec import (
    Arrays,
    NotStorableError,
    decode,
    describe,
    encode,
    encode_or_describe,
)
from treefold.files.ensembles import become_ensemble, ensemble_to_document, trees_from_state
from treefold.files.evidence import evidence_from_state, evidence_to_document
from treefold.model.tree import Tree

__all__ = ["model_from_document", "model_to_document"]

_HOMES = {
    "BaggingClassifier": "estimators.bagging",
    "BaggingRegressor": "estimators.bagging",
    "DecisionTreeClassifier": "estimators.tree",
    "DecisionTreeClassifierCV": "evaluation.tree_cv",
    "DecisionTreeRegressor": "estimators.tree",
    "DecisionTreeRegressorCV": "evaluation.tree_cv",
}
_OF_THE_MACHINE = ("n_jobs", "verbose")


def model_to_document(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Say everything that makes a fitted model, in the words of JSON, and its arrays."""
    name = type(model).__name__
    if isinstance(model, LazyEnsemble):
        raise ParameterError(
            f"A model file holds no training rows, and {name} answers from them. Save its eager "
            f"twin, {name.removeprefix('Lazy')}, which predicts the same; or write it by "
            "joblib.dump, with its rows."
        )
    if name not in _HOMES or type(model) is not _find_class(name):
        raise ParameterError(_explain_refusal(model))
    model._check_fitted()
    arrays: Arrays = {}
    try:
        document = {
            "type": name,
            "params": _encode_params(model.get_params(deep=False), arrays),
            "classes": encode(getattr(model, "classes_", None), "classes", arrays),
            **_write_trees(model, arrays),
        }
        if getattr(model, "_positive", None) is not None:
            document["positive"] = model._positive
        if getattr(model, "_reading", None) is not None:
            document["reading"] = encode(model._reading, "reading", arrays)
        if hasattr(model, "evaluation_"):
            document["evidence"] = evidence_to_document(model, arrays)
    except NotStorableError as error:
        raise ModelFileError(
            f"A model file cannot hold {error}. If that is a class or a category, turn such labels "
            "into text or numbers before fitting; or use pickle."
        ) from None
    return {"written_by": f"treefold {_version()}", "model": document}, arrays


def model_from_document(document: dict[str, Any], arrays: Arrays) -> Any:
    """Make the model that a document describes, after a check of all of it."""
    state = decode(take(document, "model", dict), arrays)
    name = take(state, "type", str)
    if name not in _HOMES:
        raise ModelFileError(f"it holds a {name!r}, which this version of treefold does not know")
    cls = _find_class(name)
    params = _check_params(take(state, "params", dict), cls)
    if "shuffle" in cls._get_param_names():
        params = {"shuffle": False, **params}  # as folds were before it could be asked for
    model = cls(**params)
    if _HOMES[name] == "estimators.bagging":
        trees = trees_from_state(state)
        classes = _check_classes(state, trees[0], hasattr(cls, "predict_proba"))
        return become_ensemble(model, trees, classes, state)
    tree = Tree._from_state(take(state, "tree", dict))
    classes = _check_classes(state, tree, hasattr(cls, "predict_proba"))
    max_features = take_count(state, "max_features", 1, tree.n_features)
    model._become(tree, classes, max_features)
    if hasattr(cls, "_tree"):  # it is cross-validated in fit
        model.__dict__.update(evidence_from_state(model, take(state, "evidence", dict)))
    if "positive" in state:
        model._positive = take_count(state, "positive", 0, tree._native.n_classes - 1)
    if "reading" in state:
        model._reading = take(state, "reading", dict)
    return model


def _write_trees(model: Any, arrays: Arrays) -> dict[str, Any]:
    if hasattr(model, "estimators_"):
        return ensemble_to_document(model, arrays)
    return {
        "max_features": int(model.max_features_),
        "tree": encode(model.tree_._to_state(), "tree", arrays),
    }


def _explain_refusal(model: Any) -> str:
    """Say what to save instead of something that is no model of the library."""
    text = f"save writes treefold's own models, not {reprlib.repr(model)}."
    if hasattr(model, "best_estimator_"):
        return f"{text} Save what the search has found: save(search.best_estimator_, path)."
    if isinstance(model, Pipeline):
        return (
            f"{text} Save its last step, save(pipeline[-1], path), which takes rows as the steps "
            "before it leave them; or write all of it by joblib.dump."
        )
    return f"{text} Give it the fitted tree itself; joblib.dump writes anything."


def _find_class(name: str) -> Any:
    return getattr(import_module(f"treefold.{_HOMES[name]}"), name)


def _version() -> str:
    import treefold  # noqa: PLC0415 - of which this is a part

    return treefold.__version__


def _encode_params(params: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Write the parameters; of `cv` only a count, because a list of splits would tell of rows."""
    described = {}
    for name, value in params.items():
        if name in _OF_THE_MACHINE:
            continue
        if name == "cv" and not (value is None or isinstance(value, int)):
            described[name] = describe(value)
        else:
            described[name] = encode_or_describe(value, f"params.{name}", arrays)
    return described


def _check_params(params: dict[str, Any], cls: Any) -> dict[str, Any]:
    unknown = sorted(params.keys() - (set(cls._get_param_names()) - set(_OF_THE_MACHINE)))
    if unknown:
        raise ModelFileError(f"a {cls.__name__} has no parameter {unknown[0]!r} in a file")
    return params


def _check_classes(state: Any, tree: Tree, is_classifier: bool) -> NDArray[Any] | None:
    n_classes = tree._native.n_classes
    if not is_classifier:
        take(state, "classes", type(None))
        if n_classes:
            raise ModelFileError("the tree of a regressor has classes")
        return None
    classes: NDArray[Any] = take(state, "classes", np.ndarray)
    if classes.ndim != 1 or len(classes) != n_classes or n_classes == 0:
        raise ModelFileError(f"{classes.shape} labels stand for {n_classes} classes")
    try:
        n_distinct = len(set(classes.tolist()))
    except TypeError:
        n_distinct = 0
    if n_distinct < n_classes:
        raise ModelFileError("the labels of the classes are not distinct")
    return classes
