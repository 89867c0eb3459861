"""Decision trees that are cross-validated in fit: the tree, its settings and its evidence."""

from typing import Any

import numpy as np

from treefold.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from treefold.evaluation.cross_validated import CrossValidatedTree

__all__ = ["DecisionTreeClassifierCV", "DecisionTreeRegressorCV"]


class DecisionTreeClassifierCV(CrossValidatedTree, DecisionTreeClassifier):
    """A decision tree for classes that chooses its own size by cross-validation.

    One fit grows the trees of all folds and all settings together with the tree of all rows. A
    parameter may be one value, which is then fixed, or a list of candidates. The fitted estimator
    is the tree of all rows with the chosen parameters, bit for bit, and has the evidence besides:
    scores on held-out rows, predictions for them, and how steady each split is.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "gain_ratio"} or list of these, default="gini"
        What a split is judged by.
    max_depth : int, None or list of these, default=None
        Largest depth.
    min_samples_split : int, float or list of these, default=2
        Rows that a node needs to be split.
    min_samples_leaf : int, float or list of these, default=(1, 5, 20)
        Rows that each side of a split needs.
    max_features : int, float, {"sqrt", "log2"}, None or list of these, default=None
        Columns to try in each node.
    max_leaf_nodes : int, None or list of these, default=None
        Largest number of leaves.
    min_impurity_decrease : float or list of float, default=0.0
        Weighted decrease of impurity that a split needs.
    class_weight : dict, "balanced", None or list of these, default=None
        Weight of each class.
    ccp_alpha : "path", float or list of float, default="path"
        Strength of the pruning. "path" tries every size that pruning can give to the tree of all
        rows (at most 100 of them, spread over the number of leaves).
    min_samples_category : int, or list of these, default=2
        Rows that a category needs in a node to stand for itself; rarer ones go together, with
        those that the node has not. Sets of more than two categories have to gain more than chance
        does. 1 for neither.
    categorical_features : "from_dtype", None, list of int or str, or mask, default="from_dtype"
        Which columns are categories.
    cv : int, splitter, iterable or None, default=None
        How rows are held out. None means 5 folds; folds are stratified by class.
    shuffle : bool, default=True
        Deal rows to the folds at random, by `random_state`. False takes them in their order, as a
        number does elsewhere in scikit-learn. A splitter or an iterable in `cv` is used as it is.
    scoring : str, callable or None, default="neg_brier_score"
        What candidates are compared by; None means accuracy. The Brier score asks for good
        probabilities. (Under "one_se", accuracy would choose a tree without splits wherever one
        class is rare.)
    rule : {"one_se", "best"}, default="one_se"
        "best" takes the highest mean score. "one_se" takes the simplest tree whose mean score is
        within one standard error of it: the fewest leaves, then the larger ccp_alpha.
    store_cv_predictions : bool, default=True
        Keep the predictions for held-out rows in `evaluation_`.
    random_state : int, RandomState or None, default=None
        Drives the draw of columns, and shuffles the folds; for these None is 0, so that a fit
        gives the same scores each time.
    n_jobs : int, default=None
        Threads. None means one, -1 all cores.
    verbose : int, default=0
        1 shows a bar on a terminal.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters: `DecisionTreeClassifier(**best_params_)` grows the same tree.
    best_score_ : float
        Mean score of the chosen candidate on held-out rows. It was used to choose, so it is a
        little too good.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of str to ndarray
        All candidates, in scikit-learn's form, and `n_leaves` of their trees of all rows.
    scorer_ : callable
        The scorer that was used.
    n_splits_ : int
        Number of splits.
    evaluation_ : Evaluation
        Scores, baseline, path and predictions in one object.
    stability_ : dict of str to ndarray of shape (node_count,)
        What the folds' trees with the chosen parameters do in the place of each node of `tree_`;
        a node is in the same place if the same columns and sides lead to it. `n_reached` of
        `n_folds` trees have such a node; `n_same_column` split it by the same column, at
        `threshold_min`, `threshold_median` and `threshold_max`; in `n_leaf_here` it is a leaf;
        `other_column` is what most of the others split by (-1: no others). `rows_jaccard` compares
        the rows that reach it, and `heldout_value` is the share of the predicted class among
        the `heldout_rows` that reach it. Folds overlap: agreement means steady, not certain.
    tree_, classes_, n_classes_, feature_importances_, n_features_in_, feature_names_in_
        As in `DecisionTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treefold import DecisionTreeClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifierCV().fit(X, y)
    >>> model.get_n_leaves()
    4
    >>> len(model.cv_results_["mean_test_score"]), model.n_splits_
    (18, 5)
    """

    _tree = DecisionTreeClassifier

    def __init__(
        self,
        *,
        criterion: Any = "gini",
        max_depth: Any = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = (1, 5, 20),
        max_features: Any = None,
        max_leaf_nodes: Any = None,
        min_impurity_decrease: Any = 0.0,
        class_weight: Any = None,
        ccp_alpha: Any = "path",
        min_samples_category: Any = 2,
        categorical_features: Any = "from_dtype",
        cv: Any = None,
        shuffle: bool = True,
        scoring: Any = "neg_brier_score",
        rule: str = "one_se",
        store_cv_predictions: bool = True,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.min_samples_category = min_samples_category
        self.categorical_features = categorical_features
        self.cv = cv
        self.shuffle = shuffle
        self.scoring = scoring
        self.rule = rule
        self.store_cv_predictions = store_cv_predictions
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class DecisionTreeRegressorCV(CrossValidatedTree, DecisionTreeRegressor):
    """A decision tree for numbers that chooses its own size by cross-validation.

    One fit grows the trees of all folds and all settings together with the tree of all rows. A
    parameter may be one value, which is then fixed, or a list of candidates. The fitted estimator
    is the tree of all rows with the chosen parameters, bit for bit, and has the evidence besides:
    scores on held-out rows, predictions for them, and how steady each split is.

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        What a split is judged by.
    max_depth : int, None or list of these, default=None
        Largest depth.
    min_samples_split : int, float or list of these, default=2
        Rows that a node needs to be split.
    min_samples_leaf : int, float or list of these, default=(1, 5, 20)
        Rows that each side of a split needs.
    max_features : int, float, {"sqrt", "log2"}, None or list of these, default=None
        Columns to try in each node.
    max_leaf_nodes : int, None or list of these, default=None
        Largest number of leaves.
    min_impurity_decrease : float or list of float, default=0.0
        Weighted decrease of impurity that a split needs.
    ccp_alpha : "path", float or list of float, default="path"
        Strength of the pruning. "path" tries every size that pruning can give to the tree of all
        rows (at most 100 of them, spread over the number of leaves).
    min_samples_category : int, or list of these, default=2
        Rows that a category needs in a node to stand for itself; rarer ones go together, with
        those that the node has not. Sets of more than two categories have to gain more than chance
        does. 1 for neither.
    categorical_features : "from_dtype", None, list of int or str, or mask, default="from_dtype"
        Which columns are categories.
    cv : int, splitter, iterable or None, default=None
        How rows are held out. None means 5 folds.
    shuffle : bool, default=True
        Deal rows to the folds at random, by `random_state`. False takes them in their order, as a
        number does elsewhere in scikit-learn. A splitter or an iterable in `cv` is used as it is.
    scoring : str, callable or None, default="r2"
        What candidates are compared by; None means R2.
    rule : {"one_se", "best"}, default="one_se"
        "best" takes the highest mean score. "one_se" takes the simplest tree whose mean score is
        within one standard error of it: the fewest leaves, then the larger ccp_alpha.
    store_cv_predictions : bool, default=True
        Keep the predictions for held-out rows in `evaluation_`.
    random_state : int, RandomState or None, default=None
        Drives the draw of columns, and shuffles the folds; for these None is 0, so that a fit
        gives the same scores each time.
    n_jobs : int, default=None
        Threads. None means one, -1 all cores.
    verbose : int, default=0
        1 shows a bar on a terminal.

    Attributes
    ----------
    best_params_, best_score_, best_index_, cv_results_, scorer_, n_splits_, evaluation_, stability_
        As in `DecisionTreeClassifierCV`; the `heldout_value` of a node is the mean of its held-out
        rows.
    tree_, feature_importances_, n_features_in_, feature_names_in_
        As in `DecisionTreeRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from treefold import DecisionTreeRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DecisionTreeRegressorCV().fit(X, y)
    >>> model.get_n_leaves()
    3
    """

    _tree = DecisionTreeRegressor

    def __init__(
        self,
        *,
        criterion: Any = "squared_error",
        max_depth: Any = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = (1, 5, 20),
        max_features: Any = None,
        max_leaf_nodes: Any = None,
        min_impurity_decrease: Any = 0.0,
        ccp_alpha: Any = "path",
        min_samples_category: Any = 2,
        categorical_features: Any = "from_dtype",
        cv: Any = None,
        shuffle: bool = True,
        scoring: Any = "r2",
        rule: str = "one_se",
        store_cv_predictions: bool = True,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.min_samples_category = min_samples_category
        self.categorical_features = categorical_features
        self.cv = cv
        self.shuffle = shuffle
        self.scoring = scoring
        self.rule = rule
        self.store_cv_predictions = store_cv_predictions
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
