"""The plain-Python twin, tested on its own: worked examples, laws, and its own brute force."""

import random
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import inf, nan, nextafter

import pytest
from reference import draws
from reference.columns import MISSING, encode_categories, encode_numbers, encode_sparse
from reference.criteria import impurity, quality, total_entropy
from reference.grower import Problem, Rules
from reference.pruning import best_subtree, leaves_below, node_costs, pruning_path
from reference.routing import apply, grow_tree, visited_nodes
from reference.single_sort import Entry, part_order, position_codes, sort_once, to_positions
from reference.sparse_rows import (
    by_binary_search,
    by_look_up,
    nonzeros_in_node,
    prefers_binary_search,
    reverse_map,
)
from reference.splits import Limits, find_splits, midpoint
from reference.statistics import add_up_classes, add_up_numbers, to_grid

# The single-sort paper ------------------------------------------------------------------------

F1 = [8, 3, 12, 1, 10, 5, 13, 11, 6, 7, 9, 14, 15, 4, 16, 2]
F2 = [7, 2, 11, 14, 9, 16, 15, 4, 8, 12, 13, 5, 6, 1, 3, 10]
G = [1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1]
# fmt: off
Y1_PRINTED = [
    (3, 0, 1), (15, 1, 2), (1, 0, 3), (13, 0, 4), (5, 1, 5), (8, 1, 6), (9, 1, 7), (0, 0, 8),
    (10, 1, 9), (4, 0, 10), (7, 1, 11), (2, 1, 12), (6, 1, 13), (11, 1, 14), (12, 0, 15),
    (14, 1, 16),
]
Y2_PRINTED = [
    (13, 1, 1), (1, 0, 2), (14, 0, 3), (7, 0, 4), (11, 1, 5), (12, 1, 6), (0, 1, 7), (8, 1, 8),
    (4, 1, 9), (15, 1, 10), (2, 0, 11), (9, 0, 12), (10, 1, 13), (3, 0, 14), (6, 1, 15),
    (5, 1, 16),
]
Y2_AFTER_PRINTED = [
    (13, 1, 1), (1, 0, 2), (0, 1, 7), (8, 1, 8), (15, 1, 10), (9, 0, 12), (3, 0, 14), (5, 1, 16),
    (14, 0, 3), (7, 0, 4), (11, 1, 5), (12, 1, 6), (4, 1, 9), (2, 0, 11), (10, 1, 13), (6, 1, 15),
]
T1_PRINTED = [7, 2, 11, 0, 9, 4, 12, 10, 5, 6, 8, 13, 14, 3, 15, 1]
T2_PRINTED = [6, 1, 10, 13, 8, 15, 14, 3, 7, 11, 12, 4, 5, 0, 2, 9]
T2_AFTER_PRINTED = [2, 1, 13, 6, 12, 7, 15, 9, 3, 5, 14, 10, 11, 0, 8, 4]
# fmt: on


def test_single_sort_example_has_the_printed_orders():
    order_1, order_2 = sort_once(F1, G), sort_once(F2, G)
    assert [(e.from_row, e.y) for e in order_1] == [(f, y) for f, _, y in Y1_PRINTED]
    assert order_2 == Y2_PRINTED
    assert to_positions(order_1) == T1_PRINTED
    assert to_positions(order_2) == T2_PRINTED


def test_single_sort_example_prints_eight_wrong_goals_in_its_first_order():
    slips = [
        printed[0]
        for entry, printed in zip(sort_once(F1, G), Y1_PRINTED, strict=True)
        if entry != printed
    ]
    assert slips == [13, 9, 0, 4, 7, 2, 12, 14]
    assert all(goal != G[row] for row, goal, _ in Y1_PRINTED if row in slips)


def test_single_sort_example_splits_as_printed():
    order_1, order_2 = sort_once(F1, G), sort_once(F2, G)
    after = part_order(order_2, to_positions(order_1), 0, 8, 16)
    assert after == Y2_AFTER_PRINTED
    assert to_positions(after) == T2_AFTER_PRINTED
    assert [entry.y for entry in after[:8]] == [1, 2, 7, 8, 10, 12, 14, 16]
    assert [entry.y for entry in after[8:]] == [3, 4, 5, 6, 9, 11, 13, 15]
    labels = "ABCDEFGHIJKLMNOP"
    assert {labels[entry.from_row] for entry in after[:8]} == set("DPBNFIJA")


def test_position_encoding_example_lacks_one_number_in_print():
    codes = position_codes([11, 32, 47, 11, 17, 28, 32, 55])
    assert codes == [1, 4, 5, 1, 2, 3, 4, 6]
    printed = [1, 4, 5, 1, 2, 4, 6]
    assert printed == codes[:5] + codes[6:]


