"""A fault in one policy is that policy's error; the others are compiled all the same."""

import re

import pytest
from tracers import ListTracer

from kyvsim import languages
from kyvsim.api.system import own_system
from kyvsim.engine.compile import CompileOptions
from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.world import GivenObjects, World
from kyvsim.languages import READERS
from kyvsim.linting import policies as lint
from kyvsim.load.documents import parse_documents
from kyvsim.load.files import Source
from kyvsim.load.policy import load_policies
from kyvsim.model.ports import UNCHANGED, Budget

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
    def fail(*_, **__):
        raise error

    return fail


def documents():
    text = "---".join(TEXT % name for name in ("bad", "good"))
    return tuple(parse_documents(Source("p.yaml", text)))


def policies():
    found, problems = load_policies(documents(), READERS)
    assert not problems
    return found


@pytest.fixture(params=["validate", "compile", "suspicious"])
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
    monkeypatch.setattr(lint, "check_policy", failing(RecursionError()))
    (said,) = lint.lint_policy(policies()[0], CompileOptions(own_system()))
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


CONSTANT = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: heavy}
spec:
  rules:
  - name: light
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
  - name: heavy
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: m
      deny: {conditions: {any: [{key: [KEYS], operator: AnyIn, value: [VALUES]}]}}
"""
CONSTANT = CONSTANT.replace("KEYS", ", ".join(f"a{n}*" for n in range(1600)))
CONSTANT = CONSTANT.replace("VALUES", ", ".join(f"b{n}*" for n in range(1600)))


def heavy_policies():
    found, problems = load_policies(parse_documents(Source("p.yaml", CONSTANT)), READERS)
    assert not problems
    return found


def test_lint_reports_the_rule_whose_constants_take_more_than_the_budget():
    (policy,) = heavy_policies()
    told = lint.lint_policy(policy, CompileOptions(own_system()))
    (said,) = [one for one in told if one.code == "KV190"]
    assert str(said.location) == "p.yaml:10:5"
    assert said.message == (
        "rule `heavy` cannot be compiled: the budget of 1,000,000 steps for a rule is spent"
    )


def test_compiling_reports_the_option_that_sets_another_budget():
    compiled, (said,) = languages.compile_policies(
        heavy_policies(), CompileOptions(own_system(budget=UNCHANGED))
    )
    assert compiled.policies == ()
    assert str(said.location) == "p.yaml:10:5"
    assert "--budget rule=N" in said.message
    assert "internal error" not in said.message


def test_constants_of_each_policy_are_evaluated_on_a_budget_of_their_own():
    budget = Budget(rule=3000, resource=3000)
    text = "---".join(CONSTANT.replace("heavy", f"p{n}") for n in range(3))
    few = re.sub(r"\[a0\*.*?\]", f"[{', '.join('a*' for _ in range(40))}]", text)
    few = re.sub(r"\[b0\*.*?\]", f"[{', '.join('b*' for _ in range(40))}]", few)
    found, _ = load_policies(parse_documents(Source("p.yaml", few)), READERS)
    compiled, told = languages.compile_policies(found, CompileOptions(own_system(budget=budget)))
    assert told == ()
    assert len(compiled.policies) == 3


@pytest.mark.parametrize("tracer", [None, ListTracer()])
def test_conditions_of_exceptions_take_the_budget_of_each_derived_rule(
    tracer, policy, exception, thing, request_for
):
    texts = [f"{name}*" for name in range(100)]
    condition = {"key": texts, "operator": "AnyIn", "value": [f"a{text}" for text in texts]}
    rule = {"validate": {"message": "m", "pattern": {"metadata": {"name": "?*"}}}}
    excepted = exception("p", "*", conditions={"any": [condition]})
    once_only = own_system(budget=Budget(rule=8_000, resource=0))
    compiled, told = languages.compile_policies(
        [policy(rule)], CompileOptions(once_only, (excepted,), tracer=tracer)
    )
    assert told == ()
    pod = {"metadata": {"name": "web"}}
    deployment = thing("Deployment", api_version="apps/v1", spec={"template": pod})
    response = evaluate(compiled, request_for(deployment), World(GivenObjects([])))
    assert [one.status.value for one in response.responses[0].results] == ["pass"]
