"""treefold: exact decision trees with scikit-learn's interface.

Names are loaded when they are first used, so that `import treefold`, and with it `treefold --help`,
answers at once.

>>> from treefold import DecisionTreeClassifier
>>> DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]).predict([[0.9]]).tolist()
['yes']
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from treefold._aliases import install as _install

_install()

if TYPE_CHECKING:
    from treefold import model_selection, plot
    from treefold.data.table import Table
    from treefold.estimators.bagging import BaggingClassifier, BaggingRegressor
    from treefold.estimators.lazy import (
        LazyBaggingClassifier,
        LazyBaggingRegressor,
        LazyDecisionTreeClassifier,
        LazyDecisionTreeRegressor,
    )
    from treefold.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from treefold.evaluation import Evaluation
    from treefold.evaluation.tree_cv import DecisionTreeClassifierCV, DecisionTreeRegressorCV
    from treefold.exceptions import (
        CardinalityWarning,
        ColumnMismatchError,
        ConversionError,
        InputError,
        InputTypeError,
        ModelFileError,
        ParameterError,
        PooledScoreWarning,
    )
    from treefold.export import export_dot, export_json, export_sql, export_svg, export_text
    from treefold.files import load, save
    from treefold.model.tree import Tree
    from treefold.plot.trees import plot_tree
    from treefold.reporting import report

    __version__: str

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "CardinalityWarning",
    "ColumnMismatchError",
    "ConversionError",
    "DecisionTreeClassifier",
    "DecisionTreeClassifierCV",
    "DecisionTreeRegressor",
    "DecisionTreeRegressorCV",
    "Evaluation",
    "InputError",
    "InputTypeError",
    "LazyBaggingClassifier",
    "LazyBaggingRegressor",
    "LazyDecisionTreeClassifier",
    "LazyDecisionTreeRegressor",
    "ModelFileError",
    "ParameterError",
    "PooledScoreWarning",
    "Table",
    "Tree",
    "__version__",
    "export_dot",
    "export_json",
    "export_sql",
    "export_svg",
    "export_text",
    "load",
    "model_selection",
    "plot",
    "plot_tree",
    "report",
    "save",
]

_PACKAGES = ("model_selection", "plot")

_HOMES = {
    "BaggingClassifier": "estimators.bagging",
    "BaggingRegressor": "estimators.bagging",
    "CardinalityWarning": "exceptions",
    "ColumnMismatchError": "exceptions",
    "ConversionError": "exceptions",
    "DecisionTreeClassifier": "estimators.tree",
    "DecisionTreeClassifierCV": "evaluation.tree_cv",
    "DecisionTreeRegressor": "estimators.tree",
    "DecisionTreeRegressorCV": "evaluation.tree_cv",
    "Evaluation": "evaluation",
    "InputError": "exceptions",
    "InputTypeError": "exceptions",
    "ModelFileError": "exceptions",
    "LazyBaggingClassifier": "estimators.lazy",
    "LazyBaggingRegressor": "estimators.lazy",
    "LazyDecisionTreeClassifier": "estimators.lazy",
    "LazyDecisionTreeRegressor": "estimators.lazy",
    "ParameterError": "exceptions",
    "PooledScoreWarning": "exceptions",
    "Table": "data.table",
    "Tree": "model.tree",
    "export_dot": "export.as_dot",
    "export_json": "export.as_json",
    "export_sql": "export.as_sql",
    "export_svg": "export.as_svg",
    "export_text": "export.as_text",
    "load": "files",
    "plot_tree": "plot.trees",
    "report": "reporting",
    "save": "files",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        value: object = _find_version()
    elif name in _PACKAGES:
        value = _import_module(f"treefold.{name}")
    elif name in _HOMES:
        value = getattr(_import_module(f"treefold.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'treefold' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def _find_version() -> str:
    from importlib import metadata  # noqa: PLC0415 - as slow as the rest of this module

    try:
        return metadata.version("treefold")
    except metadata.PackageNotFoundError:  # used from its source, not installed
        return "0.0.0"