def test_a_scan_keeps_every_node_sorted_at_any_depth():
    rng = random.Random(1)
    for _ in range(100):
        n_rows = rng.randint(1, 20)
        goals = [rng.randint(0, 1) for _ in range(n_rows)]
        orders = [sort_once([rng.randint(0, 6) for _ in goals], goals) for _ in range(3)]
        segments = [(0, n_rows)]
        while segments:
            start, end = segments.pop()
            for order in orders:
                assert [e.y for e in order[start:end]] == sorted(e.y for e in order[start:end])
            if end - start > 1:
                chosen, middle = rng.randrange(3), rng.randint(start + 1, end - 1)
                to = to_positions(orders[chosen])
                orders = [part_order(order, to, start, middle, end) for order in orders]
                segments += [(start, middle), (middle, end)]
        rows = [{e.from_row for e in order} for order in orders]
        assert rows == [set(range(n_rows))] * 3
    assert isinstance(orders[0][0], Entry)


# The sparse paper -----------------------------------------------------------------------------


def test_sparse_rows_are_found_alike_by_search_and_look_up():
    rng = random.Random(2)
    for _ in range(300):
        n_rows = rng.randint(1, 40)
        samples = rng.sample(range(n_rows), n_rows)
        start = rng.randrange(n_rows)
        end = rng.randint(start + 1, n_rows)
        indices = sorted(rng.sample(range(n_rows), rng.randint(0, n_rows)))
        expected = sorted(set(samples[start:end]) & set(indices))
        assert by_binary_search(samples[start:end], indices) == expected
        assert by_look_up(reverse_map(samples), start, end, indices) == expected
        assert nonzeros_in_node(samples, start, end, indices) == expected


def test_sparse_rule_searches_in_small_nodes_and_walks_in_large_ones():
    assert prefers_binary_search(10, 10_000)
    assert not prefers_binary_search(10_000, 10_000)
    assert not prefers_binary_search(10, 0)


def test_sparse_paper_matrix_is_read_as_printed():
    indptr, indices, data = [0, 2, 3, 6], [0, 2, 2, 0, 1, 2], [1, 2, 3, 4, 5, 6]
    columns = [encode_sparse(3, indices[a:b], data[a:b]) for a, b in pairwise(indptr)]
    decoded = [[c.values[code] for code in c.codes] for c in columns]
    assert decoded == [[1, 0, 2], [0, 0, 3], [4, 5, 6]]


# The lecture ----------------------------------------------------------------------------------

MAJORS = ["Math", "History", "CS", "Math", "Math", "CS", "Math", "History"]
LIKES = ["Yes", "No", "Yes", "No", "No", "Yes", "Yes", "No"]


def entropy(labels):
    counts = tuple(labels.count(label) for label in sorted(set(labels)))
    return total_entropy(counts) / Decimal(len(labels))


def test_casablanca_entropies_are_those_of_the_lecture():
    def of_major(major):
        return [y for x, y in zip(MAJORS, LIKES, strict=True) if x == major]

    specific = {major: entropy(of_major(major)) for major in set(MAJORS)}
    conditional = sum(specific[major] for major in MAJORS) / len(MAJORS)
    assert float(entropy(LIKES)) == 1.0
    assert float(entropy(MAJORS)) == 1.5
    assert {m: float(h) for m, h in specific.items()} == {"Math": 1.0, "History": 0.0, "CS": 0.0}
    assert float(conditional) == 0.5
    assert float(entropy(LIKES) - conditional) == 0.5
    assert MAJORS.count("Math") / 8 == 0.5
    assert sum(x == "Math" and y == "No" for x, y in zip(MAJORS, LIKES, strict=True)) / 8 == 0.25


def test_casablanca_tree_asks_for_one_major_first_and_gains_the_lecture_half_bit_in_two_splits():
    names = ["CS", "History", "Math"]
    column = encode_categories([names.index(major) for major in MAJORS], 3)
    additive = add_up_classes([int(y == "Yes") for y in LIKES], 2)
    tree = grow_tree(Problem([column], additive, Rules("entropy")))
    assert tree.n_node_samples[0] == 8
    assert tree.impurity[0] == 1.0
    leaves = [n for n, child in enumerate(tree.children_left) if child == -1]
    assert len(leaves) == 3
    remaining = sum(tree.impurity[n] * tree.n_node_samples[n] / 8 for n in leaves)
    assert remaining == 0.5


# Columns and statistics -----------------------------------------------------------------------


def test_codes_are_ranks_and_missing_stands_apart():
    column = encode_numbers([2.5, nan, -1.0, 2.5, 0.0, -0.0])
    assert column.values == (-1.0, 0.0, 2.5)
    assert column.codes == (2, MISSING, 0, 2, 1, 1)


