"""What was asked: the options of each command, as plain values."""

import shlex
from collections.abc import Collection
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path

__all__ = ["ClassWeight", "Decimal", "FitOptions", "Format", "PredictOptions", "Rule", "Task"]
__all__ += ["word_fit"]


class Task(StrEnum):
    """What kind of target to predict."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Rule(StrEnum):
    """Which candidate is chosen."""

    ONE_SE = "one_se"
    BEST = "best"


class ClassWeight(StrEnum):
    """How classes count."""

    BALANCED = "balanced"


class Decimal(StrEnum):
    """What stands between whole numbers and their fractions."""

    POINT = "."
    COMMA = ","


class Format(StrEnum):
    """In which form `treefold show` writes a model."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    SQL = "sql"
    SVG = "svg"


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Everything that `treefold fit` was asked."""

    data: str
    target: str
    task: Task = Task.AUTO
    positive: str | None = None
    class_weight: ClassWeight | None = None
    weights: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    header: bool = True
    comment: str | None = None
    missing: tuple[str, ...] = ()
    decimal: str | None = None
    day_first: bool | None = None
    id: str | None = None
    cv: int | None = None
    repeats: int = 1
    groups: str | None = None
    time: str | None = None
    folds: str | None = None
    scoring: str | None = None
    rule: Rule = Rule.ONE_SE
    max_depth: int | None = None
    nested: bool = True
    test: str | None = None
    model: Path | None = None
    report: Path | None = None
    seed: int = 0
    jobs: int = -1
    json: bool = False


_SWITCHED_OFF = {"day_first": "--month-first"}  # where that is not --no-...


def word_fit(options: FitOptions, left_out: Collection[str]) -> str:
    """Word the command that was given, without the options that are left out."""
    words = ["treefold", "fit", options.data]
    for one in fields(options):
        value = getattr(options, one.name)
        if one.name == "data" or one.name in left_out or value == one.default:
            continue
        name = f"--{one.name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(name if value else _SWITCHED_OFF.get(one.name, f"--no-{one.name}"))
        elif isinstance(value, tuple):
            words += [word for item in value for word in (name, item)]
        else:
            words += [name, str(value)]
    return shlex.join(words)


@dataclass(frozen=True, slots=True)
class PredictOptions:
    """Everything that `treefold predict` was asked."""

    model: Path
    data: str
    output: Path | None = None
    proba: bool = False
    threshold: float | None = None
    positive: str | None = None
    explain: bool = False
    id: str | None = None
    jobs: int = -1
