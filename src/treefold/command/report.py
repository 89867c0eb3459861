"""What `--report` does: the findings of a fit as one HTML file."""

import hashlib
from pathlib import Path
from typing import Any

from treefold.command.mistakes import UserError
from treefold.command.options import FitOptions, word_fit
from treefold.command.words import word_size
from treefold.data.table import Table
from treefold.findings.fits import Result
from treefold.reporting import list_missing

__all__ = ["check_report", "make_report"]

_NOT_ASKED = ("jobs", "json")  # what does not change the model


def check_report(options: FitOptions) -> None:
    """Refuse a report for which something is not installed."""
    if options.report is None:
        return
    missing = list_missing()
    if missing:
        raise UserError(
            f"--report needs {' and '.join(missing)}, not installed here. "
            'Install it by: pip install "treefold[report]"'
        )


def make_report(result: Result, table: Table, found: dict[str, Any], options: FitOptions) -> bytes:
    """Make the report of a fit."""
    from treefold.reporting.material import Card, Material  # noqa: PLC0415 - extras
    from treefold.reporting.page import make_page  # noqa: PLC0415

    read = found["read"]
    card = Card(
        command=word_fit(options, _NOT_ASKED),
        seed=str(options.seed),
        data=f"{read['file']}: {word_size(read)}",
        data_hash=_hash_file(options.data),
        hash_of="file",
        parameters=dict(result.model.best_params_),
    )
    return make_page(Material(dict(found), result, table, card))


def _hash_file(name: str) -> str:
    if name == "-":
        return "not known: the data came from stdin"
    with Path(name).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
