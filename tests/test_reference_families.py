"""The plain-Python twin of shared growth: the same trees with less work."""

import random
from dataclasses import replace
from itertools import product

import pytest
from cases import BASE_SEED, Case
from family_cases import FamilyCase, draw_family
from reference.families import Group, Growth, Member
from reference.grower import Rules, grow
from reference.routing import Tree, goes_left, grow_tree, to_tree

CRITERIA = ["gini", "entropy", "gain_ratio", "squared_error"]
GINI = Rules("gini")


def make_case(rows, target, rules=GINI) -> Case:
    return Case(
        [list(map(float, row)) for row in rows],
        [0] * len(rows[0]),
        list(target),
        max(target) + 1,
        None,
        None,
        rules,
    )


def make_folds(case: Case, fold_of) -> FamilyCase:
    """The final tree, then one without each fold."""
    rows = range(len(case.rows))
    sets = [rows, *([row for row in rows if fold_of[row] != f] for f in sorted(set(fold_of)))]
    return FamilyCase(case, [Member(frozenset(own), case.rules) for own in sets])


def grow_shared(family: FamilyCase, **options) -> tuple[Growth, list[Tree]]:
    growth = Growth(family.reference, **options)
    nodes = growth.grow()
    return growth, [to_tree(own, p) for own, p in zip(nodes, growth.problems, strict=True)]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_members_get_the_trees_that_they_grow_alone(criterion):
    rng = random.Random(f"shared {criterion} {BASE_SEED}")
    for _ in range(50):
        family = draw_family(rng, criterion)
        options = {"tolerance": rng.choice([0.0, 0.1, 0.4, 1.0])}
        growth, trees = grow_shared(family, **options)
        for problem, tree in zip(growth.problems, trees, strict=True):
            assert repr(grow_tree(problem)) == repr(tree), f"{family}\n{options}"
        assert growth.work.statistic_updates <= growth.work.serial_statistic_updates


def test_a_stable_cross_validation_costs_as_much_as_one_tree():
    """The best case of the paper: every fold agrees, so K folds and the final tree cost 1/K."""
    case = make_case([[x, 0] for x in range(12)], [int(x > 5) for x in range(12)])
    growth, trees = grow_shared(make_folds(case, [0, 0, 1, 1, 2, 2, 2, 2, 1, 1, 0, 0]))
    assert [len(tree.feature) for tree in trees] == [3, 3, 3, 3]
    assert growth.work.statistic_updates == 12 * 1  # the other column does not vary
    assert growth.work.serial_statistic_updates == 3 * 12
    assert growth.work.forks == 0
    assert growth.work.distinct_tests_per_level[0] > 1  # thresholds differ by held-out rows only


@pytest.mark.parametrize("tolerance", [0.0, 0.2])
def test_thresholds_that_differ_by_few_rows_share_a_node(tolerance):
    """Figure 8 of the paper: the rows in between lie left for some members, right for others."""
    case = make_case([[x] for x in range(10)], [0, 0, 0, 0, 1, 0, 1, 1, 1, 1])
    everything = frozenset(range(10))
    members = [Member(everything - {0}, GINI), Member(everything - {9}, GINI)]
    growth, trees = grow_shared(FamilyCase(case, members), tolerance=tolerance)
    assert [tree.threshold[0] for tree in trees] == [5.5, 3.5]
    assert growth.work.forks == (tolerance == 0)  # rows 4 and 5 are ambiguous, or the two part


class Watched(Growth):
    """Remembers the last node that each row reached in each member."""

    def search(self, group: Group):
        self.last = getattr(self, "last", {})
        for row, members in group.present.items():
            self.last.update({(m, row): group.nodes[m].path for m in members})
        return super().search(group)


def test_held_out_rows_follow_their_own_member():
    rng = random.Random(f"held out {BASE_SEED}")
    for _ in range(20):
        family = draw_family(rng, "gini")
        growth = Watched(family.reference)
        trees = [to_tree(*pair) for pair in zip(growth.grow(), growth.problems, strict=True)]
        for (m, tree), row in product(enumerate(trees), range(len(family.case.rows))):
            if not family.members[m].rules.max_leaf_nodes:
                assert growth.last[m, row] == walk(tree, family.case.rows[row]), f"{family} {m}"


def walk(tree: Tree, row) -> str:
    node, path = 0, ""
    while tree.children_left[node] != -1:
        is_left = goes_left(tree, node, row)
        path += "L" if is_left else "R"
        node = (tree.children_left if is_left else tree.children_right)[node]
    return path


def test_nodes_that_nobody_asks_for_stay_leaves():
    rng = random.Random(f"demand {BASE_SEED}")
    for _ in range(40):
        family = draw_family(rng, rng.choice(["gini", "squared_error"]))
        n_rows = len(family.case.rows)
        members = [
            replace(
                member,
                rules=replace(member.rules, max_leaf_nodes=0),
                asked=frozenset(rng.sample(range(n_rows), rng.randint(0, 2))),
            )
            for member in family.members
        ]
        lazy = FamilyCase(family.case, members)
        growth = Growth(lazy.reference)
        for member, problem, nodes in zip(members, growth.problems, growth.grow(), strict=True):
            whole = to_tree(grow(problem), problem)
            paths = {walk(whole, lazy.case.rows[row]) for row in member.asked}
            reached = {path[:depth] for path in paths for depth in range(len(path))}
            assert {node.path for node in nodes if node.children} == reached, lazy
            by_path = {node.path: node for node in grow(problem)}
            for node in nodes:
                assert node.stats == by_path[node.path].stats
                assert not node.children or node.split == by_path[node.path].split
