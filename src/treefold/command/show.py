"""What `treefold show` does: a model file in a form that people or programs read."""

import textwrap
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

import treefold
from treefold.command.drawing import draw_tree
from treefold.command.mistakes import UserError, shorten
from treefold.command.options import Format
from treefold.command.outputs import check_outputs, choose_width, written
from treefold.command.predict import open_model
from treefold.command.words import reveal_all, word_choice, word_scores
from treefold.evaluation.stability import CAUTION
from treefold.export.words import Wording
from treefold.findings.fits import recall_choice, recall_scores
from treefold.findings.nodes import list_nodes
from treefold.findings.target import describe_target, recall_target

__all__ = ["run_show"]


def run_show(path: Path, form: Format, dialect: str | None, output: Path | None) -> None:
    """Write a model in some form."""
    if dialect is not None and form is not Format.SQL:
        raise UserError(f"--dialect is for --format sql, not for {form}.")
    check_outputs({"--output": output}, {"the model": str(path)})
    model = open_model(path)
    try:
        text = _write(model, form, dialect, output is not None)
    except (ValueError, ImportError) as error:
        raise UserError(shorten(error)) from None
    with written(output) as file:
        file.write(text.encode() if text.endswith("\n") else f"{text}\n".encode())


def _write(model: Any, form: Format, dialect: str | None, is_file: bool) -> str:
    if form is Format.TEXT:
        return _write_text(model, choose_width(Console(file=StringIO()) if is_file else Console()))
    export = getattr(treefold, f"export_{form}")
    return str(export(model, dialect=dialect) if form is Format.SQL else export(model))


def _write_text(model: Any, width: int) -> str:
    """The whole tree, below what cross-validation found out."""
    Wording(model, None, None, 0)  # refuses what is not one tree
    target = recall_target(model, "target")
    nodes = reveal_all(list_nodes(model, target))
    lines = draw_tree(nodes, reveal_all(describe_target(target)), width, None)
    if nodes[0].heldout_rows is not None and len(nodes) > 1:
        lines.append(CAUTION)
    evaluation = getattr(model, "evaluation_", None)
    if evaluation is None:
        return "\n".join(lines)
    return "\n".join([*_word_evaluation(model, width), "", *lines])


def _word_evaluation(model: Any, width: int) -> list[str]:
    """Say what fit says of scores and choice; of searches, what they say of themselves."""
    if {"min_samples_leaf", "ccp_alpha", "max_depth"} <= set(getattr(model, "best_params_", ())):
        chosen = f"Chosen: {word_choice(recall_choice(model))}"
        return [*word_scores(recall_scores(model), width), *textwrap.wrap(chosen, width)]
    return [
        part
        for line in str(model.evaluation_).splitlines()
        for part in textwrap.wrap(line, width, subsequent_indent="    ", break_on_hyphens=False)
    ]
