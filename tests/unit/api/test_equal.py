"""What the answer is, and what shows it, for pairs that are equal, wrong, or cannot be tried."""

import copy
import json

import pytest

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.load.files import Source
from kyvsim.model.comparison import Answer, DifferenceKind, Limit, SearchBudget
from kyvsim.report.equal import headline, not_reached

pytestmark = pytest.mark.slow

MATCH = {"any": [{"resources": {"kinds": ["Pod"], "operations": ["CREATE", "UPDATE"]}}]}
RULE = {
    "name": "no-host-network",
    "match": MATCH,
    "validate": {"message": "no", "pattern": {"spec": {"=(hostNetwork)": False}}},
}


def rules(*some, annotations=None, **spec):
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "hosts", "annotations": annotations or {}},
        "spec": {"rules": list(some), **spec},
    }


def constraints(resource="pods", operations=("CREATE", "UPDATE")):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource]}
    return {"resourceRules": [{**rule, "operations": list(operations)}]}


def in_cel(expression, match=None, **spec):
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "hosts"},
        "spec": {
            "matchConstraints": match or constraints(),
            "validations": [{"expression": expression, "message": "no"}],
            **spec,
        },
    }


HOSTS = "!has(object.spec.hostNetwork) || object.spec.hostNetwork == false"


def auditing(data):
    """A policy in CEL that names no action reports, as rules do that name none."""
    if data["kind"] != "ValidatingPolicy":
        return data
    return {**data, "spec": {"validationActions": ["Audit"], **data["spec"]}}


def evidence(old, new, resources=(), cases=5000, **shared):
    """What comes of comparing policies that are given as data.

    Identical ones are told apart by an annotation: they would be equal without any case.
    """
    if old == new:
        meta = {**new["metadata"], "annotations": {"side": "new"}}
        meta["annotations"] |= old["metadata"].get("annotations") or {}
        new = {**new, "metadata": meta}
    old, new = auditing(old), auditing(new)
    texts = [(Source(name, json.dumps(data)),) for name, data in (("old", old), ("new", new))]
    given = tuple(Source(f"r{n}", json.dumps(one)) for n, one in enumerate(resources))
    inputs = EqualInputs(
        *texts, ApplyInputs(policies=(), resources=given, **shared), SearchBudget(cases)
    )
    found = compare(inputs)
    assert found.evidence is not None, found.diagnostics
    return found.evidence


def limits(found):
    return {one.limit for one in found.limited}


def test_a_pair_that_says_the_same_is_equal():
    found = evidence(rules(RULE), in_cel(HOSTS))
    assert found.answer is Answer.EQUAL
    assert found.denied > 0
    assert found.counterexamples == ()
    assert found.old.ratio.reached == found.old.ratio.total


def test_a_policy_is_equal_to_itself():
    found = evidence(rules(RULE), rules(RULE))
    assert found.answer is Answer.EQUAL
    assert found.limited == ()


@pytest.mark.parametrize(
    ("new", "difference"),
    [
        (rules(RULE, validationFailureAction="Audit"), DifferenceKind.ENFORCEMENT_LOST),
        (in_cel(HOSTS, validationActions=["Deny"]), None),
        (in_cel(HOSTS, validationActions=["Audit"]), DifferenceKind.ENFORCEMENT_LOST),
    ],
)
def test_a_refusal_that_is_only_reported_is_a_difference(new, difference):
    found = evidence(rules(RULE, validationFailureAction="Enforce"), new)
    assert {one.difference for one in found.counterexamples} == {difference} - {None}
    if difference:
        back = evidence(new, rules(RULE, validationFailureAction="Enforce"))
        assert back.counterexamples[0].difference is DifferenceKind.ENFORCEMENT_GAINED


def test_the_text_of_a_pattern_in_an_object_does_not_count():
    annotations = {"=(annotations)": {"=(level)": "low | h*"}}
    rule = {**RULE, "validate": {"message": "no", "pattern": {"metadata": annotations}}}
    level = "object.metadata.?annotations.?level.orValue('low')"
    test = f"{level} == 'low' || {level}.startsWith('h')"
    found = evidence(rules(rule), in_cel(test))
    assert found.answer is Answer.EQUAL
    assert Limit.PATTERN_TEXTS in limits(found)