def test_stored_zeros_equal_absent_ones():
    assert encode_sparse(3, [1], [4.0]) == encode_sparse(3, [0, 1, 2], [-0.0, 4.0, 0.0])


def test_grid_numbers_are_exact():
    numbers = [0.1, 3.0, 2.0**-60, -7.25]
    on_grid, unit = to_grid(numbers)
    assert [n * unit for n in on_grid] == [Fraction(x) for x in numbers]


@pytest.mark.parametrize(
    ("low", "high", "middle"),
    [
        (1.0, 2.0, 1.5),
        (-1.7e308, 1.7e308, 0.0),
        (1.6e308, 1.7e308, 1.6e308 / 2 + 1.7e308 / 2),
        (1.0, nextafter(1.0, 2.0), 1.0),
        (nextafter(1.0, 2.0), nextafter(nextafter(1.0, 2.0), 2.0), nextafter(1.0, 2.0)),
        (-5e-324, 0.0, -5e-324),
        (0.0, 5e-324, 0.0),
    ],
)
def test_midpoint_parts_its_neighbours(low, high, middle):
    assert midpoint(low, high) == middle
    assert low <= midpoint(low, high) < high


# Criteria -------------------------------------------------------------------------------------


def test_gini_and_variance_follow_the_textbook():
    rng = random.Random(3)
    for _ in range(200):
        classes = [rng.randint(0, 3) for _ in range(rng.randint(1, 9))]
        additive = add_up_classes(classes, 4)
        shares = [Fraction(classes.count(c), len(classes)) for c in range(4)]
        assert impurity("gini", range(len(classes)), additive) == float(
            1 - sum(p * p for p in shares)
        )
        numbers = [rng.uniform(-1, 1) for _ in classes]
        additive = add_up_numbers(numbers)
        exact = [Fraction(y) for y in numbers]
        mean = sum(exact) / len(exact)
        variance = sum((y - mean) ** 2 for y in exact) / len(exact)
        own = impurity("squared_error", range(len(classes)), additive)
        assert own == pytest.approx(float(variance), rel=1e-14, abs=1e-30)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_quality_orders_splits_as_the_impurity_of_the_children_does(criterion):
    rng = random.Random(4)
    for _ in range(100):
        n_rows = rng.randint(3, 10)
        if criterion == "squared_error":
            additive = add_up_numbers([rng.randint(-3, 3) for _ in range(n_rows)])
        else:
            additive = add_up_classes([rng.randint(0, 2) for _ in range(n_rows)], 3)
        total = additive.total(range(n_rows))
        scores = []
        for size in range(1, n_rows):
            left = additive.total(range(size))
            inside = size * impurity(criterion, range(size), additive)
            inside += (n_rows - size) * impurity(criterion, range(size, n_rows), additive)
            scores.append((quality(criterion, total, left), inside))
        best = max(scores)
        assert best[1] == pytest.approx(min(inside for _, inside in scores), abs=1e-12)


def test_gain_ratio_divides_the_gain_by_the_information_of_the_split():
    total, left = (8, 4, 4), (2, 0, 2)
    gain = quality("entropy", total, left)
    assert quality("gain_ratio", total, left) == pytest.approx(
        float(gain) / (8 * 3 - 2 * 1 - 6 * 2.584962500721156), rel=1e-12
    )


# Splits and ties ------------------------------------------------------------------------------


def best(columns, additive, criterion="gini", limits=None):
    rows = range(len(additive.vectors))
    return find_splits(criterion, dict(enumerate(columns)), rows, additive, limits or Limits())[0]


def test_xor_is_solved_through_a_split_of_zero_gain():
    a, b = [0, 0, 1, 1], [0, 1, 0, 1]
    columns = [encode_numbers(a), encode_numbers(b)]
    tree = grow_tree(Problem(columns, add_up_classes([0, 1, 1, 0], 2), Rules("gini")))
    assert tree.feature[0] == 0
    assert tree.impurity == [0.5, 0.5, 0.0, 0.0, 0.5, 0.0, 0.0]


def test_ties_go_to_the_lower_column_then_the_lower_threshold_then_missing_left():
    classes = add_up_classes([0, 1, 0, 1], 2)
    twin = encode_numbers([0, 1, 2, 3])
    split = best([twin, twin], classes)
    assert (split.column, split.threshold) == (0, 0.5)
    with_missing = encode_numbers([0, 1, nan, nan])
    split = best([with_missing], classes)
    assert (split.threshold, split.missing_left) == (0.5, True)


def test_missing_against_present_is_a_split():
    split = best([encode_numbers([5, 5, nan, nan])], add_up_classes([0, 0, 1, 1], 2))
    assert (split.threshold, split.missing_left) == (inf, False)


