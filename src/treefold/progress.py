"""A bar that shows what share of the work is done."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]

_WIDTH = 30
_SECONDS = 0.1  # between two drawings


class Progress:
    """A live bar on stderr while a block runs; nothing if it is not wanted or not a terminal.

    The share is that of work, in any unit that the caller can count beforehand, not that of steps:
    a step that takes ten times as long should be ten times as large.
    """

    def __init__(self, label: str, total: float, verbose: Any = 1) -> None:
        self.label = label
        self.total = total
        self.done = 0.0
        self._ahead = 0.0  # what a call that is still running has done
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._is_shown = bool(verbose) and is_terminal and total > 0
        self._next = 0.0
        self._drawn = ""

    @property
    def share(self) -> float:
        """Work done, from 0 to 1."""
        return 1.0 if self.total <= 0 else min(1.0, (self.done + self._ahead) / self.total)

    def advance(self, amount: float = 1.0) -> None:
        """Add work done. Drawing is limited to a few times per second."""
        self.done += amount
        self._ahead = 0.0
        self._draw_in_time()

    def reach(self, done: float) -> None:
        """Advance to where work stands, if it is not there yet."""
        self.advance(max(0.0, done - self.done))

    def watch(self, amount: float, n_steps: int) -> Callable[[int], None] | None:
        """Make a function by which a call tells how many of its steps are done; None if nobody
        looks. When the call has returned, `advance` by its amount of work.
        """
        if not self._is_shown or n_steps <= 0:
            return None

        def report(n_done: int) -> None:
            self._ahead = amount * min(1.0, n_done / n_steps)
            self._draw_in_time()

        return report

    def _draw_in_time(self) -> None:
        if self._is_shown and time.monotonic() >= self._next:
            self._draw()

    def _draw(self) -> None:
        filled = int(self.share * _WIDTH)
        bar = "#" * filled + "." * (_WIDTH - filled)
        text = f"{self.label} [{bar}] {int(self.share * 100):3d}%"
        if text != self._drawn:
            sys.stderr.write(f"\r{text}")
            sys.stderr.flush()
            self._drawn = text
        self._next = time.monotonic() + _SECONDS

    def __enter__(self) -> Self:
        if self._is_shown:
            self._draw()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the line as it was, also if the block was interrupted."""
        if self._is_shown:
            if kind is None:
                self._draw()
            sys.stderr.write("\r" + " " * len(self._drawn) + "\r")
            sys.stderr.flush()
