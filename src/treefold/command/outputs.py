"""The files that a command writes: all of them or none, and never over what it reads."""

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import combinations
from pathlib import Path
from typing import IO, Any

from treefold.atomic import check_writable, written_atomically
from treefold.command.mistakes import UserError, interrupts_wait, note_written, shorten

__all__ = ["check_outputs", "choose_width", "printed", "written", "written_together"]


_WIDTH = 100  # where there is no terminal


def check_outputs(outputs: Mapping[str, Path | None], inputs: Mapping[str, str | None]) -> None:
    """Refuse what would fail at the end, or destroy what is read, before any work is done.

    Outputs are named by their options, inputs by what they are.
    """
    asked = {option: path for option, path in outputs.items() if path is not None}
    for option, path in asked.items():
        if not path.absolute().parent.is_dir():
            raise UserError(f"{option}: '{path}' cannot be written: no folder '{path.parent}'.")
        for what, name in inputs.items():
            if name not in (None, "-") and _is_same(path, Path(str(name))):
                raise UserError(f"{option}: '{path}' is {what}; give another name.")
        with _errors_named(f"{option}: '{path}'"):
            check_writable(path)
    for one, other in combinations(asked, 2):
        if _is_same(asked[one], asked[other]):
            raise UserError(f"{one} and {other} both name '{asked[other]}'.")


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names are those of one file; pipes and devices may be read and written."""
    if os.path.exists(path) and os.path.exists(other):
        return path.is_file() and os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


@contextmanager
def written_together(paths: Mapping[str, Path]) -> Iterator[dict[str, IO[bytes]]]:
    """Open files by their options; they appear when all are written, or none does."""
    with ExitStack() as opened:
        files = {}
        for option, path in paths.items():
            opened.enter_context(_errors_named(f"{option}: '{path}'"))
            files[option] = opened.enter_context(written_atomically(path))
        yield files
        with interrupts_wait():
            for option, file in files.items():
                with _errors_named(f"{option}: '{paths[option]}'"):
                    _reach_disk(file)
            opened.close()
            note_written(list(paths.values()))


def _reach_disk(file: IO[bytes]) -> None:
    """Write out what is buffered: what fails does so before any file is in its place."""
    file.flush()
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        os.fsync(file.fileno())


@contextmanager
def written(path: Path | None) -> Iterator[Any]:
    """Open a file that appears when all is written; stdout if there is no path."""
    if path is None:
        with printed():
            yield sys.stdout.buffer
        return
    with written_together({"--output": path}) as files:
        yield files["--output"]


def choose_width(console: Any) -> int:
    """How many columns a text on stdout may take; rich knows the terminal, and COLUMNS."""
    is_known = console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return max(80, min(console.width, 120)) if is_known else _WIDTH


@contextmanager
def printed() -> Iterator[None]:
    """Write to stdout in here: all of it has arrived at the end, or the user is told why not."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what is left would fail again at exit
        raise _blame("stdout", error) from None


@contextmanager
def _errors_named(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _blame(what, error) from None


def _blame(what: str, error: OSError) -> UserError:
    return UserError(f"{what} cannot be written: {error.strerror or shorten(error)}.")
