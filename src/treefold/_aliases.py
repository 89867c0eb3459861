"""Where modules were before they stood in rooms: pickles of versions before name them so.

Only what pickles name is here; nobody else should import these names.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

__all__ = ["MOVED", "install"]

MOVED = {
    "treefold.bagging": "treefold.estimators.bagging",
    "treefold.bags": "treefold.estimators.bags",
    "treefold.lazy": "treefold.estimators.lazy",
    "treefold.schema": "treefold.data.schema",
    "treefold.target": "treefold.data.target",
    "treefold.tree": "treefold.estimators.tree",
    "treefold.tree_cv": "treefold.evaluation.tree_cv",
}


class _Finder(MetaPathFinder, Loader):
    """Makes an empty module that asks the one at the new place for its names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        home = import_module(MOVED[module.__name__])
        module.__dict__["__getattr__"] = lambda name: getattr(home, name)


def install() -> None:
    """Let old names be found, before an editable install looks for their files."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
