"""Rules that patch existing objects become policies that patch the same ones in the same way."""

import pytest

from kyvsim.model.migration import ConversionOutcome

TRIGGER = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "cfg", "namespace": "shop"},
    "data": {"size": "3", "secret": "one"},
}
LABEL = {"patchStrategicMerge": {"metadata": {"labels": {"seen": "yes"}}}}


def secret(name, namespace="shop", **labels):
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"a": "b"}}


EXISTING = [secret("one", app="web"), secret("two"), secret("three", "other", app="web")]


def rule_for(target, **patch):
    target = {"apiVersion": "v1", "kind": "Secret", **target}
    match = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
    return {"match": match, "mutate": {"targets": [target], **(patch or LABEL)}}


def targets_of(response):
    results = [one for answer in response.responses for one in answer.results]
    found = [target.object for one in results for target in one.targets if target.changed]
    return sorted(found, key=lambda one: one["metadata"]["name"])


@pytest.fixture
def changed(policy, run, converted, read_policy):
    """Return what gives the objects that a rule changes, which its conversion changes, too."""

    def changed_by(rule):
        told, made = converted(rule)
        assert told.outcome is not ConversionOutcome.REFUSED, told.reason
        old = targets_of(run([policy(rule)], TRIGGER, given=EXISTING))
        new = targets_of(run([read_policy(one) for one in made], TRIGGER, given=EXISTING))
        assert new == old
        return new

    return changed_by


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ({"name": "one", "namespace": "shop"}, ["one"]),
        ({"name": "t*", "namespace": "shop"}, ["two"]),
        ({"name": "t*"}, ["three", "two"]),
        ({"namespace": "o?her"}, ["three"]),
        ({"name": "{{ request.object.data.secret }}", "namespace": "shop"}, ["one"]),
        ({"name": "two", "namespace": "{{ request.object.metadata.namespace }}"}, ["two"]),
        ({"selector": {"matchLabels": {"app": "web"}}}, ["one", "three"]),
        (
            {
                "namespace": "shop",
                "preconditions": {
                    "all": [
                        {
                            "key": "{{ target.metadata.labels.app || '' }}",
                            "operator": "NotEquals",
                            "value": "web",
                        }
                    ]
                },
            },
            ["two"],
        ),
    ],
    ids=str,
)
def test_the_same_objects_are_found(target, names, changed):
    assert [one["metadata"]["name"] for one in changed(rule_for(target))] == names


@pytest.mark.parametrize(
    "patch",
    [
        {"patchStrategicMerge": {"data": {"a": None, "c": "{{ target.metadata.name }}"}}},
        {
            "patchStrategicMerge": {
                "metadata": {"annotations": {"of": "{{ request.object.metadata.name }}"}}
            }
        },
        {"patchesJson6902": "- {op: add, path: /metadata/annotations/size, value: x}"},
        {"patchesJson6902": "- {op: remove, path: /data/a}"},
        {
            "foreach": [
                {
                    "list": "target.data.keys(@)",
                    "patchesJson6902": "- {op: add, path: '/data/{{ element }}-x', value: c}",
                }
            ]
        },
    ],
    ids=str,
)
def test_they_are_patched_alike(patch, changed):
    (found,) = changed(rule_for({"name": "one", "namespace": "shop"}, **patch))
    assert found != EXISTING[0]


def test_what_the_trigger_holds_is_looked_up(converted):
    merge = {"metadata": {"annotations": {"size": "{{ request.object.data.size }}"}}}
    target = {"name": "one", "namespace": "shop"}
    _, (made,) = converted(rule_for(target, patchStrategicMerge=merge))
    (variable,) = made["spec"]["variables"]
    assert variable["name"] == "trigger"
    assert "request.name" in variable["expression"]


def test_when_targets_are_patched_is_told(converted):
    target = {"name": "one", "namespace": "shop"}
    rule = rule_for(target)
    told, (made,) = converted(rule)
    assert "existing objects" in [one.name for one in told.conditions]
    assert made["spec"]["evaluation"] == {"mutateExisting": {"enabled": True}}
    rule["mutate"]["mutateExistingOnPolicyUpdate"] = True
    told, _ = converted(rule)
    assert "existing objects" not in [one.name for one in told.conditions]


@pytest.mark.parametrize(
    ("mutate", "path"),
    [
        ({"targets": [{"apiVersion": "v1", "kind": "*"}]}, ".targets[0].kind"),
        (
            {"targets": [{"kind": "Secret", "name": "{{ request.object.data.x }}"}]},
            ".targets[0].name",
        ),
        ({"patchesJson6902": "{{ x }}"}, ".patchesJson6902"),
    ],
    ids=str,
)
def test_what_cannot_be_said_of_targets_is_told(mutate, path, converted):
    rule = rule_for({"name": "one", "namespace": "shop"})
    rule["mutate"] = {"targets": rule["mutate"]["targets"], **LABEL, **mutate}
    if "patchesJson6902" in mutate:
        del rule["mutate"]["patchStrategicMerge"]
    told, _ = converted(rule)
    assert told.outcome is ConversionOutcome.REFUSED
    assert told.path == f"spec.rules[0].mutate{path}"
