"""Candidates that can share a tree, and candidates that cannot.

Candidates that differ only in path parameters are *cells* of one full tree: they have the same
*setting*. Settings that differ in how a split is chosen grow together as members of one family.
Settings that differ in what is drawn, or in how the columns are read, are *runs* of their own.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from treefold.estimators.base import BaseDecisionTree
from treefold.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from treefold.rules import PATH_PARAMETERS, Cell, check_parameters, make_cell
from treefold.threads import effective_n_jobs

__all__ = ["Parameters", "Run", "Setting", "apply_parameters"]
__all__ += ["find_tree", "freeze", "group_candidates", "is_sound", "plan_runs"]

Parameters = Mapping[str, Any] | None  # None: the estimator as it is

_RUN_PARAMETERS = ("max_features", "random_state", "categorical_features")
_PLAIN = frozenset((type(None), bool, int, float, str))
_NO_MATTER = frozenset((*PATH_PARAMETERS, "n_jobs"))


def find_tree(estimator: Any) -> BaseDecisionTree | None:
    """Find the tree of ours that an estimator is, or that a pipeline ends in; None otherwise."""
    if type(estimator) is Pipeline:
        estimator = estimator.steps[-1][1] if estimator.steps else None
    is_ours = type(estimator) in (DecisionTreeClassifier, DecisionTreeRegressor)
    return estimator if is_ours else None


def apply_parameters(estimator: Any, parameters: Parameters) -> Any:
    """Set a candidate's parameters on a clone of the estimator, as scikit-learn does."""
    fresh = clone(estimator)
    if parameters is None:
        return fresh
    return fresh.set_params(**clone(dict(parameters), safe=False))


@dataclass(frozen=True, slots=True)
class Setting:
    """Candidates whose trees are all cut from one full tree."""

    numbers: list[int] = field(default_factory=list)  # their places among all candidates
    trees: list[BaseDecisionTree] = field(default_factory=list)  # with the parameters of each
    _cells: dict[int, list[Cell]] = field(default_factory=dict)

    @property
    def tree(self) -> BaseDecisionTree:
        """One of them, for what they have in common."""
        return self.trees[0]

    def list_cells(self, n_rows: int) -> list[Cell]:
        """Resolve the path parameters of each candidate for this many training rows."""
        if n_rows not in self._cells:
            self._cells[n_rows] = [make_cell(vars(tree), n_rows) for tree in self.trees]
        return self._cells[n_rows]


Run = list[Setting]


def group_candidates(
    estimator: Any, parameters: Sequence[Parameters]
) -> list[dict[int, BaseDecisionTree]]:
    """Group the candidates that see the same data: all of a bare tree, and those of a pipeline
    that have the same transformers. Gives the tree of each by its place in the list. A candidate
    that is not a tree of ours, or of another kind than the estimator's, by which the scores are
    chosen, is in no group.
    """
    groups: dict[Hashable, dict[int, BaseDecisionTree]] = {}
    read = _make_reader(estimator)
    for number, chosen in enumerate(parameters):
        key, tree = read(chosen or {})
        if tree is not None:
            groups.setdefault(key, {})[number] = tree
    return list(groups.values())


def _make_reader(
    estimator: Any,
) -> Callable[[Mapping[str, Any]], tuple[Hashable, BaseDecisionTree | None]]:
    """Make a function that gives the tree of a candidate, and a key of its transformers.

    A clone of each candidate would take most of the time, and is seldom needed.
    """
    own_tree = find_tree(estimator)
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    known = set() if own_tree is None else own_tree.get_params(deep=False).keys()
    fresh = {} if own_tree is None else vars(clone(own_tree))

    def read(chosen: Mapping[str, Any]) -> tuple[Hashable, BaseDecisionTree | None]:
        if own_tree is not None and all(
            name.startswith(prefix) and name[len(prefix) :] in known for name in chosen
        ):
            like = object.__new__(type(own_tree))
            own = {name[len(prefix) :]: value for name, value in chosen.items()}
            like.__dict__.update(fresh, **own)
            return (), like
        tree = find_tree(apply_parameters(estimator, chosen))
        if tree is None or type(tree) is not type(own_tree):
            return (), None
        last = prefix.removesuffix("__")
        others = {
            (name, freeze(value))
            for name, value in chosen.items()
            if name != last and not name.startswith(prefix)
        }
        return frozenset(others), tree

    return read


def plan_runs(candidates: Mapping[int, BaseDecisionTree]) -> list[Run]:
    """Sort candidates into settings and runs; those without meaning are left out."""
    runs: dict[Hashable, dict[Hashable, Setting]] = {}
    for number, tree in candidates.items():
        if not is_sound(tree):
            continue
        parameters = tree.get_params(deep=False)
        run_key = (type(tree), *(freeze(parameters[name]) for name in _RUN_PARAMETERS))
        setting_key = tuple(
            freeze(value) for name, value in parameters.items() if name not in _NO_MATTER
        )
        setting = runs.setdefault(run_key, {}).setdefault(setting_key, Setting())
        setting.numbers.append(number)
        setting.trees.append(tree)
    return [list(settings.values()) for settings in runs.values()]


def is_sound(tree: BaseDecisionTree) -> bool:
    """Whether the parameters of a tree have a meaning."""
    try:
        check_parameters(tree, tree._criteria)
        effective_n_jobs(tree.n_jobs)
    except ValueError:
        return False
    return True


def freeze(value: Any) -> Hashable:
    """Make a key of a parameter: equal keys mean the same, and 1 is not 1.0."""
    if type(value) in _PLAIN:
        return type(value), value
    if isinstance(value, Mapping):
        return type(value), tuple((freeze(key), freeze(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(freeze, value))
    if isinstance(value, np.random.RandomState):
        return np.random.RandomState, freeze(tuple(value.get_state()))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    return (type(value), value) if _has_hash(value) else id(value)


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
