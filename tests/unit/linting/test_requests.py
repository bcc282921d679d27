import json

import pytest

from kyvsim.api.lint import lint
from kyvsim.linting.cel_validations import absent_objects_of_rules
from kyvsim.linting.patches import ascending_removals
from kyvsim.linting.requests import (
    absent_objects,
    broken_variables,
    clones_of_themselves,
    fields_of_owners,
    lifetimes,
    lost_metadata,
    missing_namespaces,
    names_with_spaces,
    old_objects,
    optional_fields,
    patterns_at_deletion,
    required_by_negations,
    targets_not_read,
    wildcard_selectors,
)


def matching(*kinds, **resources):
    return {"match": {"any": [{"resources": {"kinds": [*kinds], **resources}}]}}


def denies(expression, operator="Equals"):
    condition = {"key": f"{{{{ {expression} }}}}", "operator": operator, "value": "x"}
    return {"validate": {"message": "m", "deny": {"conditions": {"any": [condition]}}}}


def codes(remarks, check, *rules, **more):
    return [code for code, _, _ in remarks(check, *rules, **more)]


OBJECT_NAMESPACE = "request.object.metadata.namespace"


@pytest.mark.parametrize(
    ("kinds", "expression", "found"),
    [
        (["Namespace"], OBJECT_NAMESPACE, ["KV316"]),
        (["ClusterRole"], OBJECT_NAMESPACE, ["KV316"]),
        (["ClusterRole"], "request.namespace", ["KV316"]),
        (["Namespace"], "request.namespace", []),  # its own name
        (["ClusterRole", "Role"], OBJECT_NAMESPACE, []),
        (["ClusterRole"], f"{OBJECT_NAMESPACE} || ''", []),
        (["example.com/v1/Cluster"], OBJECT_NAMESPACE, []),
        (["*"], OBJECT_NAMESPACE, []),
        (["ClusterRole"], "request.object.metadata.namespaces", []),
    ],
)
def test_namespaces_of_cluster_scoped_objects(remarks, kinds, expression, found):
    assert codes(remarks, missing_namespaces, {**matching(*kinds), **denies(expression)}) == found


def test_the_namespace_of_a_generated_object(remarks):
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "data": {}}
    generate = {**target, "namespace": f"{{{{ {OBJECT_NAMESPACE} }}}}"}
    ((_, path, _),) = remarks(missing_namespaces, {**matching("Namespace"), "generate": generate})
    assert path == "spec/rules/0/generate/namespace"


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("request.object.metadata.name", ["KV317"]),
        ("request.object.metadata.ownerReferences[].kind", ["KV317"]),
        ("request.object.metadata.name || 'x'", []),
        ("request.object.metadata.labels.a", []),
        ("request.name", []),
    ],
)
def test_metadata_that_templates_lack(remarks, expression, found):
    rule = {"validate": {"message": f"{{{{ {expression} }}}}", "deny": {}}}
    assert codes(remarks, lost_metadata, rule) == found


def patterned(**fields):
    return {"validate": {"message": "m", "pattern": {"metadata": fields}}}


def compared(key, operator, value, *others, block="any"):
    own = {"key": f"{{{{ {key} }}}}", "operator": operator, "value": value}
    return {"validate": {"message": "m", "deny": {"conditions": {block: [own, *others]}}}}


OWNERS = "request.object.metadata.ownerReferences"
OTHER = {"key": "{{ request.object.spec.hostNetwork }}", "operator": "Equals", "value": True}


@pytest.mark.parametrize(
    ("rule", "part", "text"),
    [
        (denies("request.object.metadata.uid"), "key", "so they end in an error"),
        (denies("request.object.metadata.name"), "key", "use `request.name`"),
        (compared(f"{OWNERS} || `[]` | length(@)", "LessThan", 1), "key", "`metadata.ownerRef"),
        (compared(f"length({OWNERS} || `[]`)", "Equals", 0, OTHER), "key", "for every controller"),
        (compared("request.object.metadata.name || ''", "NotEquals", "a-*"), "key", "every"),
        (patterned(namespace="!default"), "namespace", "`metadata.namespace`"),
        (patterned(ownerReferences=[{"kind": "Job"}]), "ownerReferences", "for every controller"),
        (patterned(generateName="a-*", labels={"a": "b"}), "generateName", "for every controller"),
    ],
)
def test_metadata_by_which_rules_for_controllers_fail(remarks, rule, part, text):
    ((code, path, message),) = remarks(lost_metadata, rule)
    assert (code, path.rpartition("/")[2]) == ("KV317", part)
    assert text in message


