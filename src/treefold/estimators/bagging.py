"""Bagging: trees grown on bags of rows, which answer together."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from treefold.data.table import named_columns
from treefold.estimators.bags import Bags, Work
from treefold.estimators.ballot import Ballot
from treefold.estimators.ensemble import BaseEnsemble, ClassAnswers, NumberAnswers
from treefold.estimators.out_of_bag import OutOfBag
from treefold.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from treefold.exceptions import InputError, ParameterError, warn
from treefold.model.tree import Tree
from treefold.threads import effective_n_jobs

__all__ = ["BaggingClassifier", "BaggingRegressor"]


class _Bagging(BaseEnsemble):
    """Trees that are grown in fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow all trees; with `warm_start`, those that are lacking.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The training data; missing values allowed.
        y : array of shape (n_rows,)
            Class labels, or the numbers to predict.
        sample_weight : array of shape (n_rows,), default=None
            How much each row counts; a row of weight zero does not exist.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from treefold import BaggingRegressor
        >>> len(BaggingRegressor(n_estimators=3).fit([[0.0], [1.0]], [1.5, 2.5]).estimators_)
        3
        """
        bags, work = self._open(X, y, sample_weight), Work()
        trees = self._find_earlier(bags)
        if len(trees) == self.n_estimators:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees: there "
                f"are {len(trees)} already."
            )
            return self
        work.counts = self.work_ if trees else {}
        facts = self._grow(bags, work, trees)
        return self._remember(bags, estimators_=trees, _work=work, _seed=bags.seed, **facts)

    def _grow(self, bags: Bags, work: Work, trees: list[Any]) -> dict[str, Any]:
        """Append the trees that are lacking; give what is known of rows out of the bag."""
        n_threads, is_asked = effective_n_jobs(self.n_jobs), bool(self.oob_score)
        left_out = OutOfBag(bags, self.voting) if is_asked else None
        missing = np.flatnonzero(bags.table._native.has_missing)
        n_tried = bags.make_member(0).rules.max_features
        for native, values, rows in bags.grow(n_threads, work, len(trees), is_asked):
            tree = Tree(native, bags.table.schema, missing)
            trees.append(self._make_unchecked()._become(tree, bags.target.classes, n_tried))
            if left_out is not None and rows is not None:
                left_out.add(values, rows)
        return {} if left_out is None else left_out.summarise()

    def _choose_seed(self) -> int:
        """Go on with the draws of the trees that there are."""
        is_named = isinstance(self.random_state, Integral)
        seed: int | None = getattr(self, "_seed", None) if self.warm_start else None
        return super()._choose_seed() if is_named or seed is None else seed

    def _find_earlier(self, bags: Bags) -> list[Any]:
        """List the trees to keep: those of a fit of the same columns and classes."""
        trees = list(getattr(self, "estimators_", [])) if self.warm_start else []
        if not trees:
            return trees
        if len(trees) > self.n_estimators:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)="
                f"{len(trees)} when warm_start=True. Give more trees, or warm_start=False."
            )
        before: Any = self._schema
        now: Any = bags.table.schema
        classes: Any = getattr(self, "classes_", None)
        new_classes: Any = bags.target.classes
        are_same = {
            "columns": before.n_columns == now.n_columns
            and np.array_equal(before.names, now.names)
            and before.families == now.families,
            "categories": before.categories == now.categories,
            "classes": np.array_equal(classes, new_classes),
        }
        for what, is_same in are_same.items():
            if not is_same:
                raise InputError(
                    f"warm_start=True adds trees to those of the last fit, and these data have "
                    f"other {what}. Give the same data, or warm_start=False."
                )
        return trees

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in the decrease of impurity: the mean of the trees that split."""
        self._check_fitted()
        trees = [tree for tree in self.estimators_ if tree.tree_.node_count > 1]
        if not trees:
            return np.zeros(self.n_features_in_)
        mean: NDArray[np.float64] = np.mean([tree.feature_importances_ for tree in trees], axis=0)
        total = mean.sum()
        return mean / total if total > 0 else mean

    def _average(self, X: Any) -> NDArray[np.float64]:
        source = self._open_rows(X)
        self._check_own()
        n_threads = effective_n_jobs(self.n_jobs)
        ballot = None
        for tree in self.estimators_:
            native = tree.tree_._native
            with named_columns(self._schema):
                leaves = native.apply(source, n_threads)
            ballot = ballot or Ballot(len(leaves), native.n_classes, self.voting)
            ballot.add(native.value.take(leaves, axis=0))
        assert ballot is not None
        return ballot.count(len(self.estimators_))


