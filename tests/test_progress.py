"""The bar tells the truth, on a terminal only."""

import io
from types import SimpleNamespace

import pytest

from treefold import progress
from treefold.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    return stream


def test_the_bar_shows_the_share_of_work_and_leaves_an_empty_line(terminal):
    with Progress("growing", 200) as bar:
        bar.advance(20)
        assert terminal.getvalue().endswith("growing [###...........................]  10%")
        bar.advance(179.5)
        assert terminal.getvalue().endswith(" 99%")  # done only when it is done
        bar.advance(0.5)
        assert terminal.getvalue().endswith("100%")
    assert terminal.getvalue().split("\r")[-2].strip() == ""


def test_the_bar_goes_when_the_work_is_interrupted(terminal):
    def be_interrupted():
        with Progress("growing", 2) as bar:
            bar.advance()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        be_interrupted()
    assert terminal.getvalue().split("\r")[-2].strip() == ""


def test_nothing_is_written_unless_it_is_asked_for(terminal):
    with Progress("growing", 2, verbose=0) as bar:
        bar.advance(2)
    assert terminal.getvalue() == ""
    assert bar.share == 1.0


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_is_written_where_there_is_no_terminal(stream, monkeypatch):
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    with Progress("growing", 2) as bar:
        bar.advance()
    assert stream is None or stream.getvalue() == ""


def test_drawing_is_limited_in_time(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS", 3600.0)
    with Progress("growing", 1000) as bar:
        for _ in range(1000):
            bar.advance()
        assert terminal.getvalue().count("\r") == 1


def test_no_work_is_done_at_once():
    assert Progress("growing", 0, verbose=0).share == 1.0