def guarded(rule, key, value):
    guard = {"key": f"{{{{ {key} }}}}", "operator": "Equals", "value": value}
    return {**rule, "preconditions": {"all": [guard]}}


NAMED = compared("request.object.metadata.name || ''", "NotEquals", "a-*")


@pytest.mark.parametrize(
    "rule",
    [
        compared(f"{OWNERS} || `[]` | length(@)", "GreaterThan", 0),
        compared(f"length({OWNERS} || `[]`)", "Equals", 0, OTHER, block="all"),
        compared("request.object.metadata.labels.team || ''", "Equals", ""),
        compared("request.name", "NotEquals", "a-*"),
        compared(f"length({OWNERS} || request.object.spec.volumes || `[]`)", "Equals", 0),
        guarded(NAMED, "request.object.kind", "Pod"),
        guarded(NAMED, "request.object.metadata.generateName || ''", "a-"),
        patterned(labels={"name": "?*"}),
        patterned(**{"=(namespace)": "!default"}),
        patterned(**{"(namespace)": "a", "name": "b"}),
        patterned(**{"X(ownerReferences)": "null"}),
        {**matching("Service"), **patterned(namespace="!default")},
    ],
)
def test_metadata_that_rules_for_controllers_do_not_need(remarks, rule):
    assert remarks(lost_metadata, rule) == []


def test_metadata_without_autogen(remarks):
    annotation = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    rule = {"validate": {"message": "{{ request.object.metadata.name }}", "deny": {}}}
    assert codes(remarks, lost_metadata, rule, annotations=annotation) == []
    assert codes(remarks, lost_metadata, {**matching("Service"), **rule}) == []


def test_a_message_with_the_name_of_a_pod(remarks):
    rule = {"validate": {"message": "{{ request.object.metadata.name }}", "deny": {}}}
    ((code, path, text),) = remarks(lost_metadata, rule)
    assert (code, path) == ("KV317", "spec/rules/0/validate/message")
    assert "`request.name`" in text


OLD = denies("request.oldObject.spec.a")
UPDATES = {"key": "{{ request.operation }}", "operator": "Equals", "value": "UPDATE"}
ON_UPDATE = {"resources": {"kinds": ["Service"], "operations": ["UPDATE"]}}


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({**matching("Service"), **OLD}, ["KV318"]),
        ({**matching("Service", operations=["CREATE", "UPDATE"]), **OLD}, ["KV318"]),
        ({**matching("Service", operations=["UPDATE"]), **OLD}, []),
        ({**matching("Service"), **OLD, "preconditions": {"all": [UPDATES]}}, []),
        ({**matching("Service"), **denies("request.oldObject.spec.a || ''")}, []),
        ({**matching("Service"), **denies("request.object.spec.a")}, []),
        ({"match": {"all": [ON_UPDATE, *matching("Service")["match"]["any"]]}, **OLD}, []),
    ],
)
def test_old_objects_of_new_objects(remarks, rule, found):
    assert codes(remarks, old_objects, rule) == found


CHANGED = compared(
    "request.object.spec.a || ''", "NotEquals", "{{ request.oldObject.spec.a || '' }}"
)
WITH_OLD = compared("request.oldObject.spec.a || ''", "NotEquals", "{{ request.object.spec.a }}")
EVERY = compared("request.oldObject.spec.a || ''", "NotEquals", "b")


@pytest.mark.parametrize(
    ("rule", "part", "text"),
    [
        (CHANGED, "value", "objects with another value are denied"),
        (WITH_OLD, "key", "objects with another value are denied"),
        (EVERY, "key", "so every creation is denied"),
        (
            compared("length(request.oldObject.spec.a || `[]`)", "Equals", 0),
            "key",
            "every creation",
        ),
    ],
)
def test_defaults_of_old_objects_of_new_objects(remarks, rule, part, text):
    ((code, path, message),) = remarks(old_objects, {**matching("Service"), **rule})
    assert (code, path.rpartition("/")[2]) == ("KV318", part)
    assert text in message


HAS_OLD = {"key": "{{ request.oldObject || '' }}", "operator": "NotEquals", "value": ""}


