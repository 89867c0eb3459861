"""The compiled core: the copy for this CPU, chosen once at import.

`TREEFOLD_BUILD=baseline` asks for the portable copy; the two give the same trees, bit for bit
(`tests/test_same_tree.py`), so this exists for that test and for benchmarks.
"""

import os
from typing import TYPE_CHECKING

from treefold import _core

if TYPE_CHECKING:
    from treefold._core import Rules, Source, Table, Tree
else:
    _chosen = _core
    if os.environ.get("TREEFOLD_BUILD") != "baseline" and _core.cpu_runs_v3():
        try:
            from treefold import _core_v3 as _chosen
        except ImportError:  # built without it: other processors, the checked build
            _chosen = _core
    Rules, Source, Table, Tree = _chosen.Rules, _chosen.Source, _chosen.Table, _chosen.Tree

grow = _core.grow if TYPE_CHECKING else _chosen.grow
build: str = "baseline" if TYPE_CHECKING else _chosen.build

__all__ = ["Rules", "Source", "Table", "Tree", "build", "grow"]
