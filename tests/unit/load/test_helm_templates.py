"""Variables of Kyverno in templates of Helm."""

import pytest

from kyvsim.api.lint import lint
from kyvsim.load.recognise import unescaped_variables


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('message: "{{ request.object.metadata.name }} is not allowed."', [(1, 11)]),
        ("a: {{ .Values.a }}\nb: {{request.operation}} {{- element.name }}", [(2, 4), (2, 26)]),
        ("path: /spec/containers/{{elementIndex}}/image", [(1, 24)]),
        ("a: '{{ request.object.metadata.labels.\"a}}b\" || `{}` }}'", [(1, 5)]),
        ("a: {{ `{{ request.object.metadata.name }}` }}", []),
        ('a: {{ "{{ request.object.metadata.name }}" }}', []),
        ('a: {{ "{{" }} request.object.metadata.name {{ "}}" }}', []),
        ("a: {{ .Values.request.object }} {{ requests }} {{/* request.object */}}", []),
    ],
)
def test_variables_that_helm_evaluates(text, found):
    reported = [*unescaped_variables("a.yaml", text)]
    assert [(one.location.line, one.location.column) for one in reported] == found
    assert {one.code for one in reported} <= {"KV024"}


def test_templates_of_charts_are_searched(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 1.0.0\n")
    template = "spec: {{ .Values.spec }}\nmessage: {{ request.object.metadata.name }}\n"
    (tmp_path / "templates" / "policy.yaml").write_text(template)
    for place in (tmp_path, tmp_path / "templates" / "policy.yaml"):
        texts = [one.message for one in lint([str(place)]).diagnostics if one.code == "KV024"]
        assert len(texts) == 2
        assert texts[1].endswith("write {{ `{{ request.object.metadata.name }}` }}")


@pytest.mark.parametrize("part", ["``" * 50, "`" * 51, '""' * 50, "{" * 50_000, '{{ "\n' * 50_000])
def test_an_action_without_end_takes_no_long_time(part):
    assert [*unescaped_variables("a.yaml", f"a: {{{{ {part}")] == []
