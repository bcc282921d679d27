"""Mutate rules become policies that make the same objects."""

import pytest

from kyvsim.model.migration import ConversionOutcome

CONTAINERS = [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:2", "command": ["x"]}]


def merge(patch, **more):
    return {"mutate": {"patchStrategicMerge": patch}, **more}


@pytest.fixture
def both(policy, run, converted, read_policy):
    """Return what gives an object as the rule, and as its conversion, changes it."""

    def changed(rule, obj):
        told, made = converted(rule)
        assert told.outcome is not ConversionOutcome.REFUSED, told.reason
        new = [read_policy(one) for one in made]
        return run([policy(rule)], obj).object, run(new, obj).object

    return changed


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"metadata": {"labels": {"team": "shop"}}}, "labels"),
        ({"metadata": {"annotations": {"+(a.b/c)": "x"}}}, "annotations"),
        ({"spec": {"hostNetwork": False}}, "hostNetwork"),
        ({"spec": {"securityContext": {"+(runAsUser)": 1000, "fsGroup": 1}}}, "securityContext"),
        ({"spec": {"nodeSelector": {"disk": "ssd"}}}, "nodeSelector"),
        ({"spec": {"containers": [{"(image)": "i:*", "imagePullPolicy": "Always"}]}}, "Policy"),
        ({"spec": {"containers": [{"name": "a", "tty": True}]}}, "tty"),
        ({"spec": {"(hostname)": "h", "hostNetwork": True}}, ""),
        ({"spec": {"dnsPolicy": "{{ request.object.metadata.name }}"}}, "dnsPolicy"),
    ],
    ids=str,
)
def test_strategic_merges(patch, field, both, pod):
    rule = merge(patch)
    before = pod("web", containers=CONTAINERS)
    old, new = both(rule, before)
    assert new == old
    assert field in str(old)
    assert (old != before) is bool(field)


@pytest.mark.parametrize(
    "api", [("Deployment", "apps/v1"), ("ReplicationController", "v1")], ids=str
)
def test_templates(api, both, thing):
    kind, version = api
    obj = thing(kind, api_version=version, spec={"template": {"spec": {"containers": CONTAINERS}}})
    rule = merge({"metadata": {"labels": {"team": "shop"}}, "spec": {"hostNetwork": True}})
    old, new = both(rule, obj)
    assert new == old != obj
    assert new["spec"]["template"]["metadata"] == {"labels": {"team": "shop"}}


def test_what_is_there_is_not_added(both, pod):
    rule = merge({"spec": {"securityContext": {"+(runAsUser)": 1000}}})
    obj = pod("web", containers=CONTAINERS, securityContext={"runAsUser": 1})
    assert both(rule, obj) == (obj, obj)


def test_kinds_without_types_are_patched(both, thing):
    obj = thing("Widget", api_version="x.io/v1", spec={"size": 1.0})
    rule = merge({"spec": {"colour": "red", "deep": {"+(a)": "b"}}})
    rule["match"] = {"any": [{"resources": {"kinds": ["x.io/v1/Widget"]}}]}
    old, new = both(rule, obj)
    assert new == old != obj


def test_loops(both, pod):
    condition = {"key": "{{ element.image }}", "operator": "Equals", "value": "i:2"}
    block = {
        "list": "request.object.spec.containers",
        "preconditions": {"all": [condition]},
        "patchStrategicMerge": {
            "spec": {
                "containers": [{"(name)": "{{ element.name }}", "image": "x/{{ element.image }}"}]
            }
        },
    }
    old, new = both({"mutate": {"foreach": [block]}}, pod("web", containers=CONTAINERS))
    images = [one["image"] for one in new["spec"]["containers"]]
    assert images == ["i:1", "x/i:2"]
    assert sorted(images) == sorted(one["image"] for one in old["spec"]["containers"])


