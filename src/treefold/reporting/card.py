"""Section 10: the model card. Where the model comes from, and what it cannot do."""

import platform
from importlib import metadata
from typing import Any

import numpy as np

from treefold import __version__
from treefold.evaluation.stability import CAUTION
from treefold.reporting.material import Material
from treefold.reporting.wording import clean, count

__all__ = ["describe_card"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn")


def describe_card(material: Material) -> dict[str, Any]:
    """List facts, settings and limits."""
    card, found = material.card, material.found
    chosen = found["chosen"]
    facts = [
        ("Command", card.command),
        ("Data", card.data),
        (f"SHA-256 of the {card.hash_of}", card.data_hash or "not known: no data were given"),
        ("Target", clean(found["target"]["name"], 60)),
        ("Rows", f"{int(material.tree.n_node_samples[0]):,}"),
        ("Folds", clean(found["folds"]["description"])),
        ("Seed", card.seed),
        ("Rule of choice", f"{chosen.rule} of {count(chosen.candidates, 'candidate')}"),
        ("Versions", _list_versions()),
    ]
    settings = [(clean(name, 40), clean(value, 60)) for name, value in card.parameters.items()]
    return {"facts": facts, "settings": settings, "limits": _list_limits(material)}


def _list_versions() -> str:
    libraries = ", ".join(f"{name} {metadata.version(name)}" for name in _LIBRARIES)
    return f"treefold {__version__}, Python {platform.python_version()}, {libraries}"


def _list_limits(material: Material) -> list[str]:
    tree = material.tree
    leaves = tree.n_node_samples[tree.children_left < 0]
    limits = [
        "Scores hold for rows that come as these came. If the world changes, they do not.",
        "The tree describes what goes together in these data, not what causes what.",
        f"The smallest leaf has {count(int(np.min(leaves)), 'row')}: what it says is as sure "
        "as so few rows can be.",
        CAUTION,
        "A ± is one standard error over splits, which share most of their rows: it says how much "
        "scores vary, not how sure one may be.",
    ]
    if "nested" not in material.found["scores"].rows:
        limits.append("The score is not nested: it has helped to choose, and is a little too good.")
    if material.stability is None:
        limits.append("How steady the splits are over the folds is not known of this model.")
    return limits
