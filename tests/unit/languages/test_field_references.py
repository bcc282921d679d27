import json
from datetime import UTC, datetime
from typing import get_args

import pytest
from ways import way_text

from kyvsim.api.inputs import ApplyInputs, read_inputs
from kyvsim.api.system import own_system
from kyvsim.engine.conditions.operators import OPERATORS
from kyvsim.languages import references_of
from kyvsim.languages.classic.field_references import NodeReader
from kyvsim.load.files import Source
from kyvsim.model.field_reference import Subject
from kyvsim.policy.anchors import ANCHORS
from kyvsim.policy.nodes import Node
from kyvsim.policy.rule import PolicyNode
from kyvsim.policy.tree import ContextEntry, Deny, ResourceFilter

SYSTEM = own_system(datetime(2026, 1, 1, tzinfo=UTC))


def mentions(data, about=Subject.OBJECT):
    read = read_inputs(ApplyInputs(policies=(Source("policy", json.dumps(data)),)), None)
    assert not read.diagnostics
    (policy,) = read.policies
    return [one for one in references_of(policy, SYSTEM) if one.about is about]


def mentioned(data, about=Subject.OBJECT):
    return {way_text(one.path): list(one.values) for one in mentions(data, about)}


def rules(*bodies, **match):
    filters = {"resources": {"kinds": ["Pod"], **match}}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "rules": [
                {"name": f"r{number}", "match": {"any": [filters]}, **body}
                for number, body in enumerate(bodies)
            ]
        },
    }


def deny(key, value, operator="Equals", **more):
    condition = {"key": key, "operator": operator, "value": value}
    return {**more, "validate": {"message": "m", "deny": {"conditions": {"any": [condition]}}}}


PATTERN = {
    "spec": {
        "=(hostNetwork)": False,
        "X(hostPID)": "null",
        "containers": [
            {"(name)": "web*", "image": "!*:latest", "resources": {"limits": {"c*": 1}}}
        ],
    }
}


def test_patterns_are_read_without_their_anchors():
    found = mentioned(rules({"validate": {"message": "m", "pattern": PATTERN}}))
    assert found["spec.hostNetwork"] == [False]
    assert found["spec.hostPID"] == ["null"]
    assert found["spec.containers[].name"] == ["web*"]
    assert found["spec.containers[].image"] == ["!*:latest"]
    assert found["spec.containers[].resources.limits.*"] == [1]


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("{{ request.object.spec.replicas }}", "spec.replicas"),
        ("{{ request.object.metadata.labels.team || '' }}", "metadata.labels.team"),
        ('{{ request.object.metadata.annotations."a/b" }}', "metadata.annotations.a/b"),
        ("{{ request.object.spec.containers[].image | [0] }}", "spec.containers[].image"),
        ("{{ request.object.spec.containers[*].ports[*].hostPort }}", None),
        ("{{ join('', request.object.spec.containers[?name=='x'].image) }}", None),
        ("{{ request.object.spec.[hostPID, hostIPC] }}", "spec.hostIPC"),
        ("{{ request.object.spec.template.*.x }}", "spec.template.*.x"),
    ],
)
def test_queries_lead_to_fields(key, path):
    found = mentioned(rules(deny(key, "x")))
    if path is None:
        path = next(one for one in found if one.endswith(("hostPort", "image")))
        assert "[]" in path
    assert "x" in found[path]


def test_what_stands_around_a_variable_in_a_variable_is_read():
    key = "{{ request.object.spec.volumes[?name == '{{ request.object.metadata.name }}'].path }}"
    found = mentioned(rules(deny(key, "/x")))
    assert "metadata.name" in found
    assert "/x" in found["spec.volumes[].path"]


def test_filters_of_a_query_are_held_against_their_constants():
    key = "{{ request.object.spec.containers[?name=='x'].image }}"
    assert mentioned(rules(deny(key, "y")))["spec.containers[].name"] == ["x"]


def test_loops_and_entries_of_the_context_are_followed():
    context = [{"name": "team", "variable": {"jmesPath": "request.object.metadata.labels.team"}}]
    loop = {
        "list": "request.object.spec.containers",
        "deny": {
            "conditions": {
                "all": [
                    {"key": "{{ element.image }}", "operator": "Equals", "value": "bad"},
                    {"key": "{{ team }}", "operator": "Equals", "value": "blue"},
                ]
            }
        },
    }
    found = mentioned(rules({"context": context, "validate": {"message": "m", "foreach": [loop]}}))
    assert found["spec.containers[].image"] == ["bad"]
    assert found["metadata.labels.team"] == ["blue"]


def test_fields_that_are_held_against_each_other_share_their_values():
    pattern = {"spec": {"a": "?*", "b": "{{ request.object.spec.a }}"}}
    found = mentioned(rules({"validate": {"message": "m", "pattern": pattern}}))
    assert found["spec.b"] == found["spec.a"] == ["?*"]


def test_filters_tell_names_namespaces_and_labels():
    policy = rules(
        deny("{{ request.operation }}", "DELETE"),
        names=["web-*"],
        namespaces=["prod"],
        selector={"matchLabels": {"app": "x"}},
        namespaceSelector={"matchExpressions": [{"key": "env", "operator": "Exists"}]},
    )
    found = mentioned(policy)
    assert found["metadata.name"] == ["web-*"]
    assert found["metadata.namespace"] == ["prod"]
    assert found["metadata.labels.app"] == ["x"]
    assert mentioned(policy, Subject.NAMESPACE) == {"metadata.labels.env": []}
    assert mentioned(policy, Subject.REQUEST)["operation"] == ["DELETE"]
    assert mentioned(policy, Subject.KIND) == {"": ["*/*/Pod"]}


def test_what_is_looked_up_is_told():
    context = [{"name": "map", "configMap": {"name": "a", "namespace": "b"}}]
    found = mentioned(rules(deny("{{ map.data.x }}", "y", context=context)), Subject.WORLD)
    assert found == {"configMap.data.x": ["y"]}


def test_what_a_call_asks_for_and_finds_is_told():
    call = {
        "urlPath": "/api/v1/pods?labelSelector=tier%3Dweb",
        "jmesPath": "items[?metadata.name == '{{ request.object.metadata.name }}'].spec.tags[].x",
    }
    context = [{"name": "found", "apiCall": call}]
    policy = rules(deny("{{ found }}", "y", context=context))
    found = mentioned(policy, Subject.WORLD)
    assert found["apiCall.items[].metadata.labels.tier"] == ["web"]
    assert "apiCall.items[].metadata.name" in found
    assert found["apiCall.items[].spec.tags[].x"] == ["y"]
    # What stands for the name is no name.
    assert found["apiCall.items[].metadata.name"] == []
    assert mentioned(policy)["metadata.name"] == []


def test_accounts_are_told():
    policy = rules(deny("{{ serviceAccountName }}", "robot"))
    assert mentioned(policy, Subject.REQUEST)["serviceAccountName"] == ["robot"]


def in_cel(expression, **spec):
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["apps"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["deployments"],
                    }
                ],
                "objectSelector": {"matchLabels": {"app": "x"}},
            },
            "validations": [{"expression": expression}],
            **spec,
        },
    }


@pytest.mark.parametrize(
    ("expression", "path", "value"),
    [
        ("object.spec.replicas > 3", "spec.replicas", 3),
        ("has(object.spec.paused) && true", "spec.paused", None),
        ("object.metadata.?labels[?'a/b'].orValue('') == 'c'", "metadata.labels.a/b", "c"),
        ("object.spec.list.all(e, e.name != 'bad')", "spec.list[].name", "bad"),
        ("(object.spec.a + object.spec.?b.orValue([])).exists(e, e.c == 1)", "spec.b[].c", 1),
        ("'*' in object.spec.verbs", "spec.verbs[]", "*"),
        ("'key' in object.spec.map", "spec.map.key", None),
        ("object.spec.x in ['a', 'b']", "spec.x", "b"),
        ("object.spec.name.startsWith('web-')", "spec.name", "web-"),
        ("object.spec.list.filter(e, e.on).map(e, e.size).all(s, s < 9)", "spec.list[].on", None),
        ("object.spec.a == object.spec.b || object.spec.b == 'q'", "spec.a", "q"),
    ],
)
def test_expressions_lead_to_fields(expression, path, value):
    found = mentioned(in_cel(expression))
    assert path in found
    assert value is None or value in found[path]


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ("dyn(resource.Get('v1', 'configmaps', 'a', 'b')).data.x == 'y'", "resource.data.x"),
        (
            "dyn(resource.List('v1', 'pods', '')).items.exists(p, p.spec.node == 'y')",
            "resource.items[].spec.node",
        ),
        ("image.GetMetadata(object.spec.i).config.?config.User == 'y'", "image.config.config.User"),
    ],
)
def test_expressions_tell_what_they_read_of_what_is_looked_up(expression, path):
    assert mentioned(in_cel(expression), Subject.WORLD)[path] == ["y"]


@pytest.mark.parametrize(
    "policy",
    [
        rules(deny("{{ length(request.object.spec.volumes) }}", 4)),
        rules(deny("{{ request.object.spec.volumes[?length(@) > `4`] }}", "x")),
        in_cel("size(object.spec.volumes) < 4"),
        in_cel("object.spec.volumes.map(one, one.name).size() < 4"),
    ],
)
def test_how_much_is_asked_for_is_no_value(policy):
    found = {way_text(one.path): one for one in mentions(policy)}
    (counted,) = [
        one for path, one in found.items() if path.startswith("spec.volumes") and one.sizes
    ]
    assert counted.sizes == (4,)
    assert 4 not in counted.values


def test_endings_are_patterns():
    found = mentioned(in_cel("object.metadata.annotations.exists(key, key.endsWith('-x'))"))
    assert "*-x" in found["metadata.annotations[]"]
    query = "{{ ends_with(request.object.metadata.name, '-x') }}"
    assert "*-x" in mentioned(rules(deny(query, True)))["metadata.name"]


def test_a_resource_is_in_the_groups_that_are_known_to_have_it():
    policy = in_cel("true")
    rule = policy["spec"]["matchConstraints"]["resourceRules"][0]
    rule["apiGroups"], rule["resources"] = ["apps", "example.com"], ["deployments", "things"]
    found = {
        (one[0], one[-1])
        for one in (kind.split("/") for kind in mentioned(policy, Subject.KIND)[""])
    }
    assert found == {("apps", "Deployment"), ("apps", "Thing"), ("example.com", "Thing")}


def test_variables_are_followed():
    variables = [{"name": "all", "expression": "object.spec.list.map(e, e.image)"}]
    found = mentioned(in_cel("variables.all.all(i, i != 'bad')", variables=variables))
    assert any("bad" in values for path, values in found.items() if path.startswith("spec.list[]"))


def test_constraints_tell_kinds_operations_and_labels():
    policy = in_cel("request.userInfo.username == 'x'")
    assert mentioned(policy, Subject.KIND) == {"": ["apps/v1/Deployment"]}
    assert mentioned(policy)["metadata.labels.app"] == ["x"]
    found = mentioned(policy, Subject.REQUEST)
    assert found["operation"] == ["CREATE"]
    assert found["userInfo.username"] == ["x"]


def test_cleanup_policies_tell_of_their_targets():
    condition = {"key": "{{ target.metadata.labels.keep }}", "operator": "Equals", "value": "no"}
    policy = {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "namespaces": ["tmp"]}}]},
            "conditions": {"all": [condition]},
            "schedule": "0 0 * * *",
        },
    }
    found = mentioned(policy)
    assert found["metadata.namespace"] == ["tmp"]
    assert found["metadata.labels.keep"] == ["no"]
    assert mentioned(policy, Subject.KIND) == {"": ["*/*/ConfigMap"]}


def test_admission_policies_of_kubernetes_tell_what_they_mention():
    policy = in_cel("object.spec.replicas <= 5")
    policy = {**policy, "apiVersion": "admissionregistration.k8s.io/v1"}
    policy = {**policy, "kind": "ValidatingAdmissionPolicy"}
    assert mentioned(policy)["spec.replicas"] == [5]
    assert mentioned(policy, Subject.KIND) == {"": ["apps/v1/Deployment"]}


