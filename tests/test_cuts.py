"""Cuts are written with the digits that it takes to send rows where the tree sends them."""

import re
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treefold import (
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    export_dot,
    export_svg,
    export_text,
)
from treefold.command.drawing import describe_paths
from treefold.export.as_html import tree_to_html
from treefold.model.cuts import show_date, show_number

CUT = re.compile(r"x (?:<=|&lt;=) ([^\s<\"\\]+)")


def find_cuts(text):
    return sorted({float(one) for one in CUT.findall(text)})


def write_all(model):
    yield export_text(model, max_depth=None)
    yield export_text(model, max_depth=None, decimals=0)
    yield export_dot(model)
    yield export_svg(model)
    yield " ".join(describe_paths(model).to_pylist())


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2, 3, 5, 8]) * 1e-5,
        np.array([1.0029e-5, 4.0146e-5, 6.0146e-5, 6.0147e-5]),
        np.array([1234567.0, 1234568.0, 1234569.0]),
        np.array([1553372469.0, 1553372470.0, 1553372471.0]),
        np.array([-0.001, 0.0, 0.001, 0.0011]),
        np.array([123456789012345.0, 123456789012346.0]),
        np.array([1e300, 1.1e300, 1.11e300]),
        np.array([0.1, 0.2, 0.30000000000000004, 0.3000000000000001]),
    ],
)
def test_every_form_shows_cuts_that_separate_the_values_of_the_fit(values):
    frame = pd.DataFrame({"x": values})
    model = DecisionTreeRegressor().fit(frame, np.arange(len(values)) % 2)
    assert model.get_n_leaves() == len(values)
    for text in [*write_all(model), tree_to_html(model) if len(values) < 5 else export_text(model)]:
        cuts = find_cuts(text)
        assert len(cuts) == len(values) - 1 or "x > " in text
        for cut in cuts:
            below = (values <= cut).sum()
            assert 0 < below < len(values)
            low, high = values[below - 1 : below + 1]
            assert any(low <= threshold < high for threshold in model.tree_.threshold)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20, unique=True))
def test_different_numbers_are_written_differently_and_in_order(numbers):
    numbers = sorted(number + 0.0 for number in numbers)
    if len(set(numbers)) < len(numbers):
        return
    for decimals in (0, 3):
        written = [float(show_number(number, decimals, numbers)) for number in numbers]
        assert all(low < high for low, high in pairwise(written)), numbers
        assert [one == 0 for one in written] == [number == 0 for number in numbers]


@pytest.mark.parametrize(
    ("number", "decimals", "text"),
    [
        (1.5, 0, "1.5"),
        (1.5, 2, "1.50"),
        (3.0, 0, "3"),
        (-0.0, 1, "0.0"),
        (5.0146e-05, 2, "5.0146e-05"),
        (1234567.5, 2, "1234567.50"),
        (0.15000000000000002, 2, "0.15"),
        (1 / 3, 2, "0.333333"),
        (2e6 / 3, 0, "666666.7"),
        (5e-324, 2, "5e-324"),
    ],
)
def test_numbers_have_as_many_digits_as_they_need(number, decimals, text):
    assert show_number(number, decimals) == text


EPOCH = datetime(1970, 1, 1)


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (18262.0, "2020-01-01"),
        (18262.5, "2020-01-01 12:00:00"),
        (18262 + 1 / 3, "2020-01-01 08:00:00"),
        (18262 + 0.5 / 86400, "2020-01-01 00:00:00.5"),
        (-719162.0, "0001-01-01"),
        (5e10, "day 50000000000"),
        (5e307, "day 5e+307"),
    ],
)
def test_dates_have_a_time_where_they_need_it(days, text):
    assert show_date(days) == text


@pytest.mark.parametrize("step", [timedelta(microseconds=1), timedelta(milliseconds=3)])
def test_dates_are_cut_between_the_times_of_the_fit(step):
    times = [datetime(2019, 3, 23, 20, 21, 9) + place * step for place in range(4)]
    frame = pd.DataFrame({"x": np.array(times, dtype="M8[us]")})
    model = DecisionTreeClassifier().fit(frame, [0, 1, 0, 1])
    cuts = re.findall(r"x <= (.+)", export_text(model))
    assert len(cuts) == 3
    for place, cut in enumerate(sorted(map(datetime.fromisoformat, cuts))):
        assert times[place] <= cut < times[place + 1]


