"""Members name the rows that train, or those that do not; the trees are the same."""

from dataclasses import replace

import numpy as np
import pytest
from family_trees import SAME, Workbench, draw_folds, without_each
from mixed_data import make_mixed

MODES = ["none", "overlap", "folds", "auto"]


@pytest.mark.parametrize("sharing", MODES)
@pytest.mark.parametrize("n_folds", [3, 15, 16, 70])  # and one tree of all: 16 bits, a word, two
def test_rows_may_be_named_by_those_that_are_left_out(n_folds, sharing):
    """Listed, left out, all of them; a mixture of that."""
    n_rows = 300
    data = make_mixed(n_rows)
    work = Workbench(data.X, data.targets["many classes"], params={"min_samples_leaf": 3})
    everything = np.arange(n_rows, dtype=np.uint32)
    listed = [work.member(everything)]
    for own in without_each(n_rows, draw_folds(n_rows, n_folds))[1:]:
        listed.append(replace(work.member(own), rows=own.astype(np.uint32), left_out=None))
    named = [replace(listed[0], rows=None, left_out=None)]
    for number, member in enumerate(listed[1:]):
        left_out = np.setdiff1d(everything, member.rows).astype(np.uint32)
        is_listed = number % 3 == 0
        named.append(member if is_listed else replace(member, rows=None, left_out=left_out))
    expected, actual = (work.grow(members, sharing) for members in (listed, named))
    for one, other in zip(expected.trees, actual.trees, strict=True):
        for name in [*SAME, "value"]:
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert expected.work["statistic_updates"] == actual.work["statistic_updates"]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"left_out": [3, 2]}, "must ascend"),
        ({"left_out": [2, 2]}, "must ascend"),
        ({"left_out": [40]}, "a row is not in the table"),
        ({"left_out": list(range(40))}, "no row has a positive weight"),
        ({"rows": [0, 1], "left_out": [2]}, "the rows that train or the others"),
    ],
)
def test_rows_that_cannot_be_left_out(named, message):
    work = Workbench(np.arange(40.0).reshape(-1, 1), np.arange(40) % 2)
    arrays = {name: np.array(rows, dtype=np.uint32) for name, rows in named.items()}
    member = replace(work.member(np.arange(40)), **{"rows": None, "left_out": None, **arrays})
    for sharing in MODES:
        with pytest.raises(ValueError, match=message):
            work.grow([member, member], sharing)
