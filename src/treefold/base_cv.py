"""What both estimators that are cross-validated in fit share: from the caller's data to the choice.

`fit` reads everything, grows and chooses (`treefold.cross_fit`), and only then changes the
estimator, so that an error or an interrupt leaves it as it was.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics._scorer import _BaseScorer
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import Bunch, _safe_indexing, check_random_state, indexable
from sklearn.utils._metadata_requests import _routing_enabled
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_method_params

from treefold.cross_fit import CrossFit, Found
from treefold.evaluation import POOLED_NOTE, Evaluation
from treefold.exceptions import InputError, ParameterError
from treefold.interop import to_sklearn
from treefold.model import Tree
from treefold.model_selection.ground import Ground, open_ground
from treefold.model_selection.splits import Split, read_splits
from treefold.nested_fit import NestedFit
from treefold.pooling import POOLED
from treefold.progress import Progress
from treefold.rules import check_parameters
from treefold.scoring import Scoring, name_all_classes, name_scoring, resolve_scoring
from treefold.stems import (
    TUNABLE,
    Judge,
    Options,
    Setting,
    become,
    plan_pooling,
    plan_settings,
)
from treefold.table import Table
from treefold.threads import effective_n_jobs
from treefold.tuning import Trials, choose, make_results, show_nested, summarise_trials

__all__ = ["CrossValidatedTree", "Evidence"]

_RULES = ("one_se", "best")


@dataclass(frozen=True, slots=True)
class _Routed:
    """Who gets which of the arguments of `fit`; `score` is None if scorers get the weights."""

    split: Mapping[str, Any]
    score: Mapping[str, Any] | None


@dataclass(slots=True)
class Evidence:
    """What a fit finds out on top of what every fit does."""

    nested: bool = False
    blocks: list[list[int]] | None = None  # splits that take part in nested scores as one
    n_permutations: int = 0
    importance: NDArray[np.float64] | None = None  # (n_columns, n_splits), once it is fitted
    parts: list[Split] | None = None  # the inner splits, instead of the other splits
    nested_predictions: dict[int, NDArray[np.float64]] = field(default_factory=dict)  # by split
    n_trees: int = 0  # that were grown


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
        return self._fit_evidence(X, y, sample_weight, params, Evidence())

    def _fit_evidence(
        self: Any, X: Any, y: Any, sample_weight: Any, params: dict[str, Any], wanted: Evidence
    ) -> Any:
        """Fit; `wanted` says what to find out besides, and is told what an `Evaluation` lacks."""
        settings, fixed = self._plan()
        n_threads = effective_n_jobs(self.n_jobs)
        ground = open_ground(settings[0].estimator, X, y, sample_weight, n_threads)
        cv = self._make_splitter(ground, fixed["random_state"])
        routed = self._route(sample_weight, params)
        splits = self._split(cv, ground, X, y, routed)
        scoring = self._make_scoring(ground.target.classes)
        options = _make_options(ground, scoring, X, y, routed)
        kind = None
        if self._is_pooling:
            scoring, kind = plan_pooling(scoring)
        sizes = [len(split.test) for split in splits]
        is_pooled = bool(scoring.needs_pooling(sizes, ground.target.n_classes))
        judge = Judge(ground, scoring, options, is_pooled, n_threads, kind)
        cross_fit = CrossFit(ground, settings, splits, judge)
        trials, nested = self._run(cross_fit, wanted)
        index = choose(trials, self.rule)
        n_permutations = wanted.n_permutations if max(sizes) > 1 else 0  # one row is its shuffle
        found = cross_fit.finish(index, self.store_cv_predictions, n_permutations)
        if found.importance is not None:
            wanted.importance = trials.pooling.lose(found.importance, trials.scores[index])
        kept = ground.target.own() if self.store_cv_predictions else None
        facts = {
            "scorer_": scoring.scorer,
            "n_splits_": len(splits),
            "best_index_": index,
            "best_params_": {**trials.params[index], **fixed},
            "best_score_": float(trials.means[index]),
            "cv_results_": make_results(trials),
            "stability_": found.stability,
            "evaluation_": replace(
                self._evaluate(trials, index, found, splits, nested),
                truth=None if kept is None else kept.values,
                weights=None if kept is None else kept.weights,
            ),
        }
        become(self, found.native, ground, found.training)
        self.__dict__.update(facts)
        return self

    def _run(
        self: Any, cross_fit: CrossFit, wanted: Evidence
    ) -> tuple[Trials, dict[str, Any] | None]:
        """Grow and score everything: all candidates, and the nested scores if they are wanted."""
        is_pooled = cross_fit.judge.is_pooled and wanted.blocks is None
        is_nested = wanted.nested and not is_pooled
        nested_fit = NestedFit(cross_fit, wanted.blocks, wanted.parts) if is_nested else None
        total = cross_fit.work + (0 if nested_fit is None else nested_fit.work)
        n_inner = 0 if nested_fit is None else nested_fit.n_trainings
        wanted.n_trees = len(cross_fit.settings) * (1 + len(cross_fit.splits) + n_inner)
        with Progress("cross-validation", total, self.verbose) as progress:
            trials = cross_fit.evaluate(progress)
            nested = None if nested_fit is None else nested_fit.evaluate(self.rule, progress)
        if nested is not None and nested_fit is not None:
            wanted.nested_predictions = nested_fit.predictions
        return trials, nested

    def _plan(self: Any) -> tuple[list[Setting], dict[str, Any]]:
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

        return plan_settings(parameters, make_tree), fixed

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

    def _make_splitter(self: Any, ground: Ground, seed: Any) -> Any:
        n_folds: Any = 5 if self.cv is None else self.cv
        if isinstance(n_folds, Integral) and int(n_folds) > ground.n_rows:
            raise InputError(
                f"cv={self.cv} asks for {n_folds} folds, but there are only n_samples="
                f"{ground.n_rows} rows. Give more rows, or a smaller cv."
            )
        if not self._is_shuffled:
            return check_cv(n_folds, ground.target.values, classifier=is_classifier(self))
        kind = StratifiedKFold if is_classifier(self) else KFold
        seed = 0 if self.random_state is None else seed
        return kind(int(n_folds), shuffle=True, random_state=seed)

    def _split(self: Any, cv: Any, ground: Ground, X: Any, y: Any, routed: _Routed) -> list[Split]:
        is_plain = self.cv is None or isinstance(self.cv, Integral)
        rows = np.empty((ground.n_rows, 0)) if isinstance(X, Table) else X
        truth = ground.target.values if is_plain else y
        splits = read_splits(cv, rows, truth, ground.n_rows, **routed.split)
        if not splits:
            raise InputError(f"cv={self.cv!r} gives no split of these data.")
        weights = ground.target.weights
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

    def _route(self: Any, sample_weight: Any, params: dict[str, Any]) -> _Routed:
        if not _routing_enabled():
            unknown = sorted(params.keys() - {"groups"})
            if unknown:
                raise ParameterError(
                    f"{type(self).__name__}.fit takes no {unknown[0]!r}, unless metadata routing "
                    "is enabled: sklearn.set_config(enable_metadata_routing=True)."
                )
            return _Routed(params, None)
        routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
        return _Routed(routed.splitter.split, routed.scorer.score)

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
        nested: dict[str, Any] | None,
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
            nested and show_nested(trials, nested),
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


def _make_options(ground: Ground, scoring: Scoring, X: Any, y: Any, routed: _Routed) -> Options:
    """Make the function that cuts what scorers see to some rows."""
    is_known = scoring.metrics["score"] is not None or isinstance(scoring.scorer, _BaseScorer)
    weights = ground.target.weights
    seen = None if is_known or isinstance(X, Table) else indexable(X)[0]

    def options(rows: NDArray[Any]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        if not is_known:  # anybody's function, which may look at everything
            given["X"] = None if seen is None else _safe_indexing(seen, rows)
            given["y"] = _safe_indexing(y, rows)
        if routed.score is not None:
            params = dict(routed.score)
            given["score_params"] = _check_method_params(y, params=params, indices=rows)
        elif weights is not None:
            given["weights"] = weights[rows]
        return given

    return options
