"""What is told of what MutatingPolicies write."""

import pytest

PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE", "UPDATE"],
}
SERVICES = {**PODS, "resources": ["services"]}
DEPLOYMENTS = {**PODS, "apiGroups": ["apps"], "resources": ["deployments"]}
WIDGETS = {**PODS, "apiGroups": ["example.com"], "resources": ["widgets"]}
NONE_DERIVED = {"podControllers": {"controllers": []}}
LABEL = "[JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'b'}]"


@pytest.fixture
def told(written):
    """Return what gives codes and messages about a MutatingPolicy."""

    def ask(mutation, *rules, **spec):
        constraints = {"resourceRules": [*rules] or [PODS]}
        whole = {"matchConstraints": constraints, "mutations": [mutation], **spec}
        return written("MutatingPolicy", {"autogen": NONE_DERIVED, **whole})

    return ask


def applied(text):
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}


def patched(text):
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


def codes(found):
    return [code for code, _ in found]


MAPPED = (
    "Object{spec: Object.spec{containers: object.spec.containers.map(c, "
    "Object.spec.containers{name: c.name, command: ['a']})}}"
)
ATOMIC = [
    "Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}",
    "Object{spec: Object.spec{tolerations: []}}",
    MAPPED,
    "has(object.spec) ? Object{spec: Object.spec{nodeSelector: {'a': 'b'}}} : Object{}",
]


@pytest.mark.parametrize("text", ATOMIC)
def test_what_is_replaced_as_a_whole(told, text):
    assert codes(told(applied(text))) == ["KV258"]
    assert told(applied(text), evaluation={"useServerSideApply": True}) == []
    assert codes(told(applied(text), WIDGETS)) == ["KV164"]
    assert told(applied(text), PODS, {**PODS, "resources": ["*"]}) == []


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Object{spec: Object.spec{volumes: [Object.spec.volumes{name: 'a'}]}}", [PODS]),
        ("Object{metadata: Object.metadata{labels: {'a': 'b'}, finalizers: ['a']}}", [PODS]),
        ("Object{spec: Object.spec{selector: {'a': 'b'}}}", [SERVICES, DEPLOYMENTS]),
        ("Object{spec: Object.spec{replicas: 1, hostNetwork: true}}", [PODS, DEPLOYMENTS]),
        ("Object{spec: Object.spec{initContainers: [{'name': 'a', 'image': 'b'}]}}", [PODS]),
    ],
)
def test_what_is_merged_or_is_no_matter_for_all_kinds(told, text, rules):
    found = codes(told(applied(text), *rules))
    assert found == (["KV258"] if "selector" in text else [])


def test_an_atomic_field_of_one_kind_of_two(told):
    text = "Object{spec: Object.spec{strategy: Object.spec.strategy{type: 'a'}}}"
    assert told(applied(text), PODS, DEPLOYMENTS) == []


def test_a_field_that_no_kind_has(told):
    (found,) = told(applied("Object{spec: Object.spec{hostnetwork: true}}"))
    assert found[0] == "KV259"
    assert "`spec.hostnetwork`" in found[1]
    nested = "Object{spec: Object.spec{tpl: Object.spec.tpl{spec: Object.spec.tpl.spec{a: 1}}}}"
    (found,) = told(applied(nested), DEPLOYMENTS)
    assert "`spec.tpl`" in found[1]


@pytest.mark.parametrize(
    ("path", "rule", "meant"),
    [
        ("/spec/hostnetwork", PODS, "/spec/hostNetwork"),
        ("/spec/containers/0/imagePullPolcy", PODS, "/spec/containers/0/imagePullPolicy"),
        ("/spec/containers/0/image", DEPLOYMENTS, "/spec/template/spec/containers/0/image"),
        ("/metadata/label/a", SERVICES, "/metadata/labels/a"),
    ],
)
def test_a_path_that_is_a_slip(told, path, rule, meant):
    text = f"[JSONPatch{{op: 'add', path: '{path}', value: 'b'}}]"
    (found,) = told(patched(text), rule)
    assert found[0] == "KV260"
    assert f"did you mean `{meant}`?" in found[1]


@pytest.mark.parametrize(
    ("path", "rules"),
    [
        ("'/spec/hostname'", [PODS]),
        ("'/spec/somethingOfTomorrow'", [PODS]),
        ("'/spec/containers/' + string(size(object.spec.containers)) + '/image'", [PODS]),
        ("'/spec/' + object.metadata.name + '/image'", [PODS]),
        ("'/metadata/annotations/' + jsonpatch.escapeKey('a/b')", [WIDGETS]),
        ("'/spec/containers/0/image'", [PODS, DEPLOYMENTS]),
        ("'/spec/containers/0/image'", [WIDGETS]),
        ("'/data/tls.crt'", [{**PODS, "resources": ["secrets"]}]),
    ],
)
def test_paths_that_are_fine_or_not_known(told, path, rules):
    text = f"has(object.metadata.annotations) ? [JSONPatch{{op: 'add', path: {path}, value: 'b'}}]"
    assert set(codes(told(patched(f"{text} : []"), *rules))) <= {"KV164"}


