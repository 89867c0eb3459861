"""A tree as SQL: CASE expressions that give every row what the tree predicts.

At each split the side with fewer leaves is nested and the other one continues the list of WHENs, so
that no tree of n leaves is nested deeper than log2(n): parsers have limits.

    CASE
      WHEN <to the small side of node 0> THEN CASE ... END
      WHEN <to the small side of the next node> THEN 'yes'
      ELSE 'no'
    END

NULL is missing, and so is NaN, which some systems place above all numbers and others beside them.
Conditions are written such that both kinds agree: `NOT x <= limit` holds for NaN everywhere.
"""

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from treefold.exceptions import ConversionError, ParameterError
from treefold.export.cleaning import is_storable
from treefold.export.walk import Split, count_leaves, read_split, walk
from treefold.export.words import Wording
from treefold.model.cuts import count_microseconds, is_in_calendar
from treefold.model.tree import Tree

__all__ = ["export_sql"]

_LARGEST = "1.7976931348623157E308"


def export_sql(
    decision_tree: Any,
    *,
    dialect: str | None = None,
    method: str = "predict",
    table: str | None = None,
    feature_names: Sequence[str] | None = None,
    cast: bool = False,
) -> str:
    """Write a decision tree as SQL.

    Rows get what the tree gives them, bit for bit, those on thresholds included. NULL and NaN are
    missing values; categories that the tree has not seen go where it sends them. Numbers are
    compared as double precision, dates and times to the microsecond: those that had a time zone at
    fit with a moment in UTC, whatever the zone of the session; a column without one must not have
    one in the database either. Text is compared by the collation of the column, which must tell
    upper from lower case.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree.
    dialect : str, default=None
        Name of a dialect that sqlglot knows, such as "duckdb", "postgres" or "bigquery"; needs the
        extra `treefold[sql]`. None for standard SQL.
    method : {"predict", "predict_proba", "apply"}, default="predict"
        What rows are given: a class or a number; the share of every class, one expression each; or
        the number of the leaf.
    table : str, default=None
        Name of a table to select from, with all its columns; None for the expressions alone.
    feature_names : sequence of str, default=None
        Names of the columns; by default those seen in fit, or "feature_0" and so on.
    cast : bool, default=False
        Cast columns of numbers to double precision; needed if the database has them as text, or as
        booleans that were numbers at fit. Booleans of the fit are cast anyway, to integers.

    Returns
    -------
    str
        The SQL.

    Raises
    ------
    ConversionError
        If SQL has no form for what the tree asks: durations, or labels that are neither text nor
        numbers nor booleans.

    Examples
    --------
    >>> from treefold import DecisionTreeClassifier, export_sql
    >>> print(export_sql(DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])))
    CASE
      WHEN "feature_0" > 1.5E0 AND "feature_0" <= 1.7976931348623157E308 THEN 'yes'
      ELSE 'no'
    END
    """
    wording = Wording(decision_tree, feature_names, None, 0)
    answers = _find_answers(decision_tree, wording.tree, method)
    conditions = _Conditions(wording, cast)
    is_bare = method != "predict_proba" and table is None
    expressions = []
    for name, answer in answers.items():
        lines = _write_cases(wording.tree, conditions, answer)
        if not is_bare:
            lines[-1] += f" AS {_quote_name(name)}"
        expressions.append(lines)
    if table is None:
        return ",\n".join(_translate("\n".join(lines), dialect) for lines in expressions)
    select = ["SELECT", "  *"]
    for lines in expressions:
        select[-1] += ","
        select.extend(f"  {line}" for line in lines)
    return _translate("\n".join([*select, f"FROM {_quote_name(table)}"]), dialect)


Answer = Callable[[int], str]


def _find_answers(estimator: Any, tree: Tree, method: str) -> dict[str, Answer]:
    """Make, for each expression, its name and what it says of a leaf."""
    value = tree.value[:, 0]
    classes = getattr(estimator, "classes_", None)
    methods = ("predict", "apply") if classes is None else ("predict", "predict_proba", "apply")
    if method not in methods:
        known = ", ".join(map(repr, methods))
        raise ParameterError(f"method must be one of {known}. Got {method!r} instead.")
    if method == "apply":
        return {"leaf": str}
    if classes is None:
        return {"prediction": lambda leaf: _write_number(value[leaf, 0])}
    if method == "predict":
        labels = [_write_label(label) for label in classes.tolist()]
        best = value.argmax(axis=1)
        return {"prediction": lambda leaf: labels[best[leaf]]}

    def make_answer(number: int) -> Answer:
        return lambda leaf: _write_number(value[leaf, number])

    return {f"probability_{label}": make_answer(k) for k, label in enumerate(classes.tolist())}


def _write_cases(tree: Tree, conditions: "_Conditions", answer: Answer) -> list[str]:
    """Write the expression of the whole tree, from the leaves up."""
    n_leaves = count_leaves(tree)
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    # Of each node, its lines in reverse, so that a line is added to the front in no time.
    lines: dict[int, list[str]] = {}
    for visit in reversed(list(walk(tree))):
        node = visit.node
        if visit.is_leaf:
            lines[node] = [answer(node)]
            continue
        more = n_leaves[left[node]] - n_leaves[right[node]]
        # Of equals, the side without missing values: its condition is shorter.
        is_left_small = more < 0 or (more == 0 and not tree.missing_go_to_left[node])
        small, large = (left, right) if is_left_small else (right, left)
        nested, rest = lines.pop(small[node]), lines.pop(large[node])
        if n_leaves[large[node]] == 1:
            rest = ["END", f"  ELSE {rest[0]}", "CASE"]
        condition = conditions.write(node, is_left_small)
        rest.pop()
        if len(nested) == 1:
            rest.append(f"  WHEN {condition} THEN {nested[0]}")
        else:
            rest.extend(f"    {line}" for line in nested)
            rest.append(f"  WHEN {condition} THEN")
        rest.append("CASE")
        lines[node] = rest
    return lines[0][::-1]


