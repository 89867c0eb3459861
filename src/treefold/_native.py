"""The compiled core: the copy for this CPU, chosen once at import.

`TREEFOLD_BUILD=baseline` asks for the portable copy; the two give the same trees, bit for bit
(`tests/test_same_tree.py`), so this exists for that test and for benchmarks.
"""

import importlib.util
import os
from typing import TYPE_CHECKING

from treefold import _core


def _best_module() -> str:
    if os.environ.get("TREEFOLD_BUILD") == "baseline" or not _core.cpu_runs_v3():
        return "treefold._core"
    has_v3 = importlib.util.find_spec("treefold._core_v3") is not None  # not in the checked build
    return "treefold._core_v3" if has_v3 else "treefold._core"


if TYPE_CHECKING:
    from treefold._core import (
        Rules,
        Source,
        Table,
        Tree,
        answer_family,
        build,
        can_search_together,
        count_correct,
        count_strata,
        draw_bag,
        grow,
        grow_family,
        leave_one_out,
        read_lines,
    )
else:
    _chosen = importlib.import_module(_best_module())
    Rules, Source, Table, Tree = _chosen.Rules, _chosen.Source, _chosen.Table, _chosen.Tree
    build, grow, grow_family = _chosen.build, _chosen.grow, _chosen.grow_family
    leave_one_out, read_lines = _chosen.leave_one_out, _chosen.read_lines
    answer_family, draw_bag = _chosen.answer_family, _chosen.draw_bag
    count_correct, count_strata = _chosen.count_correct, _chosen.count_strata
    can_search_together = _chosen.can_search_together

__all__ = ["Rules", "Source", "Table", "Tree"]
__all__ += [
    "answer_family",
    "build",
    "can_search_together",
    "count_correct",
    "count_strata",
    "draw_bag",
    "grow",
    "grow_family",
    "leave_one_out",
    "read_lines",
]
