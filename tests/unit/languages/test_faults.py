"""A fault in one policy is that policy's error; the others are compiled all the same."""

import pytest

from kyvsim.api.system import own_system
from kyvsim.compile import CompileOptions
from kyvsim.languages import READERS
from kyvsim.languages import policies as languages
from kyvsim.load.documents import parse_documents
from kyvsim.load.files import Source
from kyvsim.load.policy import load_policies

TEXT = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: %s}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
"""


def failing(error):
    def fail(*_):
        raise error

    return fail


def documents():
    text = "---".join(TEXT % name for name in ("bad", "good"))
    return tuple(parse_documents(Source("p.yaml", text)))


def policies():
    found, problems = load_policies(documents(), READERS)
    assert not problems
    return found


@pytest.fixture(params=["check", "lower", "doubt"])
def faulty(request, monkeypatch):
    usual = languages.language_of

    def found(policy):
        broken = {request.param: failing(KeyError("oops"))}
        return usual(policy)._replace(**broken) if policy.name == "bad" else usual(policy)

    monkeypatch.setattr(languages, "language_of", found)


@pytest.mark.usefixtures("faulty")
def test_what_cannot_be_compiled_costs_no_other_policy():
    compiled, told = languages.compile_policies(policies(), CompileOptions(own_system()))
    assert [one.policy.name for one in compiled.policies] == ["good"]
    (said,) = told
    assert (said.code, str(said.location)) == ("KV190", "p.yaml:5:1")
    assert "KeyError: 'oops'" in said.message


def test_what_cannot_be_linted_is_an_error_of_the_policy(monkeypatch):
    usual = languages.language_of
    monkeypatch.setattr(
        languages, "language_of", lambda one: usual(one)._replace(lint=failing(RecursionError()))
    )
    (said,) = languages.lint_policy(policies()[0], CompileOptions(own_system()))
    assert (said.code, said.severity.value) == ("KV190", "error")
    assert "nested too deeply" in said.message


def test_a_document_that_cannot_be_read_costs_no_other():
    readers = {
        key: failing(TypeError("oops")) if key[1] == "ClusterPolicy" else read
        for key, read in READERS.items()
    }
    found, told = load_policies(documents(), readers)
    assert not found
    assert [(one.code, one.severity.value) for one in told] == [("KV010", "error")] * 2
