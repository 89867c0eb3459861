"""From a fitted estimator, and the data if they are given, to the material of a report."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from treefold import __version__
from treefold.data.table import Table
from treefold.evaluation import POOLED_NOTE, Evaluation
from treefold.evaluation.cross_validated import CrossValidatedTree
from treefold.evaluation.fitting import Evidence, Request, fit_with_evidence
from treefold.findings.fits import Result, describe_fit
from treefold.findings.folds import Folds, Splits, find_blocks
from treefold.findings.leakage import list_giveaways, word_giveaway
from treefold.findings.measures import name_measure
from treefold.findings.target import Target, describe_target, recall_target
from treefold.findings.verdict import judge_fit
from treefold.model.tree import Tree, check_same_tree
from treefold.reporting.material import Card, Material
from treefold.reporting.wording import clean
from treefold.scoring.cells import name_scoring

__all__ = ["Data", "describe_model", "fit_again"]

_SHUFFLES = 3
_MOST_CELLS = 10**9  # that are hashed


@dataclass(frozen=True, slots=True)
class Data:
    """What a model was fitted to."""

    X: Any
    y: Any
    weights: Any
    params: Mapping[str, Any]  # for the splitter: groups


def fit_again(model: Any, data: Data) -> tuple[Any, Evidence]:
    """Fit once more, to find out what a fit does not: nested scores and importance."""
    again = clone(model).set_params(store_cv_predictions=True, verbose=0)
    splits = _list_splits(model.evaluation_, int(model.tree_.n_node_samples[0]))
    seed = model.best_params_["random_state"]
    if model.random_state is not None or model.max_features is None:
        again.set_params(random_state=seed)
    elif splits:  # columns were drawn by a seed that is not the one of the folds
        again.set_params(random_state=seed, cv=splits)
    blocks = find_blocks(Folds(splits, model.n_splits_, "")) if splits else None
    is_pooled = POOLED_NOTE in model.evaluation_.notes  # blocks of rows in order have no score
    request = Request(
        data.X,
        data.y,
        data.weights,
        data.params,
        nested=not is_pooled,
        blocks=blocks,
        n_permutations=_SHUFFLES,
    )
    evidence = fit_with_evidence(again, request)
    check_same_tree(model.tree_, again.tree_)
    return again.set_params(cv=model.cv, random_state=model.random_state), evidence


def describe_model(
    model: Any, evidence: Evidence, data: Data | None, source: Any = None
) -> Material:
    """Gather everything about a fitted model; `source` is the search that it comes from."""
    target = _make_target(model, data)
    evaluation = model.evaluation_
    measure = name_measure(name_scoring(model.scoring, model), model.scoring)
    splits = _list_splits(evaluation, len(target.values))
    result = Result(target, evaluation.weights, splits, measure, model, evidence)
    table = None
    if data is not None:
        table = Table.from_data(data.X, categorical_features=model.categorical_features)
    found = {**_describe_data(model, target, table, source or model), **describe_fit(result)}
    found = {"verdict": judge_fit(result, found), **found}
    owner = source or model
    card = Card(
        command=_word(owner),
        seed=str(getattr(owner, "random_state", None)),
        data="in memory, given to fit",
        data_hash="" if table is None else _hash(table, target),
        hash_of="encoded columns and target",
        parameters=dict(model.best_params_),
    )
    return Material(found, result, table, card, _list_candidates(source))


# The target -------------------------------------------------------------------------------------


def _make_target(model: Any, data: Data | None) -> Target:
    """What was predicted, as far as the model and the data tell."""
    name = str(getattr(getattr(data, "y", None), "name", None) or "target")
    return recall_target(model, name)


def _list_splits(evaluation: Evaluation, n_rows: int) -> Splits:
    if evaluation.indices is None:
        return []
    tests = evaluation.indices["test"]
    trains = evaluation.indices.get("train")
    if trains is None:
        every = np.arange(n_rows)
        trains = [np.setdiff1d(every, test) for test in tests]
    return list(zip(trains, tests, strict=True))


# The data ---------------------------------------------------------------------------------------


def _describe_data(model: Any, target: Target, table: Table | None, owner: Any) -> dict[str, Any]:
    """What the command line says before it says anything about the tree."""
    schema, n_rows = model.tree_.schema, int(model.tree_.n_node_samples[0])
    names = _list_names(model.tree_)
    n_splits = int(model.n_splits_)
    giveaways = [] if table is None else list_giveaways(table, target)
    return {
        "treefold": __version__,
        "read": {"rows": n_rows, "columns": schema.n_columns, "rows_without_target": 0},
        "target": describe_target(target),
        "columns": {
            "used": names,
            "categorical": [names[column] for column in sorted(schema.categories)],
            "left_out": {},
        },
        "missing": {} if table is None else _count_missing(table, names),
        "giveaways": giveaways,
        "warnings": [word_giveaway(one["column"], one["share"], target, ".") for one in giveaways],
        "hints": [],
        "folds": {"number": n_splits, "splits": n_splits, "description": _word_folds(owner)},
    }


def _list_names(tree: Tree) -> list[str]:
    names = tree.schema.names
    if names is None:
        return [f"feature_{column}" for column in range(tree.n_features)]
    return [str(name) for name in names]


def _count_missing(table: Table, names: list[str]) -> dict[str, float]:
    native = table._native
    shares = {}
    for column in np.flatnonzero(native.has_missing).tolist():
        n_missing = int((native.codes(column) == native.n_codes[column]).sum())
        shares[names[column]] = n_missing / table.n_rows
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _word_folds(owner: Any) -> str:
    cv, n_splits = owner.cv, owner.n_splits_
    if cv is None or isinstance(cv, Integral):
        how = "stratified by class, " if hasattr(owner, "classes_") else ""
        seed = owner.random_state
        if not getattr(owner, "shuffle", False):  # a search is not asked
            how += "in the order of the rows"
        elif seed is None or isinstance(seed, Integral):
            how += f"shuffled with seed {seed or 0}"
        else:
            how += "shuffled"
        return f"{n_splits} folds, {how}"
    if hasattr(cv, "split"):
        return f"{n_splits} splits by {_word(cv)}"
    return f"{n_splits} splits, as they were given"


def _word(value: Any) -> str:
    """Write what makes an object, on one line."""
    return clean(re.sub(r"\s+", " ", repr(value)))


def _hash(table: Table, target: Target) -> str:
    """Hash what the tree was grown from: codes and their values, column by column, and y."""
    if table.n_rows * table.n_columns > _MOST_CELLS:
        return "not computed: there are too many cells"
    digest = hashlib.sha256()
    for column in range(table.n_columns):
        digest.update(np.ascontiguousarray(table._native.codes(column)).tobytes())
        digest.update(np.ascontiguousarray(table._native.values(column)).tobytes())
        digest.update(repr(table.schema.categories.get(column)).encode(errors="replace"))
    truth = target.values if target.codes is None else target.codes
    digest.update(np.ascontiguousarray(truth).tobytes())
    return digest.hexdigest()


def _list_candidates(search: Any) -> list[dict[str, Any]]:
    """The candidates of a search, the best first."""
    if search is None or isinstance(search, CrossValidatedTree):
        return []
    return list(search.candidates)
