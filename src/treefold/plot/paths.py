"""How good trees of all sizes are: the path from one leaf to the full tree."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treefold.evaluation.cross_validated import CrossValidatedTree
from treefold.exceptions import ParameterError
from treefold.plot.axes import BLUE, GREY, ORANGE, SEARCHES, open_axes
from treefold.scoring.cells import name_scoring

__all__ = ["path"]

Floats = NDArray[np.float64]

_LEAVES = "n_leaves"


def path(model: Any, *, against: str | None = None, ax: Any = None) -> Any:
    """Draw the score on held-out rows of all candidates, and which of them was chosen.

    A line joins the candidates that differ in one parameter only. That of the chosen one has a band
    of one standard error on each side; a dashed line is one standard error below the best.

    Parameters
    ----------
    model : DecisionTreeClassifierCV, DecisionTreeRegressorCV, or a search of `model_selection`
        A fitted estimator.
    against : str, default=None
        What the horizontal axis shows: "n_leaves" (of the tree of all rows; not for searches), or
        a parameter whose candidates are numbers, such as "ccp_alpha". By default the leaves; of
        a search, the only parameter that varies.
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
    >>> model = DecisionTreeClassifierCV(min_samples_leaf=5).fit(*load_iris(return_X_y=True))
    >>> plot.path(model).get_ylabel()
    'neg_brier_score, all held-out rows'
    >>> plot.path(model, against="ccp_alpha").get_xlabel()
    'ccp_alpha'
    """
    trials = _read_trials(model)
    against = against or _choose_axis(trials)
    x = _read_numbers(trials, against)
    ax = open_axes(ax, "plot.path")
    lines = _group(trials, against)
    chosen = next(line for line in lines if trials.chosen in line)
    for line in lines:
        order = line[np.argsort(x[line], kind="stable")]
        is_chosen = line is chosen
        _draw_line(ax, x[order], trials, order, is_chosen)
    _draw_marks(ax, x, trials, against)
    _scale(ax, x, against)
    ax.set_xlabel("leaves" if against == _LEAVES else against)
    ax.set_ylabel(f"{trials.metric}, {trials.scope}")
    ax.legend(fontsize="small")
    return ax


@dataclass(frozen=True, slots=True)
class _Trials:
    """All candidates and their scores."""

    params: Sequence[Mapping[str, Any]]
    n_leaves: NDArray[Any] | None
    means: Floats
    errors: Floats | None  # a single split has none
    scope: str  # what the means are about
    chosen: int
    metric: str
    baseline: float | None  # score of a tree without splits


def _read_trials(model: Any) -> _Trials:
    if isinstance(model, CrossValidatedTree):
        model._check_fitted()
        evaluation = model.evaluation_
        metric, key, baseline = evaluation.scoring, "score", evaluation.baseline_score
    elif isinstance(model, SEARCHES):
        check_is_fitted(model, "cv_results_")
        metric, key, baseline = *_name_metric(model), None
    else:
        raise ParameterError(
            "plot.path needs a fitted DecisionTreeClassifierCV, DecisionTreeRegressorCV, or a "
            f"search of treefold.model_selection. Got {type(model).__name__} instead."
        )
    results: Any = model.cv_results_
    splits = [f"split{number}_test_{key}" for number in range(model.n_splits_)]
    scores = np.stack([results[name] for name in splits if name in results], axis=1)
    means = np.asarray(results[f"mean_test_{key}"])
    if not np.isfinite(means).all():
        raise ParameterError(
            f"{int((~np.isfinite(scores)).sum())} scores of this {type(model).__name__} are not "
            "numbers, because fits or metrics failed. Leave such candidates out."
        )
    errors = None
    if scores.shape[1] > 1:
        usual = scores.std(axis=1, ddof=1) / math.sqrt(scores.shape[1])
        errors = np.asarray(results.get("se_test_score", usual))
    scope = _word_scope(model, scores.shape[1])
    leaves, index = results.get(_LEAVES), int(model.best_index_)
    return _Trials(results["params"], leaves, means, errors, scope, index, metric, baseline)


def _word_scope(model: Any, n_splits: int) -> str:
    """Say what a score is about: all held-out rows, or the mean over splits."""
    summary = getattr(getattr(model, "evaluation_", None), "summary", None)
    if summary is None:
        return f"mean of {_count(n_splits)}"
    definition: str = summary["definition"]
    return "all held-out rows" if "held-out rows" in definition else definition


def _name_metric(search: Any) -> tuple[str, str]:
    """Name the metric by which a search chose, and its columns of `cv_results_`."""
    if not search.multimetric_:
        return name_scoring(search.scoring, search.estimator), "score"
    if not isinstance(search.refit, str):
        raise ParameterError(
            f"This {type(search).__name__} has several metrics and refit={search.refit!r}: it is "
            "not known which to draw. Name one as refit."
        )
    return search.refit, search.refit


def _choose_axis(trials: _Trials) -> str:
    if trials.n_leaves is not None:
        return _LEAVES
    varied = _list_varied(trials)
    if len(varied) == 1:
        return varied[0]
    raise ParameterError(
        f"{len(varied)} parameters vary in this search. Say by against= which one the horizontal "
        f"axis shows{': ' + ', '.join(varied) if varied else ''}."
    )


def _list_varied(trials: _Trials) -> list[str]:
    names = list(dict.fromkeys(name for params in trials.params for name in params))
    return [name for name in names if len({repr(one.get(name)) for one in trials.params}) > 1]


def _read_numbers(trials: _Trials, against: str) -> Floats:
    if against == _LEAVES and trials.n_leaves is not None:
        return np.asarray(trials.n_leaves, dtype=np.float64)
    values = [params.get(against) for params in trials.params]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, Real):
            known = _list_varied(trials)
            raise ParameterError(
                f"plot.path cannot draw against={against!r}: its candidates have to be numbers, "
                f"and one is {value!r}. What varies here: {', '.join(known) or 'nothing'}."
            )
    return np.array(values, dtype=np.float64)


def _group(trials: _Trials, against: str) -> list[NDArray[np.intp]]:
    """Put together the candidates that are on one line."""
    along = {against, "ccp_alpha"} if against == _LEAVES else {against}
    lines: dict[str, list[int]] = {}
    for index, params in enumerate(trials.params):
        others = {name: value for name, value in params.items() if name not in along}
        lines.setdefault(repr(sorted(others.items(), key=lambda item: item[0])), []).append(index)
    return [np.array(line) for line in lines.values()]


def _draw_line(
    ax: Any, x: Floats, trials: _Trials, order: NDArray[np.intp], is_chosen: bool
) -> None:
    means, errors = trials.means[order], trials.errors
    if not is_chosen:
        ax.plot(x, means, color=GREY, linewidth=0.8, alpha=0.7, zorder=1)
        return
    ax.plot(x, means, ".-", color=BLUE, linewidth=1.5, markersize=4, zorder=3, label="mean score")
    if errors is not None:
        low, high = means - errors[order], means + errors[order]
        band = "one standard error on each side"
        ax.fill_between(x, low, high, color=BLUE, alpha=0.15, linewidth=0, label=band)


def _draw_marks(ax: Any, x: Floats, trials: _Trials, against: str) -> None:
    means, errors = trials.means, trials.errors
    best = int(means.argmax())
    if errors is not None:
        bar = float(means[best] - errors[best])
        text = "one standard error below the best"
        ax.axhline(bar, color=BLUE, linestyle="--", linewidth=0.8, label=text)
    if trials.baseline is not None:
        ax.axhline(
            trials.baseline, color=GREY, linestyle=":", linewidth=1, label="without any split"
        )
    ax.plot([x[best]], [means[best]], "^", color=BLUE, zorder=4, label="best")
    at = float(x[trials.chosen])
    text = f"{at:g} leaves" if against == _LEAVES else f"{against} = {at:.3g}"
    ax.plot(
        [at],
        [means[trials.chosen]],
        "o",
        color=ORANGE,
        markersize=9,
        fillstyle="none",
        markeredgewidth=2,
        zorder=5,
        label=f"chosen: {text}",
    )


def _scale(ax: Any, x: Floats, against: str) -> None:
    """Spread numbers of very different size evenly."""
    positive = x[x > 0]
    if len(positive) == 0 or (x < 0).any() or x.max() < 20 * positive.min():
        return
    if len(positive) == len(x):
        ax.set_xscale("log")
    else:
        ax.set_xscale("symlog", linthresh=float(positive.min()))
    if against == _LEAVES:
        ax.xaxis.set_major_formatter("{x:g}")


def _count(n_splits: int) -> str:
    return "all held-out rows" if n_splits == 1 else f"{n_splits} splits"
