"""The tree with all of its evidence: candidates, nested scores, importance."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treefold import DecisionTreeClassifierCV, DecisionTreeRegressorCV
from treefold.command.conversion import parse_numbers
from treefold.command.measures import suggest_scores
from treefold.command.mistakes import Place, UserError, shorten
from treefold.command.notation import NumberForm
from treefold.command.options import FitOptions
from treefold.command.target import to_float64
from treefold.data.table import Table
from treefold.evaluation.fitting import Evidence, Request, fit_with_evidence
from treefold.evaluation.splits import Split
from treefold.findings.folds import Folds, Splits, find_blocks
from treefold.findings.measures import Measure
from treefold.findings.target import Target

__all__ = ["Model", "Rescored", "Study"]
__all__ += ["fit_tree", "read_score", "read_weights", "score_again"]

Model = DecisionTreeClassifierCV | DecisionTreeRegressorCV
_MANY_ROWS = 20_000  # of which one shuffle says as much as three of fewer
# Leaf sizes to try: pruning decides most, so that two of them are enough.
_LEAF_SIZES = ((200, (1, 5)), (10_000, (5, 20)), (2**62, (20, 100)))


@dataclass(frozen=True, slots=True)
class Study:
    """What is fitted to what."""

    table: Table
    target: Target
    weights: NDArray[np.float64] | None
    folds: Folds
    measure: Measure


def read_weights(column: Any, where: Place, form: NumberForm) -> NDArray[np.float64]:
    """Read the weights of rows."""
    where = replace(where, advice="Correct it, or leave out --weights.")
    weights = to_float64(parse_numbers(column, where, form))
    is_bad = ~(np.isfinite(weights) & (weights >= 0))
    if is_bad.any():
        row = int(np.flatnonzero(is_bad)[0])
        raise UserError(
            f"--weights: '{where.column}' has {int(is_bad.sum()):,} values that are missing, "
            f"negative or infinite (first: {weights[row]}, row {where.rows[row] + 1:,} of "
            f"{where.file})."
        )
    return weights


def fit_tree(study: Study, options: FitOptions) -> tuple[Model, Evidence]:
    """Tune leaf size and pruning by cross-validation, nested if asked, and fit to all rows."""
    _check_score(study)
    sizes = next(sizes for most, sizes in _LEAF_SIZES if study.table.n_rows < most)
    parameters: dict[str, Any] = {
        "min_samples_leaf": sizes,
        "max_depth": options.max_depth,
        "cv": study.folds.splits,
        "scoring": study.measure.scoring,
        "rule": str(options.rule),
        "n_jobs": options.jobs,
        "verbose": 1,
    }
    if study.target.is_class:
        class_weight = None if options.class_weight is None else str(options.class_weight)
        model: Model = DecisionTreeClassifierCV(class_weight=class_weight, **parameters)
    else:
        model = DecisionTreeRegressorCV(**parameters)
    n_permutations = 1 if study.table.n_rows >= _MANY_ROWS else 3
    n_rows = study.table.n_rows
    parts = [Split(n_rows, test, train) for train, test in study.folds.parts] or None
    request = Request(
        study.table,
        study.target.values,
        study.weights,
        nested=options.nested,
        blocks=find_blocks(study.folds),
        n_permutations=n_permutations,
        parts=parts,
    )
    try:
        evidence = fit_with_evidence(model, request)
    except ValueError as error:
        raise _explain(error, study, options) from error
    if study.target.is_binary:
        model._positive = study.target.classes.index(study.target.positive)
    return model, evidence


@dataclass(frozen=True, slots=True)
class Rescored:
    """What the chosen setting scores on some splits, as its own score is defined."""

    score: float
    standard_error: float
    n_trees: int = 0


def read_score(study: Study, model: Model) -> Rescored:
    """The cross-validated score of the chosen setting, and its standard error."""
    index, results = model.best_index_, model.cv_results_
    score = study.measure.sign * float(results["mean_test_score"][index]) + 0.0
    return Rescored(score, float(results["se_test_score"][index]))


def score_again(study: Study, model: Model, splits: Splits) -> Rescored | None:
    """Cross-validate the chosen setting on other splits; None: a side of one has no weight."""
    weights = study.weights
    if weights is not None and not all(weights[rows].any() for split in splits for rows in split):
        return None
    names = model._get_param_names()
    chosen = {name: value for name, value in model.best_params_.items() if name in names}
    asked = {"cv": splits, "scoring": study.measure.scoring, "n_jobs": model.n_jobs}
    again = type(model)(**{**chosen, **asked}, store_cv_predictions=False)
    evidence = fit_with_evidence(again, Request(study.table, study.target.values, weights))
    return replace(read_score(study, again), n_trees=evidence.n_trees)


def _check_score(study: Study) -> None:
    """Refuse AUC where no split has one: of all rows together it would be about nothing."""
    if study.measure.name.startswith("roc_auc") and all(
        len(test) == 1 for _, test in study.folds.splits
    ):
        raise UserError(
            f"--scoring: '{study.measure.name}' compares held-out rows of several classes, but "
            "each fold holds out a single row. Give a smaller --cv, or another score, such as "
            "neg_brier_score."
        )


def _explain(error: ValueError, study: Study, options: FitOptions) -> UserError:
    """Say which option a score of scikit-learn's, which says it in its own words, came by."""
    is_ours = type(error).__module__ == "treefold.exceptions"
    if is_ours or options.scoring is None:
        return UserError(shorten(error))
    return UserError(
        f"--scoring: '{options.scoring}' does not suit the target '{study.target.name}' "
        f"({shorten(error).rstrip('.')}). Take another, such as {suggest_scores(study.target)}."
    )
