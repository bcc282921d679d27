from kyvsim.testing import Effect, golden_difference, golden_text, write_golden

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ä"}}
EFFECT = Effect(POD, None, (), (), ())


def test_what_was_written_does_not_differ(tmp_path):
    file = tmp_path / "deep/er/golden.yaml"
    write_golden([EFFECT], file)
    assert file.read_bytes() == golden_text([EFFECT]).encode()
    assert golden_difference([EFFECT], file) == ""
    assert golden_difference([EFFECT], str(file)) == ""


def test_a_missing_file_says_nothing(tmp_path):
    assert "+ resource: Pod/ä" in golden_difference([EFFECT], tmp_path / "golden.yaml")


def test_a_changed_file_differs(tmp_path):
    file = tmp_path / "golden.yaml"
    write_golden([EFFECT], file)
    file.write_text(file.read_text(encoding="utf-8").replace("ä", "b"), encoding="utf-8")
    assert golden_difference([EFFECT], file)
