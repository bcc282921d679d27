import time

from kyvsim.cli import streams


def test_short_work_shows_nothing(capsys):
    assert list(streams.with_progress(iter("abc"), 3, "applying")) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")


def test_long_work_shows_a_bar_on_standard_error(capsys, monkeypatch):
    monkeypatch.setattr(streams, "_PATIENCE", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(streams.with_progress(iter("abc"), 3, "applying")) == ["a", "b", "c"]
    out, err = capsys.readouterr()
    assert out == ""
    assert "applying" in err


def test_a_long_wait_shows_and_a_short_one_does_not(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with streams.waiting("reading files", shown=True):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(streams, "_PATIENCE", 0.0)
    with streams.waiting("reading files", shown=True):
        while "reading files …" not in capsys.readouterr().err:
            time.sleep(0.05)
    capsys.readouterr()  # what takes the wait off the screen again
    with streams.waiting("reading files", shown=False):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
