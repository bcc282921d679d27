"""Hazards of MutatingPolicies on existing objects."""

import pytest

from kyvsim.kubernetes.objects import labels

GROUP = "policies.kyverno.io"
LABEL = 'Object{metadata: Object.metadata{labels: {"seen": VALUE}}}'
MAPS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
    "operations": ["CREATE", "UPDATE"],
}
ENABLED = {"mutateExisting": {"enabled": True}}


@pytest.fixture
def mutating(obj):
    """Return what makes a MutatingPolicy that labels existing ConfigMaps when Pods come."""

    def make(value="'yes'", patch="", resource="pods", targets=MAPS, evaluation=ENABLED, **spec):
        merge = {"expression": LABEL.replace("VALUE", value)}
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": merge}
        if patch:
            mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
        spec = {
            "matchConstraints": {"resourceRules": [{**MAPS, "resources": [resource]}]},
            "targetMatchConstraints": {"resourceRules": [targets]} if targets else None,
            "mutations": [mutation],
            "evaluation": evaluation,
            **spec,
        }
        spec = {name: value for name, value in spec.items() if value is not None}
        return obj("MutatingPolicy", "mut", api_version=f"{GROUP}/v1", spec=spec)

    return make


@pytest.fixture
def there(obj):
    return obj("ConfigMap", "there", "shop", data={"a": "1"})


def only(found, code):
    return [one for one in found if one[0] == code]


@pytest.mark.parametrize(("group", "resource"), [("", "configmaps"), ("apps", "deployments")])
def test_a_trigger_without_targets_says_so(run, mutating, pod, group, resource):
    targets = {**MAPS, "apiGroups": [group], "resources": [resource]}
    simulation = run([mutating(targets=targets)], pod())
    reasons = [
        one.message
        for event in simulation.events
        if event.action == "attempt"
        for one in event.failure_reasons
    ]
    # Each namespace has a ConfigMap with a certificate.
    none = ["nothing to do: no existing object is a target of the policy"]
    assert reasons == (none if resource == "deployments" else [])


def test_targets_that_nobody_is_asked_to_look_for(hazards, mutating, there):
    told = [("KH028", "error", ("mut",), [])]
    assert only(hazards([mutating(evaluation={})], there), "KH028") == told
    assert not only(hazards([mutating(evaluation={}, targets=None)], there), "KH028")
    assert not only(hazards([mutating()], there), "KH028")


@pytest.mark.parametrize(
    ("field", "value", "names_none"),
    [
        ("apiVersions", ["*"], True),
        ("apiVersions", ["v2"], True),
        ("apiGroups", ["*"], True),
        ("resources", ["*"], True),
        ("resources", ["configmaps/*"], False),
        ("resources", ["nobody", "configmaps"], False),
    ],
)
def test_rules_for_targets_that_name_nothing(hazards, mutating, there, field, value, names_none):
    found = hazards([mutating(targets={**MAPS, field: value})], there)
    assert bool(only(found, "KH028")) is names_none


def test_a_namespace_selector_that_selects_none_is_no_hazard(hazards, mutating, there):
    chosen = {"resourceRules": [MAPS], "namespaceSelector": {"matchLabels": {"a": "b"}}}
    assert not only(hazards([mutating(targetMatchConstraints=chosen)], there), "KH028")


@pytest.mark.parametrize(
    ("controllers", "resource", "again"),
    [(None, "pods", True), ([], "pods", False), (None, "secrets", False)],
)
def test_variants_patch_targets_again(hazards, mutating, there, controllers, resource, again):
    patch = "[JSONPatch{op: 'add', path: '/data/' + string(size(object.data)), value: 'x'}]"
    autogen = None if controllers is None else {"podControllers": {"controllers": controllers}}
    found = hazards([mutating(patch=patch, resource=resource, autogen=autogen)], objects=[there])
    assert [one[:3] for one in only(found, "KH029")] == [("KH029", "error", ("mut",))] * again


@pytest.mark.parametrize(
    ("value", "fails"),
    [("object.data.zzz", True), ("object.?data.?zzz.orValue('none')", False)],
)
def test_a_target_that_cannot_be_evaluated(run, mutating, there, value, fails):
    simulation = run([mutating(value)], objects=[there])
    found = [one for one in simulation.hazards if one.code == "KH025"]
    assert bool(found) is fails
    for one in found:
        assert (one.level, one.policies) == ("error", ("mut",))
        assert "is left unchanged: failed to evaluate policy: no such key: " in one.message
        assert "orValue" in one.message
        assert one.location is not None
    if not fails:
        (after,) = (one for one in simulation.objects if one["metadata"]["name"] == "there")
        assert labels(after) == {"seen": "none"}


def test_a_policy_without_rights_on_its_targets(hazards, mutating, obj, there):
    secret = obj("Secret", "s", "shop")
    policy = mutating(targets={**MAPS, "resources": ["secrets"]})
    assert [one[:3] for one in only(hazards([policy], objects=[secret]), "KH007")] == [
        ("KH007", "error", ("mut",))
    ]
    assert not only(hazards([mutating()], objects=[there]), "KH007")


@pytest.mark.slow
@pytest.mark.parametrize(("skips", "loops"), [(None, False), (False, True)])
def test_a_policy_whose_targets_are_its_triggers(hazards, mutating, obj, there, skips, loops):
    patch = "[JSONPatch{op: 'add', path: '/data/' + string(size(object.data)), value: 'x'}]"
    evaluation = {**ENABLED, **({} if skips is None else {"skipBackgroundRequests": skips})}
    conditions = [{"name": "this", "expression": "object.metadata.name == 'there'"}]
    found = hazards(
        [
            mutating(
                patch=patch,
                resource="configmaps",
                targets=None,
                evaluation=evaluation,
                targetMatchConditions=conditions,
            )
        ],
        obj("ConfigMap", "first", "shop", data={"a": "1"}),
        objects=[there],
        max_events=300,
    )
    assert [one[:3] for one in only(found, "KH022")] == [("KH022", "error", ("mut",))] * loops


@pytest.mark.parametrize("by_expression", [False, True])
def test_a_trigger_that_is_denied(run, mutating, obj, there, by_expression):
    spec = {
        "matchConstraints": {"resourceRules": [{**MAPS, "resources": ["secrets"]}]},
        "validations": [{"expression": "false"}],
    }
    denies = obj("ValidatingPolicy", "no", api_version=f"{GROUP}/v1", spec=spec)
    named = {"expression": "resource.Get('v1', 'configmaps', 'shop', 'there')"}
    policy = mutating(
        resource="secrets",
        targetMatchConstraints=named if by_expression else {"resourceRules": [MAPS]},
        targetMatchConditions=[{"name": "asked", "expression": "request.name == 'secret'"}],
    )
    simulation = run([policy, denies], obj("Secret", "secret", "shop"), objects=[there])
    found = [one for one in simulation.hazards if one.code == "KH002"]
    (after,) = (one for one in simulation.objects if one["metadata"]["name"] == "there")
    assert labels(after) == ({} if by_expression else {"seen": "yes"})
    assert [one.policies for one in found] == ([("mut", "no")] if by_expression else [])
    for one in found:
        assert "`mut` was triggered by an object that `no` denied" in one.message
        assert one.location is not None
