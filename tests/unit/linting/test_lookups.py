import json

import pytest

from kyvsim.api.lint import lint
from kyvsim.linting.lookups import (
    bodies_of_calls,
    expressions_as_identities,
    images_of_other_kinds,
    texts_for_lists,
    unknown_api_paths,
    unknown_names,
    unmatched_images,
    unusable_keys,
)
from kyvsim.model.source import Document, Location


def denies(key, **rule):
    condition = {"key": key, "operator": "Equals", "value": "x"}
    return {"validate": {"deny": {"conditions": {"any": [condition]}}}, **rule}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("{{ request.userInfo.name }}", "did you mean `username`?"),
        ("{{ request.userInfo.groups[0] || request.userinfo.username }}", "mean `userInfo`?"),
        ("{{ length(request.objct.spec.containers) }}", "did you mean `object`?"),
        ("{{ elements.image }}", "did you mean `element`?"),
    ],
)
def test_a_field_that_requests_do_not_have(remarks, key, text):
    ((code, _, message),) = remarks(unknown_names, denies(key))
    assert code == "KV328"
    assert text in message


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("{{ request.userInfo.username }} {{ request.roles }} {{ request.dryRun }}", {}),
        ("{{ request.userInfo.extra.team }} {{ request.kind.kind }}", {}),
        ("{{ element.image }} {{ element0.name }} {{ elementIndex }}", {}),
        ("{{ request.object.spec.request.team }} {{ 'request.team' }}", {}),
        ("{{ request.object.spec.containers[].resources.requests.memory }}", {}),
        ('{{ data.request.team }} {{ @.request.team }} {{ "request".team }}', {}),
        ("{{ elements.a }}", {"context": [{"name": "elements", "variable": {"value": {"a": 1}}}]}),
        ("{{ request.mode }}", {}),
        ("{{ request.objct }}", {"context": [{"name": "request.objct", "variable": {"value": 1}}]}),
    ],
)
def test_fields_that_exist_or_may_exist(remarks, key, rule):
    assert remarks(unknown_names, denies(key, **rule)) == []


def calls(path, **call):
    return {"context": [{"name": "x", "apiCall": {"urlPath": path, **call}}]}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/apis/apps/v1/pods", "no resource `pods`: it is in the core group, below `/api/v1`"),
        ("/api/v1/jobs", "the core group has no resource `jobs`: it is in the group `batch`"),
        ("/api/v1/configmap", "the core group has no resource `configmap`: did you mean `configm"),
        ("/api/v1/namespaces/{{ request.namespace }}/Pods?limit=1", "did you mean `pods`?"),
        ("/apis/apps/v1/namespaces/a/deployment/b", "`apps` has no resource `deployment`"),
        ("/apis/v1/namespaces", "the core group is below `/api/v1`"),
        ("/api/v1/configmaps/a", "write `/api/v1/namespaces/NAMESPACE/configmaps/NAME`"),
        ("/apis/batch/v1beta1/cronjobs", "write `batch/v1`"),
        ("/api/apps/v1/deployments", "the group `apps` is below `/apis/apps`"),
    ],
)
def test_a_path_that_an_api_server_does_not_have(remarks, path, text):
    ((code, where, message),) = remarks(unknown_api_paths, calls(path))
    assert (code, where) == ("KV335", "spec/rules/0/context/0/apiCall/urlPath")
    assert text in message


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces",
        "/api/v1/namespaces/a",
        "/api/v1/namespaces/a/finalize",
        "/api/v1/namespaces/{{ request.namespace }}/pods/a/log",
        "/apis/apps/v1/namespaces/a/deployments/b/scale",
        "/apis/example.com/v1/cart",
        "/apis/{{ group }}/v1/cart",
        "/api/v1/{{ resource }}",
        "/api/v1/widgets",
        "/api/v1/\\{{ x }}",
        "/healthz",
        "/version",
    ],
)
def test_a_path_that_exists_or_may_exist(remarks, path):
    assert remarks(unknown_api_paths, calls(path)) == []


def test_paths_of_services_are_not_those_of_the_api(remarks):
    service = {"service": {"url": "http://a"}}
    assert remarks(unknown_api_paths, calls("/api/v1/configmap", **service)) == []


