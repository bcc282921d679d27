import pytest

from kyvsim.cli import streams


@pytest.mark.parametrize(
    ("terminal", "environment", "unwanted", "shown"),
    [
        (True, {}, False, True),
        (False, {}, False, False),
        (True, {"TERM": "dumb"}, False, False),
        (False, {"FORCE_COLOR": "1"}, False, True),
        (False, {"FORCE_COLOR": "0"}, False, False),
        (False, {"FORCE_COLOR": ""}, False, False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        (True, {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_when_colours_show(monkeypatch, terminal, environment, unwanted, shown):
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(streams, "is_terminal", lambda _stream: terminal)
    assert streams.shows_colours(unwanted=unwanted) is shown
