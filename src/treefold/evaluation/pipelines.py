"""Pipelines that end in a tree: transformers are fitted once per split, then the tree is ours.

The transformers see the training rows only, as scikit-learn's own loop has it, so each split has a
table of its own; what is shared is that table, by all candidates that differ in the tree only.
"""

import copy
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.metrics._scorer import _PassthroughScorer
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import _num_samples

from treefold import _native
from treefold.data.schema import Schema
from treefold.data.table import named_columns, open_rows
from treefold.data.target import Target
from treefold.estimators.base import BaseDecisionTree
from treefold.evaluation.dataset import (
    Dataset,
    Side,
    open_dataset,
    read_target,
    refuse_other_params,
)
from treefold.evaluation.refusal import cannot_serve
from treefold.evaluation.splits import Split
from treefold.evaluation.study import Study

__all__ = ["make_opener", "read_truth", "refuses_to_score"]


def read_truth(tree: BaseDecisionTree, y: Any) -> Target:
    """Read the targets of all rows, to number the classes of all splits alike."""
    return read_target(tree, y, None, 0 if y is None else _num_samples(y))


class _Capture(BaseEstimator):  # type: ignore[misc]
    """Stands at the end of a pipeline and keeps what arrives there."""

    def __init__(self, tree: Any = None) -> None:
        self.tree = tree

    def fit(self, X: Any, y: Any = None, **params: Any) -> "_Capture":
        self.arrived_ = (X, y, params)
        return self

    def predict(self, X: Any) -> Any:
        return X

    def get_metadata_routing(self) -> Any:
        return self.tree.get_metadata_routing()

    def __sklearn_is_fitted__(self) -> bool:
        return True


def make_opener(
    study: Study, truth: Target, split: Split, estimator: Pipeline
) -> Callable[[BaseDecisionTree], Dataset]:
    """Make the function that encodes the transformed training rows of a split for a tree.

    Its transformers are fitted when it is first called.
    """
    name, tree = estimator.steps[-1]
    pipeline: Pipeline = clone(estimator)
    pipeline.steps[-1] = (name, _Capture(tree))

    @cache
    def fit_transformers() -> tuple[Any, Any, Any]:
        with cannot_serve(Exception):  # the caller's own transformers may raise anything
            X, y = study.take(split.train)
            pipeline.fit(X, y, **study.cut(study.fit_params, split.train))
        arrived: tuple[Any, Any, Any] = pipeline.steps[-1][1].arrived_
        return arrived

    def open_split(tree: BaseDecisionTree) -> Dataset:
        start = time.perf_counter()
        X, y, params = fit_transformers()
        with cannot_serve(ValueError, TypeError):
            refuse_other_params(params)
            own = open_dataset(tree, X, y, params.get("sample_weight"), study.n_threads)
        dataset = _PipelineDataset(own, study, truth, pipeline, type(tree).__name__)
        dataset._seconds = time.perf_counter() - start
        return dataset

    return open_split


class _PipelineDataset(Dataset):
    """The training rows of one split, transformed and encoded; test rows are read apart."""

    def __init__(
        self, own: Dataset, study: Study, truth: Target, pipeline: Pipeline, owner: str
    ) -> None:
        super().__init__(own.table, own.target, own.n_threads, 0.0)
        self._study, self._truth, self._pipeline, self._owner = study, truth, pipeline, owner
        self._sources: dict[Side, _native.Source] = {}
        self._places = _find_labels(own.target.classes, truth.classes)

    @property
    def classes(self) -> NDArray[Any] | None:
        """Labels of the classes of all rows of all splits; None for regression."""
        return self._truth.classes

    def find_side(self, tree: _native.Tree, split: Split, side: Side) -> NDArray[np.int64]:
        """Transform the rows, and find the leaf of each."""
        schema = self.table.schema
        if side not in self._sources:
            with cannot_serve(Exception):  # the caller's own transformers may raise anything
                arrived = self._pipeline.predict(self._study.take(split.rows(side))[0])
            with cannot_serve(ValueError, TypeError):
                self._sources[side] = open_rows(arrived, schema, self._owner)
        with cannot_serve(ValueError), named_columns(schema):  # rows that no tree reads
            return tree.apply(self._sources[side], self.n_threads)

    def list_train(self, split: Split | None) -> NDArray[np.uint32]:
        """All rows that there are."""
        return np.arange(self.n_rows, dtype=np.uint32)

    def list_left_out(self, split: Split | None) -> NDArray[np.uint32] | None:
        """None of them: the others are not in this table."""
        return np.empty(0, dtype=np.uint32)

    def list_asked(self, split: Split) -> NDArray[np.uint32] | None:
        """None: the test rows are not in this table."""
        return None

    def read_truth(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Read the targets of rows: numbers of classes, or numbers."""
        truth: NDArray[Any] = self._truth.values[rows]
        return truth

    def spread(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the values of nodes a column for each of all classes."""
        if self.classes is None or value.shape[1] == len(self.classes):
            return value
        wide = np.zeros((len(value), len(self.classes)))
        wide[:, self._places] = value
        return wide

    def list_classes(self, present: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Number the classes of the split's training rows among all; None if they have all."""
        if self.classes is None or len(self._places) == len(self.classes):
            return None
        return np.array(self._places)

    def read_schema(self, X: Any, estimator: BaseDecisionTree, split: Split | None) -> Schema:
        """Tell what is known of the columns: the table has no other rows."""
        return self.table.schema

    def complete(self, tree: BaseDecisionTree) -> Any:
        """Put the tree at the end of the fitted pipeline."""
        pipeline = copy.copy(self._pipeline)
        pipeline.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], tree)]
        return pipeline


def refuses_to_score(estimator: Any, scorer: Any, score_params: Mapping[str, Any]) -> bool:
    """Whether a pipeline's own `score` would refuse what is routed to it."""
    is_own = isinstance(scorer, _PassthroughScorer)
    if not (is_own and score_params and get_config()["enable_metadata_routing"]):
        return False
    try:
        process_routing(estimator, "score", **score_params)
    except (TypeError, ValueError):
        return True
    return False


def _find_labels(own: NDArray[Any] | None, all_: NDArray[Any] | None) -> list[int]:
    if own is None or all_ is None:
        return []
    number_of = {label: number for number, label in enumerate(all_.tolist())}
    return [number_of[label] for label in own.tolist()]
