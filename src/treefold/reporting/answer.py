"""Sections 1 and 2: the answer and what to quote; warnings about the data."""

from typing import Any

import numpy as np

from treefold.findings.document import ScoreRow
from treefold.findings.numbers import show_number, show_score
from treefold.findings.verdict import pair_scores
from treefold.reporting.material import Material
from treefold.reporting.wording import UNKNOWN, clean, count, percent

__all__ = ["describe_answer", "list_warnings"]

_LONGEST = 600  # characters of a warning
_ROWS = {
    "nested": ("Nested", "These rows had no part in growing the tree or in choosing its settings."),
    "cross_validation": (
        "Cross-validation",
        "These rows did not grow the tree, but helped to choose its size: a little too good.",
    ),
    "best_on_path": ("Best on the path", "The most optimistic of all: the best of many."),
    "baseline": ("Naive", "One answer for all rows: the tree without any split."),
    "test": ("Test file", "Rows of a file of their own."),
}
_SHARES = {"accuracy", "balanced accuracy"}
_SMALL_CLASS, _MUCH_MISSING, _FEW_ROWS = 30, 0.3, 200
_LISTED = 12  # in a note


def describe_answer(material: Material) -> dict[str, Any]:
    """Say what there is, how good it is, and which number to quote."""
    scores = material.found["scores"]
    name = next(one for one in ("nested", "cross_validation") if one in scores.rows)
    quoted, baseline = scores.rows[name], scores.rows.get("baseline")
    return {
        "verdict": material.found["verdict"],
        "headline": _headline(material),
        "is_nested": name == "nested",
        "direction": scores.direction,
        "tiles": _tiles(material, quoted, baseline),
        "quote": _quote(material, name, quoted, baseline),
        "table": _table(scores.rows),
        "extras": _extras(scores.rows),
        "notes": [clean(note) for note in material.result.model.evaluation_.notes],
    }


def _headline(material: Material) -> str:
    chosen, target = material.found["chosen"], material.found["target"]
    what = f"“{clean(target['name'], 60)}”"
    used = {int(column) for column in material.tree.feature if column >= 0}
    n_columns = material.tree.n_features
    if not used:
        return f"No split helps: the best tree says the same of every row about {what}."
    leaves = count(chosen.leaves, "leaf", "leaves")
    return (
        f"A tree with {leaves} predicts {what} from {len(used):,} of {count(n_columns, 'column')}."
    )


def _show(row: ScoreRow) -> str:
    error = row.standard_error
    return show_score(row.score) + ("" if error is None else f" ± {error:.4f}")


def _tiles(material: Material, quoted: ScoreRow, baseline: ScoreRow | None) -> list[dict[str, str]]:
    """The few numbers that stand out."""
    tiles = [
        {
            "name": material.title,
            "value": show_score(quoted.score),
            "error": _show(quoted).removeprefix(show_score(quoted.score)),
            "note": f"naive {show_score(baseline.score)}" if baseline else "",
        }
    ]
    naive = {} if baseline is None else baseline.extras
    for name in quoted.extras:
        tiles.append(
            {
                "name": name,
                "value": _show_extra(name, quoted.extras[name]),
                "note": f"naive {_show_extra(name, naive[name])}" if name in naive else "",
            }
        )
    wins = _count_wins(material)
    if wins is not None:
        better, total = wins
        tiles.append({"name": "Beats naive in", "value": f"{better} of {total}", "note": "splits"})
    chosen = material.found["chosen"]
    tiles.append({"name": "Leaves", "value": f"{chosen.leaves:,}", "note": f"depth {chosen.depth}"})
    return tiles


def _count_wins(material: Material) -> tuple[int, int] | None:
    """In how many splits the tree beats the same answer for all."""
    pairs = pair_scores(material.result)
    if pairs is None:
        return None
    scores, naive, _ = pairs
    return int((scores > naive).sum()), len(scores)


