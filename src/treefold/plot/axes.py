"""What all pictures need: axes to draw on, and a fitted model of a kind that they know."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from treefold.evaluation.cross_validated import CrossValidatedTree
from treefold.exceptions import ParameterError
from treefold.model_selection.search import GridSearchCV, RandomizedSearchCV

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "SEARCHES",
    "check_cross_validated",
    "import_pyplot",
    "open_axes",
    "unwrap",
]

SEARCHES = (GridSearchCV, RandomizedSearchCV)

# Told apart by people who see colours differently (Okabe and Ito).
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#999999"


def import_pyplot(function: str) -> Any:
    """Load what draws."""
    try:
        from matplotlib import pyplot  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            f"{function} needs matplotlib, which is not installed. "
            "Install it by: pip install 'treefold[plot]'"
        ) from error
    return pyplot


def open_axes(ax: Any, function: str) -> Any:
    """The given axes; without any, those of a new figure."""
    pyplot = import_pyplot(function)
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def unwrap(model: Any) -> Any:
    """The tree of a search of ours; any other model as it is."""
    if not isinstance(model, SEARCHES):
        return model
    check_is_fitted(model, "cv_results_")
    if not hasattr(model, "best_estimator_"):
        raise ParameterError(
            f"This {type(model).__name__} has no tree to draw, because of refit={model.refit!r}. "
            "Use refit=True."
        )
    best = model.best_estimator_
    return best[-1] if isinstance(best, Pipeline) else best


def check_cross_validated(model: Any, function: str) -> None:
    """Refuse what was not cross-validated in fit."""
    if not isinstance(model, CrossValidatedTree):
        raise ParameterError(
            f"{function} needs a fitted DecisionTreeClassifierCV or DecisionTreeRegressorCV, which "
            f"know what the trees of the folds do. Got {type(model).__name__} instead."
        )
    model._check_fitted()
