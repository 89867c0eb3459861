"""What both estimators that are cross-validated in fit share: parameters, splits and results."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._metadata_requests import _routing_enabled
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from treefold.data.table import Table
from treefold.evaluation.cross_fit import Found
from treefold.evaluation.dataset import Dataset
from treefold.evaluation.fitting import Request, Routed, fit_with_evidence
from treefold.evaluation.record import POOLED_NOTE, Evaluation
from treefold.evaluation.splits import Split, read_splits
from treefold.evaluation.trials import (
    NestedScores,
    Trials,
    make_results,
    show_nested,
    summarise_trials,
)
from treefold.evaluation.tuned_scores import (
    TUNABLE,
    Tuning,
    plan_tunings,
)
from treefold.exceptions import InputError, ParameterError
from treefold.model.interop import to_sklearn
from treefold.model.tree import Tree
from treefold.rules import check_parameters
from treefold.scoring.cells import Scoring, name_all_classes, name_scoring, resolve_scoring
from treefold.scoring.pooling import POOLED

__all__ = ["CrossValidatedTree"]

_RULES = ("one_se", "best")


class CrossValidatedTree:
    """A mixin in front of one of the decision trees; not to be used directly."""

    _tree: type[Any]  # the estimator of one candidate
    _is_pooling = True  # False: each split is a score of its own, and the mean counts
    _check_fitted: Callable[[], Tree]  # that tree's own
    evaluation_: Evaluation

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Grow the trees of all folds and settings, choose, and become the tree of all rows.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of rows or Table
            The training data; missing values allowed.
        y : array of shape (n_rows,)
            Class labels, or the numbers to predict.
        sample_weight : array of shape (n_rows,), default=None
            How much each row counts, in growing and in scoring (if the scorer takes weights).
        **params : dict
            `groups`, for the splitter. With metadata routing enabled, whatever the splitter and
            the scorer ask for.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from treefold import DecisionTreeRegressorCV
        >>> X = np.arange(40.0).reshape(-1, 1) % 10
        >>> model = DecisionTreeRegressorCV(min_samples_leaf=1).fit(X, X[:, 0] > 4)
        >>> model.best_score_, model.get_n_leaves()
        (1.0, 2)
        """
        fit_with_evidence(self, Request(X, y, sample_weight, params))
        return self

    def _plan(self: Any) -> tuple[list[Tuning], dict[str, Any]]:
        """Check the parameters: the settings to try, and what all candidates have besides."""
        owner = type(self).__name__
        if self.rule not in _RULES:
            raise ParameterError(
                f"The 'rule' parameter of {owner} must be one of 'one_se', 'best'. "
                f"Got {self.rule!r} instead."
            )
        if not isinstance(self.shuffle, bool | np.bool_):
            raise ParameterError(
                f"The 'shuffle' parameter of {owner} must be True or False. Got {self.shuffle!r}."
            )
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ParameterError(
                f"The 'scoring' parameter of {owner} must be the name of one metric, a callable or "
                f"None, because candidates are compared by one number. Got {self.scoring!r}."
            )
        parameters = {name: getattr(self, name) for name in TUNABLE if hasattr(self, name)}
        fixed = {
            "categorical_features": self.categorical_features,
            "random_state": self._fix_random_state(),
        }

        def make_tree(candidate: dict[str, Any]) -> Any:
            tree = self._tree(**candidate, **fixed)
            try:
                check_parameters(tree, tree._criteria)
            except ParameterError as error:
                raise ParameterError(str(error).replace(type(tree).__name__, owner)) from None
            return tree

        return plan_tunings(parameters, make_tree), fixed

    def _fix_random_state(self: Any) -> Any:
        """Draw one seed for all trees and folds, if anything is drawn."""
        is_shuffled = self._is_shuffled and self.random_state is not None
        is_drawn = is_shuffled or self.max_features is not None
        if not is_drawn or isinstance(self.random_state, Integral):
            return self.random_state
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    # Splits -------------------------------------------------------------------------------------

    @property
    def _is_shuffled(self: Any) -> bool:
        """Whether folds are dealt at random here."""
        return bool(self.shuffle) and (self.cv is None or isinstance(self.cv, Integral))

    def _make_splitter(self: Any, dataset: Dataset, seed: Any) -> Any:
        n_folds: Any = 5 if self.cv is None else self.cv
        if isinstance(n_folds, Integral) and int(n_folds) > dataset.n_rows:
            raise InputError(
                f"cv={self.cv} asks for {n_folds} folds, but there are only n_samples="
                f"{dataset.n_rows} rows. Give more rows, or a smaller cv."
            )
        if not self._is_shuffled:
            return check_cv(n_folds, dataset.target.values, classifier=is_classifier(self))
        kind = StratifiedKFold if is_classifier(self) else KFold
        seed = 0 if self.random_state is None else seed
        return kind(int(n_folds), shuffle=True, random_state=seed)

    def _split(
        self: Any, cv: Any, dataset: Dataset, request: Request, routed: Routed
    ) -> list[Split]:
        X, y = request.X, request.y
        is_plain = self.cv is None or isinstance(self.cv, Integral)
        rows = np.empty((dataset.n_rows, 0)) if isinstance(X, Table) else X
        truth = dataset.target.values if is_plain else y
        splits = read_splits(cv, rows, truth, dataset.n_rows, **routed.split)
        if not splits:
            raise InputError(f"cv={self.cv!r} gives no split of these data.")
        weights = dataset.target.weights
        for number, split in enumerate(splits):
            if not split.is_regular:
                raise InputError(
                    f"Split {number} of cv={self.cv!r} has no training rows, no held-out rows, "
                    "rows that the data do not have, or training rows that come twice."
                )
            for what, side in (("training", split.train), ("held-out", split.test)):
                if weights is not None and not weights[side].any():
                    raise InputError(
                        f"All {what} rows of split {number} have a sample weight of zero: they do "
                        "not exist. Use fewer or shuffled folds."
                    )
        return splits

    # Metadata -----------------------------------------------------------------------------------

    def _route(self: Any, sample_weight: Any, params: dict[str, Any]) -> Routed:
        if not _routing_enabled():
            unknown = sorted(params.keys() - {"groups"})
            if unknown:
                raise ParameterError(
                    f"{type(self).__name__}.fit takes no {unknown[0]!r}, unless metadata routing "
                    "is enabled: sklearn.set_config(enable_metadata_routing=True)."
                )
            return Routed(params, None)
        routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
        return Routed(routed.splitter.split, routed.scorer.score)

    def get_metadata_routing(self: Any) -> MetadataRouter:
        """Tell scikit-learn who may be given which metadata.

        Examples
        --------
        >>> from treefold import DecisionTreeClassifierCV
        >>> type(DecisionTreeClassifierCV().get_metadata_routing()).__name__
        'MetadataRouter'
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        to_split = MethodMapping().add(caller="fit", callee="split")
        to_score = MethodMapping().add(caller="fit", callee="score")
        router.add(splitter=check_cv(self.cv), method_mapping=to_split)
        router.add(
            scorer=resolve_scoring(self._tree(), self.scoring).scorer, method_mapping=to_score
        )
        return router

    # Scores -------------------------------------------------------------------------------------

    def _make_scoring(self: Any, classes: NDArray[Any] | None) -> Scoring:
        if classes is not None and len(classes) == 1:
            raise InputError(
                f"y holds one class only, {classes.tolist()[0]!r}: there is nothing to choose a "
                f"tree by. {type(self).__name__} needs at least two classes."
            )
        scoring = self.scoring if classes is None else name_all_classes(self.scoring, classes)
        return resolve_scoring(self._tree(), scoring, "raise")

    def _evaluate(
        self: Any,
        trials: Trials,
        index: int,
        found: Found,
        splits: list[Split],
        nested: NestedScores | None,
    ) -> Evaluation:
        results, pooling = make_results(trials), trials.pooling
        is_pooled = len(pooling.counts) < len(splits)
        varied = [
            name
            for name in trials.params[0]
            if name == "ccp_alpha" or len({repr(params[name]) for params in trials.params}) > 1
        ]
        path = {name: results[f"param_{name}"].data for name in varied}
        for name in (*POOLED, "n_leaves"):
            path[name] = results[name]
        indices = {"test": [split.test for split in splits]}
        if any(split.listed_train is not None for split in splits):
            indices["train"] = [split.train for split in splits]
        chosen = {name: trials.params[index][name] for name in varied}
        name = name_scoring(self.scoring, self)
        return Evaluation(
            name,
            {name: pooling.show(trials.scores[index])},
            path,
            {"index": index, "params": chosen, "rule": self.rule},
            pooling.show(found.baseline),
            None if nested is None else show_nested(trials, nested),
            indices,
            found.predictions,
            (POOLED_NOTE,) if is_pooled else (),
            summary=summarise_trials(trials, index, found.baseline, nested),
        )

    # What a plain tree has, with the chosen parameters ------------------------------------------

    def _make_plain(self: Any) -> Any:
        """Make the plain tree that this one is."""
        tree = self._check_fitted()
        plain = self._tree(**self.best_params_, n_jobs=self.n_jobs)
        return plain._become(tree, getattr(self, "classes_", None), self.max_features_)

    def to_sklearn(self: Any) -> Any:
        """Build scikit-learn's tree of the same kind, with the same predictions.

        See `DecisionTreeClassifier.to_sklearn`.

        Examples
        --------
        >>> import numpy as np
        >>> from treefold import DecisionTreeClassifierCV
        >>> X, y = np.arange(40.0).reshape(-1, 1) % 10, np.arange(40) % 10 > 4
        >>> DecisionTreeClassifierCV().fit(X, y).to_sklearn().get_n_leaves()
        np.int64(2)
        """
        return to_sklearn(self._make_plain())

    def cost_complexity_pruning_path(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Compute the strengths of pruning at which a tree with the chosen parameters changes.

        Examples
        --------
        >>> import numpy as np
        >>> from treefold import DecisionTreeClassifierCV
        >>> X, y = np.arange(40.0).reshape(-1, 1) % 10, np.arange(40) % 10 > 4
        >>> model = DecisionTreeClassifierCV().fit(X, y)
        >>> model.cost_complexity_pruning_path(X, y).ccp_alphas
        array([0. , 0.5])
        """
        return self._make_plain().cost_complexity_pruning_path(X, y, sample_weight)
