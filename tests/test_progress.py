"""The bar tells the truth, on a terminal only."""

import io
import re
from types import SimpleNamespace

import numpy as np
import pytest
from selection import make_data
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treefold import DecisionTreeClassifier, DecisionTreeClassifierCV, progress
from treefold.data.table import encode
from treefold.family import Member, grow_family
from treefold.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_validate,
    nested_cross_validate,
    validation_curve,
)
from treefold.progress import Progress
from treefold.rules import make_rules


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    return stream


def test_the_bar_shows_the_share_of_work_and_leaves_an_empty_line(terminal):
    with Progress("growing", 200) as bar:
        bar.advance(20)
        assert terminal.getvalue().endswith("growing [###...........................]  10%")
        bar.advance(179.5)
        assert terminal.getvalue().endswith(" 99%")  # done only when it is done
        bar.advance(0.5)
        assert terminal.getvalue().endswith("100%")
    assert terminal.getvalue().split("\r")[-2].strip() == ""


def test_the_bar_goes_when_the_work_is_interrupted(terminal):
    def be_interrupted():
        with Progress("growing", 2) as bar:
            bar.advance()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        be_interrupted()
    assert terminal.getvalue().split("\r")[-2].strip() == ""


def test_nothing_is_written_unless_it_is_asked_for(terminal):
    with Progress("growing", 2, verbose=0) as bar:
        bar.advance(2)
    assert terminal.getvalue() == ""
    assert bar.share == 1.0


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_is_written_where_there_is_no_terminal(stream, monkeypatch):
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    with Progress("growing", 2) as bar:
        bar.advance()
    assert stream is None or stream.getvalue() == ""


def test_drawing_is_limited_in_time(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS", 3600.0)
    with Progress("growing", 1000) as bar:
        for _ in range(1000):
            bar.advance()
        assert terminal.getvalue().count("\r") == 1


def test_no_work_is_done_at_once():
    assert Progress("growing", 0, verbose=0).share == 1.0


# Where work is done -----------------------------------------------------------------------------

DATA = make_data(300)
X, Y = DATA["X"], DATA["classes"]
TREE = DecisionTreeClassifier()
CALLS = {
    "cross_validate": lambda: cross_validate(
        TREE, X, Y, verbose=1, return_train_score=True, return_final_estimator=True
    ),
    "cross_val_predict": lambda: cross_val_predict(TREE, X, Y, verbose=1),
    "pipeline": lambda: cross_validate(make_pipeline(StandardScaler(), TREE), X, Y, verbose=1),
    "validation_curve": lambda: validation_curve(
        TREE, X, Y, param_name="min_samples_leaf", param_range=[1, 5], verbose=1
    ),
    "search": lambda: GridSearchCV(
        TREE,
        {"max_depth": [1, 3], "min_samples_leaf": [1, 9], "max_features": [None, 2]},
        verbose=1,
    ).fit(X, Y),
    "nested": lambda: nested_cross_validate(TREE, {"max_depth": [1, 2]}, X, Y, cv=4, verbose=1),
    "CV estimator": lambda: DecisionTreeClassifierCV(verbose=1).fit(X, Y),
}


def read_bars(terminal):
    """The labels that were shown, each with its percentages."""
    bars = {}
    for label, percent in re.findall(r"\r([a-z -]+) \[[#.]*\] +(\d+)%", terminal.getvalue()):
        bars.setdefault(label, []).append(int(percent))
    return bars


@pytest.mark.parametrize("name", CALLS)
def test_every_bar_rises_from_nothing_to_all(name, terminal):
    CALLS[name]()
    bars = read_bars(terminal)
    assert max(map(len, bars.values())) > 2
    for percents in bars.values():
        assert percents[0] == 0
        assert percents == sorted(percents)
        assert percents[-1] == 100


def test_a_call_that_is_not_asked_shows_nothing(terminal):
    cross_validate(TREE, X, Y)
    assert terminal.getvalue() == ""


def test_fits_that_fail_are_work_that_is_done(terminal):
    search = GridSearchCV(TREE, {"max_depth": [-1, 2]}, verbose=1)
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
        search.fit(X, Y)
    bars = read_bars(terminal)
    assert bars["growing trees"][-1] == 100
    assert bars["fitting one by one"][-1] == 100


def test_work_of_a_running_call_counts_before_it_returns(terminal):
    with Progress("growing", 200) as bar:
        report = bar.watch(100, 50)
        report(25)
        assert terminal.getvalue().endswith(" 25%")
        report(60)  # never more than the call is
        assert bar.share == 0.5
        bar.advance(100)
        assert bar.share == 0.5
        bar.reach(150)
        bar.reach(120)
        assert bar.share == 0.75


# The core ---------------------------------------------------------------------------------------


def make_family(n_rows=40_000, n_members=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 8))
    y = rng.integers(0, 3, n_rows)
    table = encode(X, "from_dtype", 1)
    tree = DecisionTreeClassifier()
    target = tree._read_target(y, None, n_rows)
    rules = make_rules(tree, target, 8)
    rows = [np.flatnonzero(np.arange(n_rows) % n_members != k) for k in range(n_members)]
    members = [Member(each.astype(np.uint32), rules) for each in rows]
    return table._native, target, members


class Bar(Progress):
    """Keeps what it is told."""

    def __init__(self):
        super().__init__("", 1.0, verbose=0)
        self.told = []

    def watch(self, amount, n_steps):
        self.n_steps = n_steps
        return self.told.append


@pytest.mark.parametrize("sharing", ["none", "overlap", "folds"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_growth_tells_of_rows_that_have_reached_a_leaf(sharing, n_threads):
    table, target, members = make_family()
    bar = Bar()
    grow_family(table, target, members, sharing=sharing, n_threads=n_threads, progress=bar)
    assert bar.told == sorted(bar.told)
    assert len(set(bar.told)) >= 2
    assert bar.told[-1] <= bar.n_steps == sum(len(member.rows) for member in members)


def test_an_error_of_the_bar_stops_the_growth():
    table, target, members = make_family()
    bar = Bar()

    def fail(n_done):
        raise OSError("no terminal any more")

    bar.watch = lambda amount, n_steps: fail
    with pytest.raises(OSError, match="no terminal any more"):
        grow_family(table, target, members, progress=bar)
