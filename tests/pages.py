"""Running the snippets of a page of the documentation, one after the other, as a reader would."""

import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path
from typing import Any

from commands import run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SECONDS = re.compile(r"\d+\.\d\d s")
_NOT_RUN = ("pip ", "python -m ", "python docs/", "python tests/", "mkdocs ", "pytest", "duckdb ")
_SHELL = ("head ", "tail ", "ls ", "mkdir ")


@dataclass(frozen=True)
class Snippet:
    """A block of code, and what the page says that it prints (None: the page does not say)."""

    language: str
    code: str
    shown: str | None
    line: int


def read_snippets(page: Path) -> Iterator[Snippet]:
    """Find the blocks of Python and of the shell, each with the text that follows at once."""
    text = page.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    for place, fence in enumerate(fences):
        if fence[1] not in ("python", "sh"):
            continue
        shown = None
        for after in fences[place + 1 : place + 2]:
            if after[1] == "text" and not text[fence.end() : after.start()].strip():
                shown = after[2]
        yield Snippet(fence[1], fence[2], shown, text.count("\n", 0, fence.start()) + 1)


def run_snippet(snippet: Snippet, page: Path, names: dict[str, Any]) -> str:
    """Run a snippet in the current directory; what it printed."""
    if snippet.language == "sh":
        lines = snippet.code.replace("\\\n", " ").splitlines()
        return "".join(_run_line(line.split(" #")[0].strip()) for line in lines if line.strip())
    out = io.StringIO()
    code = "\n" * snippet.line + snippet.code  # so that errors name the line of the page
    with contextlib.redirect_stdout(out):
        exec(compile(code, str(page), "exec"), names)
    return out.getvalue()


def _run_line(line: str) -> str:
    if line.startswith(_NOT_RUN):
        return ""
    if line.startswith(_SHELL):
        return subprocess.run(
            line, shell=True, check=True, capture_output=True, text=True, timeout=60
        ).stdout
    stdin = None
    if line.startswith("cat "):
        file, line = (part.strip() for part in line.removeprefix("cat ").split("|", 1))
        stdin = Path(file).read_bytes()
    command, *arguments = shlex.split(line)
    assert command == "treefold", f"no test knows how to run: {line}"
    result = run(*arguments, stdin=stdin)
    assert result.code == 0, f"{line}\n{result.err}"
    return result.out


def is_as_shown(shown: str, printed: str) -> bool:
    """Whether a snippet printed what the page says; "..." stands for anything, seconds vary."""
    shown, printed = (_SECONDS.sub("0.00 s", text).rstrip() for text in (shown, printed))
    return OutputChecker().check_output(shown, printed, ELLIPSIS)