def verifies(reference):
    entry = {"imageReferences": [reference], "attestors": [], "mutateDigest": False}
    return {"verifyImages": [entry]}


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("ghcr.io/shop/web", "write `ghcr.io/shop/web:*`"),
        ("localhost:5000/web", "write `localhost:5000/web:*`"),
        ("https://ghcr.io/shop/*", "write `ghcr.io/shop/*`"),
        ("ghcr.io/shop/", "write `ghcr.io/shop/*`"),
        ("shop/web*", "write `docker.io/shop/web*`, or `*/shop/web*`"),
        ("nginx:1.*", "write `docker.io/nginx:1.*`"),
        ("nginx@sha256:*", "write `docker.io/nginx@sha256:*`"),
    ],
)
def test_a_reference_that_no_image_matches(remarks, reference, text):
    ((code, where, message),) = remarks(unmatched_images, verifies(reference))
    assert (code, where) == ("KV334", "spec/rules/0/verifyImages/0/imageReferences/0")
    assert text in message


@pytest.mark.parametrize(
    "reference",
    [
        "localhost/web:*",
        "registry:5000/web:*",
        "Shop/web:*",
        "*/shop/web*",
        "*",
        "ghcr.io/shop/*",
        "ghcr.io/web:1",
        "ghcr.io/web@sha256:*",
        "ghcr.io/*",
        "a*",
        "{{ x }}",
    ],
)
def test_a_reference_that_may_match(remarks, reference):
    assert remarks(unmatched_images, verifies(reference)) == []


def signed(**keyless):
    entry = {"keyless": {"issuer": "https://example.com", **keyless}}
    attestors = [{"entries": [entry]}]
    return {"verifyImages": [{"imageReferences": ["*"], "attestors": attestors}]}


@pytest.mark.parametrize(
    "keyless",
    [
        {"subject": "https://github.com/example/.*"},
        {"subject": "^https://github.com/example/web$"},
        {"subject": ".*@example.com"},
        {"subject": r"https://github\.com/example/*"},
        {"subject": "a@example.com", "issuer": "https://.+"},
    ],
)
def test_a_regular_expression_as_an_identity(remarks, keyless):
    ((code, _, text),) = remarks(expressions_as_identities, signed(**keyless))
    assert code == "KV309"
    assert "RegExp`" in text


@pytest.mark.parametrize(
    "keyless",
    [
        {"subject": "https://github.com/example/*"},
        {"subject": "https://github.com/example/web/.github/workflows/*"},
        {"subject": "https://github.com/example/web/.*"},
        {"subject": "*@example.com"},
        {"subject": "{{ owner }}.*@example.com"},
        {"subjectRegExp": "https://github.com/example/.*"},
    ],
)
def test_identities_that_are_wildcards(remarks, keyless):
    assert remarks(expressions_as_identities, signed(**keyless)) == []


SENT = {"data": [{"key": "a", "value": "b"}]}
SERVICE = {"service": {"url": "https://example.com"}}


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ({**SERVICE, **SENT}, ["KV352"]),
        ({**SERVICE, **SENT, "method": "GET"}, ["KV352"]),
        ({**SERVICE, **SENT, "method": "POST"}, []),
        ({**SERVICE, "method": "POST"}, []),
        ({"urlPath": "/api/v1/pods", "method": "POST"}, ["KV352"]),
        ({"urlPath": "/api/v1/pods", "method": "POST", **SENT}, []),
        ({"urlPath": "/api/v1/pods"}, []),
    ],
)
def test_the_body_of_a_call(remarks, call, found):
    rule = {"context": [{"name": "a", "apiCall": call}]}
    assert [code for code, *_ in remarks(bodies_of_calls, rule)] == found


PEM = "-----BEGIN {0}-----\n{1}\n-----END {0}-----\n"


