"""The findings of a fit as text: about 35 lines on a terminal of 100 columns."""

import math
import shlex
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from treefold.command.drawing import draw_path, draw_tree
from treefold.evaluation.stability import CAUTION
from treefold.export.cleaning import reveal, shorten
from treefold.findings.document import Choice, ScoreRow, Scores, change_texts
from treefold.findings.numbers import count, show_number, show_score
from treefold.findings.thresholds import Found, Thresholds

__all__ = [
    "reveal_all",
    "word_choice",
    "word_class_weight",
    "word_scores",
    "word_size",
    "write_findings",
]

Document = dict[str, Any]
Line = tuple[str, str]  # a label, or nothing, and a text

_LABEL = 10
_SHOWN = 6  # names in a list
_LONG_NAME = 40  # characters of one of them
_ROWS = {
    "nested": "nested: these rows did not choose",
    "cross_validation": "cross-validation of the choice",
    "best_on_path": "best on the path",
    "baseline": "naive: one answer for all",
    "test": "test file",
}
_BRIEF_ROWS = {
    **_ROWS,
    "nested": "nested",
    "cross_validation": "cross-validation",
    "baseline": "naive",
}
_OPTIMISTIC = "cross-validation (optimistic)"


def write_findings(found: Document, width: int, breaks_paths: bool = False) -> list[Line]:
    """Word everything, in the order in which people ask; lines with names of files last, if asked.

    Those are as long as the names, unless they are to be broken.
    """
    found = reveal_all(found)
    room = width - _LABEL
    prose: list[Line] = [
        ("Target", _word_target(found["target"])),
        ("Columns", _word_columns(found["columns"])),
    ]
    if found["missing"]:
        prose.append(("Missing", _word_missing(found["missing"])))
    prose += [("Warning", text) for text in found["warnings"]]
    prose += [("Hint", text) for text in found["hints"]]
    prose.append(("Folds", found["folds"]["description"]))
    lines = _wrap([("Verdict", found["verdict"].text)], room)
    path_room = room if breaks_paths else sys.maxsize
    size = f"{found['read']['file']}: {word_size(found['read'])}"
    lines += _wrap([("Read", size)], path_room)
    lines += [*_wrap(_word_reading(found["read"]), room), *_wrap(prose, room)]
    lines += _hang("Score", list(word_scores(found["scores"], room)))
    lines += _wrap([("Chosen", word_choice(found["chosen"]))], room)
    lines += _hang("Path", draw_path(found["path"], found["scores"].title, room))
    tree = draw_tree(found["tree"], found["target"], room)
    lines += [*_hang("Tree", tree), *_wrap(_word_rest(found, len(tree) - 1), room)]
    if found["chosen"].class_weight is not None:
        lines += _wrap([("", word_class_weight(found["chosen"].class_weight))], room)
    lines += _wrap([("Columns", _word_importance(found))], room)
    if found["thresholds"] is not None:
        texts = _word_thresholds(found["thresholds"])
        lines += _wrap(list(zip(("At 0.50", ""), texts, strict=True)), room)
    lines += _wrap([("Work", _word_work(found["work"]))], room)
    lines += _wrap(_hang("Wrote", found["wrote"]), path_room)
    lines += _hang("Next", _break_command(found["next"], path_room))
    return lines


def reveal_all(value: Any) -> Any:
    """Let no name or category that holds a line break or a code of the terminal act as one."""
    return change_texts(value, reveal)


def _wrap(lines: list[Line], room: int) -> list[Line]:
    """Break what is too long; only the first line of each keeps its label."""
    wrapped: list[Line] = []
    for label, text in lines:
        texts = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        wrapped += _hang(label, texts or [""])
    return wrapped


def _break_command(command: str, room: int) -> list[str]:
    """Break a command before options and names of files, as the shell takes it."""
    parts: list[str] = []
    for word in map(shlex.quote, shlex.split(command)):
        is_value = bool(parts) and parts[-1].startswith("--") and " " not in parts[-1]
        if (len(parts) == 1 and parts[0] == "treefold") or (is_value and not word.startswith("--")):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    lines = parts[:1]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 <= room:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _hang(label: str, texts: list[str]) -> list[Line]:
    """Put a label before the first of several lines."""
    return [(label if place == 0 else "", text) for place, text in enumerate(texts)]


def _word_reading(read: Document) -> list[Line]:
    """Say which rows are left out, and which text was read as something else."""
    texts, n_rows = [], read["rows_without_target"]
    if n_rows:
        verb = "is" if n_rows == 1 else "are"
        texts.append(f"{count(n_rows, 'row')} without a target {verb} left out")
    for kind in ("numbers", "dates"):
        names = [f"{name} ({how})" for name, how in read[kind].items()]
        texts += [f"read as {kind}: {_some(names)}"] if names else []
    if read["codes"]:
        how = "zeros in front, as codes have; as numbers: --numeric"
        texts.append(f"read as text: {_some(read['codes'])} ({how})")
    words = [f"'{word}' in {_some(names)}" for word, names in read["missing_words"].items()]
    texts += [f"read as missing: {'; '.join(words)}"] if words else []
    return [("", text) for text in texts]


def word_size(read: Document) -> str:
    """Say how large a file is, and of which kind."""
    return f"{count(read['rows'], 'row')}, {count(read['columns'], 'column')} ({read['kind']})"


def _word_target(target: Document) -> str:
    if target["task"] == "regression":
        numbers = ", ".join(
            f"{name} {show_number(target[name])}" for name in ("mean", "min", "max")
        )
        return f"{target['name']}: a number ({numbers})"
    total = sum(target["classes"].values())
    counts = [
        f"'{label}' {count:,} ({count / total:.1%})"
        for label, count in sorted(target["classes"].items(), key=lambda pair: -pair[1])
    ]
    text = f"{target['name']}: {len(counts)} classes, {_some(counts)}"
    return text if target["positive"] is None else f"{text}; looking for '{target['positive']}'"


