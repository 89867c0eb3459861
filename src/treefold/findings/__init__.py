"""What is found out about a fit, as the command line and the report tell it, in this order.

numbers                 numbers as people read them
target, folds, measures what is predicted; who holds out which rows; scores for people
thresholds, leakage     what a threshold finds; a column that gives the target away
nodes                   the nodes of a tree, for people
fits                    everything about a fit, as one document: what `--json` prints
verdict                 what came out of it, in one sentence
"""

__all__: list[str] = []
