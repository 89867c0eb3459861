"""The report: one HTML file that needs nothing else.

    wording                 text from data, made readable
    charts, curves          drawings by Vega-Lite; the numbers behind them
    material                what a report is made of
    fitted, searches        ... from an estimator, or a search, and its data
    answer, path, diagram, held_out, costs, columns, dependence, rules, profile, card
                            the sections, in their order
    page, templates/        the page

Nothing in a report is fetched from anywhere.
"""

import os
from importlib.util import find_spec
from typing import Any

from treefold.exceptions import ParameterError

__all__ = ["list_missing", "report"]

_NEEDED = {"vl_convert": "vl-convert-python", "jinja2": "jinja2", "pyarrow": "pyarrow"}


def list_missing() -> list[str]:
    """List the packages of the extra `report` that are not installed."""
    return [package for name, package in _NEEDED.items() if find_spec(name) is None]


def report(
    estimator: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
) -> None:
    """Write everything about a fitted model as one HTML file that loads nothing.

    Needs the extra `treefold[report]`. Without the data, the report has what the fitted model
    knows. With them, the model is fitted once more, to find out what a fit does not: the nested
    score, the importance of columns on held-out rows, and a profile of the data.

    Parameters
    ----------
    estimator : estimator
        A fitted `DecisionTreeClassifierCV` or `DecisionTreeRegressorCV`, or a fitted search of
        `treefold.model_selection`.
    path : path
        The file to write. It is there whole or not at all.
    X, y : the data of the fit, default=None
        Both or none of them. Not for searches of pipelines.
    sample_weight, groups : arrays of shape (n_rows,), default=None
        As they were given to fit.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import treefold
    >>> X, y = np.arange(40.0).reshape(-1, 1) % 10, np.arange(40) % 10 > 4
    >>> model = treefold.DecisionTreeClassifierCV().fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> treefold.report(model, path)
    >>> path.read_text()[:15]
    '<!doctype html>'
    """
    missing = list_missing()
    if missing:
        raise ImportError(
            f"report needs {' and '.join(missing)}, not installed here. "
            "Install it by: pip install 'treefold[report]'"
        )
    if (X is None) != (y is None):
        raise ParameterError("report needs both X and y, or none of them. Got one.")
    from treefold.reporting.page import write  # noqa: PLC0415 - extras
    from treefold.reporting.searches import Data, describe  # noqa: PLC0415

    data = None
    if X is not None:
        data = Data(X, y, sample_weight, {} if groups is None else {"groups": groups})
    write(describe(estimator, data), path)
