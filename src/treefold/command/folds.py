"""Who holds out which rows: shuffled, stratified, by group, in time order, or as a column says.

Rows that must stay together are *bundles*: groups, or duplicate rows. A split is a pair of training
and held-out rows, as scikit-learn's splitters give them.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treefold.command.mistakes import UserError
from treefold.command.options import FitOptions
from treefold.command.target import decode, list_columns
from treefold.command.timing import rank_times
from treefold.data.table import Table
from treefold.findings.folds import Folds, Splits
from treefold.findings.target import Target

__all__ = ["find_duplicates", "follow_time", "make_folds"]

Ints = NDArray[np.int64]

DEFAULT_FOLDS = 10
_FEWEST_FOLDS = 2
_ROWS_PER_FOLD = 2  # at least, unless --cv asks for more folds
_PARTS = 5  # of each of two folds
_STRATA_OF_NUMBERS = 10  # a numeric target is stratified by its deciles
_MIX = 0x9E3779B97F4A7C15  # the golden ratio in 64 bits: spreads codes over all of them


def make_folds(table: Table, target: Target, columns: Any, options: FitOptions) -> Folds:
    """Make the splits that the options ask for. `columns` holds those that options name."""
    _check(options)
    if options.folds is not None:
        return _follow_column(columns[options.folds], options.folds)
    if options.time is not None:
        return follow_time(columns, options.time, options.cv)
    strata = _find_strata(target)
    if options.groups is not None:
        bundles = _number(columns[options.groups], "--groups", options.groups)
        name = f"groups of '{options.groups}' stay together"
        return _shuffle(bundles, strata, options, name)
    truth = strata if target.is_class else target.values
    n_possible = _count_possible(table, truth)
    if n_possible <= table.n_rows:
        words = f"rows repeat, because only {n_possible:,} different ones are possible"
        return _shuffle(np.arange(table.n_rows), strata, options, words)
    bundles = find_duplicates(table, truth)
    n_bundles = int(bundles.max()) + 1
    n_duplicates = table.n_rows - n_bundles
    words = f"{n_duplicates:,} duplicate rows stay with their twins" if n_duplicates else ""
    if n_duplicates == 1:
        words = "1 duplicate row stays with its twin"
    return _shuffle(bundles, strata, options, words, n_duplicates)


def _check(options: FitOptions) -> None:
    asked = [f"--{name}" for name in ("groups", "time", "folds") if getattr(options, name)]
    if len(asked) > 1:
        raise UserError(f"{asked[0]} and {asked[1]} are two ways to make folds; give one of them.")
    if options.repeats > 1 and asked and asked[0] != "--groups":
        raise UserError(
            f"--repeats needs folds that are shuffled; it has no meaning with {asked[0]}."
        )
    if options.folds and options.cv is not None:
        raise UserError("--cv and --folds both say which folds there are; give one of them.")


def _find_strata(target: Target) -> Ints:
    """Number what every fold should have its share of: classes, or tenths of the numbers."""
    if target.codes is not None:
        return target.codes
    ranks = np.argsort(np.argsort(target.values, kind="stable"), kind="stable")
    return ranks * _STRATA_OF_NUMBERS // max(1, len(ranks))


# Bundles ----------------------------------------------------------------------------------------


def _count_possible(table: Table, target: NDArray[Any]) -> int:
    """Count the rows that the values of the columns and of the target could make."""
    codes = table._native.n_codes + table._native.has_missing
    n_rows: int = math.prod(codes.tolist()) * len(np.unique(target))
    return n_rows


def find_duplicates(table: Table, target: NDArray[Any]) -> Ints:
    """Number the rows so that rows with the same values and target have the same number."""
    hashes = _spread(np.ascontiguousarray(target.astype(np.float64)).view(np.uint64))
    for column in range(table.n_columns):
        hashes = _spread(hashes ^ table._native.codes(column).astype(np.uint64))
    return np.unique(hashes, return_inverse=True)[1].astype(np.int64)


def _spread(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash 64 bits to 64 bits, one to one."""
    numbers = (numbers ^ (numbers >> np.uint64(32))) * np.uint64(_MIX)
    mixed: NDArray[np.uint64] = (numbers ^ (numbers >> np.uint64(29))) * np.uint64(_MIX | 2)
    return mixed


