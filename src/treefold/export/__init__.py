"""A tree in other forms: one walk over it (`walk`), several writers (`as_...`)."""

from treefold.export.as_dot import export_dot
from treefold.export.as_json import export_json
from treefold.export.as_sql import export_sql
from treefold.export.as_svg import export_svg
from treefold.export.as_text import export_text

__all__ = ["export_dot", "export_json", "export_sql", "export_svg", "export_text"]