@pytest.mark.parametrize(
    "rule",
    [
        {**CHANGED, **matching("Service", operations=["UPDATE", "DELETE"])},
        {**CHANGED, "preconditions": {"all": [UPDATES]}},
        {**EVERY, "preconditions": {"all": [HAS_OLD]}},
        compared("request.oldObject.spec.a || ''", "NotEquals", "b", OTHER, block="all"),
        compared("request.oldObject.spec.a || 'b'", "NotEquals", "b"),
        compared("request.oldObject.spec.a || request.object.spec.b", "NotEquals", "b"),
    ],
)
def test_defaults_of_old_objects_that_deny_no_creation(remarks, rule):
    assert remarks(old_objects, {**matching("Service"), **rule}) == []


@pytest.mark.parametrize(
    ("rule", "operations", "found"),
    [
        (
            compared("request.object.spec.a || ''", "NotEquals", "b"),
            ["UPDATE", "DELETE"],
            ["KV342"],
        ),
        (compared("request.object.spec.a || ''", "NotEquals", "b"), ["CREATE", "UPDATE"], []),
        (compared("request.object.spec.a || ''", "Equals", "b"), ["UPDATE", "DELETE"], []),
        (compared("request.object.spec.a || 'b'", "NotEquals", "b"), ["UPDATE", "DELETE"], []),
        (
            guarded(
                compared("request.object.spec.a || ''", "NotEquals", "b"),
                "request.object.kind || ''",
                "Service",
            ),
            ["UPDATE", "DELETE"],
            [],
        ),
    ],
)
def test_defaults_of_objects_that_are_deleted(remarks, rule, operations, found):
    assert (
        codes(remarks, old_objects, {**matching("Service", operations=operations), **rule}) == found
    )


def removing(patch, **loop):
    return {"mutate": {"foreach": [{"list": "a.b", "patchesJson6902": patch, **loop}]}}


REMOVE = "- op: remove\n  path: /spec/volumes/{{elementIndex}}"
ADD = "- op: add\n  path: /spec/volumes/{{elementIndex}}\n  value: {}"


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (removing(REMOVE), ["KV319"]),
        (removing(REMOVE, order="Ascending"), ["KV319"]),
        (removing(REMOVE, order="Descending"), []),
        (removing(f"{REMOVE}\n{ADD}"), []),
        (removing("- op: remove\n  path: /spec/volumes/{{elementIndex}}/name"), []),
        (removing("- op: remove\n  path: /metadata/labels/{{element.name}}"), []),
    ],
)
def test_removals_by_index(remarks, rule, found):
    assert codes(remarks, ascending_removals, rule) == found


def generating(match, **generate):
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "b"}
    return {**match, "generate": {**target, **generate}}


WILD = {"matchLabels": {"team": "a*"}}
CLONES = {"namespace": "a", "kinds": ["v1/Secret"]}


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (
            generating(matching("Namespace", selector=WILD), data={}, generateExisting=True),
            ["KV320"],
        ),
        (generating(matching("Namespace", selector=WILD), data={}), []),
        (
            generating(
                matching("Namespace", selector={"matchLabels": {"team": "a"}}),
                data={},
                generateExisting=True,
            ),
            [],
        ),
        (
            {
                **matching("Namespace"),
                "generate": {"namespace": "b", "cloneList": {**CLONES, "selector": WILD}},
            },
            ["KV320"],
        ),
    ],
)
def test_wildcards_in_selectors(remarks, rule, found):
    assert codes(remarks, wildcard_selectors, rule) == found


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({"annotations": {"cleanup.kyverno.io/ttl": "1h"}}, ["KV321"]),
        ({"annotations": {"+(cleanup.kyverno.io/ttl)": "1h"}}, ["KV321"]),
        ({"labels": {"cleanup.kyverno.io/ttl": "1h"}}, []),
        ({"labels": {"cleanup.kyverno.io/ttl": "soon"}}, ["KV345"]),
        ({"labels": {"+(cleanup.kyverno.io/ttl)": "10"}}, ["KV345"]),
        ({"labels": {"cleanup.kyverno.io/ttl": "{{ request.object.spec.a }}"}}, []),
        ({"labels": {"cleanup.kyverno.io/ttl": "2030-01-31"}}, []),
        ({"annotations": {"cleanup.kyverno.io/ttls": "1h"}}, []),
    ],
)
def test_lifetimes(remarks, metadata, found):
    rule = {"mutate": {"patchStrategicMerge": {"metadata": metadata}}}
    assert codes(remarks, lifetimes, rule) == found


def demands(pattern):
    return {"validate": {"pattern": pattern}}


@pytest.mark.parametrize(
    ("kinds", "rule", "found"),
    [
        (["Pod/exec"], denies("request.object.spec.hostPID"), ["KV329"]),
        (["Pod/exec", "Pod/exec"], denies("request.object.metadata.name"), ["KV329"]),
        (["Pod/attach"], denies("request.object.command"), ["KV329"]),
        (["Pod/eviction"], demands({"spec": {"a": "b"}}), ["KV329"]),
        (["Pod/eviction"], demands({"metadata": {"labels": {"a": "b"}}}), ["KV329"]),
        (["Pod/binding"], demands({"metadata": {"labels": {"a": "b"}}}), []),
        (["Deployment/scale"], demands({"metadata": {"name": "b"}}), []),
        (["*/scale"], demands({"spec": {"template": {"a": "b"}}}), ["KV329"]),
        (["Deployment/scale"], denies("request.object.spec.template.metadata"), ["KV329"]),
        (["Pod/exec"], denies("request.object.command"), []),
        (["Pod/exec"], denies("request.name"), []),
        (["Pod/exec"], denies("request.object.metadata.namespace"), []),
        (["*/scale"], denies("request.object.spec.replicas"), []),
        (["*/scale"], demands({"spec": {"replicas": ">1"}}), []),
        (["Pod", "Pod/exec"], denies("request.object.spec.hostPID"), []),
        (["Pod/ephemeralcontainers"], denies("request.object.spec.hostPID"), []),
        (["Deployment/status"], denies("request.object.spec.replicas"), []),
    ],
)
def test_fields_of_the_owner_of_a_subresource(remarks, kinds, rule, found):
    assert codes(remarks, fields_of_owners, {**matching(*kinds), **rule}) == found


@pytest.mark.parametrize(
    ("operations", "rule", "found"),
    [
        (["DELETE"], demands({"a": "b"}), ["KV338"]),
        (["DELETE"], {"validate": {"anyPattern": [{"a": "b"}, {"a": "c"}]}}, ["KV338"]),
        (["DELETE", "UPDATE"], demands({"a": "b"}), []),
        ([], demands({"a": "b"}), []),
        (["DELETE"], denies("request.oldObject.a"), []),
    ],
)
def test_patterns_for_deletions(remarks, operations, rule, found):
    match = {"any": [{"resources": {"kinds": ["ConfigMap"], "operations": operations}}]}
    assert codes(remarks, patterns_at_deletion, {"match": match, **rule}) == found


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("request.object.metadata.name", ["KV337"]),
        ("request.userInfo.username", ["KV337"]),
        ("request.namespace", []),
        ("target.request.object", []),
        ("metadata.creationTimestamp", ["KV337"]),
        ("time_since('', '{{ metadata.creationTimestamp }}', '')", ["KV337"]),
        ("length(object.spec.volumes)", ["KV337"]),
        ("target | metadata.name", []),
        ("items(target.metadata.labels, 'k', 'v')[?spec.a == v] | [0].v", []),
        ("to_string('spec.a')", []),
        ("target.{a: metadata.name}", []),
    ],
)
def test_requests_of_cleanup_policies(tmp_path, key, found):
    condition = {"key": f"{{{{ {key} }}}}", "operator": "Equals", "value": "x"}
    spec = {
        **matching("Pod"),
        "schedule": "0 3 * * *",
        "conditions": {"any": [condition]},
    }
    data = {"apiVersion": "kyverno.io/v2", "kind": "ClusterCleanupPolicy", "spec": spec}
    file = tmp_path / "p.json"
    file.write_text(json.dumps({**data, "metadata": {"name": "p"}}))
    assert [one.code for one in lint([str(file)]).diagnostics] == found


@pytest.mark.parametrize(
    ("namespace", "found"),
    [("{{ request.namespace }} ", ["KV322"]), (" b", ["KV322"]), ("{{ request.namespace }}", [])],
)
def test_spaces_around_names(remarks, namespace, found):
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": namespace}
    mutate = {"targets": [target], "patchStrategicMerge": {"data": {"a": "b"}}}
    assert codes(remarks, names_with_spaces, {**matching("ConfigMap"), "mutate": mutate}) == found


