from kyvsim.report import progress


def test_short_work_shows_nothing(capsys):
    assert list(progress.with_progress(iter("abc"), 3, "applying")) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")


def test_long_work_shows_a_bar_on_standard_error(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(progress.with_progress(iter("abc"), 3, "applying")) == ["a", "b", "c"]
    out, err = capsys.readouterr()
    assert out == ""
    assert "applying" in err