class BaggingClassifier(ClassifierMixin, ClassAnswers, _Bagging):  # type: ignore[misc]
    """Decision trees for classes, each grown on a bag of rows.

    The predictions are those of `LazyBaggingClassifier`, bit for bit.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    bootstrap : bool, default=True
        Whether each tree has a bag of its own: rows drawn with replacement. One that is drawn
        twice has twice the weight. False: all rows, or `max_samples` of them, each once.
    max_samples : int, float or None, default=None
        Rows that are drawn for each bag: None for as many as there are, a float for a share of
        them (of those whose weight is not zero).
    oob_score : bool, default=False
        Whether rows are answered by the trees whose bag they are not in, and scored.
    warm_start : bool, default=False
        Whether `fit` keeps the trees of the last fit and grows those that are lacking: the same
        as all of them at once, on the same data with the same parameters.
    voting : {"soft", "hard"}, default="soft"
        Whether trees give the shares of their leaf, which are averaged, or one vote each, to its
        most frequent class.
    criterion : {"gini", "entropy", "log_loss", "gain_ratio"}, default="gini"
        What a split is judged by.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        Limits of each tree, as in `DecisionTreeClassifier`.
    max_features, min_impurity_decrease
        As in `DecisionTreeClassifier`.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class; "balanced" by the rows of each bag.
    min_samples_category : int, default=2
        Rows that a category needs in a node to stand for itself; rarer ones go together, with
        those that the node has not. Sets of more than two categories have to gain more than chance
        does. 1 for neither.
    categorical_features : "from_dtype", None, list of int or str, or mask, default="from_dtype"
        Which columns are categories.
    random_state : int, RandomState or None, default=None
        Drives the draws of rows and columns, which are functions of their keys.
    n_jobs : int, default=None
        Threads. None means one, -1 all cores.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees, fitted.
    classes_ : ndarray
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the decrease of impurity, the mean over the trees that split.
    oob_score_, oob_decision_function_ : float, ndarray
        With `oob_score`: the accuracy of rows that are out of some bags, and the answers (NaN for
        rows that are in every bag).
    work_ : dict
        What growing cost: `nodes_grown`, `rows_scanned`, `stack_words` (rows of the nodes on one
        path of the tree, where they are most), `model_words` (four per node), `peak_bytes`.

    Examples
    --------
    >>> from treefold import BaggingClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> BaggingClassifier(n_estimators=5, random_state=0).fit(X, y).predict([[0.1]]).tolist()
    ['a']
    """

    _tree = DecisionTreeClassifier

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: bool = False,
        warm_start: bool = False,
        voting: str = "soft",
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: dict[Any, float] | str | None = None,
        min_samples_category: int = 2,
        categorical_features: Any = "from_dtype",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.voting = voting
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.min_samples_category = min_samples_category
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs


class BaggingRegressor(RegressorMixin, NumberAnswers, _Bagging):  # type: ignore[misc]
    """Decision trees for numbers, each grown on a bag of rows.

    The predictions are those of `LazyBaggingRegressor`, bit for bit.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    bootstrap : bool, default=True
        Whether each tree has a bag of its own: rows drawn with replacement. One that is drawn
        twice has twice the weight. False: all rows, or `max_samples` of them, each once.
    max_samples : int, float or None, default=None
        Rows that are drawn for each bag: None for as many as there are, a float for a share of
        them (of those whose weight is not zero).
    oob_score : bool, default=False
        Whether rows are answered by the trees whose bag they are not in, and scored.
    warm_start : bool, default=False
        Whether `fit` keeps the trees of the last fit and grows those that are lacking: the same
        as all of them at once, on the same data with the same parameters.
    criterion : {"squared_error"}, default="squared_error"
        What a split is judged by.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        Limits of each tree, as in `DecisionTreeRegressor`.
    max_features, min_impurity_decrease
        As in `DecisionTreeRegressor`.
    min_samples_category : int, default=2
        Rows that a category needs in a node to stand for itself; rarer ones go together, with
        those that the node has not. Sets of more than two categories have to gain more than chance
        does. 1 for neither.
    categorical_features : "from_dtype", None, list of int or str, or mask, default="from_dtype"
        Which columns are categories.
    random_state : int, RandomState or None, default=None
        Drives the draws of rows and columns, which are functions of their keys.
    n_jobs : int, default=None
        Threads. None means one, -1 all cores.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees, fitted.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the decrease of impurity, the mean over the trees that split.
    oob_score_, oob_prediction_ : float, ndarray
        With `oob_score`: the R2 of rows that are out of some bags, and the answers (NaN for
        rows that are in every bag).
    work_ : dict
        What growing cost: `nodes_grown`, `rows_scanned`, `stack_words` (rows of the nodes on one
        path of the tree, where they are most), `model_words` (four per node), `peak_bytes`.

    Examples
    --------
    >>> from treefold import BaggingRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, 5.0, 5.0]
    >>> BaggingRegressor(n_estimators=5, random_state=0).fit(X, y).predict([[0.1]])
    array([1.])
    """

    _tree = DecisionTreeRegressor

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: bool = False,
        warm_start: bool = False,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        min_impurity_decrease: float = 0.0,
        min_samples_category: int = 2,
        categorical_features: Any = "from_dtype",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.min_impurity_decrease = min_impurity_decrease
        self.min_samples_category = min_samples_category
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
