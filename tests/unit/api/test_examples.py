"""Objects for what rules do: what they show, how small they are, what there is none of."""

import json

import pytest

from kyvsim.api.equal import make_examples
from kyvsim.api.inputs import ApplyInputs
from kyvsim.equivalence.search import Search
from kyvsim.load.files import Source
from kyvsim.model.comparison import SearchBudget
from kyvsim.report.equal import stream

MATCH = {"any": [{"resources": {"kinds": ["Pod"]}}]}
BARE = {"pod-policies.kyverno.io/autogen-controllers": "none"}


def policy(*rules, name="p"):
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name, "annotations": BARE},
        "spec": {
            "rules": [{"name": f"r{n}", "match": MATCH, **one} for n, one in enumerate(rules)]
        },
    }


def made(*policies):
    sources = tuple(Source(f"p{n}", json.dumps(one)) for n, one in enumerate(policies))
    return make_examples(ApplyInputs(policies=sources), SearchBudget())


def told(found):
    return {
        (one.policy, one.rule, one.outcome): example.object
        for example in found.found
        for one in example.shows
    }


def patterned(**spec):
    return {"validate": {"message": "m", "pattern": {"spec": spec}}}


PLAIN = {"containers": [{"name": "a", "image": "a"}]}


def test_a_rule_has_the_smallest_object_that_passes_and_that_fails():
    found = told(made(policy(patterned(hostNetwork=True))))
    assert found["p", "r0", "passed"]["spec"] == {**PLAIN, "hostNetwork": True}
    assert found["p", "r0", "failed"]["spec"] == PLAIN


def test_one_object_may_show_several_things():
    found = made(policy(patterned(hostNetwork=True), patterned(hostPID=True)))
    assert found.missing == ()
    shown = [[(one.rule, one.outcome) for one in example.shows] for example in found.found]
    assert shown[0] == [("r0", "passed"), ("r1", "passed")]
    assert shown[1:] == [[("r0", "failed")], [("r1", "failed")]]


def test_objects_have_names_of_their_own_unless_the_rule_is_about_names():
    found = told(made(policy(patterned(hostNetwork=True))))
    assert {one["metadata"]["name"] for one in found.values()} == {"r0-passed", "r0-failed"}
    named = {"validate": {"message": "m", "pattern": {"metadata": {"name": "web-*"}}}}
    found = told(made(policy(named)))
    assert found["p", "r0", "passed"]["metadata"]["name"].startswith("web-")


def test_a_rule_that_mutates_has_an_object_that_it_changes():
    patch = {"mutate": {"patchStrategicMerge": {"spec": {"+(hostNetwork)": True}}}}
    found = told(made(policy(patch)))
    assert found["p", "r0", "applied"]["spec"] == PLAIN


def test_what_takes_more_than_an_object_is_missing():
    excluded = {"any": [{"resources": {"kinds": ["Pod"], "operations": ["UPDATE"]}}]}
    found = made(policy({**patterned(hostNetwork=True), "match": excluded}))
    assert found.found == ()
    assert [one.doing.outcome for one in found.missing] == ["passed", "failed"]


def asked(key, value="bob", **rule):
    condition = {"key": key, "operator": "Equals", "value": value}
    return {"validate": {"message": "m", "deny": {"conditions": {"all": [condition]}}}, **rule}


@pytest.mark.parametrize(
    ("rule", "outcome", "reason"),
    [
        (
            {"match": {"any": [{"resources": {"kinds": ["Pod"], "operations": ["DELETE"]}}]}}
            | patterned(hostNetwork=True),
            "failed",
            "the rule matched no object",
        ),
        (
            {"match": {"any": [{"resources": {"kinds": ["Pod"], "operations": ["DELETE"]}}]}}
            | asked("{{ request.operation || 'bob' }}", value="DELETE"),
            "failed",
            "it requires a request with the operation DELETE",
        ),
        (asked("{{ request.userInfo.username }}"), "failed", "a request of a certain user"),
        (asked("bob", value="bill"), "failed", "only ended with pass"),
        (patterned(containers=[{"name": ""}]), "passed", "is invalid for an API server"),
        (
            asked(
                "{{ c.configData.a }}",
                context=[{"name": "c", "imageRegistry": {"reference": "a"}}],
            ),
            "failed",
            "data of images, which is not in manifests: write a test with `images:`",
        ),
        (
            asked(
                "{{ c.a }}",
                context=[{"name": "c", "apiCall": {"service": {"url": "http://a.b"}}}],
            ),
            "failed",
            "the rule ended in an error in some: failed to check deny conditions",
        ),
        (asked("{{ lower('a') }}"), "failed", "have no function `lower`"),
        (
            {"mutate": {"patchesJson6902": "- op: replace\n  path: /kind\n  value: Pod"}},
            "applied",
            "only ended with skip",
        ),
    ],
)
def test_why_there_is_no_example_is_said(rule, outcome, reason):
    data = policy(rule)
    data["spec"]["background"] = False
    why = {one.doing.outcome: one.reason for one in made(data).missing}
    assert reason in why[outcome]
    assert "limit on time" not in why[outcome]


CONTEXTS = {
    "ConfigMap": {"configMap": {"name": "x", "namespace": "ns"}},
    "Service": {"apiCall": {"urlPath": "/api/v1/services", "jmesPath": "items[0].metadata.labels"}},
}


@pytest.mark.parametrize("kind", CONTEXTS)
def test_an_example_has_the_objects_that_the_policy_looks_up(kind):
    key = "{{ c.data.a }}" if kind == "ConfigMap" else "{{ c.a }}"
    found = made(policy(asked(key, context=[{"name": "c", **CONTEXTS[kind]}])))
    (failed,) = (one for one in found.found if one.shows[0].outcome == "failed")
    assert [one["kind"] for one in failed.lookups] == [kind]
    text = "".join(stream(found))
    assert "# looked up by the policy for the object above\napiVersion: v1\n" in text


@pytest.mark.parametrize("data", [{"kind": "ClusterPolicy"}, policy({"validate": {}})])
def test_what_cannot_be_used_is_told(data):
    found = made(data)
    assert found.found == ()
    assert found.diagnostics


def test_an_image_rule_takes_no_more_cases_than_another_one(monkeypatch):
    # Every image said something new once: cases grew with the images, and the budget was spent.
    entry = {"imageReferences": ["ghcr.io/acme/*"], "failureAction": "Enforce"}
    keys = {"entries": [{"keys": {"publicKeys": "k8s://ns/key"}}]}
    rule = {"verifyImages": [{**entry, "attestors": [keys]}]}
    totals = []

    class Counted(Search):
        def run(self, given):
            tried = super().run(given)
            totals.append(tried.total)
            return tried

    monkeypatch.setattr("kyvsim.api.equal.Search", Counted)
    made(policy(rule))
    assert 0 < totals[0] < 1500
