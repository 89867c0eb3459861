"""The bridge from cases to the compiled core, and from its trees back to the twin's words."""

from dataclasses import fields

import numpy as np
from cases import Case
from reference.grower import Rules
from reference.routing import Tree
from scipy import sparse

from treefold import _native


def grow_core(
    case: Case, is_sparse: bool = False, n_threads: int = 1, **switches: str
) -> _native.Tree:
    """The tree of a case. switches: of the core's rules that the twin's do not have."""
    rules = core_rules(case.rules, len(case.n_categories), case.multipliers)
    for name, value in switches.items():
        setattr(rules, name, value)
    kind = np.int32 if case.n_classes else np.float64
    weights = None if case.weights is None else np.array(case.weights, dtype=np.float64)
    return _native.grow(
        make_table(case, is_sparse, n_threads),
        np.array(case.target, dtype=kind),
        case.n_classes,
        weights,
        rules,
        n_threads,
    )


def make_table(case: Case, is_sparse: bool = False, n_threads: int = 1) -> _native.Table:
    return _native.Table(make_source(case.rows, case.n_categories, is_sparse), n_threads)


def core_rules(rules: Rules, n_columns: int, multipliers: list[float] | None) -> _native.Rules:
    result = _native.Rules()
    for field in fields(Rules):
        if field.name != "max_features":
            setattr(result, field.name, getattr(rules, field.name))
    result.max_features = n_columns if rules.max_features is None else rules.max_features
    if multipliers is not None:
        result.class_multipliers = np.array(multipliers, dtype=np.float64)
    return result


def make_source(rows, n_categories, is_sparse: bool = False) -> _native.Source:
    """Sparse: every column by its non-zeros and some stored zeros, one call per column."""
    matrix = np.array(rows, dtype=np.float64)
    source = _native.Source(*matrix.shape)
    source.add_dense(0, matrix)
    for column, n in enumerate(n_categories):
        if n:
            source.set_categories(column, n)
        if is_sparse:
            stored = [row for row, x in enumerate(matrix[:, column]) if x != 0 or row % 5 == 0]
            indices = np.array(stored, dtype=np.int64 if column % 2 else np.int32)
            indptr = np.array([0, len(stored)], dtype=indices.dtype)
            source.add_csc(column, matrix[stored, column], indices, indptr)
    return source


def open_rows(table: _native.Table, rows=None) -> _native.Source:
    """Rows of a table, to be predicted; all of them if none are named."""
    n_rows = table.n_rows if rows is None else len(rows)
    source = _native.Source(n_rows, table.n_columns)
    source.add_table(table, None if rows is None else np.asarray(rows, dtype=np.uint32))
    return source


def make_sparse_rows(rows, n_categories) -> _native.Source:
    """For prediction: all columns by rows, then the categorical ones again, dense."""
    matrix = np.array(rows, dtype=np.float64)
    compressed = sparse.csr_array(matrix)
    source = _native.Source(*matrix.shape)
    source.add_csr(0, compressed.data, compressed.indices, compressed.indptr, matrix.shape[1])
    for column, n in enumerate(n_categories):
        if n:
            source.add_dense(column, matrix[:, [column]])
            source.set_categories(column, n)
    return source


def read_unknown(tree: _native.Tree) -> list[bool]:
    """The side of unknown categories; a tree of numbers does without it."""
    return [bool(side) for side in tree.unknown_go_to_left] or [False] * tree.node_count


def read_tree(tree: _native.Tree) -> Tree:
    """The core's tree in the twin's words."""
    begin, words = tree.category_begin, tree.category_words
    categories = []
    for node in range(tree.node_count):
        number = sum(int(w) << 64 * i for i, w in enumerate(words[begin[node] : begin[node + 1]]))
        categories.append(frozenset(c for c in range(number.bit_length()) if number >> c & 1))
    return Tree(
        children_left=tree.children_left.tolist(),
        children_right=tree.children_right.tolist(),
        feature=tree.feature.tolist(),
        threshold=tree.threshold.tolist(),
        left_categories=categories,
        missing_go_to_left=[bool(side) for side in tree.missing_go_to_left],
        unknown_go_to_left=read_unknown(tree),
        impurity=tree.impurity.tolist(),
        n_node_samples=tree.n_node_samples.tolist(),
        weighted_n_node_samples=tree.weighted_n_node_samples.tolist(),
        value=tree.value.tolist(),
        n_categories=tree.n_categories.tolist(),
    )
