"""Run every benchmark in turn, each in a process of its own.

python -m benchmarks.run_all [--check | --quick]
"""

import subprocess
import sys

from benchmarks.timing import parse_arguments

PEERS = (
    "trees",
    "sparse",
    "predict",
    "threads",
    "scaling",
    "memory",
    "model_selection",
    "own_fit",
    "command",
)
SCRIPTS = (*(f"peers.{name}" for name in PEERS), "papers.cross_validation", "papers.batched_lazy")
SCRIPTS += ("many_categories",)


def main() -> None:
    """Run them all, then name those that failed."""
    parse_arguments(__doc__)
    failed = []
    for name in SCRIPTS:
        command = [sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
