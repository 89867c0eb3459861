"""What the tests of the report share: hostile data, and a reader of the pages."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = "</script><script>window.hacked = 1</script>"
IMAGE = "\"><img src='https://example.com/x.png' onerror='window.hacked = 1'>"
BACKWARDS = "\u202egnp.exe\u2066"
LONG = "long name " * 1000
HOSTILE = (SCRIPT, IMAGE, BACKWARDS, LONG, "{{ 7 * 7 }}{% raw %}", "a\u0007b\nc", "' or 1=1 --")


def write_hostile(path: Path) -> Path:
    """Write a table whose names, categories and labels are meant to do harm."""
    pa, csv = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.csv")
    random = np.random.default_rng(0)
    numbers = random.normal(size=(len(HOSTILE), 400))
    kinds = np.array([*HOSTILE[:4], "plain"])[random.integers(0, 5, 400)]
    score = numbers[0] + numbers[2] + 2 * (kinds == IMAGE) + numbers[3] * (numbers[1] > 0)
    target = np.where(score + random.normal(size=400) > 0.5, SCRIPT, IMAGE)
    table = {name: numbers[place] for place, name in enumerate(HOSTILE)}
    csv.write_csv(pa.table({**table, "kind <b>": kinds, f"target {SCRIPT}": target}), path)
    return path


class Page(HTMLParser):
    """A page, read strictly: elements must be closed in order."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr", "source", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.raw = text
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def find(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def findings(self) -> dict[str, Any]:
        """The numbers that the page keeps for programs."""
        begin = self.raw.index('id="findings">') + len('id="findings">')
        found: dict[str, Any] = json.loads(self.raw[begin : self.raw.index("</script>", begin)])
        return found


def read(path: Path) -> Page:
    return Page(path.read_text("utf-8"))
