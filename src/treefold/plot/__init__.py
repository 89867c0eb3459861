"""Pictures on matplotlib axes (the extra `treefold[plot]`).

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from treefold import DecisionTreeClassifierCV, plot
>>> X = [[number % 10] for number in range(40)]
>>> model = DecisionTreeClassifierCV().fit(X, [number % 10 > 4 for number in range(40)])
>>> plot.path(model).get_xlabel()
'leaves'
"""

from treefold.plot.agreement import stability
from treefold.plot.columns import importance
from treefold.plot.paths import path
from treefold.plot.trees import plot_tree as tree

__all__ = ["importance", "path", "stability", "tree"]


def __dir__() -> list[str]:
    return __all__
