"""A tree in other forms: one walk over it, several writers."""

from treefold.export.as_text import export_text
from treefold.export.walk import subtree_depths
from treefold.export.words import Steadiness, Wording

__all__ = ["Steadiness", "Wording", "export_text", "subtree_depths"]