def test_identical_policies_are_equal_without_any_case():
    nothing = in_cel("object.kind != ''")
    texts = [(Source(name, json.dumps(nothing)),) for name in ("old", "new")]
    found = compare(EqualInputs(*texts, ApplyInputs(policies=())))
    assert (found.evidence.answer, found.evidence.cases) == (Answer.EQUAL, 0)
    assert found.evidence.identical
    found = compare(EqualInputs(*texts, ApplyInputs(policies=()), needs_cases=True))
    assert found.evidence.answer is Answer.EQUAL
    assert found.evidence.cases > 0


ADMITTING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "a"},
    "spec": {
        "matchConstraints": constraints("configmaps"),
        "validations": [{"expression": "!has(object.data)"}],
    },
}
GLOBAL = rules(
    {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
        "context": [{"name": "n", "globalReference": {"name": "e", "jmesPath": "length(@)"}}],
        "validate": {
            "deny": {"conditions": {"all": [{"key": "{{ n }}", "operator": "Equals", "value": 0}]}}
        },
    }
)


def binding(policy="a", **spec):
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b"},
        "spec": {"policyName": policy, "validationActions": ["Deny"], **spec},
    }


def entry(namespace):
    listing = {"group": "apps", "version": "v1", "resource": "deployments"}
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "GlobalContextEntry",
        "metadata": {"name": "e"},
        "spec": {"kubernetesResource": {**listing, "namespace": namespace}},
    }


SELECTED = {"matchResources": {"objectSelector": {"matchLabels": {"a": "b"}}}}


@pytest.mark.parametrize(
    ("policy", "before", "after"),
    [
        (ADMITTING, binding(), binding("other")),
        (ADMITTING, binding(), binding(**SELECTED)),
        (ADMITTING, binding(), binding(validationActions=["Audit"])),
        (ADMITTING, binding(), None),
        (ADMITTING, None, binding(paramRef={"name": "p", "parameterNotFoundAction": "Deny"})),
        (GLOBAL, entry("a"), entry("b")),
        (GLOBAL, None, entry("b")),
    ],
)
@pytest.mark.parametrize("needs_cases", [False, True])
def test_equal_policies_beside_unlike_objects_are_not_covered(policy, before, after, needs_cases):
    """Both decide what policies do, and no case has them."""

    def compared(*sides):
        texts = (
            (Source(name, "\n---\n".join(json.dumps(one) for one in (policy, beside) if one)),)
            for name, beside in zip(("old", "new"), sides, strict=True)
        )
        shared = ApplyInputs(policies=())
        return compare(
            EqualInputs(*texts, shared, SearchBudget(500), needs_cases=needs_cases)
        ).evidence

    found = compared(before, after)
    assert (found.answer, found.identical) == (Answer.NOT_COVERED, False)
    kind = (before or after)["kind"]
    assert (
        found.reasons[-1]
        == f"objects of kind `{kind}` differ between old and new, and are not compared"
    )
    alike = compared(before, before)
    assert (alike.answer, alike.identical) == (Answer.EQUAL, True)


def test_a_lost_denial_is_shown_on_a_small_object():
    found = evidence(rules(RULE), in_cel("object.metadata.name != 'a-name'"))
    assert found.answer is Answer.COUNTEREXAMPLE
    lost = next(
        one for one in found.counterexamples if one.difference is DifferenceKind.DENIAL_LOST
    )
    assert lost.object["spec"]["hostNetwork"] is True
    assert set(lost.object["spec"]) == {"containers", "hostNetwork"}
    assert set(lost.object["metadata"]) == {"name"}
    assert [one.status for one in lost.old.said] == ["fail"]
    assert [one.status for one in lost.new.said] == ["pass"]
    assert "hostNetwork" in lost.old.decided
    assert lost.old.place is not None