@pytest.mark.parametrize(
    ("operations", "expression", "found"),
    [
        (["CREATE"], "request.oldObject.spec.a", ["KV318"]),
        (["DELETE"], "request.object.spec.a", ["KV342"]),
        (["CREATE", "UPDATE"], "request.oldObject.spec.a", []),
        (["DELETE", "UPDATE"], "request.object.spec.a", []),
        ([], "request.object.spec.a", []),
        (["DELETE"], "request.oldObject.spec.a", []),
        (["DELETE"], "request.object.spec.a || ''", ["KV342"]),
        (["CREATE"], "request.oldObject.spec.a || 'b'", ["KV318"]),
        (["CREATE"], "request.oldObject.spec.a | length(@)", ["KV318"]),
        (["CREATE"], "request.object.spec.a || request.oldObject.spec.a", []),
        (["CREATE"], "request.oldObject.spec.a || request.object.spec.a", []),
        (["CREATE"], "request.object.spec.a", []),
    ],
)
def test_objects_that_requests_do_not_have(remarks, operations, expression, found):
    condition = {"key": f"{{{{ {expression} }}}}", "operator": "Equals", "value": "x"}
    match = {**matching("Service", **({"operations": operations} if operations else {}))}
    given = {**match, "preconditions": {"all": [condition]}, "validate": {"deny": {}}}
    assert codes(remarks, absent_objects, given) == found


def test_the_trigger_of_a_rule_that_runs_in_the_background(remarks):
    target = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "a", "data": {}}
    generate = {**target, "name": "{{ request.object.metadata.name }}"}
    given = {**matching("Service", operations=["DELETE"]), "generate": generate}
    assert codes(remarks, absent_objects, given) == []


@pytest.mark.parametrize(
    ("kinds", "metadata", "found"),
    [
        (["ClusterRole"], {"namespace": "!default"}, ["KV316"]),
        (["Namespace"], {"=(namespace)": "a"}, ["KV316"]),
        (["ClusterRole", "Role"], {"namespace": "!default"}, []),
        (["ClusterRole"], {"labels": {"namespace": "a"}}, []),
        (["ClusterRole"], {"X(namespace)": "null"}, []),
    ],
)
def test_patterns_with_the_namespace_of_cluster_scoped_objects(remarks, kinds, metadata, found):
    given = {**matching(*kinds), "validate": {"pattern": {"metadata": metadata}}}
    assert codes(remarks, missing_namespaces, given) == found


def cloning(source, **target):
    return {"generate": {"apiVersion": "v1", "kind": "Secret", **target, **source}}


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (cloning({"clone": {"name": "a", "namespace": "b"}}, name="a", namespace="b"), ["KV354"]),
        (cloning({"clone": {"name": "a", "namespace": "b"}}, name="a", namespace="c"), []),
        (cloning({"clone": {"name": "a", "namespace": "b"}}, name="c", namespace="b"), []),
        (cloning({"clone": {"name": "a"}}, name="a"), []),
        (
            cloning({"cloneList": {"kinds": ["v1/Secret"], "namespace": "b"}}, namespace="b"),
            ["KV354"],
        ),
        (cloning({"cloneList": {"kinds": ["v1/Secret"], "namespace": "b"}}, namespace="c"), []),
    ],
)
def test_clones_of_the_target(remarks, rule, found):
    assert codes(remarks, clones_of_themselves, rule) == found


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("{{ request.object.metadata.name }", "{{ request.object.metadata.name }}"),
        ("by {{request.userInfo.username", "{{ request.userInfo.username }}"),
        ("${request.object.spec.a}", "{{ request.object.spec.a }}"),
        ("{ request.operation }", "{{ request.operation }}"),
        ("{{ {{ request.name }} }}", ""),
        ("{{ length(request.object.spec.a[?b == '{{ element.b }}']) }}", ""),
        ("\\{{ request.name }}", ""),
        ("[a-z]{2} {a} ${HOME}", ""),
        ("{{ request.name }}", ""),
        ("{{- request.name }}", ""),
        ("request.object.metadata.name", "{{ request.object.metadata.name }}"),
        ("the field request.object.metadata.name", ""),
    ],
)
def test_braces_of_variables(remarks, text, meant):
    rule = {"mutate": {"patchStrategicMerge": {"metadata": {"annotations": {"a": text}}}}}
    found = [(code, message) for code, _, message in remarks(broken_variables, rule)]
    assert [code for code, _ in found] == (["KV355"] if meant else [])
    assert all(meant in message for _, message in found)