def _number(column: Any, option: str, name: str) -> Ints:
    """Number the values of a column; missing values are one group."""
    try:
        encoded = decode(column).combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError:
        raise UserError(
            f"{option}: '{name}' holds {column.type} values (first: {column[0]}), of which it "
            "cannot be told which are the same. Give a column of text, numbers or dates."
        ) from None
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False)).astype(np.int64)


# Shuffled folds ---------------------------------------------------------------------------------


def _shuffle(
    bundles: Ints, strata: Ints, options: FitOptions, words: str, n_duplicates: int = 0
) -> Folds:
    n_bundles = int(bundles.max()) + 1
    n_folds = _choose_number(n_bundles, options)
    splits: Splits = []
    parts: Splits = []
    for repeat in range(options.repeats):
        random = np.random.default_rng([options.seed, repeat])
        made = _to_splits(_deal(bundles, strata, n_folds, random), n_folds)
        splits += made
        if n_folds == _FEWEST_FOLDS:
            inside = [part for _, rows in made for part in _divide(rows, bundles, strata, random)]
            parts += [(np.setdiff1d(np.arange(len(bundles)), part), part) for part in inside]
    more = f" x {options.repeats} repeats" if options.repeats > 1 else ""
    few = _word_few(n_folds, options.cv, f"{n_bundles} {_name_bundles(options)}")
    how = f"{n_folds}{more}{few}, shuffled with seed {options.seed}, stratified"
    text = f"{how}; {words}" if words else how
    return Folds(splits, n_folds, text, n_duplicates, parts)