def test_what_only_the_new_policy_mentions_is_tried():
    found = evidence(rules(RULE), in_cel(f"({HOSTS}) && object.metadata.name != 'special'"))
    found = found.counterexamples
    assert "special" in [one.object["metadata"]["name"] for one in found]
    assert {one.difference for one in found} == {DifferenceKind.DENIAL_GAINED}


def test_conditions_that_have_to_hold_together_are_reached():
    pattern = {"metadata": {"labels": {"team": "?*", "tier": "web | db", "cost": ">=5"}}}
    rule = {**RULE, "validate": {"message": "no", "pattern": pattern}}
    wrong = (
        "has(object.metadata.labels) && has(object.metadata.labels.team)"
        " && has(object.metadata.labels.tier) && has(object.metadata.labels.cost)"
        " && object.metadata.labels.team != '' && object.metadata.labels.tier in ['web', 'db']"
        " && int(object.metadata.labels.cost) >= 6"
    )
    found = evidence(rules(rule), in_cel(wrong))
    gained = [
        one.object["metadata"]["labels"]
        for one in found.counterexamples
        if one.difference is DifferenceKind.DENIAL_GAINED
    ]
    assert any(labels.get("cost") == "5" for labels in gained)


def test_many_conditions_that_are_met_one_by_one_are_met_together():
    fields = ("apiGroups", "resources", "verbs")
    asked = " && ".join(f"rule.{one}.exists(one, one == '*')" for one in fields)
    match = constraints("roles")
    match["resourceRules"][0]["apiGroups"] = ["rbac.authorization.k8s.io"]
    policy = in_cel(f"!object.rules.exists(rule, {asked})", match)
    assert evidence(policy, policy).answer is Answer.EQUAL


def test_fields_that_have_to_be_there_together_are_set_together():
    labels = " && ".join(f"object.metadata.?labels.?{one}.orValue('') != ''" for one in "abcde")
    old = in_cel(labels)
    found = evidence(old, in_cel(f"({labels})"))
    assert found.answer is Answer.EQUAL
    assert evidence(old, in_cel(labels.replace("?e", "?f"))).answer is Answer.COUNTEREXAMPLE


def test_objects_with_owners_are_valid():
    pattern = {"metadata": {"ownerReferences": [{"kind": "CronJob"}]}}
    rule = {**RULE, "validate": {"message": "no", "pattern": pattern}}
    assert evidence(rules(rule), rules(rule)).answer is Answer.EQUAL


def test_a_policy_that_never_denied_is_not_covered():
    found = evidence(rules(RULE), rules(RULE), cases=3)
    assert found.answer is Answer.NOT_COVERED
    assert any("limit on time or cases" in one for one in found.reasons)
    nothing = in_cel("object.kind != ''")
    found = evidence(nothing, nothing)
    assert found.answer is Answer.NOT_COVERED
    assert any("never failed" in one for one in found.reasons)


def test_a_policy_that_let_nothing_pass_is_not_covered():
    nobody = {"metadata": {"annotations": {"a": ">5 & <3"}}}
    rule = {**RULE, "validate": {"message": "no", "pattern": nobody}}
    found = evidence(rules(rule), rules(rule))
    assert found.answer is Answer.NOT_COVERED
    assert any("was admitted (old)" in one for one in found.reasons)


def test_a_rule_that_never_passed_is_not_covered():
    labelled = {"kinds": ["Pod"], "selector": {"matchLabels": {"a": "b"}}}
    nobody = {"metadata": {"annotations": {"a": ">5 & <3"}}}
    rule = {
        **RULE,
        "match": {"any": [{"resources": labelled}]},
        "validate": {"message": "no", "pattern": nobody},
    }
    found = evidence(rules(rule), rules({**rule, "name": "other"}))
    assert found.answer is Answer.NOT_COVERED
    assert any("hosts/other never passed" in one for one in found.reasons)
    assert not any("was admitted" in one for one in found.reasons)


def test_a_policy_that_cannot_pass_need_not_have_passed():
    on_host = [{"name": "on-host", "expression": f"!({HOSTS})"}]
    found = evidence(in_cel("false", matchConditions=on_host), in_cel(HOSTS))
    assert (found.answer, found.reasons) == (Answer.EQUAL, ())