def attested_by(**entry):
    return {"verifyImages": [{"imageReferences": ["a/*"], "attestors": [{"entries": [entry]}]}]}


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ({"keys": {"publicKeys": "cosign.pub"}}, "publicKeys"),
        ({"keys": {"publicKeys": "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE"}}, "publicKeys"),
        ({"keys": {"publicKeys": "-----BEGIN PUBLIC KEY-----\nMFkw"}}, ""),
        ({"keys": {"publicKeys": "\n  -----BEGIN PUBLIC KEY-----\nMFkw"}}, ""),
        ({"keys": {"publicKeys": PEM.format("KEY", "MFkw\nEwYH\n")}}, ""),
        ({"keys": {"publicKeys": PEM.format("KEY", "{{ keys.data.a }}")}}, ""),
        ({"keys": {"publicKeys": PEM.format("KEY", "REPLACE_WITH_YOUR_KEY")}}, "publicKeys"),
        ({"keys": {"publicKeys": PEM.format("KEY", "MFkw\n...")}}, "publicKeys"),
        ({"certificates": {"cert": PEM.format("CERT", "<certificate>")}}, "cert"),
        ({"keys": {"publicKeys": "k8s://kyverno/key"}}, ""),
        ({"keys": {"publicKeys": "/etc/keys/cosign.pub"}}, ""),
        ({"keys": {"publicKeys": "{{ keys.data.production }}"}}, ""),
        ({"keys": {"kms": "alias/my-key"}}, "kms"),
        ({"keys": {"kms": "awskms:///alias/my-key"}}, ""),
        ({"certificates": {"cert": "ca.crt"}}, "cert"),
        ({"certificates": {"cert": "-----BEGIN CERTIFICATE-----\nMFkw"}}, ""),
        ({"keyless": {"issuer": "token.actions.githubusercontent.com", "subject": "a"}}, "issuer"),
        ({"keyless": {"issuer": "https://example.com", "subject": "a"}}, ""),
        ({"keyless": {"issuer": "*", "subject": "a"}}, ""),
        ({"keys": {"publicKeys": "k8s://a/b", "rekor": {"url": "rekor.example.com"}}}, "url"),
        ({"keys": {"publicKeys": "k8s://a/b", "rekor": {"url": "https://example.com"}}}, ""),
        ({"keyless": {"issuer": "{{ a }}", "subject": "a"}}, ""),
    ],
)
def test_keys_and_issuers(remarks, entry, found):
    reported = [
        (code, path.rpartition("/")[2])
        for code, path, _ in remarks(unusable_keys, attested_by(**entry))
    ]
    assert reported == ([("KV353", found)] if found else [])


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("{{ predicate.builder.id }}", ["KV328"]),
        ("{{ builder.id }}", []),
        ("{{ metadata.predicate.a }}", []),
    ],
)
def test_conditions_of_attestations(remarks, key, found):
    condition = {"key": key, "operator": "Equals", "value": "a"}
    attestation = {"type": "https://example.com/a", "conditions": [{"all": [condition]}]}
    rule = {"verifyImages": [{"imageReferences": ["a/*"], "attestations": [attestation]}]}
    assert [code for code, *_ in remarks(unknown_names, rule)] == found
    assert remarks(unknown_names, denies(key)) == []


def test_references_that_are_all_skipped(remarks):
    entry = {"imageReferences": ["ghcr.io/a/*"], "skipImageReferences": ["ghcr.io/*"]}
    ((code, path, _),) = remarks(unmatched_images, {"verifyImages": [entry]})
    assert (code, path) == ("KV334", "spec/rules/0/verifyImages/0/skipImageReferences")
    entry["skipImageReferences"] = ["ghcr.io/a/b*"]
    assert remarks(unmatched_images, {"verifyImages": [entry]}) == []


@pytest.mark.parametrize(
    ("text", "operator", "value", "found"),
    [
        ("a,b", "AnyNotIn", "{{ known.data.a }}", ["KV372"]),
        ("a\nb\n", "AllIn", "{{ known.data.a || '' }}", ["KV372"]),
        ("a, b", "In", '{{ known.data."a" }}', ["KV372"]),
        ('["a","b"]', "AnyIn", "{{ known.data.a }}", []),
        ("a", "AnyIn", "{{ known.data.a }}", []),
        ("CN=a,O=b", "AnyIn", "{{ known.data.a }}", []),
        ("a,b", "AnyIn", "{{ split(known.data.a, ',') }}", []),
        ("a,b", "AnyIn", "{{ known.data.b }}", []),
        ("a,b", "AnyIn", "x {{ known.data.a }}", []),
        ("a,b", "Equals", "{{ known.data.a }}", []),
    ],
)
def test_texts_of_config_maps_as_lists(remarks, text, operator, value, found):
    data = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "m"}, "data": {"a": text}}
    document = Document(data, "m.yaml", 0, lambda _: Location("m.yaml"))
    context = [{"name": "known", "configMap": {"name": "m", "namespace": "default"}}]
    condition = {"key": "{{ request.name }}", "operator": operator, "value": value}
    rule = {"context": context, "validate": {"deny": {"conditions": {"any": [condition]}}}}
    given = remarks(lambda policy: texts_for_lists([policy], [document]), rule)
    assert [code for code, _, _ in given] == found


ENTRY = {
    "apiVersion": "kyverno.io/v2beta1",
    "kind": "GlobalContextEntry",
    "metadata": {"name": "allowed-hosts"},
    "spec": {
        "apiCall": {"urlPath": "/apis/example.com/v1/hosts"},
        "projections": [{"name": "names", "jmesPath": "items[].metadata.name"}],
    },
}
MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "regions", "namespace": "platform"},
}