def _divide(rows: Ints, bundles: Ints, strata: Ints, random: np.random.Generator) -> Iterator[Ints]:
    """Divide the rows of a fold into parts, of which bundles and strata are as those of folds."""
    own = np.unique(bundles[rows], return_inverse=True)[1].astype(np.int64)
    n_parts = max(1, min(_PARTS, (int(own.max()) + 1) // 2))  # of several rows each
    part_of = _deal(own, np.unique(strata[rows], return_inverse=True)[1], n_parts, random)
    for part in range(n_parts):
        inside = rows[part_of == part]
        if 0 < len(inside) < len(rows):
            yield inside


def _choose_number(n_bundles: int, options: FitOptions) -> int:
    what = _name_bundles(options)
    if options.cv is not None and options.cv > n_bundles:
        raise UserError(
            f"--cv {options.cv} asks for more folds than there are {what} ({n_bundles})."
        )
    if n_bundles < _FEWEST_FOLDS:
        raise UserError(f"There are too few {what} ({n_bundles}) to hold any out.")
    n_possible = n_bundles if options.groups else n_bundles // _ROWS_PER_FOLD
    return options.cv or min(DEFAULT_FOLDS, max(_FEWEST_FOLDS, n_possible))


def _name_bundles(options: FitOptions) -> str:
    return f"groups in '{options.groups}'" if options.groups else "different rows"


def _word_few(n_folds: int, asked: int | None, have: str) -> str:
    """Say why there are fewer folds than usual."""
    if asked is not None or n_folds >= DEFAULT_FOLDS:
        return ""
    return f" (not {DEFAULT_FOLDS}: there are only {have})"


def _deal(bundles: Ints, strata: Ints, n_folds: int, random: np.random.Generator) -> Ints:
    """Give every row a fold: whole bundles, with equal shares of every stratum.

    Bundles of several rows are placed one by one, the largest first, where they even things out
    most; then single rows are dealt, stratum by stratum, to the folds that have the fewest.
    """
    n_strata = int(strata.max()) + 1
    counts = np.zeros((n_folds, n_strata), dtype=np.int64)
    sizes = np.bincount(bundles)
    fold_of = np.full(len(sizes), -1, dtype=np.int64)
    large = random.permutation(np.flatnonzero(sizes > 1))
    large = large[np.argsort(-sizes[large], kind="stable")]
    totals = np.bincount(strata).astype(np.float64)
    for bundle, content in zip(large, _count_strata(bundles, strata, large), strict=True):
        fold = _find_place(counts, content / totals**2)
        fold_of[bundle] = fold
        counts[fold] += content
    single = sizes[bundles] == 1
    for stratum in range(n_strata):
        rows = random.permutation(np.flatnonzero(single & (strata == stratum)))
        given = _deal_singles(len(rows), counts, stratum)
        fold_of[bundles[rows]] = given
        counts[:, stratum] += np.bincount(given, minlength=n_folds)
    folds: Ints = fold_of[bundles]
    return folds


def _count_strata(bundles: Ints, strata: Ints, chosen: Ints) -> NDArray[np.int64]:
    """Count the rows of each stratum in some bundles."""
    n_strata = int(strata.max()) + 1
    place_of = np.full(int(bundles.max()) + 1, -1, dtype=np.int64)
    place_of[chosen] = np.arange(len(chosen))
    places = place_of[bundles]
    inside = places >= 0
    codes = places[inside] * n_strata + strata[inside]
    return np.bincount(codes, minlength=len(chosen) * n_strata).reshape(-1, n_strata)


def _find_place(counts: Ints, content: NDArray[np.float64]) -> int:
    """Find the fold where a bundle raises the sum of squares least; of equals, the smallest fold.

    The squares are those of shares of strata, so that a rare class counts as much as others.
    """
    return int(np.lexsort((counts.sum(axis=1), counts @ content))[0])


def _deal_singles(n_rows: int, counts: Ints, stratum: int) -> Ints:
    """Fill the folds up to the same number of rows of a stratum; a rest goes to the smallest."""
    n_folds = len(counts)
    have = counts[:, stratum]
    total = n_rows + int(have.sum())
    wanted = np.maximum(total // n_folds, have)
    missing = wanted - have
    while missing.sum() > n_rows:  # a fold has more than its share already: less for the others
        missing[int(missing.argmax())] -= 1
    order = np.lexsort((counts.sum(axis=1), have + missing))
    extra = np.resize(order, n_rows - int(missing.sum()))
    return np.concatenate((np.repeat(np.arange(n_folds), missing), extra)).astype(np.int64)


def _to_splits(fold_of: Ints, n_folds: int) -> Splits:
    splits = [
        (np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold))
        for fold in range(n_folds)
    ]
    return [(train, test) for train, test in splits if len(train) and len(test)]


# Folds that the data say ------------------------------------------------------------------------


def _follow_column(column: Any, name: str) -> Folds:
    if column.null_count:
        raise UserError(f"--folds: '{name}' has {column.null_count:,} missing values.")
    numbers = _number(column, "--folds", name)
    n_folds = int(numbers.max()) + 1
    if not _FEWEST_FOLDS <= n_folds <= max(_FEWEST_FOLDS, len(numbers) // 2):
        raise UserError(f"--folds: '{name}' has {n_folds:,} different values; that makes no folds.")
    return Folds(_to_splits(numbers, n_folds), n_folds, f"{n_folds}, as column '{name}' says")


def follow_time(columns: Any, asked: str, cv: int | None) -> Folds:
    """Hold out one stretch of time after the other; what comes before a stretch trains.

    One more stretch is held out before them: what is held out first is chosen by it.
    """
    names = list_columns(columns, asked, "--time")
    ranks = rank_times(columns, names)
    listed = ", ".join(f"'{name}'" for name in names)
    n_rows = len(ranks)
    n_folds = cv or min(DEFAULT_FOLDS, max(_FEWEST_FOLDS, n_rows // _ROWS_PER_FOLD - 2))
    order = np.sort(ranks)
    cuts = [order[place * n_rows // (n_folds + 2)] for place in range(1, n_folds + 2)]
    bounds = np.unique(cuts)
    stretch = np.searchsorted(bounds, ranks, side="right")  # equal times stay together
    numbers = np.unique(stretch)
    if len(numbers) < _FEWEST_FOLDS + 1:
        word = "has" if len(names) == 1 else "have"
        raise UserError(
            f"--time: {listed} {word} too few different values for folds in time order."
        )
    parts = [(np.flatnonzero(stretch < one), np.flatnonzero(stretch == one)) for one in numbers[1:]]
    splits = parts[1:] if len(parts) > _FEWEST_FOLDS else parts
    few = _word_few(n_folds, cv, f"{n_rows} rows")
    words = (
        f"{len(splits)}{few} in time order of {listed}: each is predicted from what came before it"
    )
    if len(splits) < len(parts):
        words += "; one more, the first, is only to choose by"
    return Folds(splits, len(splits), words, 0, parts)