def test_parts_of_rules_that_no_case_reached_are_counted():
    """Names that match `ab*` match `a*`, which is evaluated first."""

    def denying(*names):
        name = "{{ request.object.metadata.name }}"
        listed = [{"key": name, "operator": "Equals", "value": one} for one in names]
        body = {"message": "no", "deny": {"conditions": {"any": listed}}}
        none = {"pod-policies.kyverno.io/autogen-controllers": "none"}
        return rules({**RULE, "validate": body}, annotations=none)

    found = evidence(denying("a*", "ab*"), denying("a*"))
    assert (found.answer, found.unreached) == (Answer.EQUAL, 1)
    assert not_reached(found) == "1 outcome not reached"
    assert headline(found).endswith("denied, 1 outcome not reached")


def test_custom_resources_have_other_values_than_kinds_of_kubernetes():
    """`spec.type` of a Service is one of four."""

    def of_type(name):
        pattern = {"spec": {"type": name}}
        match = {"any": [{"resources": {"kinds": ["example.com/v1/Profile"]}}]}
        return {**RULE, "match": match, "validate": {"message": "no", "pattern": pattern}}

    found = evidence(rules(of_type("Location | Place")), rules(of_type("Location")))
    assert found.answer is Answer.COUNTEREXAMPLE
    assert found.counterexamples[0].object["spec"] == {"type": "Place"}


def test_a_rule_that_nothing_reaches_is_not_covered():
    log_only = {
        **copy.deepcopy(RULE),
        "name": "other",
        "match": {"any": [{"resources": {"kinds": ["Pod/log"]}}]},
    }
    none = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    both = rules(RULE, log_only, annotations=none)
    found = evidence(both, both)
    assert found.answer is Answer.NOT_COVERED
    assert any("hosts/other never failed" in one for one in found.reasons)
    assert any("log" in one for one in found.untried)


