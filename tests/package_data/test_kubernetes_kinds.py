"""The facts of Kubernetes' kinds are written as people read them, and agree with each other."""

import json
from pathlib import Path

FILE = Path(__file__).parents[2] / "kyvsim" / "kubernetes" / "kubernetes-1.35.json"
KINDS = [
    (group, kind, facts)
    for group, about in json.loads(FILE.read_text(encoding="utf-8"))["groups"].items()
    for kind, facts in about["kinds"].items()
]


def test_facts_are_written_as_the_script_for_kyverno_writes_them(script):
    text = FILE.read_text(encoding="utf-8")
    assert script("make_kyverno_facts").show(json.loads(text)) + "\n" == text


def test_each_kind_has_a_plural_a_scope_and_versions():
    for _, kind, facts in KINDS:
        assert facts["plural"] == facts["plural"].lower()
        assert facts["plural"].startswith(kind.lower()[:-1])
        assert facts["namespaced"] in {True, False}
        assert facts["versions"]


def test_no_name_means_two_kinds_of_a_group():
    names = [
        (group, name) for group, _, one in KINDS for name in (one["plural"], *one.get("short", ()))
    ]
    assert len(names) == len(set(names))
