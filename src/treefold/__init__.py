"""treefold: exact decision trees with scikit-learn's interface.

Names are loaded when they are first used, so that `import treefold`, and with it `treefold --help`,
answers at once.

>>> from treefold import DecisionTreeClassifier
>>> DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]).predict([[0.9]]).tolist()
['yes']
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treefold import model_selection, plot
    from treefold.bagging import BaggingClassifier, BaggingRegressor
    from treefold.evaluation import Evaluation
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
    from treefold.lazy import (
        LazyBaggingClassifier,
        LazyBaggingRegressor,
        LazyDecisionTreeClassifier,
        LazyDecisionTreeRegressor,
    )
    from treefold.model import Tree
    from treefold.plot.trees import plot_tree
    from treefold.reporting import report
    from treefold.table import Table
    from treefold.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from treefold.tree_cv import DecisionTreeClassifierCV, DecisionTreeRegressorCV

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
    "BaggingClassifier": "bagging",
    "BaggingRegressor": "bagging",
    "CardinalityWarning": "exceptions",
    "ColumnMismatchError": "exceptions",
    "ConversionError": "exceptions",
    "DecisionTreeClassifier": "tree",
    "DecisionTreeClassifierCV": "tree_cv",
    "DecisionTreeRegressor": "tree",
    "DecisionTreeRegressorCV": "tree_cv",
    "Evaluation": "evaluation",
    "InputError": "exceptions",
    "InputTypeError": "exceptions",
    "ModelFileError": "exceptions",
    "LazyBaggingClassifier": "lazy",
    "LazyBaggingRegressor": "lazy",
    "LazyDecisionTreeClassifier": "lazy",
    "LazyDecisionTreeRegressor": "lazy",
    "ParameterError": "exceptions",
    "PooledScoreWarning": "exceptions",
    "Table": "table",
    "Tree": "model",
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
