"""What both decision trees share: growing, remembering, walking.

`fit` reads the target, encodes the table, makes the rules, grows, prunes, and only then changes the
estimator, so that an error or an interrupt leaves it as it was.
"""

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, estimator_html_repr

from treefold import _native
from treefold.data.schema import Schema
from treefold.data.table import encode
from treefold.data.target import Target
from treefold.model.interop import to_sklearn
from treefold.model.tree import Tree
from treefold.rules import check_parameters, make_rules
from treefold.threads import effective_n_jobs

__all__ = ["BaseDecisionTree"]


@dataclass(frozen=True, slots=True)
class Grown:
    """What growing gives, before the estimator knows of it."""

    native: _native.Tree
    missing_columns: NDArray[np.intp]
    schema: Schema
    target: Target
    max_features: int


class BaseDecisionTree(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """What both decision trees share; not to be used directly."""

    _criteria: tuple[str, ...]

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """Read the signature of a class once; scikit-learn reads it for every clone."""
        return super()._get_param_names()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the state of a pickle; parameters that its version did not have get defaults."""
        lacking = set(self._get_param_names()) - state.keys()
        known = signature(type(self).__init__).parameters if lacking else {}
        defaults = {name: known[name].default for name in lacking}
        super().__setstate__({**defaults, **state})

    @abstractmethod
    def _read_target(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        """Read y and the weights."""

    def _grow(self, X: Any, y: Any, sample_weight: Any) -> Grown:
        check_parameters(self, self._criteria)
        n_threads = effective_n_jobs(self.n_jobs)
        table = encode(X, self.categorical_features, n_threads, may_borrow=True)
        target = self._read_target(y, sample_weight, table.n_rows)
        rules = make_rules(self, target, table.n_columns)
        native = _native.grow(
            table._native, target.values, target.n_classes, target.weights, rules, n_threads
        )
        missing = np.flatnonzero(table._native.has_missing)
        return Grown(native, missing, table.schema, target, rules.max_features)

    def _remember(self, grown: Grown) -> Self:
        """Change the estimator, all at once: nothing here can fail."""
        native = grown.native.prune(float(self.ccp_alpha)) if self.ccp_alpha > 0 else grown.native
        tree = Tree(native, grown.schema, grown.missing_columns)
        return self._become(tree, grown.target.classes, grown.max_features)

    def _become(self, tree: Tree, classes: NDArray[Any] | None, max_features: int) -> Self:
        """Turn into the estimator that has this tree."""
        if tree.schema.names is not None:
            self.feature_names_in_ = tree.schema.names
        else:
            self.__dict__.pop("feature_names_in_", None)
        self.tree_ = tree
        self.n_features_in_ = tree.schema.n_columns
        self.n_outputs_ = 1
        self.max_features_ = max_features
        for name in ("_positive", "_reading"):  # what the command line knows of the last fit
            self.__dict__.pop(name, None)
        if classes is not None:
            self.classes_ = classes
            self.n_classes_ = len(classes)
        return self

    def _check_fitted(self) -> Tree:
        tree: Tree | None = getattr(self, "tree_", None)
        if tree is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        return tree

    def _html_repr(self) -> str:
        """What notebooks show: scikit-learn's diagram, and the tree above it once there is one."""
        diagram = str(estimator_html_repr(self))
        if getattr(self, "tree_", None) is None:
            return diagram
        from treefold.export.as_html import tree_to_html  # noqa: PLC0415 - it knows estimators

        return tree_to_html(self) + diagram

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._html_repr()
        return shown

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the leaf that each row ends in.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Node numbers.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).apply([[0.2]]).tolist()
        [1]
        """
        return self._check_fitted().find_leaves(X, type(self).__name__, self.n_jobs)

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Mark the nodes that each row visits.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The rows.

        Returns
        -------
        sparse matrix of shape (n_rows, node_count)
            One where the row visits the node.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
        >>> model.decision_path([[0.2]]).toarray()
        array([[1, 1, 0]])
        """
        return self._check_fitted().find_paths(X, type(self).__name__, self.n_jobs)

    def get_depth(self) -> int:
        """Tell the depth of the deepest leaf.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).get_depth()
        1
        """
        return int(self._check_fitted().max_depth)

    def get_n_leaves(self) -> int:
        """Tell the number of leaves.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).get_n_leaves()
        2
        """
        return int(self._check_fitted().n_leaves)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in the total decrease of impurity."""
        return self._check_fitted().compute_feature_importances()

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Compute the strengths of pruning at which the tree changes. The estimator does not.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        Bunch
            `ccp_alphas`, rising, each usable as `ccp_alpha`; and `impurities`, the total impurity
            of the leaves of each pruned tree.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> path = DecisionTreeClassifier().cost_complexity_pruning_path([[0.0], [1.0]], [0, 1])
        >>> path.ccp_alphas
        array([0. , 0.5])
        """
        ccp_alphas, impurities, _ = self._grow(X, y, sample_weight).native.pruning_path()
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    def to_sklearn(self) -> Any:
        """Build scikit-learn's tree of the same kind, with the same predictions.

        scikit-learn rounds every value to float32 before it compares. Thresholds are moved to
        lie between two neighbouring float32 numbers, such that every row of the training data takes
        the same path. Other rows may differ only where a value lies closer to a threshold than
        float32 can tell; if the training data are float32 numbers, no float32 row differs.

        Returns
        -------
        sklearn.tree.DecisionTreeClassifier or sklearn.tree.DecisionTreeRegressor
            Fitted.

        Raises
        ------
        ConversionError
            If the tree splits by categories or dates, or if float32 cannot tell apart the values of
            the node's rows on either side of its threshold.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).to_sklearn()
        >>> model.predict([[0.2], [0.7]])
        array([0, 1])
        """
        self._check_fitted()
        return to_sklearn(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags
