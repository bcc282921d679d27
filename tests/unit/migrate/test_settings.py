"""Settings for some requests only: actions by namespace, selectors, conditions of webhooks."""

import pytest

from kyvsim.kubernetes.objects import labels
from kyvsim.migrate.context import NotConvertible
from kyvsim.migrate.settings import variants_of
from kyvsim.simulator.admission.review import enforces

RULE = {"validate": {"message": "no", "pattern": {"spec": {"=(hostNetwork)": False}}}}


def namespace(name, **carried):
    metadata = {"name": name, "labels": carried}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


NAMESPACES = [namespace("dev-a"), namespace("prod"), namespace("team", owner="us")]


def override(action, *namespaces, **selector):
    found = {"action": action}
    if namespaces:
        found["namespaces"] = list(namespaces)
    if selector:
        found["namespaceSelector"] = {"matchLabels": selector}
    return found


@pytest.fixture
def actions(policy, run, converted, read_policy, pod):
    """Return what gives the actions that hold for a Pod in each namespace, by its name."""

    def of(rule, **spec):
        told, made = converted(rule, **spec)
        old = policy(rule, **spec)
        found = {}
        for one in NAMESPACES:
            name = one["metadata"]["name"]
            obj = pod("web", name, hostNetwork=True)
            some = [
                data["spec"]["validationActions"]
                for data in made
                if any(row.status.value == "fail" for row in rows(read_policy(data), obj, one))
            ]
            wanted = "Deny" if enforces(old, old.rules[0], one) else "Audit"
            assert some == [[wanted]], (told, name)
            found[name] = wanted
        return found

    def rows(new, obj, one):
        return [row for answer in run([new], obj, given=[one]).responses for row in answer.results]

    return of


@pytest.mark.parametrize(
    ("own", "overrides", "denied"),
    [
        ("Audit", [override("Enforce", "prod")], ["prod"]),
        ("Enforce", [override("Audit", "dev-*")], ["prod", "team"]),
        ("Audit", [override("enforce", "prod"), override("Audit", "dev-*")], ["prod"]),
        ("Audit", [override("Enforce", owner="us")], ["team"]),
        ("Audit", [override("Enforce", "prod", owner="us")], ["prod", "team"]),
        ("Audit", [override("Audit", "prod"), override("Enforce")], ["dev-a", "team"]),
        ("Audit", [override("Audit", "prod")], []),
    ],
    ids=str,
)
def test_each_namespace_has_its_action(own, overrides, denied, actions):
    found = actions(RULE, validationFailureAction=own, validationFailureActionOverrides=overrides)
    assert [name for name, action in found.items() if action == "Deny"] == denied


def test_overrides_of_a_rule_count_before_those_of_its_policy(actions):
    validate = {**RULE["validate"], "failureActionOverrides": [override("Enforce", "prod")]}
    own = {"validate": {**validate, "failureAction": "Audit"}}
    assert actions(own) == {"dev-a": "Audit", "prod": "Deny", "team": "Audit"}


def test_actions_of_image_rules_for_some_namespaces_are_refused(policy):
    rule = {"verifyImages": [{"imageReferences": ["*"]}]}
    old = policy(rule, validationFailureActionOverrides=[override("Audit", "prod")])
    with pytest.raises(NotConvertible, match="image rule"):
        variants_of(old.rules[0].tree, old.facts.action)


def test_where_all_have_the_same_action_there_is_one_policy(policy):
    old = policy(RULE, validationFailureActionOverrides=[override("Audit", "prod")])
    (variant,) = variants_of(old.rules[0].tree, old.facts.action)
    assert variant.name == ""


def test_several_filters_with_labels_of_namespaces(pod, policy, run, converted, read_policy):
    of_team = {"kinds": ["Pod"], "namespaceSelector": {"matchLabels": {"owner": "us"}}}
    match = {"any": [{"resources": of_team}, {"resources": {"kinds": ["Pod"], "names": ["x"]}}]}
    rule = {**RULE, "match": match}
    _, made = converted(rule)
    new = [read_policy(one) for one in made]
    for one in NAMESPACES:
        obj = pod("web", one["metadata"]["name"], hostNetwork=True)
        sides = [run(side, obj, given=[one]) for side in ([policy(rule)], new)]
        denied = [
            any(row.status.value == "fail" for answer in side.responses for row in answer.results)
            for side in sides
        ]
        assert denied == [labels(one) == {"owner": "us"}] * 2


def test_conditions_of_webhooks_are_conditions_of_the_policy(converted):
    conditions = [{"name": "people", "expression": "!request.userInfo.username.startsWith('s')"}]
    webhook = {"matchConditions": conditions, "failurePolicy": "Ignore", "timeoutSeconds": 5}
    told, (made,) = converted(RULE, webhookConfiguration=webhook)
    assert made["spec"]["matchConditions"] == conditions
    assert made["spec"]["failurePolicy"] == "Ignore"
    assert made["spec"]["webhookConfiguration"] == {"timeoutSeconds": 5}
    assert "webhook conditions" in {one.name for one in told.conditions}
