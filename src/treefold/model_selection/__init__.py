"""Cross-validation, searches and nested cross-validation, with all trees grown together.

The functions and classes have scikit-learn's names, arguments and results. Names are loaded when
they are first used.

>>> from treefold import DecisionTreeClassifier
>>> from treefold.model_selection import cross_val_score
>>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
>>> cross_val_score(DecisionTreeClassifier(), X, [0, 0, 0, 1, 1, 1], cv=3)
array([0.5, 1. , 1. ])
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treefold.model_selection.nested import nested_cross_validate
    from treefold.model_selection.one_se import one_standard_error
    from treefold.model_selection.search import GridSearchCV, RandomizedSearchCV
    from treefold.model_selection.validation import (
        cross_val_predict,
        cross_val_score,
        cross_validate,
        validation_curve,
    )

__all__ = [
    "GridSearchCV",
    "RandomizedSearchCV",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "nested_cross_validate",
    "one_standard_error",
    "validation_curve",
]

_HOMES = {
    "GridSearchCV": "search",
    "RandomizedSearchCV": "search",
    "cross_val_predict": "validation",
    "cross_val_score": "validation",
    "cross_validate": "validation",
    "nested_cross_validate": "nested",
    "one_standard_error": "one_se",
    "validation_curve": "validation",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'treefold.model_selection' has no attribute {name!r}")
    value: object = getattr(_import_module(f"treefold.model_selection.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
