"""The core's public types, by programs in C++ that use them as the library does not."""

import os
import subprocess
from pathlib import Path

import pytest
from cases import BASE_SEED

HERE = Path(__file__).parent
CORE = HERE.parent / "core"
ROOMS = ["base", "data", "search", "model", "grow", "family"]
N_SEEDS = 3


@pytest.fixture(scope="module")
def compile_program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")

    def compile_one(name, rooms):
        sources = [HERE / "core" / f"{name}.cpp"]
        sources += [source for room in rooms for source in sorted((CORE / room).glob("*.cpp"))]
        flags = ["-std=c++20", "-O1", "-ffp-contract=off", "-Wno-psabi", f"-I{CORE}", "-pthread"]
        compiler = os.environ.get("CXX", "g++")
        command = [compiler, *flags, *map(str, sources), "-o", str(folder / name)]
        subprocess.run(command, check=True)
        return folder / name

    return compile_one


def run(program, seed):
    """What a program prints: a word and a number in each line."""
    done = subprocess.run([program, str(seed)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (line.split() for line in done.stdout.splitlines())
    return {word: int(number) for word, number in lines}


def test_statistics_that_the_library_does_not_have_grow_through_its_loop(compile_program):
    """Pairs of gradient and hessian: each tree is that of a search of every cut."""
    program = compile_program("gradient_pairs", ROOMS)
    for seed in range(BASE_SEED, BASE_SEED + N_SEEDS):
        printed = run(program, seed)
        assert printed["trees"] == 2_000
        assert printed["nodes"] > 20_000
        assert printed["kept_histogram"] > 0  # handed on by subtraction
        no_filter = {"two_rows", "three_rows", "kept_histogram", "histogram", "small_histogram"}
        assert printed.keys() <= no_filter | {"trees", "nodes", "order", "codes", "sorted"}


def test_histograms_hold_the_same_whatever_their_layout(compile_program):
    program = compile_program("histograms", [])
    for seed in range(BASE_SEED, BASE_SEED + N_SEEDS):
        assert run(program, seed)["lines"] > 50_000
