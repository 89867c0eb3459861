"""Any model that can be reported; a search in the form of an estimator that is cross-validated."""

import math
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from treefold import DecisionTreeClassifierCV, DecisionTreeRegressorCV
from treefold.evaluation import Evaluation
from treefold.evaluation.candidates import find_tree
from treefold.evaluation.cross_validated import CrossValidatedTree
from treefold.evaluation.fitting import Evidence, Request, fit_with_evidence
from treefold.exceptions import InputError, ParameterError
from treefold.model.tree import Tree, check_same_tree
from treefold.reporting.fitted import Data, describe_model, fit_again
from treefold.reporting.material import Material
from treefold.scoring.cells import name_scoring

__all__ = ["Data", "SearchedTree", "describe"]

_SHUFFLES = 3
_SAME_SCORE = 1e-9  # scores are sums in another order


def describe(estimator: Any, data: Data | None) -> Material:
    """Gather everything about an estimator or a search."""
    if isinstance(estimator, CrossValidatedTree):
        estimator._check_fitted()
        model, evidence = (estimator, Evidence()) if data is None else fit_again(estimator, data)
        return describe_model(model, evidence, data)
    if not hasattr(estimator, "cv_results_") or not hasattr(estimator, "multimetric_"):
        raise ParameterError(
            "report takes a fitted DecisionTreeClassifierCV, DecisionTreeRegressorCV, or a fitted "
            f"search of treefold.model_selection. Got {type(estimator).__name__}."
        )
    searched = SearchedTree(estimator)
    evidence = Evidence() if data is None else searched.fit_again(data)
    return describe_model(searched, evidence, data, searched)


class SearchedTree:
    """The best tree of a search, with what the search knows of it.

    With the data, the trees of its folds are grown once more, and tell the rest.
    """

    def __init__(self, search: Any) -> None:
        best = getattr(search, "best_estimator_", None)
        tree = None if best is None else find_tree(best)
        if tree is None:
            raise ParameterError(
                "report needs a search that was fitted, with refit, to a decision tree of treefold "
                f"or a pipeline that ends in one. Got {type(search.estimator).__name__}"
                f"{'' if best is not None else ', without best_estimator_'}."
            )
        self.search, self.tree, self.is_pipeline = search, tree, best is not tree
        self.tree_: Tree = tree._check_fitted()
        if hasattr(tree, "classes_"):
            self.classes_ = tree.classes_
        self.metric = search.refit if search.multimetric_ else "score"
        self.scoring = search.scoring if not search.multimetric_ else self.metric
        self.rule = "one_se" if callable(search.refit) else "best"
        self.categorical_features = tree.categorical_features
        self.n_splits_, self.best_index_ = search.n_splits_, int(search.best_index_)
        self.best_params_ = tree.get_params()
        self.cv_results_ = self._rename(search.cv_results_)
        self.candidates = self._list_candidates()
        self.evaluation_ = self._evaluate()
        self.stability_: Any = None
        self.cv, self.random_state = search.cv, getattr(tree, "random_state", None)

    def __repr__(self) -> str:
        return repr(self.search)

    def __sklearn_tags__(self) -> Any:
        return self.tree.__sklearn_tags__()

    def _check_fitted(self) -> Tree:
        return self.tree_

    def _rename(self, results: dict[str, Any]) -> dict[str, Any]:
        """Results of one metric, under the names of a single one."""
        end = f"_test_{self.metric}"
        renamed = {
            f"{name.removesuffix(end)}_test_score": value
            for name, value in results.items()
            if name.endswith(end)
        }
        return {"params": results["params"], **renamed}

    def _split_scores(self) -> Any:
        numbers = range(self.n_splits_)
        names = [f"split{number}_test_score" for number in numbers]
        return np.column_stack([self.cv_results_[name] for name in names])

    def _list_candidates(self) -> list[dict[str, Any]]:
        scores = self._split_scores()
        means = np.nan_to_num(scores.mean(axis=1), nan=-np.inf)
        ranks = np.argsort(np.argsort(-means, kind="stable"), kind="stable") + 1
        sign = -1 if name_scoring(self.scoring, self).startswith("neg_") else 1
        found = []
        for place, params in enumerate(self.cv_results_["params"]):
            if not np.isfinite(means[place]):
                continue
            own = scores[place]
            error = float(np.std(own, ddof=1)) / math.sqrt(len(own)) if len(own) > 1 else 0.0
            mark = "best" if ranks[place] == 1 else ""
            found.append(
                {
                    "params": dict(params),
                    "score": sign * float(means[place]),
                    "error": error,
                    "rank": int(ranks[place]),
                    "mark": "chosen" if place == self.best_index_ else mark,
                }
            )
        return found

    def _evaluate(self) -> Evaluation:
        name = name_scoring(self.scoring, self)
        scores = self._split_scores()
        path = {"mean_test_score": self.cv_results_["mean_test_score"]}
        chosen = {"index": self.best_index_, "params": self.search.best_params_}
        return Evaluation(name, {name: scores[self.best_index_]}, path, chosen)

    def fit_again(self, data: Data) -> Evidence:
        """Grow the trees of the folds with the chosen parameters, to find out what they do."""
        if self.is_pipeline:
            raise ParameterError(
                "report takes no X and y for a search of pipelines: the columns of the tree are "
                "not those of X. Leave them out."
            )
        twin = self._make_twin(data)
        request = Request(data.X, data.y, data.weights, n_permutations=_SHUFFLES)
        evidence = fit_with_evidence(twin, request)
        check_same_tree(self.tree_, twin.tree_)
        own = twin.evaluation_
        seen = own.test_scores[own.scoring]
        if not np.allclose(seen, self._split_scores()[self.best_index_], atol=_SAME_SCORE):
            raise InputError(
                "X and y, split by cv once more, give other scores than the search had: the folds "
                "were drawn without a seed. Leave X and y out, or search with a seed."
            )
        self.stability_ = twin.stability_
        self.evaluation_ = Evaluation(
            self.evaluation_.scoring,
            self.evaluation_.test_scores,
            self.evaluation_.path,
            self.evaluation_.chosen,
            own.baseline,
            None,
            own.indices,
            own.predictions,
            own.notes,
            own.truth,
            own.weights,
        )
        return evidence

    def _make_twin(self, data: Data) -> Any:
        kind = DecisionTreeClassifierCV if is_classifier(self.tree) else DecisionTreeRegressorCV
        params = self.tree.get_params()
        names = set(kind._get_param_names())
        shared = {name: value for name, value in params.items() if name in names}
        scorer = self.search.scorer_[self.metric] if self.search.multimetric_ else self.scoring
        cv = check_cv(self.search.cv, data.y, classifier=is_classifier(self.tree))
        rows = np.empty((len(data.y), 0)) if not hasattr(data.X, "shape") else data.X
        splits = list(cv.split(rows, data.y, **data.params))
        twin = kind(**{**shared, "cv": splits, "scoring": scorer, "rule": "best"})
        twin._is_pooling = False  # a search takes the mean over its splits
        return twin
