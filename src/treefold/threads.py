"""How many threads a call may use."""

import os
from typing import Any

import joblib

from treefold.exceptions import ParameterError

__all__ = ["effective_n_jobs"]


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
    count = int(joblib.effective_n_jobs(n_jobs))
    return max(1, min(count, _openmp_limit() or count))


def _openmp_limit() -> int | None:
    """Read the first number of OMP_NUM_THREADS ("4" or "4,2"); None if there is none."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None
