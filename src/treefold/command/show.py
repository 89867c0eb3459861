"""What `treefold show` does: a model file in a form that people or programs read."""

from pathlib import Path
from typing import Any

import treefold
from treefold import export_text
from treefold.command.mistakes import UserError, shorten
from treefold.command.options import Format
from treefold.command.outputs import check_outputs, written
from treefold.command.predict import open_model

__all__ = ["run_show"]


def run_show(path: Path, form: Format, dialect: str | None, output: Path | None) -> None:
    """Write a model in some form."""
    if dialect is not None and form is not Format.SQL:
        raise UserError(f"--dialect is for --format sql, not for {form}.")
    check_outputs({"--output": output}, {"the model": str(path)})
    model = open_model(path)
    try:
        text = _write(model, form, dialect)
    except (ValueError, ImportError) as error:
        raise UserError(shorten(error)) from None
    with written(output) as file:
        file.write(text.encode() if text.endswith("\n") else f"{text}\n".encode())


def _write(model: Any, form: Format, dialect: str | None) -> str:
    if form is Format.TEXT:
        return _write_text(model)
    export = getattr(treefold, f"export_{form}")
    return str(export(model, dialect=dialect) if form is Format.SQL else export(model))


def _write_text(model: Any) -> str:
    """The rules, below what cross-validation found out."""
    evaluation = getattr(model, "evaluation_", None)
    if evaluation is None:
        return export_text(model, max_depth=None)
    rules = export_text(model, max_depth=None, show_stability=True)
    return f"{evaluation}\n\n{rules}"
