"""Lazy trees: `fit` encodes, and asking for predictions grows what they need.

All rows that are asked together are one batch. It goes down each tree like the training rows do;
a node that no row of the batch reaches is not grown (Guillame-Bert and Dubrawski, "Batched lazy
decision trees"). What is grown equals the whole tree along the way, so that predictions are those
of the eager twin, bit for bit, for any order and any division into batches.
"""

from copy import deepcopy
from dataclasses import replace
from itertools import cycle
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treefold import _native
from treefold.data.table import Table, named_columns
from treefold.estimators.bags import Bags, Work
from treefold.estimators.ballot import Ballot
from treefold.estimators.ensemble import BaseEnsemble
from treefold.estimators.out_of_bag import OutOfBag
from treefold.threads import effective_n_jobs

__all__ = ["LazyEnsemble", "split_batches"]


class LazyEnsemble(BaseEnsemble):
    """Trees that are grown where rows ask; not to be used directly."""

    strategy: str

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Encode the data and keep them; nothing is grown, unless `oob_score` asks for it.

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
        >>> from treefold import LazyDecisionTreeRegressor
        >>> LazyDecisionTreeRegressor().fit([[0.0], [1.0]], [1.5, 2.5]).work_
        {}
        """
        bags = self._open(X, y, sample_weight)
        # Kept until rows ask: the caller may change y, the weights and class_weight before that.
        bags = replace(bags, target=bags.target.own(), tree=deepcopy(bags.tree))
        work, facts = Work(), {}
        if self.oob_score:
            left_out = OutOfBag(bags, self.voting)
            for values, rows in bags.ask_left_out(effective_n_jobs(self.n_jobs), work):
                left_out.add(values, rows)
            facts = left_out.summarise()
        return self._remember(bags, _bags=bags, _work=work, **facts)

    def _check_own(self) -> None:
        super()._check_own()
        self._check_choice("strategy", ("batched", "single"))

    def _average(self, X: Any) -> NDArray[np.float64]:
        self._check_fitted()
        self._check_own()
        with named_columns(self._schema):
            lines = _native.read_lines(self._open_rows(X))
        bags, work = self._bags, Work()
        ballot = Ballot(len(lines), bags.target.n_classes, self.voting)
        if len(lines):
            self._ask(bags, lines, ballot, work)
        self._work.counts = work.counts
        return ballot.count(bags.n_bags)

    def _ask(self, bags: Bags, lines: NDArray[np.float64], ballot: Ballot, work: Work) -> None:
        n_threads = effective_n_jobs(self.n_jobs)
        batches = split_batches(len(lines), self.strategy)
        questions = _open_columns(lines, bags.table.schema)
        answers = bags.ask(batches, n_threads, work, questions)
        for batch, values in zip(cycle(batches), answers, strict=False):
            ballot.add(values, batch)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "_bags" in state:
            bags: Bags = state["_bags"]
            state = {**state, "_bags": {**vars(bags), "table": _decode(bags.table)}}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_bags" in state:
            fields = state["_bags"]
            lines, schema = fields["table"]
            source = _open_columns(lines, schema)
            table = Table(_native.Table(source, 1), schema)
            state = {**state, "_bags": Bags(**{**fields, "table": table})}
        super().__setstate__(state)


def split_batches(n_rows: int, strategy: str) -> list[NDArray[np.uint32]]:
    """Number the rows that ask together."""
    rows = np.arange(n_rows, dtype=np.uint32)
    return [rows] if strategy == "batched" else np.split(rows, n_rows)


def _open_columns(lines: NDArray[np.float64], schema: Any) -> _native.Source:
    source = _native.Source(*lines.shape)
    source.add_dense(0, lines)
    for column, labels in schema.categories.items():
        source.set_categories(column, max(1, len(labels)))
    return source


def _decode(table: Table) -> tuple[NDArray[np.float64], Any]:
    """Write the values of a table, to be encoded again: a pickle has no pointers."""
    native = table._native
    lines = np.empty((table.n_rows, table.n_columns), order="F")
    for column in range(table.n_columns):
        n_codes = int(native.n_codes[column])
        is_categorical = column in table.schema.categories
        values = np.arange(n_codes) if is_categorical else native.values(column)
        lines[:, column] = np.append(values.astype(np.float64), np.nan)[native.codes(column)]
    return lines, table.schema