@pytest.mark.parametrize(
    ("operations", "expression", "more", "found"),
    [
        (["CREATE", "UPDATE"], "oldObject.spec.a == 'b'", {}, ["KV248"]),
        ([], "oldObject.spec.a == 'b'", {}, ["KV248"]),
        (["CREATE"], "oldObject.spec.a == 'b'", {}, ["KV248"]),
        (["UPDATE", "DELETE"], "object.spec.a == 'b'", {}, ["KV248"]),
        (["UPDATE"], "oldObject.spec.a == 'b'", {}, []),
        ([], "object.spec.a == 'b'", {}, []),
        ([], "oldObject == null || oldObject.spec.a == 'b'", {}, []),
        ([], "request.operation != 'UPDATE' || oldObject.spec.a == 'b'", {}, []),
        ([], "oldObject.spec.a == 'b'", {"celPreconditions": "oldObject != null"}, []),
        ([], "oldObject.spec.a == 'b'", {"celPreconditions": "object.spec.a != ''"}, ["KV248"]),
        ([], "oldObject.spec.a == 'b'", {"preconditions": {"all": [UPDATES]}}, []),
        ([], "oldObject.?spec.a.orValue('') == 'b'", {}, []),
        ([], "has(oldObject.spec) ? oldObject.spec.a == 'b' : true", {}, []),
    ],
)
def test_objects_that_do_not_exist_for_cel(remarks, operations, expression, more, found):
    if "celPreconditions" in more:
        more = {"celPreconditions": [{"name": "a", "expression": more["celPreconditions"]}]}
    match = matching("Service", **({"operations": operations} if operations else {}))
    rule = {**match, "validate": {"cel": {"expressions": [{"expression": expression}]}}, **more}
    assert codes(remarks, absent_objects_of_rules, rule) == found


READS = {"key": "{{ request.object.metadata.labels.a || '' }}", "operator": "Equals", "value": "b"}
READS_TARGET = {**READS, "value": "{{ target.metadata.name }}"}
LAZY = [{"name": "own", "variable": {"jmesPath": "target.metadata.name"}}]


@pytest.mark.parametrize(
    ("targets", "more", "found"),
    [
        ([[READS]], {}, ["KV371"]),
        ([[{**READS, "key": "x"}, READS, READS]], {}, ["KV371"]),
        ([[READS_TARGET]], {}, []),
        ([[{**READS, "key": "{{ own }}"}]], {"context": LAZY}, []),
        ([[{**READS, "value": "{{ own }}"}]], {"context": LAZY}, []),
        ([[READS], [{**READS, "value": "c"}]], {}, []),
        ([None], {}, []),
    ],
)
def test_preconditions_of_targets_read_them(remarks, targets, more, found):
    target = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "a"}
    given = [{**target, **({"preconditions": {"all": one}} if one else {})} for one in targets]
    mutate = {"targets": given, "patchStrategicMerge": {"data": {"a": "b"}}}
    assert (
        codes(remarks, targets_not_read, {**matching("Secret"), **more, "mutate": mutate}) == found
    )


def reading(expression, value="x", kinds=("Pod",), **more):
    denied = denies(expression)["validate"]
    denied["deny"]["conditions"]["any"][0]["value"] = value
    return {**matching(*kinds), "validate": denied, **more}


LABELLED = "request.object.metadata.labels.team"


@pytest.mark.parametrize(
    ("rule", "default"),
    [
        (reading("request.object.spec.hostNetwork", value=True), "`false`"),
        (reading("request.object.spec.activeDeadlineSeconds", value=3), "`0`"),
        (reading("request.object.spec.priorityClassName", value=""), "''"),
        (reading(LABELLED), "''"),
        (reading('request.object.metadata.annotations."example.com/a"'), "''"),
        (reading("request.object.spec.containers[0].resources.limits.cpu"), "''"),
        (reading("request.object.spec.template.spec.hostPID", True, ("Job",)), "`false`"),
        (reading("request.object.spec.ingressClassName", kinds=["Ingress"]), "''"),
        (reading(LABELLED, kinds=["Disk"]), "''"),
        (reading("request.object.spec.volumes[?hostPath] | length(@)", value=0), "`[]`"),
        (reading("length(request.object.spec.rules[].host)", 1, ["Ingress"]), "`[]`"),
        (
            {
                **matching("Service"),
                "preconditions": {"all": [{"key": f"{{{{ {LABELLED} }}}}", "value": "a"}]},
                "validate": {"pattern": {"metadata": {"name": "a"}}},
            },
            "''",
        ),
    ],
)
def test_a_condition_on_an_optional_field_needs_a_default(remarks, rule, default):
    ((code, path, message),) = remarks(optional_fields, rule)
    assert (code, path.rpartition("/")[2]) == ("KV373", "key")
    assert message.endswith(f" || {default}`")


