"""The page: sections in their order, put into templates that escape everything."""

import base64
import hashlib
import json
import os
from functools import cache
from importlib import resources
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from treefold import __version__
from treefold.atomic import written_atomically
from treefold.findings.document import to_plain
from treefold.reporting.answer import describe_answer, list_warnings
from treefold.reporting.card import describe_card
from treefold.reporting.columns import describe_importance, draw_dependences
from treefold.reporting.costs import describe_thresholds
from treefold.reporting.diagram import draw_tree
from treefold.reporting.held_out import draw_held_out
from treefold.reporting.material import Material
from treefold.reporting.path import draw_paths
from treefold.reporting.profile import describe_columns
from treefold.reporting.rules import write_rules
from treefold.reporting.wording import clean, count

__all__ = ["SECTIONS", "make_page", "write"]

SECTIONS = {
    "answer": "The answer, and what to quote",
    "warnings": "Warnings about the data",
    "path": "The path: how large a tree",
    "tree": "The tree",
    "held-out": "Behaviour on held-out rows",
    "thresholds": "Thresholds and costs",
    "columns": "Columns",
    "rules": "The rules as text and SQL",
    "profile": "Data profile",
    "card": "Model card",
    "reading": "How to read this",
}
_MOST_FACTS = 400_000  # characters of the findings that the file keeps for programs


def write(material: Material, path: str | os.PathLike[str]) -> None:
    """Write a report; the file is there whole or not at all."""
    page = make_page(material)
    with written_atomically(path) as file:
        file.write(page)


def make_page(material: Material) -> bytes:
    """Make the file of a report."""
    script = _read("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    context = {
        "sections": SECTIONS,
        "title": clean(material.found["target"]["name"], 60),
        "subtitle": _subtitle(material),
        "style": Markup(_read("style.css")),
        "script": Markup(script),
        "script_hash": Markup(digest),
        "facts": _embed(material.found),
        "found": material.found,
        "version": __version__,
        **_describe_sections(material),
    }
    return _environment().get_template("page.html").render(context).encode()


def _describe_sections(material: Material) -> dict[str, Any]:
    return {
        "answer": describe_answer(material),
        "warnings": list_warnings(material),
        "path_charts": draw_paths(material),
        "diagram": draw_tree(material),
        "held_out": draw_held_out(material),
        "answers": material.answers,
        "thresholds": describe_thresholds(material),
        "importance": describe_importance(material),
        "dependences": draw_dependences(material),
        "rules": write_rules(material),
        "profile": describe_columns(material),
        "card": describe_card(material),
        "weighted": _word_weights(material),
        "is_class": material.target.is_class,
        "is_binary": material.target.is_binary,
        "is_search": bool(material.candidates),
    }


def _word_weights(material: Material) -> str:
    """Say that shares are weighted, if they are."""
    how = material.found["chosen"].class_weight
    if how is None:
        return ""
    words = "let every class count the same" if how == "balanced" else "count each row by its class"
    root = material.found["tree"][0]
    plain = ""
    if root.plain_share is not None:
        plain = f" Of all rows, {root.value:.1%} is a plain share of {root.plain_share:.1%}."
    return f"Class weights {words}: shares, held-out shares and thresholds are weighted.{plain}"


def _subtitle(material: Material) -> str:
    n_rows = int(material.tree.n_node_samples[0])
    target = material.found["target"]
    kind = "a number" if target["task"] == "regression" else f"{len(target['classes'])} classes"
    return f"{kind} · {count(n_rows, 'row')} · {count(material.tree.n_features, 'column')}"


@cache
def _read(name: str) -> str:
    return (resources.files("treefold.reporting") / "templates" / name).read_text("utf-8")


@cache
def _environment() -> jinja2.Environment:
    """Templates: what they are given is escaped, cleaned of what cannot be seen, and cut short."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        finalize=_finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _finalize(value: Any) -> Any:
    return clean(value, 1000) if isinstance(value, str) and not isinstance(value, Markup) else value


def _embed(found: dict[str, Any]) -> Markup:
    """The findings for programs: JSON in which nothing can end the element around it."""
    for left_out in ((), ("tree",), ("tree", "path", "columns", "missing", "importance")):
        kept = {name: value for name, value in found.items() if name not in left_out}
        text = json.dumps(_plain(to_plain(kept)), ensure_ascii=True)
        for letter in "<>&":
            text = text.replace(letter, f"\\u{ord(letter):04x}")
        if len(text) <= _MOST_FACTS:
            return Markup(text)
    return Markup("{}")


def _plain(value: Any) -> Any:
    """JSON has no NaN, and no numbers of numpy."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