def test_operations_are_tried():
    all_operations = {**RULE, "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}
    condition = {"key": "{{ request.object.spec.hostNetwork || `false` }}", "operator": "Equals"}
    deny = {"conditions": {"any": [{**condition, "value": True}]}}
    rule = {**all_operations, "validate": {"message": "no", "deny": deny}}
    found = evidence(rules(rule), in_cel(HOSTS))
    assert {(one.difference, one.operation) for one in found.counterexamples} == {
        (DifferenceKind.DENIAL_LOST, "DELETE")
    }
    whole = constraints(operations=("CREATE", "UPDATE", "DELETE"))
    at_delete = "(request.operation == 'DELETE' ? oldObject.spec : object.spec)"
    expression = f"!{at_delete}.?hostNetwork.orValue(false)"
    assert evidence(rules(rule), in_cel(expression, whole)).answer is Answer.EQUAL


def test_namespaces_labels_of_namespaces_and_users_are_tried():
    within = copy.deepcopy(RULE)
    within["match"]["any"][0]["resources"]["namespaces"] = ["prod"]
    found = evidence(rules(within), in_cel(HOSTS))
    assert found.answer is Answer.COUNTEREXAMPLE
    selected = copy.deepcopy(RULE)
    selector = {"matchLabels": {"env": "prod"}}
    selected["match"]["any"][0]["resources"]["namespaceSelector"] = selector
    found = evidence(rules(selected), in_cel(HOSTS))
    assert found.answer is Answer.COUNTEREXAMPLE
    match = {**constraints(), "namespaceSelector": selector}
    assert evidence(rules(selected), in_cel(HOSTS, match)).answer is Answer.EQUAL
    excluded = {**RULE, "exclude": {"any": [{"subjects": [{"kind": "User", "name": "root"}]}]}}
    found = evidence(rules(excluded, background=False), in_cel(HOSTS))
    assert [one.user["username"] for one in found.counterexamples] == ["root"]


def test_roles_may_be_compared_with_what_is_no_role():
    asked = {"key": "{{ request.userInfo.roles }}", "operator": "AnyIn"}
    deny = {"conditions": {"any": [{**asked, "value": [{"a": "b:c"}, 5, "shop:dev"]}]}}
    rule = {"name": "roles", "match": MATCH, "validate": {"message": "no", "deny": deny}}
    old = rules(rule, background=False)
    assert evidence(old, old).counterexamples == ()


def test_controllers_are_tried():
    none = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    found = evidence(rules(RULE), rules(RULE, annotations=none))
    kinds = {one.object["kind"] for one in found.counterexamples}
    assert "Pod" not in kinds
    assert kinds
    assert evidence(rules(RULE, annotations=none), rules(RULE, annotations=none)).denied > 0


def test_replication_controllers_are_told_and_do_not_count():
    found = evidence(rules(RULE), in_cel(HOSTS))
    assert Limit.REPLICATION_CONTROLLERS in limits(found)
    assert found.answer is Answer.EQUAL


def test_updates_of_what_was_in_violation_are_told_and_do_not_count():
    denying = in_cel(HOSTS, validationActions=["Deny"])
    found = evidence(rules(RULE, validationFailureAction="Enforce"), denying)
    assert found.answer is Answer.EQUAL
    existing = next(one for one in found.limited if one.limit is Limit.EXISTING)
    assert existing.operation == "UPDATE"
    assert existing.old_object["spec"]["hostNetwork"] is True


def test_objects_that_no_server_hands_on_are_told_apart():
    found = evidence(rules(RULE), in_cel("object.spec.?hostNetwork.orValue(false) != true"))
    assert found.answer is Answer.EQUAL
    odd = next(one for one in found.limited if one.limit is Limit.NOT_ACCEPTED)
    assert odd.object.get("spec", {}).get("hostNetwork") is not True


def test_what_nobody_answers_is_not_covered():
    context = [{"name": "score", "apiCall": {"service": {"url": "https://scores.example.com"}}}]
    condition = {"key": "{{ score.level }}", "operator": "Equals", "value": "high"}
    deny = {"conditions": {"any": [condition]}}
    rule = {**RULE, "context": context, "validate": {"message": "no", "deny": deny}}
    found = evidence(rules(rule), in_cel(HOSTS))
    assert found.answer is Answer.NOT_COVERED
    assert any("apiCall" in one for one in found.reasons)


def looking_up(context, condition):
    deny = {"conditions": {"any": [condition]}}
    return rules({**RULE, "context": [context], "validate": {"message": "no", "deny": deny}})


ROOT = {"key": "{{ image.configData.config.User || '' }}", "operator": "Equals", "value": "root"}
REGISTRY = {
    "name": "image",
    "imageRegistry": {"reference": "{{ request.object.spec.containers[0].image }}"},
}
USER = "image.GetMetadata(object.spec.containers[0].image).config.?config.?User.orValue('')"


def test_what_a_registry_would_say_is_made_of_what_policies_read():
    old = looking_up(REGISTRY, ROOT)
    assert evidence(old, in_cel(f"{USER} != 'root'")).answer is Answer.EQUAL
    wrong = evidence(old, in_cel(f"{USER} != 'Root'"))
    assert wrong.answer is Answer.COUNTEREXAMPLE
    shown = wrong.counterexamples[0]
    assert shown.there[0]["config"] == {"config": {"User": "root"}}
    assert shown.there[0]["image"] == shown.object["spec"]["containers"][0]["image"]


PODS = {
    "name": "count",
    "apiCall": {
        "urlPath": "/api/v1/namespaces/{{ request.namespace }}/pods",
        "jmesPath": "items[?spec.nodeName == 'edge'] | length(@)",
    },
}
COUNT = (
    "dyn(resource.List('v1', 'pods', request.namespace)).items"
    ".filter(pod, pod.?spec.?nodeName.orValue('') == 'edge').size()"
)


def test_as_many_objects_are_listed_as_policies_count_to():
    old = looking_up(PODS, {"key": "{{ count }}", "operator": "GreaterThan", "value": 3})
    assert evidence(old, in_cel(f"{COUNT} <= 3")).answer is Answer.EQUAL
    wrong = evidence(old, in_cel(f"{COUNT} < 3"))
    assert wrong.answer is Answer.COUNTEREXAMPLE
    assert len(wrong.counterexamples[0].there) == 3


def test_what_is_listed_may_be_as_the_object_itself():
    hosts = {
        "name": "hosts",
        "apiCall": {
            "urlPath": "/apis/networking.k8s.io/v1/ingresses",
            "jmesPath": "items[].spec.rules[].host",
        },
    }
    key = "{{ request.object.metadata.labels.host }}"
    old = looking_up(hosts, {"key": key, "operator": "AnyIn", "value": "{{ hosts }}"})
    found = evidence(old, in_cel("has(object.metadata.labels) && has(object.metadata.labels.host)"))
    assert found.answer is Answer.COUNTEREXAMPLE
    lost = found.counterexamples[0]
    (ingress,) = lost.there
    assert ingress["spec"]["rules"][0]["host"] == lost.object["metadata"]["labels"]["host"]


def test_texts_of_config_maps_may_be_lists():
    allowed = {"name": "map", "configMap": {"name": "teams", "namespace": "default"}}
    key = "{{ request.object.metadata.labels.team || '' }}"
    value = "{{ map.data.allowed }}"
    old = looking_up(allowed, {"key": key, "operator": "AnyNotIn", "value": value})
    text = "dyn(resource.Get('v1', 'configmaps', 'default', 'teams')).data.allowed"
    found = evidence(old, in_cel(f"object.metadata.?labels.?team.orValue('') == {text}"))
    assert found.answer is Answer.COUNTEREXAMPLE
    texts = [one.there[0]["data"]["allowed"] for one in found.counterexamples]
    assert any(text.startswith('["') for text in texts)


def test_rules_for_updates_alone_are_seen_at_work():
    old = {
        **RULE,
        "preconditions": {
            "all": [{"key": "{{ request.operation }}", "operator": "Equals", "value": "UPDATE"}]
        },
    }
    update = "request.operation != 'UPDATE' || "
    assert evidence(rules(old), in_cel(f"{update}({HOSTS})")).answer is Answer.EQUAL
    assert evidence(rules(old), in_cel(HOSTS)).answer is Answer.COUNTEREXAMPLE


def config_map(**data):
    meta = {"name": "hosts", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def test_given_objects_answer_both_sides():
    context = [{"name": "map", "configMap": {"name": "hosts", "namespace": "default"}}]
    condition = {
        "key": "{{ request.object.metadata.name }}",
        "operator": "Equals",
        "value": "{{ map.data.name }}",
    }
    deny = {"conditions": {"any": [condition]}}
    rule = {**RULE, "context": context, "validate": {"message": "no", "deny": deny}}
    new = in_cel(
        "object.metadata.name != resource.Get('v1', 'configmaps', 'default', 'hosts').data.name"
    )
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bad"}, "spec": {}}
    none = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    new["spec"]["autogen"] = {"podControllers": {"controllers": []}}
    found = evidence(rules(rule, annotations=none), new, (config_map(name="bad"), pod))
    assert found.answer is Answer.EQUAL
    assert found.given == 2


def mutating(expression):
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "MutatingPolicy",
        "metadata": {"name": "hosts"},
        "spec": {
            "matchConstraints": constraints("configmaps"),
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": expression},
                }
            ],
        },
    }


