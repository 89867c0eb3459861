"""What ensembles of trees share: parameters, bags, and what is known after fit."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from treefold import _native
from treefold.data.schema import Schema
from treefold.data.table import encode, open_rows
from treefold.data.target import Target
from treefold.estimators.bags import Bags, Work
from treefold.estimators.base import BaseDecisionTree
from treefold.exceptions import ParameterError
from treefold.rules import check_parameters, draw_seed, is_fraction, is_whole
from treefold.threads import effective_n_jobs

__all__ = ["BaseEnsemble", "ClassAnswers", "NumberAnswers"]

_VOTING = ("soft", "hard")
_OUT_OF_BAG = ("oob_score_", "oob_decision_function_", "oob_prediction_")


class BaseEnsemble(BaseEstimator):  # type: ignore[misc]
    """An ensemble of decision trees, grown or to be grown; not to be used directly."""

    _tree: type[BaseDecisionTree]
    n_estimators: int = 1
    bootstrap: bool = False
    max_samples: float | None = None
    oob_score: bool = False
    warm_start: bool = False
    voting: str = "soft"

    def _open(self, X: Any, y: Any, sample_weight: Any, n_threads: int | None = None) -> Bags:
        """Read everything that `fit` is given; nothing is grown, and nothing changed."""
        tree = self._make_tree()
        seed = self._choose_seed()
        n_threads = effective_n_jobs(self.n_jobs) if n_threads is None else n_threads
        table = encode(X, self.categorical_features, n_threads)
        plain = self._make_tree()
        if hasattr(plain, "class_weight"):
            plain.class_weight = None  # depends on the rows of each bag
        target = self._name_owner(plain, lambda: plain._read_target(y, sample_weight, table.n_rows))
        size = self.max_samples
        bags = Bags(table, target, tree, seed, self.n_estimators, self.bootstrap, size)
        bags.make_member(0)  # raises what has no meaning
        return bags

    def _choose_seed(self) -> int:
        drawn = self.bootstrap or not (self.max_features is None and self.max_samples is None)
        return draw_seed(self.random_state) if drawn else 0

    def _make_tree(self) -> BaseDecisionTree:
        """Make the tree whose parameters all trees have; raises if they have no meaning."""
        tree = self._make_unchecked()
        self._check_own()
        check_parameters(self._stand_in(tree), tree._criteria)
        return tree

    def _make_unchecked(self) -> BaseDecisionTree:
        names = self._tree().get_params(deep=False).keys() & self.get_params(deep=False).keys()
        given = {name: getattr(self, name) for name in names - {"n_jobs", "random_state"}}
        return self._tree(**given, random_state=0)

    def _stand_in(self, tree: BaseDecisionTree) -> Any:
        """Let messages name this class, which has some parameters only."""
        fields = {**vars(tree), "random_state": self.random_state}
        return type(type(self).__name__, (), fields)()

    def _name_owner(self, tree: BaseDecisionTree, read: Any) -> Target:
        try:
            target: Target = read()
        except ValueError as error:
            text = str(error).replace(type(tree).__name__, type(self).__name__)
            raise type(error)(text) from None
        return target

    def _check_own(self) -> None:
        owner = type(self).__name__
        if not is_whole(self.n_estimators, 1):
            raise ParameterError(
                f"The 'n_estimators' parameter of {owner} must be an int of at least 1. "
                f"Got {self.n_estimators!r} instead."
            )
        for name in ("bootstrap", "oob_score", "warm_start"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ParameterError(
                    f"The {name!r} parameter of {owner} must be a bool. "
                    f"Got {getattr(self, name)!r} instead."
                )
        size = self.max_samples
        if not (size is None or is_whole(size, 1) or is_fraction(size)):
            raise ParameterError(
                f"The 'max_samples' parameter of {owner} must be an int of at least 1, a float in "
                f"the range (0.0, 1.0] or None. Got {size!r} instead."
            )
        self._check_out_of_bag()
        self._check_choice("voting", _VOTING)

    def _check_out_of_bag(self) -> None:
        for name, value in (("bootstrap", True), ("warm_start", False)):
            if self.oob_score and getattr(self, name) != value:
                raise ParameterError(
                    f"Out of bag estimate only available if {name}={value}. Got oob_score=True and "
                    f"{name}={not value}: change one of them."
                )

    def _check_choice(self, name: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if not (isinstance(value, str) and value in choices):
            shown = ", ".join(map(repr, choices))
            raise ParameterError(
                f"The {name!r} parameter of {type(self).__name__} must be one of {shown}. "
                f"Got {value!r} instead."
            )

    def _remember(self, bags: Bags, **facts: Any) -> Self:
        """Change the estimator, all at once: nothing here can fail."""
        return self._become(bags.table.schema, bags.target.classes, **facts)

    def _become(self, schema: Schema, classes: NDArray[Any] | None, **facts: Any) -> Self:
        """Turn this into a fitted ensemble."""
        for name in ("feature_names_in_", *_OUT_OF_BAG):
            self.__dict__.pop(name, None)
        if schema.names is not None:
            self.feature_names_in_ = schema.names
        self.n_features_in_ = schema.n_columns
        if classes is not None:
            self.classes_ = classes
            self.n_classes_ = len(classes)
        self._schema = schema
        self.__dict__.update(facts)
        return self

    @property
    def work_(self) -> dict[str, int]:
        """What growing has cost."""
        return dict(self._work.counts)

    _work: Work

    def _open_rows(self, X: Any) -> _native.Source:
        self._check_fitted()
        return open_rows(X, self._schema, type(self).__name__)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_schema"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_schema")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


class ClassAnswers:
    """A mixin: the answers of classifiers."""

    def predict_proba(self: Any, X: Any) -> NDArray[np.float64]:
        """Predict the share of each class: the mean of the trees' shares, or of their votes.

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
        >>> from treefold import LazyDecisionTreeClassifier
        >>> LazyDecisionTreeClassifier().fit([[0.0], [1.0]], [7, 9]).predict_proba([[0.2]])
        array([[1., 0.]])
        """
        shares: NDArray[np.float64] = self._average(X)
        return shares

    def predict(self: Any, X: Any) -> NDArray[Any]:
        """Predict the class of the largest share; the lowest one if equal.

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
        >>> from treefold import LazyDecisionTreeClassifier
        >>> LazyDecisionTreeClassifier().fit([[0.0], [1.0]], [7, 9]).predict([[0.2]])
        array([7])
        """
        shares = self.predict_proba(X)
        return np.asarray(self.classes_.take(shares.argmax(axis=1)))

    def predict_log_proba(self: Any, X: Any) -> NDArray[np.float64]:
        """Predict the logarithm of the share of each class; -inf where it is zero.

        Examples
        --------
        >>> from treefold import LazyDecisionTreeClassifier
        >>> LazyDecisionTreeClassifier().fit([[0.0], [1.0]], [7, 9]).predict_log_proba([[0.2]])
        array([[  0., -inf]])
        """
        shares: NDArray[np.float64] = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(shares)


class NumberAnswers:
    """A mixin: the answers of regressors."""

    def predict(self: Any, X: Any) -> NDArray[np.float64]:
        """Predict the mean of what the trees say.

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
        >>> from treefold import LazyDecisionTreeRegressor
        >>> LazyDecisionTreeRegressor().fit([[0.0], [1.0]], [1.5, 2.5]).predict([[0.2]])
        array([1.5])
        """
        means: NDArray[np.float64] = self._average(X)[:, 0]
        return means
