"""The estimators: one decision tree for classes, one for numbers."""

from typing import Any, Self

import numpy as np
import sklearn.tree
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from treefold.data.target import Target, read_class_target, read_real_target
from treefold.estimators.base import BaseDecisionTree
from treefold.model.interop import average_out

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]


class DecisionTreeClassifier(ClassifierMixin, BaseDecisionTree):  # type: ignore[misc]
    """An exact decision tree for classes.

    Columns are sorted once. The tree is the same, bit for bit, for any number of threads, for
    dense, sparse and data frame input, and for any order of the rows.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "gain_ratio"}, default="gini"
        What a split is judged by. "log_loss" is another name for "entropy".
    splitter : {"best"}, default="best"
        scikit-learn's name for a search through all splits: the only one here.
    max_depth : int, default=None
        Largest depth; None for no limit.
    min_samples_split : int or float, default=2
        Rows that a node needs to be split; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split needs; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side of a split needs; class weights count.
    max_features : int, float or {"sqrt", "log2"}, default=None
        Columns to try in each node, drawn at random; None for all, without any draw.
    random_state : int, RandomState or None, default=None
        Drives that draw, and nothing else.
    max_leaf_nodes : int, default=None
        Largest number of leaves; the best split is made first.
    min_impurity_decrease : float, default=0.0
        Weighted decrease of impurity that a split needs.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class. "balanced" gives all classes the same total.
    ccp_alpha : float, default=0.0
        Strength of the pruning by cost and complexity.
    min_impurity : float, default=0.0
        A node of at most this impurity is a leaf.
    min_samples_category : int, default=2
        Rows that a category needs in a node to stand for itself; rarer ones go together, with
        those that the node has not. Sets of more than two categories have to gain more than chance
        does. 1 for neither.
    categorical_features : "from_dtype", None, list of int or str, or mask, default="from_dtype"
        Which columns are categories. By default the columns of a data frame that hold text or have
        a category dtype.
    n_jobs : int, default=None
        Threads. None means one (or what `joblib.parallel_config` says), -1 all cores.
    monotonic_cst : None, default=None
        scikit-learn's name for monotonic constraints, which there are none of here.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    tree_ : Tree
        The tree itself.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the total decrease of impurity.
    n_features_in_, n_outputs_, max_features_ : int
        Columns seen in fit; targets (one); columns tried in each node.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier
    >>> X = [[1.0, 20.0], [2.0, None], [3.0, 10.0], [4.0, 30.0]]
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[2.4, 15.0], [3.6, None]]).tolist()
    ['no', 'yes']
    """

    _criteria = ("gini", "entropy", "log_loss", "gain_ratio")

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: dict[Any, float] | str | None = None,
        ccp_alpha: float = 0.0,
        min_impurity: float = 0.0,
        min_samples_category: int = 2,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        monotonic_cst: None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.min_impurity = min_impurity
        self.min_samples_category = min_samples_category
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.monotonic_cst = monotonic_cst

    def _read_target(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        return read_class_target(y, sample_weight, self.class_weight, n_rows, type(self).__name__)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The training data; missing values allowed.
        y : array of shape (n_rows,)
            Class labels of any kind.
        sample_weight : array of shape (n_rows,), default=None
            How much each row counts; a row of weight zero does not exist.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"]).classes_.tolist()
        ['a', 'b']
        """
        return self._remember(self._grow(X, y, sample_weight))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most frequent class of each row's leaf; the lowest one if equal.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([[0.0], [1.0]], [7, 9]).predict([[0.2]])
        array([7])
        """
        leaves = self.apply(X)
        value = self.tree_._native.value
        if len(leaves) < len(value):
            return np.asarray(self.classes_.take(value.take(leaves, axis=0).argmax(axis=1)))
        return np.asarray(self.classes_.take(value.argmax(axis=1)).take(leaves))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the share of each class in each row's leaf.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Shares, in the order of `classes_`.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([[0.0], [1.0]], [7, 9]).predict_proba([[0.2]])
        array([[1., 0.]])
        """
        return self._check_fitted()._native.value.take(self.apply(X), axis=0)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithm of the share of each class; -inf where it is zero.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([[0.0], [1.0]], [7, 9]).predict_log_proba([[0.2]])
        array([[  0., -inf]])
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class DecisionTreeRegressor(RegressorMixin, BaseDecisionTree):  # type: ignore[misc]
    """An exact decision tree for numbers.

    Columns are sorted once. The tree is the same, bit for bit, for any number of threads, for
    dense, sparse and data frame input, and for any order of the rows.

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        What a split is judged by. "friedman_mse" is accepted as another name for it.
    splitter : {"best"}, default="best"
        scikit-learn's name for a search through all splits: the only one here.
    max_depth : int, default=None
        Largest depth; None for no limit.
    min_samples_split : int or float, default=2
        Rows that a node needs to be split; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split needs; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side of a split needs.
    max_features : int, float or {"sqrt", "log2"}, default=None
        Columns to try in each node, drawn at random; None for all, without any draw.
    random_state : int, RandomState or None, default=None
        Drives that draw, and nothing else.
    max_leaf_nodes : int, default=None
        Largest number of leaves; the best split is made first.
    min_impurity_decrease : float, default=0.0
        Weighted decrease of impurity that a split needs.
    ccp_alpha : float, default=0.0
        Strength of the pruning by cost and complexity.
    min_impurity : float, default=0.0
        A node whose variance is at most this is a leaf.
    min_samples_category : int, default=2
        Rows that a category needs in a node to stand for itself; rarer ones go together, with
        those that the node has not. Sets of more than two categories have to gain more than chance
        does. 1 for neither.
    categorical_features : "from_dtype", None, list of int or str, or mask, default="from_dtype"
        Which columns are categories. By default the columns of a data frame that hold text or have
        a category dtype.
    n_jobs : int, default=None
        Threads. None means one (or what `joblib.parallel_config` says), -1 all cores.
    monotonic_cst : None, default=None
        scikit-learn's name for monotonic constraints, which there are none of here.

    Attributes
    ----------
    tree_ : Tree
        The tree itself.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the total decrease of impurity.
    n_features_in_, n_outputs_, max_features_ : int
        Columns seen in fit; targets (one); columns tried in each node.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    Examples
    --------
    >>> from treefold import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor().fit([[0.0], [1.0], [2.0]], [5.0, 5.0, 8.0])
    >>> model.predict([[0.4], [1.9]])
    array([5., 8.])
    """

    _criteria = ("squared_error", "friedman_mse")

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        min_impurity: float = 0.0,
        min_samples_category: int = 2,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        monotonic_cst: None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.min_impurity = min_impurity
        self.min_samples_category = min_samples_category
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.monotonic_cst = monotonic_cst

    def _read_target(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        return read_real_target(y, sample_weight, n_rows, type(self).__name__)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The training data; missing values allowed.
        y : array of shape (n_rows,)
            The numbers to predict.
        sample_weight : array of shape (n_rows,), default=None
            How much each row counts; a row of weight zero does not exist.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from treefold import DecisionTreeRegressor
        >>> DecisionTreeRegressor().fit([[0.0], [1.0]], [1.5, 2.5]).get_n_leaves()
        2
        """
        return self._remember(self._grow(X, y, sample_weight))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the mean of each row's leaf.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Means.

        Examples
        --------
        >>> from treefold import DecisionTreeRegressor
        >>> DecisionTreeRegressor().fit([[0.0], [1.0]], [1.5, 2.5]).predict([[0.2]])
        array([1.5])
        """
        return self._check_fitted()._native.value[:, 0].take(self.apply(X))

    def _compute_partial_dependence_recursion(
        self, grid: NDArray[Any], target_features: Any
    ) -> NDArray[np.float64]:
        """What `sklearn.inspection.partial_dependence` asks of a tree for numbers."""
        return average_out(self._check_fitted(), grid, np.asarray(target_features))


# scikit-learn's functions that show a tree (plot_tree, export_text, export_graphviz) take instances
# of its own classes only. Ours have all that these functions read, and inherit nothing.
sklearn.tree.DecisionTreeClassifier.register(DecisionTreeClassifier)
sklearn.tree.DecisionTreeRegressor.register(DecisionTreeRegressor)
