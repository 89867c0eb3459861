"""Statistics that the library does not have grow through its loop, without a change to it."""

import os
import subprocess
from pathlib import Path

import pytest
from cases import BASE_SEED

CORE = Path(__file__).parents[1] / "core"
ROOMS = ["base", "data", "search", "model", "grow", "family"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("core") / "gradient_pairs"
    sources = [Path(__file__).parent / "core" / "gradient_pairs.cpp"]
    sources += [source for room in ROOMS for source in sorted((CORE / room).glob("*.cpp"))]
    flags = ["-std=c++20", "-O1", "-ffp-contract=off", "-Wno-psabi", f"-I{CORE}", "-pthread"]
    compiler = os.environ.get("CXX", "g++")
    subprocess.run([compiler, *flags, *map(str, sources), "-o", str(path)], check=True)
    return path


def test_pairs_of_gradient_and_hessian_grow_the_tree_of_every_cut(program):
    for seed in range(3):
        run = subprocess.run(
            [program, str(BASE_SEED + seed)], check=False, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stdout + run.stderr
        printed = dict(line.split() for line in run.stdout.splitlines())
        assert printed["trees"] == "2000"
        assert int(printed["nodes"]) > 20_000
        # histograms handed on by subtraction, and ways that need no filter
        assert int(printed["kept_histogram"]) > 0
        assert printed.keys() <= {
            *("trees", "nodes", "two_rows", "three_rows", "kept_histogram"),
            *("histogram", "small_histogram", "order", "codes", "sorted"),
        }