LABELLING = {
    "name": "label",
    "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "operations": ["CREATE", "UPDATE"]}}]},
    "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"team": "blue"}}}},
}


@pytest.mark.parametrize(
    ("value", "answer"), [("blue", Answer.EQUAL), ("red", Answer.COUNTEREXAMPLE)]
)
def test_mutations_are_compared_as_objects(value, answer):
    new = mutating(f"Object{{metadata: Object.metadata{{labels: {{'team': '{value}'}}}}}}")
    found = evidence(rules(LABELLING), new)
    assert found.answer is answer
    for one in found.counterexamples:
        assert one.difference is DifferenceKind.OBJECT
        assert one.old.object["metadata"]["labels"]["team"] == "blue"


def deleting(label):
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "DeletingPolicy",
        "metadata": {"name": "tidy"},
        "spec": {
            "schedule": "0 0 * * *",
            "matchConstraints": constraints("configmaps", ["*"]),
            "conditions": [
                {"name": "c", "expression": f"object.metadata.?labels.?{label}.orValue('') == 'no'"}
            ],
        },
    }


CLEANUP = {
    "apiVersion": "kyverno.io/v2",
    "kind": "ClusterCleanupPolicy",
    "metadata": {"name": "tidy"},
    "spec": {
        "schedule": "0 0 * * *",
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
        "conditions": {
            "all": [
                {
                    "key": "{{ target.metadata.labels.keep || '' }}",
                    "operator": "Equals",
                    "value": "no",
                }
            ]
        },
    },
}


