"""Ctrl-C in the middle of a call: it stops, and the estimator is as it was."""

import os
import signal

import pytest
from interrupts import interrupt

# Gain ratio peels off row after row, so this fit takes minutes.
FIT = """
import sys
import numpy as np
from treefold import DecisionTreeClassifier
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60_000, 12)), rng.integers(0, 2, 60_000)
model = DecisionTreeClassifier(max_depth=2).fit(X[:100], y[:100])
before = model.tree_
model.set_params(criterion="gain_ratio", max_depth=None, n_jobs=int(sys.argv[1]))
try:
    print("ready", flush=True)
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted, unchanged" if model.tree_ is before else "interrupted, changed")
"""


pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_fit_stops_and_changes_nothing(n_jobs):
    assert interrupt(FIT, n_jobs) == ("interrupted, unchanged\n", 0)


def test_an_interrupt_arrives_though_the_tests_run_in_the_background():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert interrupt(FIT, 1) == ("interrupted, unchanged\n", 0)
    finally:
        signal.signal(signal.SIGINT, before)
