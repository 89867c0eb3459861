"""Section 8: the rules as text and as SQL, as long as they are short enough for people."""

from typing import Any

from markupsafe import Markup, escape

from treefold import export_sql, export_text
from treefold.reporting.material import Material
from treefold.reporting.wording import clean

__all__ = ["write_rules"]

_LONGEST = 100_000  # characters
_LONGEST_LINE = 2_000
_DEEPEST = 12


def write_rules(material: Material) -> dict[str, Any]:
    """Write the tree in both forms; what is too long is left out, and said to be."""
    model = material.result.model
    names = [material.name(column) for column in range(material.tree.n_features)]
    classes = [material.label(place) for place in range(len(material.target.classes))] or None
    given: dict[str, Any] = {"feature_names": names, "class_names": classes}
    text = ""
    for depth in (None, *range(_DEEPEST, 0, -1)):
        text = export_text(model, max_depth=depth, **given)
        if len(text) <= _LONGEST:
            break
    return {"text": _keep(text), "is_cut": "truncated branch" in text, **_write_sql(model)}


def _write_sql(model: Any) -> dict[str, Any]:
    try:
        sql = export_sql(model)
    except ValueError as error:
        return {"sql": None, "why_not": clean(error)}
    longest = max(map(len, sql.split("\n")))
    if len(sql) > _LONGEST or longest > _LONGEST_LINE:
        return {"sql": None, "why_not": f"It would take {len(sql):,} characters."}
    return {"sql": _keep(sql, _LONGEST_LINE), "why_not": ""}


def _keep(text: str, most: int = 300) -> Markup:
    """Escape a text of several lines, each of them with nothing invisible in it."""
    return escape("\n".join(clean(line, most) for line in text.split("\n")))