def test_images_that_are_named():
    entry = {
        "imageReferences": ["r.io/*"],
        "skipImageReferences": ["r.io/x/*"],
        "attestors": [{"entries": [{"keys": {"kms": "awskms:///a"}}]}],
        "failureAction": "Enforce",
    }
    found = mentioned(rules({"verifyImages": [entry]}))
    assert found["spec.initContainers[].image"] == ["r.io/*", "r.io/x/*"]
    in_cel = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ImageValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [{"resources": ["pods"]}]},
            "matchImageReferences": [{"glob": "r.io/*"}],
            "attestors": [{"name": "a", "cosign": {"key": {"kms": "awskms:///a"}}}],
            "validations": [{"expression": "true"}],
        },
    }
    assert mentioned(in_cel)["spec.ephemeralContainers[].image"] == ["r.io/*"]
    assert mentioned(in_cel, Subject.WORLD) == {"images": []}


def test_every_class_of_nodes_is_read():
    assert NodeReader.READERS.keys() == set(get_args(Node))


@pytest.mark.parametrize("entry", get_args(ContextEntry))
def test_every_context_entry_is_a_source_of_values(entry):
    """A reader of parts only would take expressions that use the entry for constants."""
    parts_only = {NodeReader.READERS[one] for one in (Deny, PolicyNode)}
    assert NodeReader.READERS[entry] not in parts_only


SELECTOR = {"matchLabels": {"a": "b"}}
CRITERIA = {
    "operations": ({"operations": ["DELETE"]}, Subject.REQUEST, "operation", "DELETE"),
    "kinds": ({"kinds": ["Pod"]}, Subject.KIND, "", "*/*/Pod"),
    "name": ({"name": "b"}, Subject.OBJECT, "metadata.name", "b"),
    "names": ({"names": ["b"]}, Subject.OBJECT, "metadata.name", "b"),
    "namespaces": ({"namespaces": ["b"]}, Subject.OBJECT, "metadata.namespace", "b"),
    "annotations": ({"annotations": {"a": "b"}}, Subject.OBJECT, "metadata.annotations.a", "b"),
    "selector": ({"selector": SELECTOR}, Subject.OBJECT, "metadata.labels.a", "b"),
    "namespace_selector": (
        {"namespaceSelector": SELECTOR},
        Subject.NAMESPACE,
        "metadata.labels.a",
        "b",
    ),
    "roles": ({"roles": ["b"]}, Subject.REQUEST, "userInfo.roles", "b"),
    "cluster_roles": ({"clusterRoles": ["b"]}, Subject.REQUEST, "userInfo.clusterRoles", "b"),
    "subjects": (
        {"subjects": [{"kind": "User", "name": "b"}]},
        Subject.REQUEST,
        "userInfo.username",
        "b",
    ),
}
OF_USERS = {"roles", "cluster_roles", "subjects"}


@pytest.mark.parametrize("field", ResourceFilter._fields[2:])
def test_every_criterion_of_a_filter_is_read(field):
    criterion, about, path, value = CRITERIA[field]
    body = {"validate": {"message": "m", "pattern": {}}}
    policy = rules(body, **({} if field in OF_USERS else criterion))
    if field in OF_USERS:
        policy["spec"]["rules"][0]["match"]["any"][0].update(criterion)
    assert value in mentioned(policy, about)[path]


@pytest.mark.parametrize("operator", [one.name for one in OPERATORS])
def test_every_operator_compares_with_its_value(operator):
    policy = rules(deny("{{ request.object.spec.a }}", "1", operator))
    assert mentioned(policy)["spec.a"] == ["1"]


@pytest.mark.parametrize("key", ["a", "+(a)", *(f"{sign}(a)" for sign in ANCHORS)])
def test_every_anchor_is_left_off(key):
    patch = {"mutate": {"patchStrategicMerge": {"spec": {key: "b"}}}}
    assert mentioned(rules(patch))["spec.a"] == ["b"]


def test_preconditions_in_cel_are_read():
    validate = {"cel": {"expressions": [{"expression": "object.spec.a == 'b'"}]}}
    preconditions = [{"name": "n", "expression": "object.spec.c == 'd'"}]
    found = mentioned(rules({"validate": validate, "celPreconditions": preconditions}))
    assert (found["spec.a"], found["spec.c"]) == (["b"], ["d"])
