"""Which columns matter: what the score on held-out rows loses without them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold.evaluation.fitting import Request, fit_with_evidence
from treefold.exceptions import ParameterError
from treefold.export.walk import check_count
from treefold.export.words import Wording
from treefold.model.tree import check_same_tree
from treefold.plot.axes import BLUE, ORANGE, check_cross_validated, open_axes, unwrap

__all__ = ["importance"]

Floats = NDArray[np.float64]


def importance(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    n_permutations: int = 3,
    max_columns: int = 15,
    ax: Any = None,
) -> Any:
    """Draw how much each column matters to a tree.

    With the data of the fit: what the score on held-out rows loses if the column is shuffled among
    them. The trees of the folds grow again for that, with the chosen parameters. Bars are means,
    dots single splits. Without data: `feature_importances_`, which come from the training rows and
    flatter columns of many values.

    Parameters
    ----------
    model : DecisionTreeClassifierCV or DecisionTreeRegressorCV
        A fitted estimator; without data, any tree of treefold, or a search for one.
    X, y : array or data frame, and array of shape (n_rows,), default=None
        What the model was fitted to.
    sample_weight : array of shape (n_rows,), default=None
        The weights of the fit.
    n_permutations : int, default=3
        How often each column is shuffled in each split.
    max_columns : int, default=15
        How many columns to draw, the most important ones.
    ax : matplotlib axes, default=None
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    matplotlib axes
        Those that were drawn on.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from treefold import DecisionTreeClassifierCV, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifierCV().fit(X, y)
    >>> axes = plot.importance(model, X, y)
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['feature_2', 'feature_3', 'feature_0', 'feature_1']
    """
    check_count("n_permutations", n_permutations, 1)
    check_count("max_columns", max_columns, 1)
    if (X is None) != (y is None):
        raise ParameterError("plot.importance needs both X and y, or neither of them.")
    if X is None:
        model = unwrap(model)
        values = Wording(model, None, None, 2).tree.compute_feature_importances().reshape(-1, 1)
        label = "share of what the splits gained\non the training rows"
    else:
        check_cross_validated(model, "plot.importance with data")
        values = _shuffle_columns(model, X, y, sample_weight, n_permutations)
        metric = model.evaluation_.scoring
        label = f"what {metric} of held-out rows\nloses if the column is shuffled"
    ax = open_axes(ax, "plot.importance")
    means = values.mean(axis=1)
    columns = np.argsort(-means, kind="stable")[:max_columns]
    rows = np.arange(len(columns))
    ax.barh(rows, means[columns], color=BLUE)
    if values.shape[1] > 1:
        across = np.repeat(rows, values.shape[1])
        ax.plot(values[columns].ravel(), across, ".", color=ORANGE, markersize=4)
    wording = Wording(model, None, None, 2)
    ax.set_yticks(rows, [wording.name(int(column)) for column in columns])
    ax.set_ylim(len(columns) - 0.4, -0.6)
    ax.set_xlabel(label)
    return ax


def _shuffle_columns(model: Any, X: Any, y: Any, sample_weight: Any, n_permutations: int) -> Floats:
    """Grow the chosen tree and those of its folds again, and shuffle columns of held-out rows."""
    indices = model.evaluation_.indices
    if indices is None:
        raise ParameterError(
            "This model does not know its folds: models that were loaded from a file hold nothing "
            "about single rows. Fit it again, or leave X and y out."
        )
    again = type(model)(
        **model.best_params_,
        cv=_list_splits(indices, len(y)),
        scoring=model.scoring,
        n_jobs=model.n_jobs,
    )
    request = Request(X, y, sample_weight, n_permutations=n_permutations)
    evidence = fit_with_evidence(again, request)
    check_same_tree(model.tree_, again.tree_)
    if evidence.importance is None or all(len(test) == 1 for test in indices["test"]):
        raise ParameterError(
            "Splits hold out single rows, so that there is nothing to shuffle. Use fewer "
            "folds, or leave X and y out."
        )
    return evidence.importance


def _list_splits(indices: Any, n_rows: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Training and held-out rows of each split."""
    tests = [np.asarray(test) for test in indices["test"]]
    if "train" in indices:
        return list(zip(indices["train"], tests, strict=True))
    return [(np.setdiff1d(np.arange(n_rows), test), test) for test in tests]