def test_what_is_derived_has_other_paths(told):
    text = (
        "object.kind == 'Pod' ? [] : "
        "[JSONPatch{op: 'add', path: '/spec/template/spec/hostNetwork', value: true}]"
    )
    assert told(patched(text), autogen={}) == []


@pytest.mark.parametrize(
    "text",
    [
        LABEL,
        LABEL.replace("labels", "annotations").replace("add", "replace"),
        LABEL.replace("'/metadata/labels/a'", "'/metadata/labels/' + jsonpatch.escapeKey('a/b')"),
        "[JSONPatch{op: 'add', path: '/spec/nodeSelector/a', value: 'b'}]",
        "[JSONPatch{op: 'add', path: '/metadata/finalizers/-', value: 'b'}]",
    ],
)
def test_a_patch_below_what_may_be_missing(told, text):
    assert codes(told(patched(text))) == ["KV261"]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        (f"has(object.metadata.labels) ? {LABEL} : []", {}),
        (f"'labels' in object.metadata ? {LABEL} : []", {}),
        (f"{LABEL.replace('/a', '')} + {LABEL}", {}),
        (LABEL, {"variables": [{"name": "v", "expression": "object.metadata.?labels"}]}),
        (LABEL, {"matchConditions": [{"name": "c", "expression": "has(object.metadata.labels)"}]}),
        (LABEL.replace("add", "test"), {}),
        ("[JSONPatch{op: 'add', path: '/spec/volumes/-', value: {'name': 'a'}}]", {}),
    ],
)
def test_a_patch_below_what_is_there(told, text, spec):
    assert "KV261" not in codes(told(patched(text), **spec))


def test_labels_that_a_selector_or_every_cluster_gives(told):
    selector = {"matchLabels": {"a": "b"}}
    chosen = {"matchConstraints": {"resourceRules": [PODS], "objectSelector": selector}}
    assert told(patched(LABEL), **chosen) == []
    assert told(patched(LABEL), {**PODS, "resources": ["namespaces"]}) == []


LABELLED = {
    "matchConstraints": {"resourceRules": [PODS], "objectSelector": {"matchLabels": {"a": "b"}}}
}
TESTED = "JSONPatch{op: 'test', path: '/metadata/labels/a', value: 'b'}"


@pytest.mark.parametrize(
    ("text", "spec", "found"),
    [
        ("[JSONPatch{op: 'replace', path: '/metadata/labels/a', value: 'b'}]", {}, ["KV267"]),
        ("[JSONPatch{op: 'replace', path: '/data' + '/a', value: 'b'}]", {}, ["KV267"]),
        ("[JSONPatch{op: 'replace', path: '/metadata/labels/a', value: 'b'}]", LABELLED, []),
        ("[JSONPatch{op: 'replace', path: '/data/' + object.metadata.name, value: 'b'}]", {}, []),
        ("[JSONPatch{op: 'replace', path: '/spec/replicas', value: 3}]", {}, []),
        (f"[{TESTED}, JSONPatch{{op: 'replace', path: '/metadata/labels/a', value: 'c'}}]", {}, []),
        (f"[JSONPatch{{op: 'replace', path: '/data/a', value: 'c'}}, {LABEL[1:]}", {}, ["KV267"]),
        (
            "has(object.data.a) ? [JSONPatch{op: 'replace', path: '/data/a', value: 'b'}] : []",
            {},
            [],
        ),
    ],
)
def test_entries_that_are_replaced_where_there_are_none(told, text, spec, found):
    knows = {"matchConditions": [{"name": "c", "expression": "has(object.metadata.labels)"}]}
    assert codes(told(patched(text), **{**knows, **spec})) == found


@pytest.mark.parametrize(
    ("element", "found"),
    [
        ("imagePullPolicy: 'Always'", ["KV362"]),
        ("name: c.name, imagePullPolicy: 'Always'", []),
    ],
)
def test_elements_without_their_key(told, element, found):
    loop = f"object.spec.containers.map(c, Object.spec.containers{{{element}}})"
    assert codes(told(applied(f"Object{{spec: Object.spec{{containers: {loop}}}}}"))) == found


def test_ports_have_a_default_protocol(told):
    text = "Object{spec: Object.spec{ports: [Object.spec.ports{port: 80}]}}"
    assert told(applied(text), SERVICES) == []


