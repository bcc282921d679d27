import pytest

from kyvsim.testing import Effect, Verdict, golden_text
from kyvsim.testing.golden import text_difference
from kyvsim.yaml.text import load_one

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"b": "---\nx"}}
SAID = (
    Verdict("p", "r", "ns/Pod/a", "pass", "validation rule 'r' passed."),
    Verdict("p", "yes", "ns/Pod/a", "fail", "line one\nline two"),
)
EFFECT = Effect(POD, {**POD, "spec": {"x": 1.0}}, (MAP,), (), SAID)
IDLE = Effect({**POD, "metadata": {"name": "idle"}}, None, (), (), ())

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
    assert golden_text([EFFECT, IDLE]) == TEXT


def test_the_text_can_be_read_as_yaml():
    document = load_one(golden_text([EFFECT]).split("---\n", 1)[1])
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


TWICE = golden_text([IDLE, EFFECT, IDLE])


@pytest.mark.parametrize(
    ("golden", "now", "lines"),
    [
        (golden_text([EFFECT]), TEXT, ["Pod/idle", "    + resource: Pod/idle"]),
        (TEXT, golden_text([EFFECT]), ["Pod/idle", "    - resource: Pod/idle"]),
        (TEXT, TWICE, ["Pod/idle #2", "    + resource: Pod/idle"]),
        (TEXT, golden_text([IDLE, EFFECT]), ["    + resource: Pod/idle"]),
        ("", golden_text([IDLE]), ["Pod/idle", "    + resource: Pod/idle"]),
    ],
)
def test_documents_that_came_went_or_moved_are_shown(golden, now, lines):
    shown = text_difference(golden, now).splitlines()
    assert [line for line in lines if line not in shown] == []
    assert not [line for line in shown if "ns/Pod/a" in line and golden and "#" in line]
