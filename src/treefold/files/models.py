"""Estimators as states, and back. A new estimator enters `_HOMES` and says what it adds."""

import reprlib
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.asking import LazyEnsemble
from treefold.exceptions import ModelFileError, ParameterError
from treefold.files.codec import (
    Arrays,
    NotStorableError,
    decode,
    describe,
    encode,
    encode_or_describe,
)
from treefold.files.evidence import evidence_from_state, evidence_to_document
from treefold.model import Tree
from treefold.states import take, take_count

__all__ = ["model_from_document", "model_to_document"]

_HOMES = {
    "DecisionTreeClassifier": "tree",
    "DecisionTreeClassifierCV": "tree_cv",
    "DecisionTreeRegressor": "tree",
    "DecisionTreeRegressorCV": "tree_cv",
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
        raise ParameterError(
            f"save writes treefold's own models, not {reprlib.repr(model)}. Give it the fitted "
            "tree itself; pipelines and searches can be written by joblib.dump."
        )
    tree: Tree = model._check_fitted()
    arrays: Arrays = {}
    try:
        document = {
            "type": name,
            "params": _encode_params(model.get_params(deep=False), arrays),
            "classes": encode(getattr(model, "classes_", None), "classes", arrays),
            "max_features": int(model.max_features_),
            "tree": encode(tree._to_state(), "tree", arrays),
        }
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
    model = cls(**_check_params(take(state, "params", dict), cls))
    tree = Tree._from_state(take(state, "tree", dict))
    classes = _check_classes(state, tree, hasattr(cls, "predict_proba"))
    max_features = take_count(state, "max_features", 1, tree.n_features)
    model._become(tree, classes, max_features)
    if hasattr(cls, "_tree"):  # it is cross-validated in fit
        model.__dict__.update(evidence_from_state(model, take(state, "evidence", dict)))
    return model


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