def in_cel(*texts):
    spec = {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["services"],
                }
            ]
        },
        "validations": [{"expression": text} for text in texts],
    }
    head = {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy"}
    return {**head, "metadata": {"name": "p"}, "spec": spec}


def in_rule(entry):
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Service"]}}]},
        "context": [{"name": "known", **entry}],
        "validate": {"message": "m", "deny": {"conditions": {"any": [ANY_KNOWN]}}},
    }
    head = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy"}
    return {**head, "metadata": {"name": "p"}, "spec": {"rules": [rule]}}


ANY_KNOWN = {"key": "{{ request.name }}", "operator": "AnyIn", "value": "{{ known }}"}
GET = "'a' in globalContext.Get('allowed-hosts', 'names')"


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        (in_cel("'a' in globalContext.Get('allowd-hosts', '')"), "mean `allowed-hosts`?"),
        (in_cel("'a' in globalContext.Get('known-domains', '')"), "mean `allowed-hosts`?"),
        (in_cel(GET, "'a' in globalContext.Get('known-domains', '')"), ""),
        (in_cel("'a' in globalContext.Get('allowed-hosts', 'name')"), "did you mean `names`?"),
        (in_cel("'a' in globalContext.Get('allowed-hosts', 'x')"), "(it has `names`)"),
        (in_cel(GET), ""),
        (in_cel("'a' in globalContext.Get(object.metadata.name, '')"), ""),
        (in_rule({"globalReference": {"name": "allowed-host"}}), "mean `allowed-hosts`?"),
        (in_rule({"globalReference": {"name": "allowed-hosts.nams"}}), "did you mean `names`?"),
        (in_rule({"globalReference": {"name": "allowed-hosts.names"}}), ""),
        (in_rule({"configMap": {"name": "region", "namespace": "platform"}}), "mean `regions`?"),
        (in_rule({"configMap": {"name": "regions", "namespace": "plattform"}}), "`platform`, not"),
        (in_rule({"configMap": {"name": "regions", "namespace": "platform"}}), ""),
        (in_rule({"configMap": {"name": "teams", "namespace": "platform"}}), ""),
        (in_rule({"configMap": {"name": "region-{{ request.name }}", "namespace": "a"}}), ""),
        (
            in_cel("resource.Get('v1', 'configmaps', 'platform', 'region').data.a == 'b'"),
            "mean `regions`?",
        ),
        (in_cel("resource.Get('v1', 'secrets', 'platform', 'region').data.a == 'b'"), ""),
    ],
)
def test_names_of_given_entries_and_config_maps(tmp_path, policy, problem):
    for name, data in (("p", policy), ("entry", ENTRY), ("map", MAP)):
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    found = [one.message for one in lint([str(tmp_path)]).diagnostics if one.code == "KV387"]
    assert [problem in one for one in found] == [True] * bool(problem)


def test_entries_of_other_folders_are_others(tmp_path):
    for folder, data in (("a", in_cel("'a' in globalContext.Get('hosts', '')")), ("b", ENTRY)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.json").write_text(json.dumps(data))
    assert "KV387" not in [one.code for one in lint([str(tmp_path)]).diagnostics]


def about(*kinds, **rule):
    return {"match": {"any": [{"resources": {"kinds": [*kinds]}}]}, **rule}


VERIFIES = {"verifyImages": [{"imageReferences": ["ghcr.io/*"]}]}
LOOP = {"validate": {"foreach": [{"list": "images.initContainers", "deny": {}}]}}
EXTRACTED = {"imageExtractors": {"Task": [{"path": "/spec/steps/*/image"}]}}


@pytest.mark.parametrize(
    ("rule", "part", "text"),
    [
        (denies("{{ images.containers.*.tag }}"), "key", "read fields of the object"),
        (denies('{{ length(images."*".name || `[]`) }}'), "key", "`Task` objects have no images"),
        (LOOP, "list", "`images.initContainers` has no value"),
        (VERIFIES, "0", "no image is verified"),
    ],
)
def test_images_of_objects_without_images(remarks, rule, part, text):
    ((code, path, message),) = remarks(images_of_other_kinds, about("tekton.dev/v1/Task", **rule))
    assert (code, path.rpartition("/")[2]) == ("KV366", part)
    assert text in message


@pytest.mark.parametrize(
    "rule",
    [
        about("Pod", **LOOP),
        about("Task", "batch/v1/CronJob", **LOOP),
        about("*", **LOOP),
        about("Pod/ephemeralcontainers", **VERIFIES),
        about("tekton.dev/*/Task", **VERIFIES, **EXTRACTED),
        about("Task", **denies("{{ request.object.images.containers }}")),
        about("Task", **denies("{{ request.object.status[?images.containers] }}")),
    ],
)
def test_images_that_may_exist(remarks, rule):
    assert remarks(images_of_other_kinds, rule) == []
