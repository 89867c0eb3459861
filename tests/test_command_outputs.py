"""Files that commands write: all or none, never over what is read."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import LOANS, assert_mistake, fit, run, write
from interrupts import LISTEN

pytest.importorskip("pyarrow")

FIT = ("--target", "default", "--cv", 3, "--no-nested")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return Path(shutil.copy(LOANS, tmp_path / "loans.csv"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "loans.treefold"
    fit(LOANS, *FIT[1:], "--model", path)
    return path


def list_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "loans.csv"], "--model: 'loans.csv' is the data"),
        (["--report", "./loans.csv"], "--report: 'loans.csv' is the data"),
        (["--model", "link.csv"], "--model: 'link.csv' is the data"),
        (["--test", "test.csv", "--model", "test.csv"], "--model: 'test.csv' is the test file"),
        (["--model", "new", "--report", "./new"], "--model and --report both name 'new'"),
    ],
)
def test_fit_does_not_write_over_what_it_reads(
    data: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(data.parent)
    shutil.copy(data, "test.csv")
    os.symlink(data, "link.csv")
    before = list_files(data.parent)
    assert_mistake(run("fit", "loans.csv", *FIT, *options), message)
    assert list_files(data.parent) == before


def test_predict_and_show_do_not_write_over_what_they_read(
    data: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.parent)
    shutil.copy(model, "model.csv")
    before = list_files(data.parent)
    for name, what in (("loans.csv", "the data"), ("model.csv", "the model")):
        result = run("predict", "model.csv", "loans.csv", "-o", name)
        assert_mistake(result, f"--output: '{name}' is {what}; give another name")
    assert_mistake(run("show", "model.csv", "-o", "model.csv"), "is the model")
    assert list_files(data.parent) == before


@pytest.mark.parametrize(("good", "bad"), [("--model", "--report"), ("--report", "--model")])
@pytest.mark.parametrize("kind", ["a folder", "a read-only folder"])
def test_what_cannot_be_written_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: str, bad: str, kind: str
) -> None:
    monkeypatch.setattr("treefold.command.fit.open_rows", None)
    path = tmp_path if kind == "a folder" else Path("/sys/out")
    if not path.parent.is_dir():
        pytest.skip("needs a folder that nobody may write to")
    result = run("fit", LOANS, *FIT, good, tmp_path / "good", bad, path)
    assert_mistake(result, f"{bad}: '{path}' cannot be written: ")
    assert result.err.endswith("it is a directory, not a file.\n") or kind != "a folder"
    assert ".." not in result.err
    assert list(tmp_path.iterdir()) == []


def test_if_one_file_cannot_be_put_in_its_place_none_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def refuse(source: Path, target: Path) -> None:
        if target.name == "r.html":
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr("treefold.atomic.os.replace", refuse)
    old = write(tmp_path / "m.treefold", "an old file")
    result = run("fit", LOANS, *FIT, "--model", old, "--report", tmp_path / "r.html")
    assert_mistake(result, "r.html' cannot be written: No space left on device.")
    assert list_files(tmp_path) == {"m.treefold": b"an old file\n"}


@pytest.mark.parametrize("which", [0, 1])
def test_if_one_file_does_not_reach_the_disk_none_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    calls: list[int] = []

    def refuse(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == which + 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    files = ("--model", tmp_path / "m.treefold", "--report", tmp_path / "r.html")
    result = run("fit", LOANS, *FIT, *files)
    assert_mistake(result, "cannot be written: No space left on device.")
    assert list_files(tmp_path) == {}


INTERRUPTED = """
import os, signal, sys
import treefold.command.fit as command
from treefold.cli import main

def interrupt(*arguments, **named):
    os.kill(os.getpid(), signal.SIGINT)

{patch}
main()
"""
PATCHES = {
    "while the report is made": "command.make_report = interrupt",
    "between two files": """
import treefold.atomic
replace = os.replace
treefold.atomic.os.replace = lambda *names: (replace(*names), interrupt())
""",
    "while it prints": "command._print = interrupt",
}


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("moment", PATCHES)
def test_an_interrupt_says_what_was_written(tmp_path: Path, moment: str) -> None:
    names = [tmp_path / "m.treefold", tmp_path / "r.html"]
    code = INTERRUPTED.format(patch=PATCHES[moment])
    command = ["fit", LOANS, *FIT, "--model", names[0], "--report", names[1]]
    result = subprocess.run(
        [sys.executable, "-c", LISTEN + code, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 128 + signal.SIGINT
    if moment == "while the report is made":
        assert result.stderr.endswith("error: interrupted; no file was changed.\n")
        assert list(tmp_path.iterdir()) == []
    else:
        done = f"'{names[0]}' and '{names[1]}' had been written"
        assert result.stderr.endswith(f"error: interrupted; {done}.\n")
        assert sorted(tmp_path.iterdir()) == names


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
@pytest.mark.parametrize("command", ["predict", "fit", "fit --json", "show"])
def test_a_full_disk_behind_stdout_is_told_from_the_input(model: Path, command: str) -> None:
    arguments = {
        "predict": ["predict", model, LOANS],
        "fit": ["fit", LOANS, "--target", "default", "--cv", 2],
        "fit --json": ["fit", LOANS, "--target", "default", "--cv", 2, "--json"],
        "show": ["show", model],
    }[command]
    code = "from treefold.cli import main; main()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 2
    *hints, error = done.stderr.splitlines()
    assert error == "error: stdout cannot be written: No space left on device."
    assert all(line.startswith("hint: ") for line in hints)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGINT, "error: interrupted; no file was changed.\n"), (signal.SIGTERM, "")],
)
def test_an_interrupt_leaves_the_old_file_and_no_other(
    model: Path, tmp_path: Path, number: signal.Signals, words: str
) -> None:
    output = write(tmp_path / "out.csv", "an old file")
    code = f"""
import treefold.command.predict as command
from treefold.cli import main
answer = command._Answerer.answer
def slow(self, X, batch):
    import sys, time
    print("ready", file=sys.stderr, flush=True)
    time.sleep(600)
command._Answerer.answer = slow
import sys
sys.argv = ["treefold", "predict", {str(model)!r}, {str(LOANS)!r}, "-o", {str(output)!r}]
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", LISTEN + code], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(number)
        _, err = process.communicate(timeout=120)  # it would sleep for longer
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert err == words
    assert output.read_text() == "an old file\n"
    assert list(tmp_path.iterdir()) == [output]
