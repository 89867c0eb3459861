"""Pipelines that end in a tree: transformers are fitted once per split, then the tree is ours.

The transformers see the training rows only, as scikit-learn's own loop has it, so each split has a
table of its own; what is shared is that table, by all candidates that differ in the tree only.
"""

import copy
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from treefold import _native
from treefold.estimator import BaseDecisionTree
from treefold.model_selection.fields import Data, Side, refuse_other_params
from treefold.model_selection.ground import Ground, open_ground, read_target
from treefold.model_selection.splits import Split
from treefold.schema import Schema
from treefold.table import named_columns, open_rows
from treefold.target import Target

__all__ = ["PipelineBatch", "read_truth"]


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


class PipelineBatch:
    """One split of a pipeline; its transformers are fitted when it is first opened."""

    holds_all_rows = False

    def __init__(self, data: Data, truth: Target, number: int, split: Split, pipeline: Any) -> None:
        self.numbers: Sequence[int] = [number]
        self._data, self._truth, self._split = data, truth, split
        name, tree = pipeline.steps[-1]
        self._pipeline: Pipeline = clone(pipeline)
        self._pipeline.steps[-1] = (name, _Capture(tree))
        self._arrived: tuple[Any, Any, Mapping[str, Any]] | None = None

    def open(self, estimator: BaseDecisionTree) -> "PipelineField":
        """Encode the transformed training rows."""
        start = time.perf_counter()
        X, y, params = self._arrived or self._fit_transformers()
        refuse_other_params(params)
        weights = params.get("sample_weight")
        ground = open_ground(estimator, X, y, weights, self._data.n_threads)
        field = PipelineField(self._data, self._truth, ground, self._pipeline)
        field.owner = type(estimator).__name__
        field.seconds = time.perf_counter() - start
        return field

    def _fit_transformers(self) -> tuple[Any, Any, Mapping[str, Any]]:
        X, y = self._data.take(self._split.train)
        params = self._data.cut(self._data.fit_params, self._split.train)
        self._pipeline.fit(X, y, **params)
        self._arrived = self._pipeline.steps[-1][1].arrived_
        return self._arrived


class PipelineField:
    """The training rows of one split, transformed and encoded; test rows are read apart."""

    owner = ""
    seconds = 0.0

    def __init__(self, data: Data, truth: Target, ground: Ground, pipeline: Pipeline) -> None:
        self.ground = ground
        self.classes = truth.classes
        self._data, self._truth, self._pipeline = data, truth, pipeline
        self._sources: dict[Side, _native.Source] = {}
        self._places = _find_labels(ground.target.classes, truth.classes)

    def train_rows(self, split: Split | None) -> NDArray[np.uint32]:
        """All rows that there are."""
        return np.arange(self.ground.n_rows, dtype=np.uint32)

    def left_out_rows(self, split: Split | None) -> NDArray[np.uint32] | None:
        """None of them: the others are not in this table."""
        return np.empty(0, dtype=np.uint32)

    def asked_rows(self, split: Split) -> NDArray[np.uint32] | None:
        """None: the test rows are not in this table."""
        return None

    def find_leaves(self, tree: _native.Tree, split: Split, side: Side) -> NDArray[np.int64]:
        """Transform the rows, and find the leaf of each."""
        schema = self.ground.table.schema
        if side not in self._sources:
            arrived = self._pipeline.predict(self._data.take(split.rows(side))[0])
            self._sources[side] = open_rows(arrived, schema, self.owner)
        with named_columns(schema):
            return tree.apply(self._sources[side], self._data.n_threads)

    def read_truth(self, split: Split, side: Side) -> NDArray[Any]:
        """Read their targets: numbers of classes, or numbers."""
        truth: NDArray[Any] = self._truth.values[split.rows(side)]
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

    def own_schema(self, split: Split | None) -> Schema:
        """Tell what is known of the columns: the table has no other rows."""
        return self.ground.table.schema

    def complete(self, tree: BaseDecisionTree) -> Any:
        """Put the tree at the end of the fitted pipeline."""
        pipeline = copy.copy(self._pipeline)
        pipeline.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], tree)]
        return pipeline


def _find_labels(own: NDArray[Any] | None, all_: NDArray[Any] | None) -> list[int]:
    if own is None or all_ is None:
        return []
    number_of = {label: number for number, label in enumerate(all_.tolist())}
    return [number_of[label] for label in own.tolist()]