@pytest.mark.parametrize(
    ("path", "found"), [("/spec/nodeSelector/pool", ["KV261"]), ("/spec/nodeSelector", [])]
)
def test_a_patch_below_a_field_that_a_condition_excludes(told, path, found):
    condition = {"name": "c", "expression": "!has(object.spec.nodeSelector)"}
    value = "'green'" if path.endswith("pool") else "{'pool': 'green'}"
    text = f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]"
    assert codes(told(patched(text), matchConditions=[condition])) == found


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ('"apiVersion": dyn("v1"), "kind": dyn("ConfigMap")', []),
        ('"kind": dyn("ConfigMap")', ["KV327"]),
        ('"apiVersion": dyn("v1"), "kind": dyn("NetworkPolicy")', ["KV215"]),
        ('"apiVersion": dyn("v1"), "kind": dyn("ConfigMap"), "dtaa": dyn({})', ["KV225"]),
        ('"apiVersion": dyn("v1"), "kind": dyn("ConfigMap"), "immutable": dyn("no")', ["KV327"]),
        ('"apiVersion": dyn("v1"), "kind": dyn(object.metadata.name)', []),
    ],
)
def test_generated_objects(written, made, found):
    text = f'generator.Apply("shop", [{{{made}, "metadata": dyn({{"name": "a"}})}}])'
    whole = {"matchConstraints": {"resourceRules": [PODS]}, "generate": [{"expression": text}]}
    assert codes(written("GeneratingPolicy", whole)) == found


MAP = '{"apiVersion": dyn("v1"), "kind": dyn("ConfigMap"), "metadata": dyn(METADATA)}'
ROLE = (
    '{"apiVersion": dyn("rbac.authorization.k8s.io/v1"), "kind": dyn("ClusterRole"), '
    '"metadata": dyn({"name": "a"})}'
)
NAMED, UNNAMED = (MAP.replace("METADATA", one) for one in ('{"name": "a"}', '{"labels": {}}'))


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("GeneratingPolicy", f"generator.Apply('a', [{UNNAMED}])", ["KV327"]),
        ("GeneratingPolicy", f"generator.Apply('', [{NAMED}])", ["KV327"]),
        ("GeneratingPolicy", f"generator.Apply('a', [{NAMED}])", []),
        ("GeneratingPolicy", f"generator.Apply(object.metadata.namespace, [{NAMED}])", []),
        ("GeneratingPolicy", f"generator.Apply('', [{ROLE}])", []),
        ("GeneratingPolicy", f"generator.Apply('a', [{ROLE}])", []),
        ("NamespacedGeneratingPolicy", f"generator.Apply([{ROLE}])", ["KV314"]),
        ("NamespacedGeneratingPolicy", f"generator.Apply([{NAMED}])", []),
    ],
)
def test_names_and_namespaces_of_generated_objects(written, kind, text, found):
    whole = {"matchConstraints": {"resourceRules": [PODS]}, "generate": [{"expression": text}]}
    reported = codes(written(kind, whole))
    assert [one for one in reported if one in {"KV314", "KV327"}] == found


VOLUMES = "[JSONPatch{{op: 'add', path: '/spec/volumes', value: {}}}]"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (VOLUMES.format("[{'name': 'a'}]"), ["KV382"]),
        ("[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]", ["KV382"]),
        ("[JSONPatch{op: 'add', path: '/spec/volumes/-', value: {'name': 'a'}}]", []),
        ("[JSONPatch{op: 'replace', path: '/spec/volumes', value: [{'name': 'a'}]}]", []),
        (f"has(object.spec.volumes) ? [] : {VOLUMES.format('[]')}", []),
        (VOLUMES.format("object.spec.?volumes.orValue([]) + [{'name': 'a'}]"), []),
    ],
)
def test_a_list_or_map_that_add_replaces(told, text, found):
    assert codes(told(patched(text))) == found


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("'/metadata/labels/example.com~0team'", 1),
        ("'/metadata/labels/the team'", 1),
        ("'/metadata/labels/' + jsonpatch.escapeKey(object.metadata.name)", 0),
        ("'/metadata/labels/example.com~1' + object.metadata.name", 0),
    ],
)
def test_keys_of_labels_in_paths(told, path, found):
    patch = f"[JSONPatch{{op: 'add', path: {path}, value: 'a'}}]"
    assert codes(told(patched(patch))).count("KV330") == found


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ('labels: {"the team": "a"}', ["`the team`"]),
        ('labels: {"team": "the shop"}', ["`the shop`"]),
        ('annotations: {"a/b/c": "the shop"}', ["`a/b/c`"]),
        ('annotations: {"Example.com/team": "the shop"}', []),
        ('labels: {"team": object.metadata.name}', []),
        ("labels: {object.metadata.name: 'a'}", []),
    ],
)
def test_labels_in_apply_configurations(told, labels, found):
    reported = told(applied(f"Object{{metadata: Object.metadata{{{labels}}}}}"))
    messages = [message for code, message in reported if code == "KV327"]
    assert len(messages) == len(found)
    assert all(text in message for text, message in zip(found, messages, strict=True))


def test_labels_of_generated_objects(written):
    labels = '{"metadata": {"name": "a", "labels": {"the team": "a"}}}'
    call = f"generator.Apply('a', [{{'kind': 'ConfigMap', 'apiVersion': 'v1'}}, {labels}])"
    spec = {"matchConstraints": {"resourceRules": [PODS]}, "generate": [{"expression": call}]}
    assert "KV327" in codes(written("GeneratingPolicy", spec))