class _Conditions:
    """What SQL asks of a row to send it to one side of a node."""

    def __init__(self, wording: Wording, cast: bool) -> None:
        self.wording, self.cast = wording, cast
        self.tree = wording.tree

    def write(self, node: int, is_left: bool) -> str:
        """Write the condition for the left side, or for the right one."""
        split = read_split(self.tree, node)
        family = self.tree.schema.families.get(split.column, "number")
        name = _quote_name(self.wording.name(split.column))
        if split.kind == "category":
            return _write_category(name, split, is_left)
        if family == "date":
            is_zoned = self.tree.schema.kinds.get(split.column) == "zoned"
            return _write_date(name, split, is_left, is_zoned)
        if family != "number":
            describe = self.tree.schema.describe(split.column)
            raise ConversionError(
                f"{describe} holds {family}s, and node {node} splits it. SQL has no common form "
                "for that: turn the column into numbers before fitting."
            )
        return _write_numeric(self._read(name, split.column), name, split, is_left)

    def _read(self, name: str, column: int) -> str:
        """Write a column as a number."""
        if self.tree.schema.kinds.get(column) == "boolean":
            return f"CAST({name} AS INTEGER)"  # to nothing else in Postgres
        return f"CAST({name} AS DOUBLE PRECISION)" if self.cast else name


def _write_numeric(column: str, name: str, split: Split, is_left: bool) -> str:
    if split.kind == "present":
        is_present = f"{column} <= {_LARGEST}"
        return is_present if is_left else f"{name} IS NULL OR NOT {is_present}"
    threshold = _write_number(split.threshold)
    if not split.missing_left:
        at_most = f"{column} <= {threshold}"
        return at_most if is_left else f"{name} IS NULL OR NOT {at_most}"
    if is_left:
        return f"{name} IS NULL OR {column} <= {threshold} OR NOT {column} <= {_LARGEST}"
    return f"{column} > {threshold} AND {column} <= {_LARGEST}"


def _write_category(name: str, split: Split, is_left: bool) -> str:
    has_missing, has_unseen = is_left == split.missing_left, is_left == split.unseen_left
    labels = split.labels_left if is_left != has_unseen else split.labels_right
    listed = f"{name} IN ({', '.join(_write_label(label) for label in labels)})" if labels else ""
    if has_missing and has_unseen:
        return f"{name} IS NULL OR NOT {listed}" if listed else "1 = 1"
    if not has_missing and not has_unseen:
        return listed or "1 = 0"
    both = (*split.labels_left, *split.labels_right)
    is_number = all(type(label) in (int, float) or isinstance(label, np.number) for label in both)
    is_present = f"{name} <= {_LARGEST}" if is_number else f"{name} IS NOT NULL"
    if has_unseen:
        return f"{is_present} AND NOT {listed}" if listed else is_present
    is_missing = f"{name} IS NULL" + (f" OR NOT {is_present}" if is_number else "")
    return f"{is_missing} OR {listed}" if listed else is_missing


def _write_date(name: str, split: Split, is_left: bool, is_zoned: bool) -> str:
    if split.kind == "present":
        return f"{name} IS NOT NULL" if is_left else f"{name} IS NULL"
    moment = _last_moment(split.threshold)
    literal = f"TIMESTAMP '{moment}'"
    if is_zoned:
        literal = f"CAST('{moment}+00:00' AS TIMESTAMP WITH TIME ZONE)"
    condition = f"{name} {'<=' if is_left else '>'} {literal}"
    return f"{name} IS NULL OR {condition}" if is_left == split.missing_left else condition


def _last_moment(threshold: float) -> str:
    """Write the last microsecond whose number of days, in float64, is at most the threshold."""
    if not is_in_calendar(threshold):
        raise ConversionError(
            f"A split of dates at day {threshold!r} since 1970 lies outside the years 1 to 9999, "
            "which SQL has no date for. Leave out such dates, or turn them into numbers."
        )
    return str(datetime(1970, 1, 1) + timedelta(microseconds=count_microseconds(threshold)))


def _write_number(number: float) -> str:
    """Write a float64 such that it is read back the same; the exponent makes it approximate."""
    text = repr(float(number)).upper()
    return text if "E" in text else f"{text}E0"


def _write_label(label: Any) -> str:
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, bool):
        return str(label).upper()
    if isinstance(label, int):
        return str(label)
    if isinstance(label, float) and math.isfinite(label):
        return _write_number(label)
    if isinstance(label, str) and "\0" not in label and is_storable(label):
        return "'" + label.replace("'", "''") + "'"
    raise ConversionError(
        f"The label {label!r} of type {type(label).__name__} has no form in SQL. Turn such labels "
        "into text or numbers before fitting."
    )


def _quote_name(name: str) -> str:
    if not name or "\0" in name or not is_storable(name):
        raise ConversionError(
            f"A column or table cannot be called {name!r} in SQL. Give other feature_names."
        )
    return '"' + name.replace('"', '""') + '"'


def _translate(text: str, dialect: str | None) -> str:
    if dialect is None:
        return text
    try:
        import sqlglot  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            "A dialect needs sqlglot, which is not installed. "
            "Install it by: pip install 'treefold[sql]', or leave dialect=None for standard SQL."
        ) from error
    try:
        return sqlglot.parse_one(text).sql(dialect=dialect, pretty=True)
    except ValueError as error:
        raise ParameterError(f"dialect={dialect!r} is not known to sqlglot: {error}") from None
