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
from typing import Any

from treefold.atomic import written_atomically
from treefold.base_cv import CrossValidatedTree, Evidence
from treefold.exceptions import ParameterError
from treefold.reporting.fitted import Data, describe_model, fit_again
from treefold.reporting.material import Material
from treefold.reporting.page import write_page
from treefold.reporting.searches import SearchedTree

__all__ = ["report", "write"]


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
    if (X is None) != (y is None):
        raise ParameterError("report needs both X and y, or none of them. Got one.")
    data = None
    if X is not None:
        data = Data(X, y, sample_weight, {} if groups is None else {"groups": groups})
    write(_describe(estimator, data), path)


def _describe(estimator: Any, data: Data | None) -> Material:
    if isinstance(estimator, CrossValidatedTree):
        estimator._check_fitted()  # type: ignore[attr-defined]
        model, evidence = (estimator, Evidence()) if data is None else fit_again(estimator, data)
        return describe_model(model, evidence, data)
    if not hasattr(estimator, "cv_results_") or not hasattr(estimator, "multimetric_"):
        raise ParameterError(
            "report takes a fitted DecisionTreeClassifierCV, DecisionTreeRegressorCV, or a fitted "
            f"search of treefold.model_selection. Got {type(estimator).__name__}."
        )
    searched = SearchedTree(estimator)
    evidence = Evidence() if data is None else searched.fit_again(data)
    return describe_model(searched, evidence, data, searched)


def write(material: Material, path: str | os.PathLike[str]) -> None:
    """Write a report; the file is there whole or not at all."""
    page = write_page(material).encode()
    with written_atomically(path) as file:
        file.write(page)
