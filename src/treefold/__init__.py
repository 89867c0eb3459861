"""treefold: exact decision trees with scikit-learn's interface.

>>> from treefold import DecisionTreeClassifier
>>> DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]).predict([[0.9]]).tolist()
['yes']
"""

from importlib import metadata as _metadata

from treefold.exceptions import (
    CardinalityWarning,
    ColumnMismatchError,
    ConversionError,
    InputError,
    InputTypeError,
    ParameterError,
)
from treefold.export import export_text
from treefold.model import Tree
from treefold.plot import plot_tree
from treefold.table import Table
from treefold.tree import DecisionTreeClassifier, DecisionTreeRegressor

try:
    __version__ = _metadata.version("treefold")
except _metadata.PackageNotFoundError:  # used from its source, not installed
    __version__ = "0.0.0"

__all__ = [
    "CardinalityWarning",
    "ColumnMismatchError",
    "ConversionError",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "InputError",
    "InputTypeError",
    "ParameterError",
    "Table",
    "Tree",
    "__version__",
    "export_text",
    "plot_tree",
]
