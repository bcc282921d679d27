"""Exceptions from rules become exceptions from what these have become, and let off the same."""

import json

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.migrate import migrate, with_evidence
from kyvsim.load.files import Source
from kyvsim.model.comparison import Answer, SearchBudget
from kyvsim.model.migration import ConversionOutcome

pytestmark = pytest.mark.slow

DENIALS = {"fail", "error"}
PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}


def rule(name, field, **more):
    pattern = {"spec": {f"=({field})": False}}
    return {"name": name, "match": PODS, "validate": {"message": "no", "pattern": pattern}, **more}


POLICY = {
    "apiVersion": "kyverno.io/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "hosts"},
    "spec": {
        "validationFailureAction": "Enforce",
        "rules": [rule("network", "hostNetwork"), rule("pid", "hostPID"), rule("ipc", "hostIPC")],
    },
}


def exception(*rules, policy="hosts", match=None, **spec):
    named = [{"policyName": policy, "ruleNames": list(rules)}]
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "tools", "namespace": "ops"},
        "spec": {"exceptions": named, "match": match or every("Pod", "Deployment"), **spec},
    }


def every(*kinds, **resources):
    return {"any": [{"resources": {"kinds": list(kinds), **resources}}]}


def both(*blocks):
    return {"all": [one for block in blocks for one in block["any"]]}


def pod(name, field, **labels):
    spec = {"containers": [{"name": "a", "image": "b"}], field: True}
    metadata = {"name": name, "namespace": "ops", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def deployment(name, field):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(name, field)["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    metadata = {"name": name, "namespace": "ops"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


OBJECTS = [
    *(make(f"tool-{field.lower()}", field) for make in (pod, deployment)
      for field in ("hostNetwork", "hostPID", "hostIPC")),
    pod("other", "hostPID", app="tool"),
]  # fmt: skip


def source(name, *data):
    return Source(name, "\n---\n".join(map(json.dumps, data)))


def denied(policies, exceptions):
    inputs = ApplyInputs(
        policies=(policies,), resources=(source("r", *OBJECTS),), exceptions=(exceptions,)
    )
    application = open_application(inputs)
    found = {
        (response.trigger["kind"], response.trigger["metadata"]["name"])
        for response in application.responses
        for one in response.responses
        for row in one.results
        if row.status.value in DENIALS
    }
    assert [str(one) for one in application.diagnostics if one.severity.value == "error"] == []
    return found


@pytest.fixture
def converted():
    """Return what converts a policy and an exception from it."""

    def convert(excepting):
        text = "\n---\n".join(map(json.dumps, (POLICY, excepting)))
        return migrate(["-"], text.encode())

    return convert


@pytest.mark.parametrize(
    ("excepting", "let_off"),
    [
        (exception("pid", "autogen-pid"), 3),
        (exception("*pid"), 3),
        (exception("pid"), 2),
        (exception("autogen-pid"), 1),
        (exception("*"), 7),
        (exception("pid", match=every("Pod", names=["tool-*"])), 1),
        (exception("*", match=every("Pod", namespaces=["none"])), 0),
        (exception("*", match=both(every("Pod"), every("*", names=["other"]))), 1),
        (exception("*", match=every("Pod", selector={"matchLabels": {"app": "tool"}})), 1),
        (exception("*", conditions={"any": [
            {"key": "{{ request.object.metadata.labels.app || '' }}", "operator": "Equals",
             "value": "tool"}]}), 1),
    ],
    ids=lambda value: json.dumps(value["spec"]) if isinstance(value, dict) else str(value),
)  # fmt: skip
def test_the_same_is_let_off(excepting, let_off, converted):
    migration = converted(excepting)
    before = denied(source("old", POLICY), source("e", excepting))
    policies, exceptions = migration.texts
    assert denied(Source("new", policies), Source("e", exceptions)) == before
    assert len(before) == len(OBJECTS) - let_off


def test_rules_that_are_excepted_stand_in_policies_of_their_own(converted):
    conversion, told = converted(exception("*pid", "*ipc")).conversions
    assert [one.rules for one in conversion.made] == [(0,), (1, 2)]
    (made,) = told.made
    name = conversion.made[1].data["metadata"]["name"]
    assert made.data["spec"]["policyRefs"] == [{"name": name, "kind": "ValidatingPolicy"}]
    assert made.data["metadata"] == {"name": "tools", "namespace": "ops"}


@pytest.mark.parametrize(
    ("kinds", "rules", "names"),
    [
        (["Pod"], ["pid"], ["matched"]),
        (["Pod", "Deployment"], ["pid"], ["kinds", "matched"]),
        (["*"], ["pid"], ["kinds", "matched"]),
        (["Pod", "Deployment"], ["*pid"], ["matched"]),
    ],
)
def test_kinds_are_asked_where_the_match_block_has_more_than_the_rules(
    kinds, rules, names, converted
):
    match = every(*kinds, names=["tool-*"], namespaces=["ops"])
    (made,) = converted(exception(*rules, match=match)).conversions[1].made
    assert [one["name"] for one in made.data["spec"]["matchConditions"]] == names


@pytest.mark.parametrize(
    ("excepting", "path"),
    [
        (exception("pid", policy="none"), "spec.exceptions[0].policyName"),
        (exception("none"), "spec.exceptions[0].ruleNames"),
        (exception("pid", podSecurity=[{"controlName": "Capabilities"}]), "spec.podSecurity"),
    ],
    ids=["policy", "rule", "control"],
)
def test_what_cannot_be_said_is_told_with_its_place(excepting, path, converted):
    told = converted(excepting).conversions[1]
    (one,) = told.rules
    assert (one.outcome, one.path, told.made) == (ConversionOutcome.REFUSED, path, ())


def test_what_scans_heed_is_a_condition(converted):
    told = converted(exception("pid", background=False)).conversions[1]
    assert [one.name for one in told.rules[0].conditions] == ["exceptions in scans"]


def test_exceptions_are_compared_with_the_policies_that_they_name(converted):
    excepting = exception("*pid", match=every("Pod", names=["tool"]))
    migration = with_evidence(converted(excepting), (), SearchBudget())
    assert [one.answer for one in migration.evidence] == [Answer.EQUAL, Answer.EQUAL]


def test_a_wrong_conversion_of_an_exception_is_shown(converted):
    excepting = exception("*pid", match=every("Pod", "Deployment", names=["tool"]))
    migration = converted(excepting)
    policies, exceptions = migration.texts
    wrong = exceptions.replace("'tool'", "'fool'")
    assert wrong != exceptions
    found = with_evidence(migration._replace(texts=(policies, wrong)), (), SearchBudget()).evidence
    assert found[1].answer is Answer.COUNTEREXAMPLE
