"""The compiled core. Only arrays of fixed types, numbers and strings cross this line.

Categorical columns arrive as category numbers 0..n_categories-1 (any numeric dtype), NaN if
missing, or as labels that are numbers; other labels are `treefold.schema`'s business. Every call
releases the interpreter lock, and raises KeyboardInterrupt soon after Ctrl-C.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

build: str

def cpu_runs_v3() -> bool: ...

class Source:
    """Columns as the caller holds them: borrowed, never copied whole.

    Later calls replace the columns that earlier ones set. Arrays may have any strides; dtypes are
    bool, int8..int64, uint8..uint64, float32, float64. The object keeps the arrays alive.
    """

    def __init__(self, n_rows: int, n_columns: int) -> None: ...
    def add_dense(self, first_column: int, values: NDArray[Any]) -> None:
        """Columns first_column .. first_column + values.shape[1] - 1 of a 2-D array."""
    def add_csc(
        self,
        first_column: int,
        data: NDArray[Any],
        indices: NDArray[np.int32] | NDArray[np.int64],
        indptr: NDArray[np.int32] | NDArray[np.int64],
    ) -> None:
        """Sparse columns, to encode. Indices sorted, no duplicates; explicit zeros allowed."""
    def add_csr(
        self,
        first_column: int,
        data: NDArray[Any],
        indices: NDArray[np.int32] | NDArray[np.int64],
        indptr: NDArray[np.int32] | NDArray[np.int64],
        n_columns: int,
    ) -> None:
        """Sparse rows, to predict. A Table cannot be made from them."""
    def add_table(self, table: Table, rows: NDArray[np.uint32] | None = None) -> None:
        """All columns of an encoded table, with their categories, decoded as they are read; of
        some rows (at least one) if they are named."""
    def set_categories(self, column: int, n_categories: int) -> None: ...
    def set_labels(self, column: int) -> None:
        """Every distinct number of this dense column is a category, numbered in ascending order."""

class Table:
    """Rank-encoded columns. Immutable, safe to share between threads."""

    def __init__(self, source: Source, n_threads: int, may_borrow: bool = False) -> None:
        """Raises ValueError("... column {j} ... row {i} ...") on an infinite value, or a category
        number that is out of range or not whole.

        With `may_borrow` columns of many values keep none of them: growth reads them from the
        source, which lives as long as the table. Such a table grows whole trees and nothing else.
        """
    @property
    def n_rows(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def n_categories(self) -> NDArray[np.int32]:
        """Per column; 0 means numeric."""
    @property
    def is_sparse(self) -> NDArray[np.bool_]:
        """Columns kept by their non-zeros (a dense column of a sparse matrix is kept dense)."""
    @property
    def has_missing(self) -> NDArray[np.bool_]: ...
    @property
    def n_codes(self) -> NDArray[np.int64]:
        """Per column: distinct values, or categories; the missing code apart."""
    def values(self, column: int) -> NDArray[np.float64]:
        """The distinct values of a numeric column, ascending; category numbers otherwise."""
    def labels(self, column: int) -> NDArray[np.float64]:
        """The distinct numbers of a column; where they are categories (`Source.set_labels`) too."""
    def codes(self, column: int) -> NDArray[np.uint32]:
        """One code per row; n_codes[column] stands for missing."""

class Rules:
    """How one tree grows. Every field is validated by the caller."""

    criterion: str  # "gini" | "entropy" | "gain_ratio" | "squared_error"
    search: str  # "fastest" | "exact": without filters, for tests
    order: str  # "last" | "level": which nodes that wait are divided next, for tests
    max_depth: int  # 2**31 - 1: unlimited
    min_samples_split: int
    min_samples_leaf: int
    min_samples_category: int
    min_weight_leaf: float  # absolute weight, not a fraction
    max_features: int
    max_leaf_nodes: int  # 0: unlimited, depth first
    min_impurity_decrease: float
    min_impurity: float
    seed: int  # uint64
    tree: int  # which bag: part of the key of every draw
    class_multipliers: NDArray[np.float64] | None
    def __init__(self) -> None: ...
    def __copy__(self) -> Rules: ...

def grow(
    table: Table,
    target: NDArray[np.int32] | NDArray[np.float64],
    n_classes: int,
    sample_weight: NDArray[np.float64] | None,
    rules: Rules,
    n_threads: int,
    asked: NDArray[np.uint32] | None = None,
) -> Tree:
    """The exact tree. target: class numbers (n_classes >= 1) or real numbers (n_classes == 0).
    Rows of weight zero do not exist. asked: rows of the table that want an answer; nodes that none
    of them reaches are not grown."""

def leave_one_out(
    table: Table,
    target: NDArray[np.int32] | NDArray[np.float64],
    n_classes: int,
    sample_weight: NDArray[np.float64] | None,
    rules: Rules,
    asked: NDArray[np.uint32],
    n_threads: int,
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """For each row that asks the answer of the tree that is grown from all rows but this one, and
    the work that it was. Answers come row by row of the table, max(1, n_classes) numbers each."""

def read_lines(source: Source) -> NDArray[np.float64]:
    """All rows and columns; NaN where a value is missing, or a category unknown."""

def grow_family(
    table: Table,
    target: NDArray[np.int32] | NDArray[np.float64],
    n_classes: int,
    sample_weight: NDArray[np.float64] | None,
    members: list[
        tuple[
            NDArray[np.uint32] | None,
            NDArray[np.uint32] | None,
            NDArray[np.float64] | None,
            Rules,
            NDArray[np.uint32] | None,
            bool,
        ]
    ],
    sharing: str,
    n_threads: int,
    report: Callable[[int], None] | None = None,
) -> tuple[list[Tree], list[NDArray[np.int64]], dict[str, Any]]:
    """The exact trees of all members (rows, weights, rules, asked, is_whole), the leaves of those
    that asked, and what was done. rows: ascending, None for all. weights: instead of sample_weight.
    is_whole: grow what nobody who asks reaches, too. sharing: "none", "overlap" or "folds"; the
    trees are the same."""

def can_search_together(table: Table, rules: Rules) -> bool:
    """Whether members of these rules can be searched together for classes whose rows count once."""

def count_strata(
    members: list[tuple[NDArray[np.uint32] | None, NDArray[np.uint32] | None]],
    n_rows: int,
    n_looked_at: int,
) -> int:
    """How many different sets of members some rows of a table train, of so many evenly spaced ones.
    members: the rows that train, ascending, or those that do not."""

def answer_family(
    table: Table,
    target: NDArray[np.int32] | NDArray[np.float64],
    n_classes: int,
    sample_weight: NDArray[np.float64] | None,
    members: list[
        tuple[
            NDArray[np.uint32] | None,
            NDArray[np.uint32] | None,
            NDArray[np.float64] | None,
            Rules,
            NDArray[np.uint32] | None,
            bool,
        ]
    ],
    n_threads: int,
    questions: Source | None = None,
) -> tuple[list[NDArray[np.float64]], dict[str, Any]]:
    """What the tree of each member says of the rows that ask it (of the questions, or of the table
    if there are none): max(1, n_classes) numbers each, row by row. No tree is kept."""

def draw_bag(seed: int, tree: int, n_rows: int) -> NDArray[np.uint32]:
    """How often each of n rows is drawn in n draws with replacement."""

class Tree:
    """A grown tree: one array per field, in preorder. All arrays are read-only views."""

    node_count: int
    n_features: int
    n_classes: int  # 0 for regression
    max_depth: int
    n_leaves: int
    samples_of_all_nodes: int  # the sum of n_node_samples
    children_left: NDArray[np.int32]  # -1 in leaves
    children_right: NDArray[np.int32]
    feature: NDArray[np.int32]  # -2 in leaves
    # -2.0 in leaves, NaN in categorical splits, +inf: present | missing
    threshold: NDArray[np.float64]
    missing_go_to_left: NDArray[np.uint8]
    float32_side: NDArray[np.uint8]  # see treefold.interop
    unknown_go_to_left: NDArray[np.uint8]  # empty if no column has categories
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.int32]
    weighted_n_node_samples: NDArray[np.float64]
    value: NDArray[np.float64]  # (node_count, max(n_classes, 1)): class fractions, or the mean
    n_categories: NDArray[np.int32]  # per column, 0 = numeric
    # Categorical splits: category c goes left if bit c of the node's words is set. Categories
    # that the node does not have already stand where unknown ones go.
    category_begin: NDArray[np.int64]  # (node_count + 1): offsets into category_words
    category_words: NDArray[np.uint64]

    @staticmethod
    def from_arrays(arrays: dict[str, NDArray[Any]], n_classes: int) -> Tree:
        """Validates everything (lengths, ranges, children after parents, preorder, finite sizes)
        and raises ValueError on anything that growth could not have made. `arrays` has the array
        names above, children_left apart (preorder: it is the next node)."""
    def to_arrays(self) -> dict[str, NDArray[Any]]: ...
    def apply(self, source: Source, n_threads: int) -> NDArray[np.int64]:
        """The leaf of every row. Raises ValueError on an infinite value, naming column and row."""
    def decision_path(
        self, source: Source, n_threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """indptr and indices (ascending) of the nodes that each row visits."""
    def prune(self, ccp_alpha: float) -> Tree:
        """The smallest subtree that weakest-link pruning reaches with alphas <= ccp_alpha."""
    def pruning_path(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """ccp_alphas (first 0.0, never falling), total leaf impurities and leaves of the path."""
    def feature_importances(self) -> NDArray[np.float64]:
        """Weighted impurity decrease per column, over the root's weight; not normalised."""

    # Trees of tighter limits, read off this one. cells: float64 (n_cells, 5), the limits in the
    # order of treefold.rules.PATH_PARAMETERS, none of them NaN.
    def replay_tree(self, cells: NDArray[np.float64]) -> Tree:
        """The tree of the only cell."""
    def replay_sizes(
        self, cells: NDArray[np.float64], n_threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number of leaves and depth of each cell's tree."""
    def replay_nodes(
        self, cells: NDArray[np.float64], leaves: NDArray[np.int64], n_threads: int
    ) -> NDArray[np.int64]:
        """(n_cells, n_rows): where rows that end in these leaves here end in each cell's tree."""
    def replay_leaf_map(self, cells: NDArray[np.float64], n_threads: int) -> NDArray[np.int32]:
        """(n_cells, node_count): the leaf at or above each node, or the node if it is a split."""
    def replay_sums(
        self, cells: NDArray[np.float64], statistics: NDArray[np.float64], n_threads: int
    ) -> NDArray[np.float64]:
        """(n_cells, n_statistics): sums of (node_count, n_statistics) over each cell's leaves."""
    def add_up(self, lines: NDArray[np.float64]) -> NDArray[np.float64]:
        """(node_count, n_statistics): what each node and all nodes below it have."""

def count_correct(
    requests: list[
        tuple[Tree, NDArray[np.float64], list[NDArray[np.int64]], list[NDArray[np.int32]]]
    ],
    n_threads: int,
) -> list[NDArray[np.float64]]:
    """How many rows the trees of some cells predict rightly, (n_cells, n_tests) of each
    request: a full tree, cells as in `Tree.replay_sums`, and of each test the leaves of the full
    tree where its rows end, and their classes."""
