"""What is told of checks that leave out some of a Pod's containers."""

import pytest

PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE", "UPDATE"],
}
DEPLOYMENTS = {**PODS, "apiGroups": ["apps"], "resources": ["deployments"]}
EPHEMERAL = {**PODS, "resources": ["pods", "pods/ephemeralcontainers"]}
NONE_DERIVED = {"podControllers": {"controllers": []}}
IMAGE = "object.spec.containers.all(c, c.image.startsWith('a/'))"
ROOT = "!object.spec.containers.exists(c, c.?securityContext.?privileged.orValue(false))"
BOTH = f"{IMAGE} && object.spec.?initContainers.orValue([]).all(c, c.image.startsWith('a/'))"


@pytest.fixture
def told(written):
    """Return what gives codes of what is said of a ValidatingPolicy."""

    def ask(text, rule=PODS, **spec):
        constraints = {"resourceRules": [rule]}
        validations = [{"expression": text}]
        whole = {"matchConstraints": constraints, "validations": validations, **spec}
        return [code for code, _ in written("ValidatingPolicy", whole)]

    return ask


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (IMAGE, PODS),
        (ROOT, PODS),
        (f"has(object.metadata.labels) && ({IMAGE})", PODS),
        (IMAGE.replace("all(c,", "all(i, c,"), PODS),
        (IMAGE.replace("spec", "spec.template.spec"), DEPLOYMENTS),
        (IMAGE.replace("object.spec", "request.object.spec"), PODS),
    ],
)
def test_a_check_of_containers_alone(told, text, rule):
    assert told(text, rule) == ["KV257"]


def test_a_check_through_a_variable(told):
    variables = [{"name": "all", "expression": "object.spec.containers"}]
    text = "variables.all.all(c, c.image != 'a')"
    assert told(text, variables=variables) == ["KV257"]
    variables[0]["expression"] += " + object.spec.?initContainers.orValue([])"
    assert told(text, variables=variables) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (BOTH, PODS),
        ("object.spec.containers.all(c, has(c.livenessProbe))", PODS),
        ("object.spec.containers.exists(c, c.image == 'a')", PODS),
        ("object.spec.containers.all(c, c.ports.all(p, p.image != 'a'))", PODS),
        ("object.spec.volumes.all(c, c.image.reference != 'a')", PODS),
        (IMAGE, {**PODS, "apiGroups": ["example.com"]}),
        (IMAGE, {**PODS, "resources": ["*"]}),
    ],
)
def test_checks_that_leave_nothing_out(told, text, rule):
    assert set(told(text, rule)) <= {"KV164"}


def test_a_message_may_tell_that_others_are_checked_elsewhere(told):
    entry = {"expression": IMAGE, "message": "initContainers: see the other policy"}
    assert told("", validations=[entry]) == []


def test_ephemeral_containers_that_are_matched_and_not_looked_at(told):
    assert told(BOTH, EPHEMERAL, autogen=NONE_DERIVED) == ["KV264"]
    both = f"{BOTH} && object.spec.?ephemeralContainers.orValue([]).all(c, c.image != 'a')"
    assert told(both, EPHEMERAL, autogen=NONE_DERIVED) == []


def test_ephemeral_containers_may_be_refused_by_their_request(told):
    text = f"request.?subResource.orValue('') == '' && {BOTH}"
    assert told(text, EPHEMERAL, autogen=NONE_DERIVED) == []
    assert told("has(object.metadata.labels)", EPHEMERAL, autogen=NONE_DERIVED) == []
