"""Sparsified trees (Hedayati, Joly, Papadimitriou): the non-zeros of a column that lie in a node.

A node is `samples[start:end]`; a sparse column stores the rows of its non-zeros, ascending. Their
intersection is found in one of two ways, whichever the paper's rule expects to be cheaper:

    binary search   sort the node's rows, look each up among the column's rows
    look-up         walk the column's rows; index_to_samples tells where each stands in samples

"log" is taken to base 2, which the paper leaves open.
"""

from bisect import bisect_left
from collections.abc import Sequence
from math import log2


def prefers_binary_search(n_samples: int, n_indices: int) -> bool:
    if n_indices == 0:
        return False
    cost = n_samples * log2(n_samples) + n_samples * log2(n_indices)
    return cost < 0.1 * n_indices


def by_binary_search(samples: Sequence[int], indices: Sequence[int]) -> list[int]:
    found = []
    for row in sorted(samples):
        place = bisect_left(indices, row)
        if place < len(indices) and indices[place] == row:
            found.append(row)
    return found


def by_look_up(
    index_to_samples: Sequence[int], start: int, end: int, indices: Sequence[int]
) -> list[int]:
    return [row for row in indices if start <= index_to_samples[row] < end]


def reverse_map(samples: Sequence[int]) -> list[int]:
    """index_to_samples: samples[index_to_samples[row]] == row."""
    places = [0] * len(samples)
    for place, row in enumerate(samples):
        places[row] = place
    return places


def nonzeros_in_node(
    samples: Sequence[int], start: int, end: int, indices: Sequence[int]
) -> list[int]:
    if prefers_binary_search(end - start, len(indices)):
        return by_binary_search(samples[start:end], indices)
    return by_look_up(reverse_map(samples), start, end, indices)
