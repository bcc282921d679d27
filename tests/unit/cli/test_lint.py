import io
import json
import sys

import pytest

GOOD = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: good}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: never, deny: {}}
"""
OLD = GOOD.replace("spec:", "spec:\n  validationFailureAction: Audit").replace("good", "old")
BAD = GOOD.replace("validate", "validat").replace("good", "bad")
BUDGET = "kind: PodDisruptionBudget\napiVersion: policy/v1\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes a file into the working folder."""
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


@pytest.mark.parametrize(
    ("text", "options", "status"),
    [
        (GOOD, (), 0),
        (GOOD, ("--strict",), 0),
        (OLD, (), 0),
        (OLD, ("--strict",), 2),
        (BAD, (), 2),
        (BAD + "---\n" + OLD, ("--strict",), 2),
        (BUDGET, (), 2),
    ],
)
def test_exit_status(written, kyvsim, text, options, status):
    assert kyvsim("lint", written("p.yaml", text), *options)[0] == status


def test_findings_go_to_standard_output_and_figures_to_standard_error(written, kyvsim):
    _, out, err = kyvsim("lint", written("b.yaml", OLD), written("a.yaml", BAD))
    first, second = out.splitlines()
    assert first.startswith("b.yaml:5:3: warning KV202: field `validationFailureAction`")
    assert second == (
        "a.yaml:8:5: error KV012: unknown field `spec.rules[0].validat`: did you mean `validate`?"
    )
    assert err.splitlines() == [
        "1 error, 1 warning in 2 policy documents",
        (
            "INCOMPLETE: 1 error in 1 input (a.yaml:8:5 KV012) · "
            "2 policy documents checked · 1 warning · exit status 2"
        ),
    ]


def test_a_policy_that_is_given_twice_is_told_of_once(written, kyvsim):
    name = written("p.yaml", OLD)
    _, out, _ = kyvsim("lint", name, name)
    assert len(out.splitlines()) == 1


def test_standard_input(kyvsim, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    status, out, _ = kyvsim("lint", "-", "--output-format", "json")
    assert status == 2
    assert json.loads(out)["diagnostics"][0]["file"] == "<stdin>"


def test_an_expression_that_does_not_compile_has_its_place(written, kyvsim):
    context = "[{name: x, variable: {jmesPath: 'a['}}]"
    loop = f"{{foreach: [{{list: a, context: {context}, deny: {{}}}}]}}"
    text = GOOD.replace("{message: never, deny: {}}", loop)
    status, out, _ = kyvsim("lint", written("p.yaml", text))
    assert status == 2
    lines = out.splitlines()
    assert lines[-1].startswith("p.yaml:8:67: error KV190: rule `r` can't be compiled: Syntax")
    assert [line for line in lines if "KV209" in line] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no policy given"),
        (("https://example.com/p.yaml",), "kyvsim works offline"),
        (("p.yaml", "--output-format", "xml"), "'xml' is not one of"),
    ],
)
def test_usage(kyvsim, arguments, message):
    status, out, err = kyvsim("lint", *arguments)
    assert (status, out) == (2, "")
    assert message in err
