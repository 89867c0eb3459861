"""What shared growth cannot serve is left to scikit-learn's own loop; everything else is a bug.

`CannotServeError` means only that. It is raised where the caller's data, parameters or functions
are known to be the cause, and is the only exception that the engine catches.
"""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["CannotServeError", "cannot_serve"]


class CannotServeError(Exception):
    """Shared growth cannot give what is asked for: a fit, one at a time, will say why."""


@contextmanager
def cannot_serve(*errors: type[Exception]) -> Iterator[None]:
    """Turn errors that a fit would raise too into that one."""
    try:
        yield
    except errors as error:
        raise CannotServeError(str(error)) from error