def test_left_set_holds_the_lowest_category_present():
    additive = add_up_numbers([5.0, 1.0, 1.0, 5.0])
    split = best([encode_categories([2, 3, 4, 5], 7)], additive, "squared_error")
    assert split.left_codes == {2, 5}


def test_categories_of_equal_mean_are_parted_only_if_all_are_equal():
    additive = add_up_classes([0, 1, 0, 1, 1], 2)
    column = encode_categories([0, 0, 1, 1, 2], 3)

    def left_sets(rows):
        splits = find_splits("gini", {0: column}, rows, additive, Limits())
        return [split.left_codes for split in splits]

    assert left_sets(range(5)) == [{0, 1}]
    assert left_sets(range(4)) == [{0}]


def test_ordering_by_mean_is_as_good_as_all_subsets():
    rng = random.Random(5)
    for _ in range(100):
        n_rows = rng.randint(3, 12)
        column = encode_categories([rng.randrange(5) for _ in range(n_rows)], 5)
        classes = [rng.randrange(2) for _ in range(n_rows)]
        additive = add_up_classes(classes, 2)
        splits = find_splits("gini", {0: column}, range(n_rows), additive, Limits())
        total = additive.total(range(n_rows))
        worst = float(sum(x * x for x in total[1:])) / n_rows  # of a split that gains nothing
        best_quality = splits[0].quality if splits else worst
        for number in range(1, 2**5 - 1):
            rows = [r for r in range(n_rows) if number >> column.codes[r] & 1]
            if 0 < len(rows) < n_rows:
                assert quality("gini", total, additive.total(rows)) <= best_quality + 1e-12


# Growth ---------------------------------------------------------------------------------------


def random_problem(rng, rules):
    n_rows = rng.randint(1, 14)
    rows = [
        [rng.choice([0.0, 1.0, 2.0, 3.0, nan]), rng.random(), rng.randrange(4)]
        for _ in range(n_rows)
    ]
    by_column = list(zip(*rows, strict=True))
    columns = [*map(encode_numbers, by_column[:2]), encode_categories(by_column[2], 4)]
    classes = [rng.randrange(3) for _ in range(n_rows)]
    return rows, Problem(columns, add_up_classes(classes, 3), rules)


def test_routing_by_value_agrees_with_growth_by_code():
    rng = random.Random(6)
    for _ in range(100):
        rows, problem = random_problem(rng, Rules("gini"))
        tree = grow_tree(problem)
        counts = [0] * len(tree.feature)
        for row in rows:
            for node in visited_nodes(tree, row):
                counts[node] += 1
        assert counts == tree.n_node_samples
        assert all(tree.children_left[leaf] == -1 for leaf in apply(tree, rows))


def test_best_first_trees_are_nested_and_end_in_the_full_tree():
    rng = random.Random(7)
    for _ in range(40):
        seed = rng.random()
        trees = [
            grow_tree(random_problem(random.Random(seed), Rules("gini", max_leaf_nodes=n))[1])
            for n in (0, 1, 2, 3, 4, 50)
        ]
        sizes = [len(tree.feature) for tree in trees]
        assert trees[0] == trees[-1]
        assert sizes[1:] == sorted(sizes[1:])
        assert all(size <= 2 * n - 1 for size, n in zip(sizes[1:5], (1, 2, 3, 4), strict=True))


def test_draws_are_splitmix64_and_prefer_no_column():
    assert draws.mix(0) == 0xE220A8397B1DCDAF  # the published first output for seed 0
    firsts = [draws.draw_columns(draws.root_key(seed, 0), [True] * 4, 1)[0] for seed in range(4000)]
    assert all(900 < firsts.count(column) < 1100 for column in range(4))
    assert draws.draw_columns(1, [False, True, False], 3) == [1]


# Pruning --------------------------------------------------------------------------------------


def test_pruning_path_is_the_path_of_smallest_best_subtrees():
    rng = random.Random(8)
    for _ in range(60):
        _, problem = random_problem(rng, Rules("gini"))
        tree = grow_tree(problem)
        children = list(zip(tree.children_left, tree.children_right, strict=True))
        costs = node_costs(tree.impurity, tree.weighted_n_node_samples)
        path = pruning_path(children, costs)
        assert path[0].alpha == 0
        assert path[-1].leaves == (0,)
        assert leaves_below(0, children, set())[0] != 0 or len(children) == 1
        for step, later in zip(path, [*path[1:], path[-1]], strict=True):
            between = (step.alpha + later.alpha) / 2
            assert best_subtree(children, costs, step.alpha) == step.leaves
            if later is not step:
                assert best_subtree(children, costs, between) == step.leaves
