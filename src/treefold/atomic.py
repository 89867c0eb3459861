"""Files that are written whole or not at all."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

__all__ = ["check_writable", "written_atomically"]


@contextmanager
def written_atomically(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to be written under a temporary name beside `path`, and move it there at the end.

    Whatever goes wrong before, an interrupt included, leaves an old file as it was and no new one.
    A link is followed; the file keeps the permissions of the one that it replaces. What is no file
    but a pipe or a device is written as it comes.
    """
    if _is_special(path):
        with open(path, "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    descriptor, temporary = _open_beside(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise what `written_atomically` would raise at its beginning, and leave nothing behind."""
    if not _is_special(path):
        descriptor, temporary = _open_beside(Path(os.path.realpath(path)))
        os.close(descriptor)
        temporary.unlink()


def _is_special(path: str | os.PathLike[str]) -> bool:
    """Whether there is a pipe or a device."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _open_beside(target: Path) -> tuple[int, Path]:
    """Open a new file in the folder of another."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a directory, not a file", str(target))
    temporary = target.with_name(f".{target.name[:100]}.{token_hex(8)}.tmp")
    return os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o666), temporary


_BINARY = getattr(os, "O_BINARY", 0)  # Windows
