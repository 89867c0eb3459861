"""Candidates that can share a tree, and candidates that cannot.

Candidates that differ only in path parameters are *cells* of one full tree: they have the same
*setting*. Settings that differ in how a split is chosen grow together as members of one family.
Settings that differ in what is drawn, or in how the columns are read, are *runs* of their own.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from treefold.estimator import BaseDecisionTree
from treefold.rules import PATH_PARAMETERS, check_parameters
from treefold.threads import effective_n_jobs

__all__ = ["Candidate", "Run", "Setting", "apply_parameters", "freeze", "plan_runs"]

_RUN_PARAMETERS = ("max_features", "random_state", "categorical_features")
_NO_MATTER = (*PATH_PARAMETERS, "n_jobs")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tree that is asked for: its place in the list, and its parameters on an estimator."""

    number: int
    estimator: BaseDecisionTree

    @property
    def path(self) -> dict[str, Any]:
        """Its path parameters."""
        return {name: getattr(self.estimator, name) for name in PATH_PARAMETERS}


@dataclass(frozen=True, slots=True)
class Setting:
    """Candidates whose trees are all cut from one full tree."""

    candidates: list[Candidate] = field(default_factory=list)

    @property
    def estimator(self) -> BaseDecisionTree:
        """One of them, for what they have in common."""
        return self.candidates[0].estimator


Run = list[Setting]


def plan_runs(candidates: Iterable[Candidate]) -> list[Run]:
    """Group the candidates; those whose parameters have no meaning are left out."""
    runs: dict[Hashable, dict[Hashable, Setting]] = {}
    for candidate in candidates:
        if not _is_sound(candidate.estimator):
            continue
        parameters = candidate.estimator.get_params(deep=False)
        run_key = tuple(freeze(parameters[name]) for name in _RUN_PARAMETERS)
        setting_key = tuple(
            freeze(value) for name, value in parameters.items() if name not in _NO_MATTER
        )
        settings = runs.setdefault((type(candidate.estimator), run_key), {})
        settings.setdefault(setting_key, Setting()).candidates.append(candidate)
    return [list(settings.values()) for settings in runs.values()]


def _is_sound(estimator: BaseDecisionTree) -> bool:
    try:
        check_parameters(estimator, estimator._criteria)
        effective_n_jobs(estimator.n_jobs)
    except ValueError:
        return False
    return True


def freeze(value: Any) -> Hashable:
    """Make a key of a parameter: equal keys mean the same, and 1 is not 1.0."""
    if isinstance(value, Mapping):
        return type(value), tuple((freeze(key), freeze(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(freeze, value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.random.RandomState):
        return np.random.RandomState, freeze(tuple(value.get_state()))
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value


def apply_parameters(estimator: Any, parameters: Sequence[Mapping[str, Any] | None]) -> list[Any]:
    """Set each candidate's parameters on a clone of the estimator, as scikit-learn does."""
    return [
        clone(estimator)
        if chosen is None
        else clone(estimator).set_params(**clone(dict(chosen), safe=False))
        for chosen in parameters
    ]
