"""Which candidates there are, and which is chosen."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV

from treefold import DecisionTreeRegressor
from treefold.evaluation.trials import Trials, choose, expand, find_strengths, make_results, thin
from treefold.exceptions import InputError, ParameterError
from treefold.scoring.pooling import Pooling


def test_lists_are_combined_and_everything_else_is_fixed():
    grid = list(expand({"a": (1, 2, 2), "b": "x", "c": [None, {"no": 2}], "d": np.array([0.5])}))
    assert [list(params.values()) for params in grid] == [
        [1, "x", None, 0.5],
        [1, "x", {"no": 2}, 0.5],
        [2, "x", None, 0.5],
        [2, "x", {"no": 2}, 0.5],
    ]
    assert type(grid[0]["d"]) is float


def test_one_and_one_point_nought_are_two_candidates():
    assert len(list(expand({"min_samples_leaf": [1, 1.0, True]}))) == 3


@pytest.mark.parametrize("nothing", [[], (), np.array([]), np.array(3)])
def test_no_candidates_are_an_error(nothing):
    with pytest.raises(ParameterError, match="'max_depth' parameter holds no candidate"):
        list(expand({"max_depth": nothing}))


def test_strengths_are_geometric_midpoints():
    alphas = np.array([0.0, 0.0, 1.0, 4.0, 4.0, 9.0])
    strengths, n_leaves = find_strengths(alphas, np.array([9, 8, 5, 4, 3, 1]))
    assert strengths.tolist() == [0, 2, 6, 90]
    assert n_leaves.tolist() == [9, 5, 3, 1]  # a strength of zero takes nothing away
    for leaves in ([1], [2, 1]):
        strengths, n_leaves = find_strengths(np.zeros(len(leaves)), np.array(leaves))
        assert strengths.tolist() == [0.0]
        assert n_leaves.tolist() == leaves[:1]


def test_strengths_survive_extreme_alphas():
    neighbours = np.array([0.0, 1.0, np.nextafter(1.0, 2.0)])
    assert find_strengths(neighbours, np.arange(3))[0][1] == 1.0
    tiny, _ = find_strengths(np.array([0.0, 5e-324, 1e-300, 1e308]), np.arange(4))
    assert (np.diff(tiny) > 0).all()
    assert np.isfinite(tiny).all()


def test_each_strength_gives_another_tree_of_the_path():
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(min_samples_leaf=10).fit(X, y)
    alphas, _, sizes = model.tree_._native.pruning_path()
    strengths, n_leaves = find_strengths(alphas, sizes)
    leaves = [model.set_params(ccp_alpha=a).fit(X, y).get_n_leaves() for a in strengths]
    assert leaves == n_leaves.tolist()
    assert (np.diff(leaves) < 0).all()
    assert leaves[-1] == 1
    assert leaves[0] == model.set_params(ccp_alpha=0.0).fit(X, y).get_n_leaves()


def test_long_paths_are_thinned_by_leaves():
    n_leaves = np.arange(5000, 0, -1)
    kept = n_leaves[thin(n_leaves)]
    assert 60 < len(kept) <= 100
    assert kept[0] == 5000
    assert kept[-10:].tolist() == list(range(10, 0, -1))
    assert (np.diff(kept) < 0).all()
    assert thin(np.array([3, 2, 1])).tolist() == [0, 1, 2]
    assert len(thin(np.array([900, 2, 1]), 2)) == 2


def make_trials(scores, n_leaves, alphas=None):
    alphas = alphas or [0.0] * len(n_leaves)
    params, table = [{"ccp_alpha": a} for a in alphas], np.array(scores, float)
    return Trials(params, np.array(n_leaves), table, Pooling(np.ones(table.shape[1])))


def test_the_best_is_the_simplest_of_the_highest_scores():
    trials = make_trials([[1, 3], [2, 2], [0, 0]], [9, 5, 1])
    assert choose(trials, "best") == 1
    assert choose(make_trials([[1, 3], [2, 2]], [5, 5], [0.1, 0.2]), "best") == 1
    assert choose(make_trials([[1, 3], [2, 2]], [5, 5]), "best") == 0


def test_one_standard_error_is_that_of_the_best():
    # The best has mean 10 and standard error 1: 9 is within it, 8.99 is not.
    best = [9, 11]
    assert choose(make_trials([best, [9, 9], [8.99, 8.99]], [9, 5, 1]), "one_se") == 1
    assert choose(make_trials([best, [9, 9], [8.99, 8.99]], [9, 5, 1]), "best") == 0
    assert choose(make_trials([best, [9, 9], [9.5, 9.5]], [9, 5, 5]), "one_se") == 2
    assert choose(make_trials([best, [9, 9], [9.5, 9.5]], [9, 5, 5], [0, 0.2, 0.1]), "one_se") == 1
    assert choose(make_trials([[10], [9]], [9, 1]), "one_se") == 0  # one split has no error


def test_candidates_without_a_score_are_not_chosen():
    trials = make_trials([[np.nan, 5], [1, 1]], [1, 9])
    assert choose(trials, "one_se") == 1
    assert make_results(trials)["rank_test_score"].tolist() == [2, 1]
    with pytest.raises(InputError, match="No candidate has a score"):
        choose(make_trials([[np.nan], [np.nan]], [1, 9]), "best")


def test_results_have_the_form_of_a_grid_search():
    X, y = load_diabetes(return_X_y=True)
    grid = {"ccp_alpha": [10.0, 50.0, 50.5], "max_depth": [None, 3]}
    theirs = GridSearchCV(DecisionTreeRegressor(), grid, cv=3).fit(X, y).cv_results_
    scores = np.column_stack([theirs[f"split{number}_test_score"] for number in range(3)])
    trials = Trials(theirs["params"], np.arange(6), scores, Pooling(np.ones(3)))
    ours = make_results(trials)
    for name in ours.keys() - {"n_leaves", "se_test_score"}:
        if name == "params":
            assert ours[name] == theirs[name]
        else:
            assert ours[name].dtype == theirs[name].dtype, name
            assert ours[name].tolist() == theirs[name].tolist(), name
    assert theirs.keys() - ours.keys() == {
        "mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"
    }  # fmt: skip