@pytest.mark.parametrize(
    ("label", "answer"), [("keep", Answer.EQUAL), ("stay", Answer.COUNTEREXAMPLE)]
)
def test_deletions_are_compared(label, answer):
    found = evidence(CLEANUP, deleting(label))
    assert found.answer is answer, found
    assert {one.difference for one in found.counterexamples} <= {DifferenceKind.DELETION}


def test_the_same_inputs_give_the_same_evidence():
    first, second = (evidence(rules(RULE), in_cel("!has(object.spec.hostPID)")) for _ in range(2))
    assert first == second


def test_a_policy_that_is_refused_leaves_no_evidence():
    texts = (Source("old", json.dumps(rules(RULE))),), (Source("new", json.dumps(in_cel("1 +"))),)
    found = compare(EqualInputs(*texts, ApplyInputs(policies=())))
    assert found.evidence is None
    assert [one.code for one in found.diagnostics] == ["KV150"]


def generating(namespace, name="random"):
    texts = {
        "random": ("{{ random('[a-z]{4}') }}", "(( random('[a-z]{4}') ))"),
        "fixed": ("made", "other"),
    }
    old_name, new_name = texts[name]
    kinds = {"any": [{"resources": {"kinds": ["ConfigMap"], "operations": ["CREATE"]}}]}
    made = {"apiVersion": "v1", "kind": "Secret", "namespace": namespace, "name": old_name}
    old = rules({"name": "make", "match": kinds, "generate": {**made, "data": {}}})
    new = in_cel("true", constraints("configmaps", ["CREATE"]))
    new["kind"] = "GeneratingPolicy"
    del new["spec"]["validations"]
    metadata = {"namespace": namespace, "name": new_name}
    template = json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    new["spec"]["generate"] = [{"template": {"interpolate": "cel", "value": template}}]
    for one in (old, new):
        one["metadata"]["namespace"] = namespace
    return {**old, "kind": "Policy"}, {**new, "kind": "NamespacedGeneratingPolicy"}


def test_objects_with_names_by_chance_are_compared_in_the_namespace_of_policies():
    assert evidence(*generating("vault")).answer is Answer.EQUAL


def test_other_generated_objects_are_a_difference():
    found = evidence(*generating("vault", "fixed"))
    assert found.counterexamples[0].difference is DifferenceKind.GENERATED
    assert found.counterexamples[0].object["metadata"]["namespace"] == "vault"


def test_values_that_no_policy_expects_of_a_kind_without_types_do_not_count():
    """A map fits the pattern `!default` nowhere; in CEL it is just another value."""
    match = {"any": [{"resources": {"kinds": ["example.com/v1/Thing"]}}]}
    validate = {"message": "no", "pattern": {"spec": {"=(project)": "!default"}}}
    rule = {"name": "r", "match": match, "validate": validate}
    found = evidence(
        rules(rule),
        in_cel(
            "!has(object.spec) || !has(object.spec.project) || object.spec.project != 'default'",
            {
                "resourceRules": [
                    {
                        "apiGroups": ["example.com"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["things"],
                    }
                ]
            },
        ),
    )
    assert Limit.UNTYPED in limits(found)
    assert not [
        one
        for one in found.counterexamples
        if isinstance((one.object.get("spec") or {}).get("project"), dict)
    ]


def test_what_defaults_make_the_same_does_not_count_unless_it_is_given():
    """The rule wants a policy that is always there in a cluster; the other one takes its lack."""
    wanted = {"message": "no", "pattern": {"spec": {"restartPolicy": "Always"}}}
    lenient = in_cel("!has(object.spec.restartPolicy) || object.spec.restartPolicy == 'Always'")
    bare = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    old = rules({**RULE, "validate": wanted}, annotations=bare)
    found = evidence(old, lenient)
    assert Limit.DEFAULTS in limits(found)
    assert DifferenceKind.DENIAL_LOST not in {one.difference for one in found.counterexamples}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"containers": [{"name": "a", "image": "nginx"}]},
    }
    found = evidence(old, lenient, [pod])
    assert found.counterexamples[0].difference is DifferenceKind.DENIAL_LOST


