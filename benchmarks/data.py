"""The data of the benchmarks: published tables where they are at hand, otherwise the same shape.

The published tables are looked for in `../shared/data`, beside the project (or where
TREEFOLD_DATA points); the project does not ship them. Everything is a float64 array in C order,
categories as codes, missing as NaN: what both contestants get.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pyarrow import parquet, types

DATA = Path(os.environ.get("TREEFOLD_DATA", Path(__file__).parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Shape:
    """What a published table looks like, to make one of the same shape.

    `n_values` has the number of distinct values of each numeric column (0: continuous),
    `n_categories` those of each categorical column; `n_classes` is 0 for regression.
    """

    n_rows: int
    n_classes: int
    n_values: tuple[int, ...]
    n_categories: tuple[int, ...] = ()


SHAPES = {
    "covertype": Shape(
        581_012, 7, (1978, 361, 67, 551, 700, 5785, 207, 185, 255, 5827, *((2,) * 44))
    ),
    "letter": Shape(20_000, 26, (16,) * 16),
    "adult": Shape(48_842, 2, (74, 0, 16, 123, 99, 96), (8, 16, 7, 14, 6, 5, 2, 41)),
    "magic_gamma": Shape(19_020, 2, (0,) * 10),
    "california": Shape(20_640, 0, (0, 52, 0, 0, 3888, 0, 862, 844)),
    "abalone": Shape(4_177, 0, (134, 111, 51, 2429, 1515, 880, 926), (3,)),
    "kin8nm": Shape(8_192, 0, (0,) * 8),
    "protein_casp": Shape(45_730, 0, (*((0,) * 7), 350, 0)),
    "connect4": Shape(67_557, 3, (), (3,) * 42),
    "nursery": Shape(12_960, 5, (), (3, 5, 4, 4, 3, 2, 3, 3)),
    "led": Shape(10_000, 10, (), (2,) * 7),
    "pendigits": Shape(10_992, 10, (101,) * 16),
    "mushroom": Shape(
        8_124, 2, (), (6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 5, 4, 4, 9, 9, 1, 4, 3, 5, 9, 6, 7)
    ),
    "spambase": Shape(4_601, 2, (*((150,) * 54), 2161, 271, 919)),
    "internet_ads": Shape(1_966, 2, (2,) * 1_555),
    "car": Shape(1_728, 4, (), (4, 4, 4, 3, 3, 3)),
    "yeast": Shape(1_484, 10, (81, 79, 53, 78, 2, 3, 48, 68)),
}
FILES = {"internet_ads": "internet_ads_dedup"}  # where the file is not called as the table is


@dataclass(frozen=True)
class Data:
    """A table ready to fit."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.generic]
    is_generated: bool
    categorical: list[int] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Name and size, and a word where the data is a stand-in."""
        n_rows, n_columns = self.X.shape
        return f"{self.name} {n_rows:,} x {n_columns}" + (
            " (generated)" if self.is_generated else ""
        )


def load(name: str, max_rows: int | None = None) -> Data:
    """Read a published table, or make one of its shape and say so."""
    path = DATA / name / f"{FILES.get(name, name)}.parquet"
    if path.exists():
        return read_published(name, path, max_rows)
    print(f"{name} is not at hand: generated data of the same shape")
    shape = SHAPES[name]
    return make_like(name, shape, min(shape.n_rows, max_rows or shape.n_rows))


def read_published(name: str, path: Path, max_rows: int | None) -> Data:
    """Read a table whose last column is the target; categories become codes."""
    table = parquet.read_table(path)
    if max_rows is not None and max_rows < table.num_rows:
        table = table.take(np.random.default_rng(0).permutation(table.num_rows)[:max_rows])
    is_category = [types.is_dictionary(kind) for kind in table.schema.types[:-1]]
    X = np.empty((table.num_rows, len(is_category)))
    for column, has_codes in enumerate(is_category):
        values = table.column(column).combine_chunks()
        values = values.indices if has_codes else values
        X[:, column] = values.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    target = table.column(table.num_columns - 1).combine_chunks()
    if types.is_dictionary(target.type):
        target = target.indices
    y = target.to_numpy(zero_copy_only=False)
    return Data(name, X, y, False, [c for c, flag in enumerate(is_category) if flag])


def make_like(name: str, shape: Shape, n_rows: int) -> Data:
    """Make a table of the given shape, with a target that depends on some columns."""
    random = np.random.default_rng(abs(hash_name(name)))
    sizes = shape.n_values + shape.n_categories
    X = random.normal(size=(n_rows, len(sizes)))
    signal = X[:, : min(6, len(sizes))].sum(axis=1) + X[:, 0] * X[:, -1]
    signal += random.normal(size=n_rows)
    for column, n_values in enumerate(sizes):
        if n_values:
            X[:, column] = to_codes(X[:, column], n_values)
    y = to_codes(signal, shape.n_classes) if shape.n_classes else signal
    n_numbers = len(shape.n_values)
    return Data(name, X, y, True, list(range(n_numbers, len(sizes))))


def to_codes(values: NDArray[np.float64], n_codes: int) -> NDArray[np.float64]:
    """Replace values by the number of their quantile."""
    cuts = np.quantile(values, np.arange(1, n_codes) / n_codes)
    return np.searchsorted(cuts, values).astype(np.float64)


def hash_name(name: str) -> int:
    """A number per name that is the same in every process."""
    return int.from_bytes(name.encode(), "little") % 2**32


def make_binary(
    n_rows: int, n_columns: int, n_values: int = 0, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Columns of normal numbers (or `n_values` distinct ones) and two noisy classes."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_columns))
    signal = X[:, :5].sum(axis=1) + 2 * X[:, 0] * X[:, 1] + random.normal(size=n_rows)
    y = (signal > 0).astype(np.int64)
    if n_values:
        for column in range(n_columns):
            X[:, column] = to_codes(X[:, column], n_values)
    return X, y


def make_sparse(n_rows: int, n_columns: int, density: float, seed: int = 0) -> sp.csc_array:
    """Columns whose cells are non-zero with the given probability, and then uniform."""
    random = np.random.default_rng(seed)

    def draw_columns() -> Iterator[NDArray[np.int32]]:
        for _ in range(n_columns):
            yield np.flatnonzero(random.random(n_rows) < density).astype(np.int32)

    rows = list(draw_columns())
    indptr = np.concatenate([[0], np.cumsum([len(column) for column in rows])])
    indices = np.concatenate(rows)
    data = 1.0 - random.random(len(indices))
    return sp.csc_array((data, indices, indptr.astype(np.int32)), shape=(n_rows, n_columns))


def load_newsgroups(max_rows: int | None = None) -> tuple[sp.csc_array, NDArray[np.int64], str]:
    """20 Newsgroups as float32 columns, or sparse counts of the same shape and density."""
    folder = DATA / "20newsgroups"
    name = "20 Newsgroups"
    if folder.exists():
        counts = sp.csr_array(sp.load_npz(folder / "20newsgroups.npz"))
        y = np.load(folder / "20newsgroups_y.npy").astype(np.int64)
    else:
        print("20 Newsgroups is not at hand: generated counts of the same shape")
        name += " (generated)"
        counts, y = make_word_counts(18_846, 130_107, 2_895_521)
    rows = np.random.default_rng(0).permutation(len(y))[:max_rows]
    return sp.csc_array(counts[rows].astype(np.float32)), y[rows], name


def make_word_counts(
    n_rows: int, n_columns: int, n_cells: int
) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Word counts with the long tail of language; 20 topics that prefer some words."""
    random = np.random.default_rng(0)
    y = random.integers(20, size=n_rows)
    rows = random.integers(n_rows, size=n_cells)
    words = (n_columns * random.random(n_cells) ** 4).astype(np.int64)
    is_topical = random.random(n_cells) < 0.1
    words[is_topical] = words[is_topical] // 20 * 20 + y[rows[is_topical]]
    words = np.minimum(words, n_columns - 1)
    counts = sp.coo_array((np.ones(n_cells), (rows, words)), shape=(n_rows, n_columns))
    return sp.csr_array(counts), y
