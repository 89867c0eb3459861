"""What cross-validation found out: one object for estimators, nested runs, reports and commands."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["POOLED_NOTE", "Evaluation"]

Floats = NDArray[np.float64]

POOLED_NOTE = (
    "Each split holds out a single row, which has no such score of its own: the score is that of "
    "all held-out rows together, without a standard error."
)
_OPTIMISM = (
    "This score was also used to choose the candidate, so it is a little too good. "
    "Nested cross-validation gives one that was not."
)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Evaluation:
    """Scores on held-out rows, and what was chosen by them.

    Higher scores are better, as everywhere in scikit-learn.

    Attributes
    ----------
    scoring : str
        Name of the metric by which candidates were compared.
    test_scores : dict of str to ndarray of shape (n_splits,)
        Scores of the chosen candidate on the held-out rows of each split, for each metric.
    path : dict of str to ndarray of shape (n_candidates,), or None
        One row per candidate: its parameters, `mean_test_score`, `std_test_score`, and (of CV
        estimators) `n_leaves` of the tree grown from all rows.
    chosen : dict or None
        `index` into the path, `params`, and the `rule` by which it was chosen.
    baseline : ndarray of shape (n_splits,), or None
        Scores of a tree without any split: the same answer for every row.
    nested : dict or None
        Scores that the choice did not see, from `nested_cross_validate`: `test_score`,
        `best_params` and `inner_score` of each outer split.
    indices : dict or None
        Held-out rows of each split under "test", and training rows under "train" if they are not
        simply all others.
    predictions : list of ndarray, or None
        Of each split, what was predicted for its held-out rows: class shares, or numbers.
    notes : tuple of str
        What a reader has to know, such as scores that were pooled.
    truth : ndarray of shape (n_rows,), or None
        Beside predictions: what was true, as places in `classes_`, or as numbers.
    weights : ndarray of shape (n_rows,), or None
        Beside predictions: what each row counts, if they do not count the same.
    summary : dict or None
        Of CV estimators: what the splits give together. `definition` says how, `rows` has the
        `score`, the `standard_error` and `n_splits` of `nested` (if there is one),
        `cross_validation` (the chosen candidate), `best_on_path` and `baseline`, all over the same
        held-out rows; `best_index` is the place of the best candidate in the path.

    Examples
    --------
    >>> import numpy as np
    >>> from treefold import Evaluation
    >>> evaluation = Evaluation("accuracy", {"accuracy": np.array([0.75, 0.85])})
    >>> evaluation
    Evaluation: accuracy 0.800 ± 0.050 (2 splits)
    >>> evaluation.score
    0.8
    """

    scoring: str
    test_scores: Mapping[str, Floats]
    path: Mapping[str, NDArray[Any]] | None = None
    chosen: Mapping[str, Any] | None = None
    baseline: Floats | None = None
    nested: Mapping[str, Any] | None = None
    indices: Mapping[str, Sequence[NDArray[Any]]] | None = None
    predictions: Sequence[NDArray[Any]] | None = None
    notes: tuple[str, ...] = field(default=())
    truth: NDArray[Any] | None = None
    weights: Floats | None = None
    summary: Mapping[str, Any] | None = None

    @property
    def score(self) -> float:
        """Score of the chosen candidate: that of its summary, else the mean over the splits."""
        return self._summarise("cross_validation", self.test_scores[self.scoring])[0]

    @property
    def standard_error(self) -> float:
        """Standard error of the score: that of its summary, else of the mean over the splits.

        The latter is the standard deviation of the scores over the root of their number; the former
        is the same for a ratio of sums over splits, because these may count differently. Splits
        share most of their training rows, so this says how much scores vary, not how sure one may
        be.
        """
        return self._summarise("cross_validation", self.test_scores[self.scoring])[1]

    @property
    def baseline_score(self) -> float | None:
        """Score of a tree without any split, in the same way; None if it is not known."""
        return None if self.baseline is None else self._summarise("baseline", self.baseline)[0]

    def _summarise(self, name: str, scores: Floats) -> tuple[float, float]:
        """What splits give together: a score and its standard error."""
        if self.summary is None or name not in self.summary["rows"]:
            return float(np.mean(scores)), _standard_error(scores)
        row = self.summary["rows"][name]
        return row["score"], row["standard_error"]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as lists, numbers and strings, ready for JSON.

        Returns
        -------
        dict
            The attributes by name.

        Examples
        --------
        >>> import numpy as np
        >>> from treefold import Evaluation
        >>> Evaluation("r2", {"r2": np.array([0.5])}).to_dict()["test_scores"]
        {'r2': [0.5]}
        """
        return {one.name: _to_plain(getattr(self, one.name)) for one in fields(self)}

    def to_frame(self) -> "pd.DataFrame":
        """Give the path as a data frame with one row per candidate; without one, the splits.

        Returns
        -------
        pandas.DataFrame
            A copy.

        Examples
        --------
        >>> import numpy as np
        >>> from treefold import Evaluation
        >>> Evaluation("r2", {"r2": np.array([0.5, 0.7])}).to_frame()
            r2
        0  0.5
        1  0.7
        """
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas, which is not installed. Install it by: pip install pandas. "
                "The same numbers are in the attribute path."
            ) from error
        columns = self.test_scores if self.path is None else self.path
        return pd.DataFrame({name: np.array(column) for name, column in columns.items()})

    def __repr__(self) -> str:
        return "Evaluation: " + "\n  ".join(f"{name} {text}" for name, text in self._lines())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(text)}</td></tr>"
            for name, text in self._lines()
        )
        return f"<table>{rows}</table>{self._path_html()}"

    def _lines(self) -> list[tuple[str, str]]:
        """What to show: pairs of a name and a text."""
        n_splits = None if self.indices is None else len(self.indices["test"])
        lines = [
            (name, f"{self._word(name, scores)} ({self._word_splits(len(scores), n_splits)})")
            for name, scores in self.test_scores.items()
        ]
        if self.baseline is not None:
            score = self._summarise("baseline", self.baseline)
            lines.append(("without any split", _word_score(*score)))
        if self.chosen is not None:
            lines.append(("chosen", _describe_choice(self.chosen, self.path)))
        if self.nested is not None:
            scores, n_splits = self.nested["test_score"], len(self.nested["best_params"])
            splits = _describe_splits(len(scores), n_splits, "outer split")
            score = self._summarise("nested", np.asarray(scores))
            lines.append(("nested", f"{_word_score(*score)} ({splits})"))
        elif self.chosen is not None and self.path is not None:
            lines.append(("note", _OPTIMISM))
        return lines + [("note", note) for note in self.notes]

    def _word(self, name: str, scores: Floats) -> str:
        if name == self.scoring:
            return _word_score(self.score, self.standard_error)
        return _word_score(float(np.mean(scores)), _standard_error(scores))

    def _word_splits(self, n_scores: int, n_splits: int | None) -> str:
        splits = _describe_splits(n_scores, n_splits, "split")
        if self.summary is None or n_scores == 1:
            return splits
        definition = self.summary["definition"]
        return definition if " splits" in definition else f"{definition}, {splits}"

    def _path_html(self) -> str:
        if self.path is None:
            return ""
        names = list(self.path)
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        index = -1 if self.chosen is None else self.chosen["index"]
        body = ""
        for row, values in enumerate(zip(*self.path.values(), strict=True)):
            style = " style='font-weight:bold'" if row == index else ""
            cells = "".join(f"<td>{escape(_show(value))}</td>" for value in values)
            body += f"<tr{style}>{cells}</tr>"
        title = _count(len(next(iter(self.path.values()))), "candidate")
        table = f"<table><tr>{head}</tr>{body}</table>"
        return f"<details><summary>{title}</summary>{table}</details>"