def test_what_goes_at_another_time_is_a_difference():
    match = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
    old = {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": "old"},
        "spec": {"schedule": "0 * * * *", "match": match},
    }
    new = copy.deepcopy(old)
    assert evidence(old, new).answer is Answer.EQUAL
    new["spec"]["schedule"] = "1 * * * *"
    (found,) = evidence(old, new).counterexamples
    assert found.difference is DifferenceKind.LATER
    assert found.old.later == ("it runs on the schedule `0 * * * *`, Background",)


def test_what_is_kept_otherwise_is_a_difference():
    old, new = generating("vault")
    old["spec"]["rules"][0]["generate"]["synchronize"] = True
    (found,) = evidence(old, new).counterexamples
    assert (found.old.later, found.new.later) == (
        ("generated objects have `synchronize: true`",),
        (),
    )


@pytest.mark.parametrize("query", ["", "[].metadata.name", "[0].metadata.name", "length(@)"])
def test_a_global_context_entry_that_nobody_gives_is_not_covered(query):
    def denying(message):
        entry = {"name": "kept", "globalReference": {"name": "deployments", "jmesPath": query}}
        asked = {"key": "a", "operator": "AnyIn", "value": "{{ kept }}"}
        return {
            "name": "kept",
            "match": MATCH,
            "context": [entry],
            "validate": {"message": message, "deny": {"conditions": {"all": [asked]}}},
        }

    found = evidence(rules(denying("a")), rules(denying("b")))
    assert found.answer is Answer.NOT_COVERED
    assert found.reasons[-1] == "the policies look up data that was not passed (globalReference)"


def test_several_fields_of_one_element_are_met_together():
    """No single change of a Pod shows anything: the filter asks for two fields at once."""

    def naming(count):
        query = "request.object.spec.volumes[?name == 'token' && nfs.path == '/a'] | length(@)"
        entry = {"name": "tokens", "variable": {"jmesPath": query, "default": 0}}
        asked = {"key": "{{ tokens }}", "operator": "GreaterThan", "value": count}
        return {
            "name": "tokens",
            "match": MATCH,
            "context": [entry],
            "validate": {"message": "no", "deny": {"conditions": {"all": [asked]}}},
        }

    found = evidence(rules(naming(0)), rules(naming(1)))
    assert found.answer is Answer.COUNTEREXAMPLE


@pytest.mark.parametrize(
    ("action", "answer"), [("Audit", Answer.COUNTEREXAMPLE), ("Enforce", Answer.EQUAL)]
)
def test_what_is_only_reported_is_stored_and_compared(action, answer):
    bad = {"key": "{{ request.object.data.k || '' }}", "operator": "Equals", "value": "bad"}
    match = {"any": [{"resources": {"kinds": ["ConfigMap"], "operations": ["CREATE"]}}]}

    def labelling(value):
        patch = {"metadata": {"labels": {"step": value}}}
        mutating = {"preconditions": {"all": [bad]}, "mutate": {"patchStrategicMerge": patch}}
        denying = {"failureAction": action, "deny": {"conditions": {"all": [bad]}}}
        return rules(
            {"name": "m", "match": match, **mutating},
            {"name": "v", "match": match, "validate": denying},
        )

    assert evidence(labelling("one"), labelling("two"), cases=500).answer is answer