@pytest.mark.parametrize(
    "rule",
    [
        reading("request.object.metadata.name"),
        reading("request.object.spec.containers[0].image"),
        reading(f"{LABELLED} || ''"),
        reading("request.object.spec.volumes[].name"),  # a projection of nothing is no error
        reading("request.object.spec.containers[] | length(@)", value=1),
        reading("request.object.spec.volumes[?hostPath] || `[]` | length(@)", value=1),
        reading("request.object.status.phase"),
        reading("request.object.spec.priority", kinds=["Disk"]),
        reading(LABELLED, value=""),  # KV356
        reading(LABELLED, kinds=["Pod/exec"]),
        reading(LABELLED, kinds=["*"]),
        {**reading(LABELLED), **matching("Pod", operations=["DELETE"])},  # KV342
        reading(
            LABELLED,
            preconditions={
                "all": [
                    {"key": f"{{{{ {LABELLED} || '' }}}}", "operator": "NotEquals", "value": ""}
                ]
            },
        ),
        reading(
            LABELLED,
            preconditions={
                "all": [
                    {
                        "key": "{{ contains(keys(request.object.metadata.labels), 'team') }}",
                        "operator": "Equals",
                        "value": True,
                    }
                ]
            },
        ),
        {
            **reading(LABELLED),
            **matching(
                "Pod", selector={"matchExpressions": [{"key": "team", "operator": "Exists"}]}
            ),
        },
        reading(
            "request.object.spec.hostNetwork",
            kinds=["Pod", "Job"],
            preconditions={
                "all": [{"key": "{{ request.kind.kind }}", "operator": "Equals", "value": "Pod"}]
            },
        ),
    ],
)
def test_fields_that_are_there_or_that_the_rule_tests_need_no_default(remarks, rule):
    assert remarks(optional_fields, rule) == []


@pytest.mark.parametrize(
    ("over", "field", "count"),
    [
        ("request.object.spec.containers", "securityContext.privileged", 1),
        ("request.object.spec.[initContainers, containers][]", "securityContext.privileged", 1),
        ("request.object.spec.template.spec.containers[]", "workingDir", 1),
        ("request.object.spec.containers", "image", 0),
        ("request.object.spec.[volumes, containers][]", "name", 0),
        ("request.object.spec.containers[?image]", "workingDir", 0),
    ],
)
def test_elements_of_containers_without_an_optional_field(remarks, over, field, count):
    kind = "Deployment" if "template" in over else "Pod"
    condition = {"key": f"{{{{ element.{field} }}}}", "operator": "Equals", "value": "x"}
    loop = {"list": over, "deny": {"conditions": {"all": [condition]}}}
    rule = {**matching(kind), "validate": {"message": "m", "foreach": [loop]}}
    assert [code for code, _, _ in remarks(optional_fields, rule)] == ["KV373"] * count


def requiring(pattern, *kinds, **more):
    return {**matching(*kinds or ("Pod",)), "validate": {"pattern": pattern}, **more}


NO_PORTS = {"spec": {"containers": [{"ports": [{"=(hostPort)": 0}]}]}}


@pytest.mark.parametrize(
    ("rule", "field", "why"),
    [
        (requiring({"spec": {"hostNetwork": False}}), "hostNetwork", "always fails"),
        (requiring({"spec": {"hostPID": "!true"}}), "hostPID", "always fails"),
        (requiring({"spec": {"(nodeName)": "a*", "hostIPC": "false"}}), "hostIPC", "always fails"),
        (
            requiring({"spec": {"template": {"spec": {"hostIPC": False}}}}, "Job", "Deployment"),
            "hostIPC",
            "always fails",
        ),
        (requiring(NO_PORTS), "ports", "fails for objects without `ports`"),
        (
            requiring(
                {"spec": {"=(initContainers)": [{"securityContext": {"X(privileged)": "a"}}]}}
            ),
            "securityContext",
            "fails for objects without",
        ),
        (requiring({"metadata": {"annotations": {"X(a)": "null"}}}), "annotations", "without"),
        (requiring({"spec": {"runtimeClassName": "!kata & !gvisor*"}}), "runtimeClassName", ""),
        (requiring({"spec": {"externalIPs": [{"X(a)": 1}]}}, "Service"), "externalIPs", ""),
    ],
)
def test_a_pattern_that_only_forbids_does_not_require_the_field(remarks, rule, field, why):
    ((code, path, message),) = remarks(required_by_negations, rule)
    assert (code, path.rpartition("/")[2]) == ("KV374", field)
    assert why in message
    assert message.endswith(f"write `=({field})`")