def _standard_error(scores: Floats) -> float:
    if len(scores) < 2:
        return math.nan
    return float(np.std(scores, ddof=1) / math.sqrt(len(scores)))


def _word_score(score: float, error: float) -> str:
    more = "" if math.isnan(error) else f" ± {error:.3f}"
    return f"{score + 0.0:.3f}{more}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _describe_splits(n_scores: int, n_splits: int | None, noun: str) -> str:
    n_splits = n_scores if n_splits is None else n_splits
    more = "pooled over " if n_scores == 1 < n_splits else ""
    return more + _count(n_splits, noun)


def _describe_choice(chosen: Mapping[str, Any], path: Mapping[str, Any] | None) -> str:
    parameters = ", ".join(f"{name}={_show(value)}" for name, value in chosen["params"].items())
    words = [parameters or "no parameters"]
    if path is not None and "n_leaves" in path:
        n_leaves = int(path["n_leaves"][chosen["index"]])
        words.append("1 leaf" if n_leaves == 1 else f"{n_leaves} leaves")
    if path is not None:
        n_candidates = len(next(iter(path.values())))
        words.append(f"index {chosen['index']} of {n_candidates}")
    if "rule" in chosen:
        words.append(f"rule {chosen['rule']}")
    return "; ".join(words)


def _show(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    return str(value)


def _to_plain(value: Any) -> Any:
    """Turn arrays and numpy numbers into what JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, np.ma.MaskedArray):
        return [None if item is np.ma.masked else _to_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return [_to_plain(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
