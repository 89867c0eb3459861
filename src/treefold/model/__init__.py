"""The fitted tree, and what is read off it.

cuts                    how a threshold is written
interop                 the same as scikit-learn's tree
tree                    the read-only tree
subtrees                sums over subtrees
"""

from treefold.model.tree import Tree, _rebuild

__all__ = ["Tree", "_rebuild"]  # pickles of versions before the rooms name both of them here