def test_cuts_beyond_all_numbers_are_named():
    """Folds may cut between what is there and what is missing, at infinity."""
    for value, text in ((np.inf, "inf"), (-np.inf, "-inf")):
        assert show_number(value, 2, [0.5, 1.5]) == text
        assert show_date(value) == f"day {text}"


def test_stability_shows_cuts_of_small_units():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 1000, 300) * 1e-7})
    model = DecisionTreeClassifierCV(cv=5).fit(frame, rng.random(300) < frame["x"] * 1e4)
    text = export_text(model, show_stability=True)
    cuts = re.findall(r"(?:<=|> |cut at|to) (\d[\d.e-]*)", text)
    assert "cut at" in text
    assert all(float(cut) > 0 for cut in cuts)


# What binds --------------------------------------------------------------------------------------


def test_paths_leave_out_what_later_conditions_imply():
    frame = pd.DataFrame({"y": np.arange(8.0)})
    model = DecisionTreeRegressor().fit(frame, [0, 1, 2, 3, 9, 9, 9, 9])
    paths = describe_paths(model).to_pylist()
    assert paths[0] == "all rows"
    assert "y > 0.5 and y <= 1.5" in paths
    assert all(path.count("<=") <= 1 and path.count("> ") <= 1 for path in paths)


def test_missing_values_are_named_as_long_as_they_come_along():
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0, 4.0, None, None]})
    model = DecisionTreeClassifier().fit(frame, list("abccaa"))
    for path in describe_paths(model).to_pylist()[1:]:
        assert path in {
            "(y <= 1.5 or missing)", "(y <= 2.5 or missing)", "y > 2.5", "y > 1.5",
            "y > 1.5 and y <= 2.5",
        }  # fmt: skip
    assert export_text(model).count("or missing") == 1 + export_text(model).count("<= 2.50 or")


def test_categories_that_the_path_has_excluded_are_not_listed():
    frame = pd.DataFrame({"c": list("abcdef") * 2, "x": np.arange(12.0)})
    y = np.array([0, 1, 2, 10, 11, 12] * 2)
    model = DecisionTreeRegressor(categorical_features=["c"]).fit(frame[["c"]], y)
    text = export_text(model)
    assert text.splitlines()[0] == "|--- c in {a, b, c}"
    assert "c in {b, c}" in text
    for path in describe_paths(model).to_pylist()[1:]:
        assert path.count("c is") == 1
    for node in np.flatnonzero(model.tree_.children_left < 0):
        assert describe_paths(model)[node].as_py() in {f"c is {label}" for label in "abcdef"}


def test_the_conditions_of_a_path_hold_for_the_rows_that_take_it():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(400) < 0.2, np.nan, rng.integers(0, 30, 400)),
            "c": rng.choice([*"abcdefgh", None], 400),
        }
    )
    y = frame["x"].fillna(3) % 5 + frame["c"].isin(list("aceg")) * 3 + rng.random(400)
    model = DecisionTreeRegressor(categorical_features=["c"], max_depth=7).fit(frame, y)
    paths = describe_paths(model).to_pylist()
    leaves = model.apply(frame)
    for leaf in np.unique(leaves):
        inside = np.array([holds(paths[leaf], row) for row in frame.itertuples(index=False)])
        np.testing.assert_array_equal(inside, leaves == leaf, err_msg=paths[leaf])


def holds(path, row):
    """Whether a row fulfils the words of a path."""
    return all(fulfils(one.strip("()"), row) for one in path.split(" and "))


def fulfils(condition, row):
    name, verb, *rest = condition.split()
    value = getattr(row, name)
    if pd.isna(value):
        return condition.endswith("missing")
    if verb == "is":
        given = condition.removesuffix(" or missing").removeprefix(f"{name} is ")
        return given == "present" or value in given.split(", ")
    return value <= float(rest[0]) if verb == "<=" else value > float(rest[0])