def _some(texts: list[str], most: int = _SHOWN) -> str:
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def _short(name: str) -> str:
    """A name in a list: questions of a survey would fill the terminal."""
    return shorten(name, _LONG_NAME)


def _word_columns(columns: Document) -> str:
    text = f"{len(columns['used']):,} used, {len(columns['categorical']):,} of them categorical"
    for reason, names in columns["left_out"].items():
        text += f"; left out as {reason}: {_some([_short(name) for name in names])}"
    return text


def _word_missing(missing: dict[str, float]) -> str:
    return _some([f"{_short(name)} {share:.1%}" for name, share in missing.items()])


def word_scores(scores: Scores, room: int) -> Iterator[str]:
    """Write the scores as a table, and how they come about below it."""
    rows = scores.rows
    extras = list(rows["baseline"].extras)
    sizes = [max(9, len(name)) for name in extras]
    names, rest = _ROWS, sum(sizes) + 2 * len(sizes) + 2
    head = f"{scores.title} ({scores.direction.split()[0]} is better)"
    if max(map(len, names.values())) + len(head) + rest > room:
        head = head.replace(" is better", "")
    if max(map(len, names.values())) + max(len(head), 17) + rest > room:
        names = _BRIEF_ROWS
    titles_of = {name: _name_row(name, rows, names) for name in rows}
    width = max(map(len, titles_of.values()))
    head = shorten(head, max(17, room - width - rest))
    size = max(len(head), 17)
    titles = "".join(f"  {name:>{wide}}" for name, wide in zip(extras, sizes, strict=True))
    yield f"{'':{width}}  {head:>{size}}{titles}"
    for name, row in rows.items():
        error = row.standard_error
        score = show_score(row.score) + ("" if error is None else f" ± {error:.4f}")
        cells = "".join(
            f"  {_show_extra(row.extras.get(one)):>{wide}}"
            for one, wide in zip(extras, sizes, strict=True)
        )
        yield f"{titles_of[name]:{width}}  {score:>{size}}{cells}".rstrip()
    yield from textwrap.wrap(_define(scores), room)


def _name_row(name: str, rows: dict[str, ScoreRow], names: dict[str, str]) -> str:
    is_optimistic = name == "cross_validation" and "nested" not in rows
    return _OPTIMISTIC if is_optimistic else names[name]


def _define(scores: Scores) -> str:
    """Say how the numbers come about: those that come about alike together."""
    names: dict[str, list[str]] = {}
    for name, text in scores.definitions.items():
        names.setdefault(text, []).append(name)
    texts = [f"{', '.join(some)}: {text}." for text, some in names.items()]
    return " ".join([*texts, "±: one standard error, over splits."])


def _show_extra(value: float | None) -> str:
    if value is None:
        return ""
    if math.isnan(value):
        return "-"
    return show_score(value) if abs(value) < 100 else show_number(round(value, 1))


def word_choice(chosen: Choice) -> str:
    """Say how large the chosen tree is, and by which rule it was chosen."""
    rule = {
        "one_se": "the smallest of {} within one standard error of the best",
        "best": "the best of {}",
    }
    leaves, size = count(chosen.leaves, "leaf", "leaves"), chosen.min_samples_leaf
    return f"{leaves}, depth {chosen.depth}, at least {count(size, 'row')} per leaf: " + rule[
        chosen.rule
    ].format(f"{chosen.candidates:,}")


def word_class_weight(class_weight: Any) -> str:
    """Say that shares are not shares of rows."""
    how = "let every class count the same"
    if class_weight != "balanced":
        how = "count each row by its class"
    return (
        f"Class weights {how}: shares, held-out shares and thresholds are weighted, and so are the "
        "probabilities of predict. 'of rows' is the plain share of the rows."
    )


def _word_rest(found: Document, n_shown: int) -> list[Line]:
    """Say that a tree goes on, and what agreement of its folds means; a leaf needs neither."""
    texts = ["...: goes on, see treefold show."] if n_shown < len(found["tree"]) else []
    texts += [CAUTION] if len(found["tree"]) > 1 else []
    return [("", " ".join(texts))] if texts else []


def _word_importance(found: Document) -> str:
    if found["importance"] is None:
        return "not ranked: a single row cannot be shuffled"
    if not found["importance"]:
        return "none matters: the tree has no split"
    ranked = [f"{_short(one.column)} {show_score(one.loss)}" for one in found["importance"]]
    title = found["scores"].title
    return f"{_some(ranked)} (what the held-out {title} loses if it is shuffled)"


def _word_thresholds(thresholds: Thresholds) -> Iterator[str]:
    half, best, label = thresholds.half, thresholds.best, thresholds.positive
    yield _word_found(half, label)
    if best.threshold == half.threshold:
        yield "No other threshold has a higher F1."
        return
    yield f"{best.threshold:.2f}, highest F1: {_word_found(best, label)}"


def _word_found(found: Found, label: str) -> str:
    return (
        f"recall {found.recall:.0%} (finds {found.n_right:,.0f} of "
        f"{found.n_positive:,.0f} '{label}'), precision {found.precision:.0%} "
        f"(of {found.n_called:,.0f} predicted)"
    )


def _word_work(work: Document) -> str:
    seconds = work["seconds"]
    parts = ", ".join(f"{name} {seconds[name]:.2f} s" for name in ("imports", "reading", "rest"))
    return f"{count(work['trees'], 'tree')} in {seconds['total']:.2f} s ({parts})"
