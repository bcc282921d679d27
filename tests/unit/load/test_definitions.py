"""Definitions of custom resources: what is one, and what is told of files that hold none."""

import pytest

from kyvsim.load.resources import load_definitions

WIDGET = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
CHOICES = "choices: [a]\n"


@pytest.fixture
def ask(tmp_path):
    def load(path, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        found, said = load_definitions([str(tmp_path / path)])
        told = [(one.code, one.severity.value, one.location.line, one.message) for one in said]
        return [one.data["spec"]["names"] for one in found], told

    return load


def test_a_definition_is_found_beside_other_objects_of_an_installation(ask):
    names, told = ask("all.yaml", all=f"{POD}---\n{WIDGET}")
    assert names == [{"kind": "Widget", "plural": "widgets"}]
    assert told == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [(POD, "Pod (v1)"), (CHOICES, "a mapping without `kind`"), ("[a]", "a list")],
)
def test_a_file_without_definition_is_an_error(ask, text, shown):
    names, ((code, severity, line, message),) = ask("it.yaml", it=text)
    assert (names, code, severity, line) == ([], "KV075", "error", 1)
    assert message == f"there is no CustomResourceDefinition in this file, but {shown}"


def test_in_a_folder_other_files_are_left_out(ask):
    names, told = ask("", crd=WIDGET, pod=POD)
    assert len(names) == 1
    assert [code for code, *_ in told] == ["KV028"]


def test_a_folder_without_definition_is_an_error(ask):
    _, told = ask("", pod=POD)
    assert [(code, severity) for code, severity, *_ in told][-1] == ("KV026", "error")


def test_a_definition_of_no_kind_is_an_error(ask):
    _, told = ask("crd.yaml", crd=WIDGET.replace("kind: Widget, ", ""))
    assert told == [
        ("KV076", "error", 6, "the definition defines no kind: `spec.names.kind` is missing")
    ]
