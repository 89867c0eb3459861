"""What the user is told: one line each to stderr, and the exit code."""

import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = [
    "Place",
    "UserError",
    "interrupts_wait",
    "mistakes_end_with_code_2",
    "note_written",
    "say",
    "shorten",
]

_written: list[str] = []  # by the command that runs


class UserError(Exception):
    """A mistake that the user can put right; the message says how."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the values of a column come from, for messages."""

    file: str
    column: str
    rows: Any  # a range or an array: the row of the file that each value stands in, from zero
    advice: str = "Correct it, or leave the field empty."

    def refuse(self, row: int, value: Any, wanted: str) -> UserError:
        """Say which value is not what it should be; rows are counted from one."""
        return UserError(
            f"{self.file}, row {self.rows[row] + 1:,}, column '{self.column}': "
            f"{value!r} is not {wanted}. {self.advice}"
        )


def say(kind: str, message: str) -> None:
    """Write one message to stderr: 'kind: message', on one line whatever names it holds."""
    from treefold.export.cleaning import reveal  # noqa: PLC0415 - with numpy; help has to be fast

    sys.stderr.write(f"{kind}: {reveal(message)}\n")


@contextmanager
def mistakes_end_with_code_2() -> Iterator[None]:
    """Turn a user's mistake into a message and exit code 2, and warnings into messages."""
    _written.clear()
    before = _listen(signal.SIGTERM, _stop)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            try:
                yield
            finally:
                for message in dict.fromkeys(str(warning.message) for warning in caught):
                    say("warning", " ".join(message.splitlines()))
    except UserError as error:
        say("error", str(error))
        raise SystemExit(2) from None
    except BrokenPipeError:  # whoever read our output has seen enough
        sys.stderr.close()
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        done = f"{' and '.join(_written)} had been written" if _written else "no file was changed"
        say("error", f"interrupted; {done}.")
        raise SystemExit(130) from None
    finally:
        _listen(signal.SIGTERM, before)


def note_written(paths: Iterable[object]) -> None:
    """Remember which files are in their places, for the message of an interrupt."""
    _written.extend(f"'{path}'" for path in paths)


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let interrupts come after what must not be done by half."""
    came: list[int] = []
    signals: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM)
    before = [_listen(number, lambda number, _: came.append(number)) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            _listen(number, handler)
    for number in came:
        signal.raise_signal(number)


def _listen(number: int, handler: Any) -> Any:
    """Let a signal call a function, where that is possible; gives what it called before."""
    is_main = threading.current_thread() is threading.main_thread()
    return signal.signal(number, handler) if is_main and handler is not None else None


def _stop(number: int, _: Any) -> NoReturn:
    """End as if the program had been left to the signal, but leave no half file behind."""
    raise SystemExit(128 + number)


def shorten(error: BaseException) -> str:
    """The first line of another library's message."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
