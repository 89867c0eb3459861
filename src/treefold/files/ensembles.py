"""Ensembles of trees as states, and back: one schema, and the arrays of each tree."""

from typing import Any

from numpy.typing import NDArray

from treefold.data.states import schema_from_state, schema_to_state, take, take_count
from treefold.estimators.bags import Work
from treefold.exceptions import ModelFileError, ParameterError
from treefold.files.codec import Arrays, encode
from treefold.model.tree import Tree

__all__ = ["become_ensemble", "ensemble_to_document", "trees_from_state"]

_LARGEST = 2**63 - 1


def ensemble_to_document(model: Any, arrays: Arrays) -> dict[str, Any]:
    """Write the columns, and what each tree has besides."""
    trees = []
    for each in model.estimators_:
        state = each.tree_._to_state()
        del state["schema"]  # of all trees the same
        trees.append(state)
    schema = schema_to_state(model._schema)
    known = {"oob_score": getattr(model, "oob_score_", None), "seed": getattr(model, "_seed", None)}
    return {
        "max_features": int(model.estimators_[0].max_features_),
        "schema": encode(schema, "schema", arrays),
        "trees": encode(trees, "trees", arrays),
        "work": encode(model.work_, "work", arrays),
        **{name: encode(value, name, arrays) for name, value in known.items() if value is not None},
    }


def trees_from_state(state: Any) -> list[Tree]:
    """Make all trees, which share the columns and the classes."""
    schema = schema_from_state(take(state, "schema", dict))
    trees = [Tree._from_arrays(each, schema) for each in take(state, "trees", list)]
    if not trees:
        raise ModelFileError("the ensemble has no trees")
    if len({tree._native.n_classes for tree in trees}) > 1:
        raise ModelFileError("the trees of the ensemble have different classes")
    return trees


def become_ensemble(
    model: Any, trees: list[Tree], classes: NDArray[Any] | None, state: dict[str, Any]
) -> Any:
    """Turn an ensemble into one that has these trees."""
    try:
        model._check_own()
    except ParameterError as error:
        raise ModelFileError(str(error)) from None
    max_features = take_count(state, "max_features", 1, trees[0].n_features)
    counts = take(state, "work", dict)
    work = Work()
    work.counts = {name: take_count(counts, name, 0, _LARGEST) for name in counts}
    facts: dict[str, Any] = {"_work": work}
    if "seed" in state:  # files of earlier versions have none
        facts["_seed"] = take_count(state, "seed", 0, _LARGEST)
    if "oob_score" in state:
        facts["oob_score_"] = take(state, "oob_score", float)
    fitted = [model._make_unchecked()._become(tree, classes, max_features) for tree in trees]
    return model._become(trees[0].schema, classes, estimators_=fitted, **facts)
