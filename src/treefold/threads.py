"""How many threads a call may use."""

import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import joblib
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config

from treefold.exceptions import ParameterError

__all__ = ["effective_n_jobs", "map_in_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST = 1_024  # threads of one call; a system may refuse to start more
_LASTING = 1.0  # seconds that a count of CPUs is good for
_counts: dict[Hashable, tuple[float, int]] = {}  # with the time until which they are


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """Give the results in the order of the items, of which a few are taken ahead."""
    if n_threads == 1:
        yield from map(function, items)
        return
    settings = get_config()  # which scikit-learn keeps for each thread

    def call(item: Item) -> Result:
        with config_context(**settings):
            return function(item)

    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for item in items:
            waiting.append(pool.submit(call, item))
            if len(waiting) > 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def effective_n_jobs(n_jobs: Any) -> int:
    """Count the threads of one call: joblib's count, capped by OMP_NUM_THREADS where it is set.

    The cap is what keeps nested parallelism in bounds: joblib sets that variable in its workers.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__")):
        raise ParameterError(
            f"n_jobs must be an int other than 0, or None. Got {n_jobs!r} instead."
        )
    if n_jobs == 0:
        raise ParameterError("n_jobs=0 has no meaning. Give 1 for one thread, -1 for all cores.")
    count = _count_jobs(n_jobs)
    return max(1, min(count, _openmp_limit() or count, _MOST))


def _count_jobs(n_jobs: Any) -> int:
    """Ask joblib, but not again for what it reads files for: 0.1 ms, where a small
    cross-validation takes 4.
    """
    if n_jobs is None or n_jobs > 0:
        return int(joblib.effective_n_jobs(n_jobs))
    backend, _ = get_active_backend()
    limit = os.environ.get("LOKY_MAX_CPU_COUNT")
    key = (int(n_jobs), type(backend), getattr(backend, "nesting_level", None), limit)
    until, count = _counts.get(key, (0.0, 0))
    if time.monotonic() >= until:
        count = int(joblib.effective_n_jobs(n_jobs))
        _counts[key] = (time.monotonic() + _LASTING, count)
    return count


def _openmp_limit() -> int | None:
    """Read the first number of OMP_NUM_THREADS ("4" or "4,2"); None if there is none."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None