def _quote(material: Material, name: str, quoted: ScoreRow, baseline: ScoreRow | None) -> str:
    """One sentence to copy."""
    chosen = material.found["chosen"]
    how = "nested cross-validation" if name == "nested" else "cross-validation, not nested"
    splits = count(quoted.n_splits or 0, "split")
    if quoted.n_splits == 1:
        splits = "all held-out rows together"
    extras = ", ".join(
        f"{name} {_show_extra(name, value)}" for name, value in quoted.extras.items()
    )
    naive = ""
    if baseline:
        naive = f", against {show_score(baseline.score)} for the same answer for all"
    leaves = count(chosen.leaves, "leaf", "leaves")
    score = f"{_choose_article(material.title)} {material.title} of {_show(quoted)}"
    return (
        f"A decision tree with {leaves} predicts {clean(material.found['target']['name'], 60)} "
        f"with {score} on held-out rows ({how}, {splits}"
        f"{'; ' + extras if extras else ''}){naive}; {count(_count_rows(material), 'row')}."
    )


def _choose_article(title: str) -> str:
    """The article that goes with how a title is said: an R2, an MAE, a Brier score."""
    is_spelled = title[:2].upper() == title[:2]
    return "an" if title[0] in ("AEFHILMNORSX" if is_spelled else "aeioAEIO") else "a"


def _count_rows(material: Material) -> int:
    return int(material.tree.n_node_samples[0])


def _extras(rows: dict[str, ScoreRow]) -> list[str]:
    return list(dict.fromkeys(name for row in rows.values() for name in row.extras))


def _show_extra(name: str, value: float | None) -> str:
    if value is None or not np.isfinite(value):
        return UNKNOWN
    if name in _SHARES:
        return percent(value)
    return f"{value:.3f}" if abs(value) < 100 else show_number(round(value, 1))


def _table(rows: dict[str, ScoreRow]) -> list[dict[str, Any]]:
    extras = _extras(rows)
    order = [name for name in _ROWS if name in rows]
    return [
        {
            "name": _ROWS[name][0],
            "meaning": _ROWS[name][1],
            "score": _show(rows[name]),
            "extras": [_show_extra(one, rows[name].extras.get(one)) for one in extras],
            "is_quoted": place == 0,
        }
        for place, name in enumerate(order)
    ]


# Warnings ---------------------------------------------------------------------------------------


def list_warnings(material: Material) -> list[dict[str, str]]:
    """List what a reader has to know before believing anything."""
    found = material.found
    kinds = (("warning", found["warnings"]), ("hint", found["hints"]))
    warnings = [
        {"kind": kind, "text": clean(text, _LONGEST)} for kind, texts in kinds for text in texts
    ]
    return warnings + [{"kind": "note", "text": text} for text in _note_data(material)]


def _note_data(material: Material) -> list[str]:
    found, n_rows = material.found, _count_rows(material)
    notes = []
    if n_rows < _FEW_ROWS:
        notes.append(f"There are {count(n_rows, 'row')} only: scores and splits will vary a lot.")
    small = {
        f"“{clean(label, 60)}” ({count(int(number), 'row')})": number
        for label, number in found["target"].get("classes", {}).items()
        if number < _SMALL_CLASS
    }
    if small:
        listed = _list(sorted(small, key=small.__getitem__))
        notes.append(f"Classes of few rows: {listed}. What is said of them rests on little.")
    gaps = [
        f"“{clean(column, 60)}” ({share:.0%})"
        for column, share in sorted(found["missing"].items(), key=lambda pair: -pair[1])
        if share > _MUCH_MISSING
    ]
    if gaps:
        notes.append(f"Missing in many rows: {_list(gaps)}.")
    if found["folds"].get("duplicates"):
        n_rows = found["folds"]["duplicates"]
        is_one = n_rows == 1
        notes.append(
            f"{n_rows:,} {'row is a duplicate' if is_one else 'rows are duplicates'} of others; "
            f"{'it stays with its twin' if is_one else 'they stay with their twins'}, so that no "
            "fold is tested on what it has seen."
        )
    if found["read"].get("rows_without_target"):
        notes.append(
            f"{count(found['read']['rows_without_target'], 'row')} without a target left out."
        )
    return notes


def _list(texts: list[str]) -> str:
    """List the first few, and say how many more there are."""
    more = f" and {len(texts) - _LISTED:,} more" if len(texts) > _LISTED else ""
    return ", ".join(texts[:_LISTED]) + more