@pytest.mark.parametrize(
    "rule",
    [
        requiring({"spec": {"=(hostNetwork)": False}}),
        requiring({"spec": {"hostNetwork": True}}),
        requiring({"spec": {"containers": [{"securityContext": {"privileged": False}}]}}),
        requiring({"spec": {"containers": [{"securityContext": {"X(a)": "b", "runAsUser": 1}}]}}),
        # An API server adds an empty one to each Pod.
        requiring({"spec": {"securityContext": {"X(sysctls)": "null"}}}),
        requiring({"spec": {"containers": [{"image": "!*:latest"}]}}),
        requiring({"metadata": {"labels": {"team": "!none"}}}),
        requiring({"spec": {"(type)": "ExternalName", "externalName": "!localhost"}}, "Service"),
        requiring({"spec": {"runtimeClassName": "!?*"}}),
        requiring({"spec": {"runtimeClassName": "kata | !gvisor"}}),
        requiring({"spec": {"X(volumes)": [{"X(hostPath)": "null"}]}}),
        requiring(NO_PORTS, "Disk"),
        requiring(NO_PORTS, "Pod/status"),
        {
            **requiring({"metadata": {"labels": {"X(a)": "null"}}}),
            **matching("Pod", selector={"matchLabels": {"b": "c"}}),
        },
        requiring(
            NO_PORTS,
            preconditions={"all": [{"key": "{{ request.object.spec.containers[].ports[] }}"}]},
        ),
        {**matching("Pod"), "validate": {"anyPattern": [NO_PORTS, {"spec": {"os": "a"}}]}},
    ],
)
def test_other_patterns_may_require_their_fields(remarks, rule):
    assert remarks(required_by_negations, rule) == []


SERVICES = {"any": [{"resources": {"kinds": ["Service"]}}]}
TEAM = "{{ request.object.metadata.labels.team }}"


@pytest.mark.parametrize(
    ("rule", "advice"),
    [
        ({"mutate": {"patchStrategicMerge": {"metadata": {"annotations": {"a": TEAM}}}}}, "|| ''`"),
        ({"validate": {"pattern": {"spec": {"selector": {"x": f"{TEAM}-*"}}}}}, "|| ''`, or test"),
        (
            {
                "generate": {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "a",
                    "namespace": "b",
                    "data": {"metadata": {"labels": "{{ request.object.metadata.labels }}"}},
                }
            },
            "|| `{}``",
        ),
        (
            {
                "mutate": {"patchStrategicMerge": {"metadata": {"annotations": {"a": TEAM}}}},
                "match": {"any": [{"resources": {"kinds": ["Service"], "names": ["web"]}}]},
            },
            "",
        ),
        (
            {
                "mutate": {"patchStrategicMerge": {"metadata": {"annotations": {"a": TEAM}}}},
                "preconditions": {
                    "all": [
                        {
                            "key": "{{ request.object.metadata.labels.team || '' }}",
                            "operator": "NotEquals",
                            "value": "",
                        }
                    ]
                },
            },
            "",
        ),
        (
            {
                "mutate": {
                    "patchStrategicMerge": {"metadata": {"(labels)": {"team": "?*", "a": TEAM}}}
                }
            },
            "|| ''`",
        ),
        (
            {
                "mutate": {
                    "patchStrategicMerge": {
                        "metadata": {"annotations": {"a": "{{ request.object.metadata.name }}"}}
                    }
                }
            },
            "",
        ),
    ],
)
def test_missing_fields_that_are_copied(remarks, rule, advice):
    found = [text for _, _, text in remarks(optional_fields, {"match": SERVICES, **rule})]
    assert [advice in text for text in found] == [True] * bool(advice)
