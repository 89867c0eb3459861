"""The estimators, but for those that are cross-validated in fit, in this order.

base, tree              what both decision trees share; the trees
bags, ballot            training sets drawn by key; votes
ensemble, out_of_bag    what ensembles share; answers of the members that did not see a row
bagging                 many trees
asking, lazy            trees that grow where rows ask
"""

__all__: list[str] = []
