"""The decision tree of `docs/split_contract.md` in plain Python: the explanation and the oracle.

Read in the order of the data:

    columns     values -> codes: the one sort
    statistics  what a node adds up, in integers
    criteria    how good a split is, how impure a node is
    draws       which columns a node may look at
    splits      every candidate of every column, and which wins a tie
    grower      the loop: which node is split next, when to stop, how nodes are numbered
    routing     which way a row goes, the same in training and in prediction
    pruning     weakest links
    families    many trees at once: members share sums and fork

Two files retell the papers: single_sort (sorted order survives a split) and sparse_rows (the
non-zeros of a column that lie in a node). Nothing here is fast, and nothing imports the core.
"""
