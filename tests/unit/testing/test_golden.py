"""Golden files of effects."""

import pytest

from kyvsim.testing import Effect, Verdict, golden_difference, golden_text, write_golden
from kyvsim.testing.effects import text_difference
from kyvsim.yaml.text import load_one

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


TEXT_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"b": "---\nx"}}
SAID = (
    Verdict("p", "r", "ns/Pod/a", "pass", "validation rule 'r' passed."),
    Verdict("p", "yes", "ns/Pod/a", "fail", "line one\nline two"),
)
TEXT_EFFECT = Effect(TEXT_POD, {**TEXT_POD, "spec": {"x": 1.0}}, (MAP,), (), SAID)
IDLE = Effect({**TEXT_POD, "metadata": {"name": "idle"}}, None, (), (), ())

TEXT = """\
# What policies do to manifests. Written by: pytest --update-golden
---
resource: ns/Pod/a
verdicts:
- policy: p
  rule: r
  result: pass
- policy: p
  rule: "yes"
  result: fail
  message: |-
    line one
    line two
mutated:
  apiVersion: v1
  kind: Pod
  metadata:
    name: a
    namespace: ns
  spec:
    x: 1
generated:
- apiVersion: v1
  data:
    b: |-
      ---
      x
  kind: ConfigMap
  metadata:
    name: m
---
resource: Pod/idle
verdicts: []
"""


def test_effects_are_written_as_yaml_in_one_order():
    assert golden_text([TEXT_EFFECT, IDLE]) == TEXT


def test_the_text_can_be_read_as_yaml():
    document = load_one(golden_text([TEXT_EFFECT]).split("---\n", 1)[1])
    assert document["verdicts"][1] == {
        "policy": "p",
        "rule": "yes",
        "result": "fail",
        "message": "line one\nline two",
    }
    assert document["mutated"]["spec"] == {"x": 1}
    assert document["generated"] == [MAP]


def test_patched_objects_have_a_list_of_their_own():
    text = golden_text([IDLE._replace(patched=(MAP,))])
    assert "\npatched:\n- apiVersion: v1\n" in text
    assert "generated" not in text


def test_equal_texts_do_not_differ():
    assert text_difference(TEXT, TEXT) == ""
    assert text_difference(TEXT.replace("\n", "\r\n"), TEXT) == ""


def test_a_difference_stands_below_its_resource():
    assert text_difference(TEXT.replace("x: 1", "x: 2"), TEXT) == (
        "ns/Pod/a\n"
        "    ...\n"
        "          name: a\n"
        "          namespace: ns\n"
        "        spec:\n"
        "    -     x: 2\n"
        "    +     x: 1\n"
        "      generated:\n"
        "      - apiVersion: v1\n"
        "        data:\n"
        "    ..."
    )


TWICE = golden_text([IDLE, TEXT_EFFECT, IDLE])


@pytest.mark.parametrize(
    ("golden", "now", "lines"),
    [
        (golden_text([TEXT_EFFECT]), TEXT, ["Pod/idle", "    + resource: Pod/idle"]),
        (TEXT, golden_text([TEXT_EFFECT]), ["Pod/idle", "    - resource: Pod/idle"]),
        (TEXT, TWICE, ["Pod/idle #2", "    + resource: Pod/idle"]),
        (TEXT, golden_text([IDLE, TEXT_EFFECT]), ["    + resource: Pod/idle"]),
        ("", golden_text([IDLE]), ["Pod/idle", "    + resource: Pod/idle"]),
    ],
)
def test_documents_that_came_went_or_moved_are_shown(golden, now, lines):
    shown = text_difference(golden, now).splitlines()
    assert [line for line in lines if line not in shown] == []
    assert not [line for line in shown if "ns/Pod/a" in line and golden and "#" in line]