def test_each_level_of_controllers_has_a_policy_of_its_own(converted):
    _, made = converted(merge({"metadata": {"labels": {"a": "b"}}}))
    resources = [one["spec"]["matchConstraints"]["resourceRules"] for one in made]
    assert [some[0]["resources"][0] for some in resources] == ["pods", "daemonsets", "cronjobs"]
    assert made[0]["spec"]["autogen"] == {"podControllers": {"controllers": []}}


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ({"spec": {"X(hostNetwork)": True}}, "spec.X(hostNetwork)"),
        ({"spec": {"(containers)": ["a"]}}, "spec.(containers)"),
        ({"spec": {"tolerations": [{"(key)": "a", "value": "b"}]}}, "spec.tolerations"),
        ({"spec": {"containers": [{"image": "i"}]}}, "spec.containers[0]"),
    ],
    ids=str,
)
def test_what_has_no_twin_is_told(patch, path, converted):
    told, made = converted(merge(patch))
    assert told.outcome is ConversionOutcome.REFUSED
    assert told.path == f"spec.rules[0].mutate.patchStrategicMerge.{path}"
    assert made == []


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"hostname": None}},
        {"metadata": {"labels": None, "annotations": {"a": "b"}}},
        {"metadata": {"labels": {"$patch": "delete"}}},
        {"metadata": {"labels": {"$patch": "replace", "new": "x"}}},
        {"metadata": {"labels": {"{{ request.namespace }}/x": "y"}}},
        {"spec": {"nodeSelector": {"{{ request.namespace }}/x": "y"}}},
        {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}},
        {"spec": {"containers": [{"name": "a", "command": None}, {"name": "c", "image": "z"}]}},
        {"spec": {"containers": [{"(image)": "i:2", "command": ["y"]}]}},
        {"spec": {"containers": [{"(image)": "i:2", "securityContext": None}]}},
        {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}},
        {"spec": {"+(tolerations)": [{"key": "k", "operator": "Exists"}]}},
        {"spec": {"imagePullSecrets": [{"name": "s"}]}},
        {"spec": {"containers": [{"<(image)": "i:*"}], "hostNetwork": True}},
        {"spec": {"containers": [{"<(image)": "i:3"}], "hostNetwork": True}},
        {"spec": {"(securityContext)": {"runAsUser": 7}, "hostNetwork": True}},
        {"spec": {"volumes": [{"(name)": "*", "(emptyDir)": {"+(sizeLimit)": "1Gi"}}]}},
        {"spec": {"volumes": [{"<(emptyDir)": {}}]}, "metadata": {"labels": {"e": "d"}}},
    ],
    ids=str,
)
@pytest.mark.parametrize("full", [False, True], ids=["bare", "full"])
def test_merges_of_what_is_there_and_what_is_not(patch, full, patched, pod):
    more = {
        "hostname": "h",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "old", "operator": "Exists"}],
        "imagePullSecrets": [{"name": "other"}],
        "securityContext": {"runAsUser": 7.0},
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "hostPath": {"path": "/"}}],
    }
    containers = [*CONTAINERS, {"name": "d", "image": "i:2", "securityContext": {}}]
    obj = pod("web", labels={"app": "w"} if full else None, containers=containers)
    obj["spec"] |= more if full else {}
    assert patched(merge(patch), obj) is not None


FULL = {"affinity": {"nodeAffinity": {"x": [{"y": []}]}}, "hostname": "h"}


@pytest.mark.parametrize(
    "operations",
    [
        "- {op: add, path: /metadata/labels/new, value: x}",
        "- {op: add, path: /spec/affinity/nodeAffinity/x/-1/y/-, value: {key: k, values: ['1']}}",
        "- {op: add, path: /spec/affinity/nodeAffinity/x/0/y/-1, value: k}",
        "- {op: add, path: /spec/containers/0/env/-, value: {name: N, value: v}}",
        """- {op: add, path: /spec/tolerations/-, value: {key: k}}
- {op: add, path: /spec/tolerations/-, value: {key: l}}""",
        "- {op: remove, path: /spec/hostname}",
        "- {op: remove, path: /spec/affinity/nodeAffinity/x/0}",
        """- {op: remove, path: /spec/affinity}
- {op: add, path: /spec/affinity/nodeAffinity/z, value: 1}""",
        "- {op: replace, path: /spec/hostname, value: new}",
        "- {op: replace, path: /spec/affinity/nodeAffinity, value: {}}",
        "- {op: replace, path: /spec/containers/0/image, value: new}",
        "- {op: move, from: /spec/hostname, path: /spec/subdomain}",
        "- {op: copy, from: /spec/hostname, path: /spec/subdomain}",
        "- {op: copy, from: /spec/containers/0/image, path: /spec/subdomain}",
        "- {op: add, path: /metadata/labels/a~1b, value: '{{ request.object.metadata.name }}-x'}",
        "- op: add\n  path: /spec/count\n  value: {{ request.object.spec.containers | length(@) }}",
        "- {op: add, path: /spec/n, value: '{{ request.object.spec.containers | length(@) }}'}",
        "- op: add\n  path: /spec/labels\n  value: {{ request.object.metadata.labels }}",
        '[{"op": "add", "path": "/spec/hostname", "value": "json"}]',
    ],
)
@pytest.mark.parametrize("full", [False, True], ids=["bare", "full"])
def test_json_patches(operations, full, patched, pod):
    obj = pod("web", labels={"app": "w", "web": "x"} if full else None, containers=CONTAINERS)
    obj["spec"] |= FULL if full else {}
    found = patched({"mutate": {"patchesJson6902": operations}}, obj)
    assert found is not None or not full


