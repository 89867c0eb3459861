"""Lazy estimators: trees, alone or in bags, that grow where rows ask (`asking`)."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from treefold.estimators.asking import LazyEnsemble
from treefold.estimators.ensemble import ClassAnswers, NumberAnswers
from treefold.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["LazyBaggingClassifier", "LazyBaggingRegressor"]
__all__ += ["LazyDecisionTreeClassifier", "LazyDecisionTreeRegressor"]


class LazyDecisionTreeClassifier(ClassifierMixin, ClassAnswers, LazyEnsemble):  # type: ignore[misc]
    """A decision tree for classes that is grown only where predictions are asked for.

    Its predictions are those of `DecisionTreeClassifier`. It pays where few rows are predicted from
    many, or where the data are new each time.

    Parameters
    ----------
    strategy : {"batched", "single"}, default="batched"
        Whether all rows that are predicted together are one batch, whose nodes are grown once, or
        each row grows its own path. The predictions are the same.
    criterion : {"gini", "entropy", "log_loss", "gain_ratio"}, default="gini"
        What a split is judged by.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        Limits of each tree, as in `DecisionTreeClassifier`.
    max_features, min_impurity_decrease
        As in `DecisionTreeClassifier`.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class.
    min_samples_category : int, default=2
        Rows that a category needs in a node to stand for itself; rarer ones go together, with
        those that the node has not. Sets of more than two categories have to gain more than chance
        does. 1 for neither.
    categorical_features : "from_dtype", None, list of int or str, or mask, default="from_dtype"
        Which columns are categories.
    random_state : int, RandomState or None, default=None
        Drives the draws of columns.
    n_jobs : int, default=None
        Threads. None means one, -1 all cores.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.
    work_ : dict
        What the last prediction cost: `nodes_grown`, `rows_scanned`, `stack_words` (rows of the
        nodes on one path of a tree, where they are most), `model_words` (0: no tree is kept),
        `peak_bytes`.

    Examples
    --------
    >>> from treefold import LazyDecisionTreeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> LazyDecisionTreeClassifier().fit(X, y).predict([[0.1]]).tolist()
    ['a']
    """

    _tree = DecisionTreeClassifier

    def __init__(
        self,
        *,
        strategy: str = "batched",
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
        self.strategy = strategy
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


class LazyDecisionTreeRegressor(RegressorMixin, NumberAnswers, LazyEnsemble):  # type: ignore[misc]
    """A decision tree for numbers that is grown only where predictions are asked for.

    Its predictions are those of `DecisionTreeRegressor`. It pays where few rows are predicted from
    many, or where the data are new each time.

    Parameters
    ----------
    strategy : {"batched", "single"}, default="batched"
        Whether all rows that are predicted together are one batch, whose nodes are grown once, or
        each row grows its own path. The predictions are the same.
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
        Drives the draws of columns.
    n_jobs : int, default=None
        Threads. None means one, -1 all cores.

    Attributes
    ----------
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.
    work_ : dict
        What the last prediction cost: `nodes_grown`, `rows_scanned`, `stack_words` (rows of the
        nodes on one path of a tree, where they are most), `model_words` (0: no tree is kept),
        `peak_bytes`.

    Examples
    --------
    >>> from treefold import LazyDecisionTreeRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, 5.0, 5.0]
    >>> LazyDecisionTreeRegressor().fit(X, y).predict([[0.1]])
    array([1.])
    """

    _tree = DecisionTreeRegressor

    def __init__(
        self,
        *,
        strategy: str = "batched",
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
        self.strategy = strategy
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


class LazyBaggingClassifier(ClassifierMixin, ClassAnswers, LazyEnsemble):  # type: ignore[misc]
    """Bagged decision trees for classes, grown only where predictions are asked for.

    Its predictions are those of `BaggingClassifier`. No tree is kept.

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
    voting : {"soft", "hard"}, default="soft"
        Whether trees give the shares of their leaf, which are averaged, or one vote each, to its
        most frequent class.
    strategy : {"batched", "single"}, default="batched"
        Whether all rows that are predicted together are one batch, whose nodes are grown once, or
        each row grows its own path. The predictions are the same.
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
    classes_ : ndarray
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.
    oob_score_, oob_decision_function_ : float, ndarray
        With `oob_score`: the accuracy of rows that are out of some bags, and the answers (NaN for
        rows that are in every bag).
    work_ : dict
        What the last prediction cost: `nodes_grown`, `rows_scanned`, `stack_words` (rows of the
        nodes on one path of a tree, where they are most), `model_words` (0: no tree is kept),
        `peak_bytes`.

    Examples
    --------
    >>> from treefold import LazyBaggingClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> LazyBaggingClassifier(random_state=0, n_estimators=5).fit(X, y).predict([[0.1]]).tolist()
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
        voting: str = "soft",
        strategy: str = "batched",
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
        self.voting = voting
        self.strategy = strategy
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


class LazyBaggingRegressor(RegressorMixin, NumberAnswers, LazyEnsemble):  # type: ignore[misc]
    """Bagged decision trees for numbers, grown only where predictions are asked for.

    Its predictions are those of `BaggingRegressor`. No tree is kept.

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
    strategy : {"batched", "single"}, default="batched"
        Whether all rows that are predicted together are one batch, whose nodes are grown once, or
        each row grows its own path. The predictions are the same.
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
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.
    oob_score_, oob_prediction_ : float, ndarray
        With `oob_score`: the R2 of rows that are out of some bags, and the answers (NaN for
        rows that are in every bag).
    work_ : dict
        What the last prediction cost: `nodes_grown`, `rows_scanned`, `stack_words` (rows of the
        nodes on one path of a tree, where they are most), `model_words` (0: no tree is kept),
        `peak_bytes`.

    Examples
    --------
    >>> from treefold import LazyBaggingRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, 5.0, 5.0]
    >>> LazyBaggingRegressor(random_state=0, n_estimators=5).fit(X, y).predict([[0.1]])
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
        strategy: str = "batched",
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
        self.strategy = strategy
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
