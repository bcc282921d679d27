"""What expressions of policies see of a request, and what is worked out for it."""

import pytest

from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.engine.compile import CompileOptions
from kyvsim.engine.compile.compiled import Evaluation
from kyvsim.engine.context import JSONContext
from kyvsim.kubernetes.discovery import NO_KINDS, KindFacts
from kyvsim.languages.cel.kind import PolicyPart, RequestValues
from kyvsim.languages.cel_expressions import Compiler, KyvernoScope
from kyvsim.model.policy import Policy, PolicyFacts
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.source import Document
from kyvsim.policy.cel_policy import read_cel_policy

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}

ODD = {("x.io", "Ox"): KindFacts("oxen", True)}


class Asked:
    """A cluster that has one Namespace, and remembers what it was asked for."""

    has_ints = False

    def __init__(self):
        self.questions = []

    def get(self, *place):
        self.questions.append(place)
        return {"metadata": {"name": place[-1], "labels": {"team": "a"}}}


@pytest.fixture
def value_of(system):
    def call(text, variables=(), kinds=NO_KINDS, obj=POD, **own):
        env = kyverno_environment("ValidatingPolicy", system.clock, system.entropy)
        compiler, spec = Compiler(KyvernoScope(env)), read_cel_policy({"variables": variables})
        programs = compiler.variables(spec.variables)
        program = compiler.program(text)
        cluster = Asked()
        scope = JSONContext({}, ExternalData(cluster), deleting=False)
        evaluation = Evaluation(scope, AdmissionRequest(Operation.CREATE, obj), obj)
        document, facts = Document({}, "", 0, None), PolicyFacts("policies.kyverno.io/v1")
        policy = Policy("ValidatingPolicy", "p", "", {}, {}, (), document, facts)
        part = PolicyPart(policy, spec, compiler, CompileOptions(system, kinds=kinds))
        values = RequestValues(part, programs).of(evaluation, **own)
        return program.value(values), cluster.questions

    return call


def test_what_no_expression_reads_is_not_asked_for(value_of):
    assert value_of("object.metadata.name") == ("web", [])


def test_what_an_expression_reads_is_asked_for(value_of):
    asked = [("v1", "Namespace", "", "shop")]
    assert value_of("namespaceObject.metadata.labels.team") == ("a", asked)


def test_what_only_a_variable_reads_is_there_too(value_of):
    team = {"name": "team", "expression": "namespaceObject.metadata.labels.team"}
    assert value_of("variables.team", [team])[0] == "a"


def test_what_a_kind_knows_itself_comes_before_what_all_know(value_of):
    allowed = {"allowedImages": ["x"], "allowedValues": []}
    assert value_of("exceptions.allowedImages", exceptions=allowed)[0] == ["x"]
    assert value_of("exceptions.allowedImages")[0] == []


@pytest.mark.parametrize(("kinds", "resource"), [(ODD, "oxen"), (NO_KINDS, "oxs")])
def test_the_resource_of_a_request_is_what_its_definition_says(value_of, kinds, resource):
    ox = {"apiVersion": "x.io/v1", "kind": "Ox", "metadata": {"name": "a", "namespace": "shop"}}
    for text in ("request.resource.resource", "request.requestResource.resource"):
        assert value_of(text, kinds=kinds, obj=ox)[0] == resource