def test_a_failed_test_is_told(converted):
    told, _ = converted({"mutate": {"patchesJson6902": "- {op: test, path: /spec/a, value: 1}"}})
    assert [one.name for one in told.conditions] == ["failed tests"]


IN_LOOP = "request.object.spec.containers"
NAMED_A = {"all": [{"key": "{{ element.name }}", "operator": "Equals", "value": "a"}]}


@pytest.mark.parametrize(
    "block",
    [
        {"patchesJson6902": "- {op: add, path: '/spec/containers/{{elementIndex}}/tty', value: 1}"},
        {
            "patchesJson6902": "- op: add\n"
            "  path: /spec/containers/{{elementIndex}}/securityContext/capabilities/add/-\n"
            "  value: '{{ element.name }}'",
            "preconditions": NAMED_A,
        },
        {
            "patchesJson6902": "- {op: add, path: '/metadata/labels/{{element.name}}', value: x}",
            "preconditions": NAMED_A,
        },
        {"patchesJson6902": "- {op: remove, path: '/metadata/labels/{{element.name}}'}"},
        {"patchesJson6902": "- {op: remove, path: /spec/hostname}", "preconditions": NAMED_A},
        {
            "patchesJson6902": "- {op: remove, path: '/spec/containers/{{elementIndex}}'}",
            "preconditions": NAMED_A,
            "order": "Descending",
        },
        {
            "patchesJson6902": """
- {op: add, path: '/spec/containers/{{elementIndex}}/tty', value: 1}
- {op: remove, path: '/spec/containers/{{elementIndex}}/command'}""",
        },
        {
            "foreach": [
                {
                    "list": "element.command || `[]`",
                    "order": "Descending",
                    "preconditions": {
                        "all": [{"key": "{{ element1 }}", "operator": "Equals", "value": "x"}]
                    },
                    "patchesJson6902": "- op: remove\n"
                    "  path: /spec/containers/{{elementIndex0}}/command/{{elementIndex1}}",
                }
            ]
        },
        {
            "list": "request.object.spec.initContainers",
            "patchesJson6902": "- {op: add, path: /spec/hostNetwork, value: true}",
        },
        {
            "list": "request.object.spec.initContainers[]",
            "patchesJson6902": "- {op: add, path: /spec/hostNetwork, value: true}",
        },
        {
            "preconditions": {
                "all": [{"key": "{{ element.stdin }}", "operator": "Equals", "value": True}]
            },
            "patchesJson6902": "- {op: add, path: /spec/hostNetwork, value: true}",
        },
        {
            "preconditions": NAMED_A,
            "patchStrategicMerge": {"spec": {"hostNetwork": True}},
        },
        {
            "patchStrategicMerge": {"metadata": {"labels": {"c-{{ element.name }}": "y"}}},
        },
        {
            "list": "request.object.spec.[initContainers, containers][]",
            "patchStrategicMerge": {
                "spec": {"containers": [{"(name)": "{{ element.name }}", "tty": True}]}
            },
        },
        {
            "patchStrategicMerge": {
                "spec": {"containers": [{"(name)": "{{ element.name }}", "command": None}]}
            },
        },
    ],
    ids=str,
)
@pytest.mark.parametrize("full", [False, True], ids=["bare", "full"])
def test_loops_over_elements(block, full, patched, pod):
    obj = pod("web", labels={"app": "w", "b": "x"} if full else None, containers=CONTAINERS)
    if full:
        obj["spec"] |= {"hostname": "h", "initContainers": [{"name": "i", "image": "i"}]}
    patched({"mutate": {"foreach": [{"list": IN_LOOP, **block}]}}, obj)


def test_a_loop_sees_what_the_one_before_it_made(patched, pod):
    add = "- {op: add, path: /spec/initContainers/-, value: {name: new, image: i}}"
    more = "- {op: add, path: '/spec/initContainers/{{elementIndex}}/tty', value: true}"
    blocks = [
        {"list": IN_LOOP, "patchesJson6902": add},
        {"list": "request.object.spec.initContainers", "patchesJson6902": more},
    ]
    found = patched({"mutate": {"foreach": blocks}}, pod("web", containers=CONTAINERS))
    assert [one["tty"] for one in found["spec"]["initContainers"]] == [True, True]


@pytest.mark.parametrize(
    ("block", "what"),
    [
        (
            {"patchesJson6902": "- {op: remove, path: '/spec/containers/{{elementIndex}}'}"},
            "from the front",
        ),
        (
            {"patchStrategicMerge": {"metadata": {"labels": {"a": "{{ element.name }}"}}}},
            "overwrites",
        ),
    ],
)
def test_what_a_loop_cannot_say_is_told(block, what, converted):
    told, _ = converted({"mutate": {"foreach": [{"list": IN_LOOP, **block}]}})
    assert told.outcome is ConversionOutcome.REFUSED
    assert what in told.reason
