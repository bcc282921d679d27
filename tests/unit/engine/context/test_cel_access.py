"""What CEL expressions read of the world."""

import pytest

from kyvsim.engine.context.cel_access import (
    global_access,
    http_access,
    image_access,
    resource_access,
)
from kyvsim.engine.world import GivenObjects
from kyvsim.model.ports import ExternalData
from kyvsim.model.release import NEWEST, V_1_19_0, V_1_19_1
from kyvsim.model.values import CallAnswer, GlobalData, Mocks

URL = "https://answers.example.com/v1"


def thing(kind, name, namespace="", **labels):
    metadata = {"name": name, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {**metadata, **({"namespace": namespace} if namespace else {})},
    }


GIVEN = GivenObjects(
    [
        thing("Secret", "a", "one", app="web"),
        thing("Secret", "b", "two", app="web"),
        thing("Secret", "c", "two"),
        thing("ConfigMap", "given", "one"),
    ]
)
CONTEXT = GivenObjects([thing("ConfigMap", "of-context", "one")])


def names(objects):
    return [one["metadata"]["name"] for one in objects]


@pytest.mark.parametrize(
    ("namespace", "wanted", "found"),
    [
        ("", {}, ["a", "b", "c"]),
        ("two", {}, ["b", "c"]),
        ("", {"app": "web"}, ["a", "b"]),
        ("two", {"app": "web"}, ["b"]),
        ("three", {}, []),
    ],
)
def test_lists_honour_labels_and_all_namespaces(namespace, wanted, found):
    hints = []
    access = resource_access((CONTEXT, GIVEN), "", hints)
    assert names(access.list("v1", "secrets", namespace, wanted)) == found
    assert hints == []


def test_a_context_file_comes_first():
    access = resource_access((CONTEXT, GIVEN), "", [])
    assert names(access.list("v1", "configmaps", "one", {})) == ["of-context"]
    assert access.get("v1", "configmaps", "one", "given")["metadata"]["name"] == "given"


def test_what_nobody_gave_is_told():
    hints = []
    access = resource_access((CONTEXT, GIVEN), "", hints)
    assert access.get("v1", "services", "one", "web") is None
    with pytest.raises(LookupError, match="services resource not found"):
        access.list("v1", "services", "", {})
    with pytest.raises(LookupError, match="unexpected GroupVersion string: a/b/c"):
        access.get("a/b/c", "services", "one", "web")
    of_one, of_all = hints
    assert of_one.startswith("missing input: there are no services of v1, such as one/web: add")
    assert of_all == (
        "missing input: there are no services of v1: "
        "add them to the resources, or to a context file under spec.resources"
    )


def test_a_resource_that_cannot_exist_has_another_name():
    hints = []
    access = resource_access((CONTEXT, GIVEN), "", hints)
    assert access.get("v1", "secret", "one", "a") is None
    (hint,) = hints
    assert hint.startswith("v1 has no resource `secret`: check the version, and the name")


def test_images_are_known_from_a_context_file():
    hints = []
    access = image_access({"nginx": {"tag": "latest"}}, hints)
    assert access.data_of("nginx") == {"tag": "latest"}
    assert hints == []
    assert access.data_of("redis") is None
    assert 'spec: {images: [{image: "redis"}]}' in hints[0]


def external(**mocks):
    return ExternalData(GIVEN, Mocks(**mocks))


def test_services_are_answered_by_method_first():
    calls = {("GET", URL): CallAnswer(200, [1]), ("", URL): CallAnswer(404, None)}
    answer = http_access(external(calls=calls), "", NEWEST).answer_of
    assert repr(answer("GET", URL)) == repr({"body": [1.0], "statusCode": 200})
    assert answer("POST", URL) == {"body": None, "statusCode": 404}
    namespaced = http_access(external(calls=calls), "shop", NEWEST)
    assert namespaced.answer_of("GET", URL)["statusCode"] == 200


@pytest.mark.parametrize(
    ("method", "url", "namespace", "reason"),
    [
        (
            "GET",
            URL,
            "",
            (
                f"GET {URL}: kyvsim is offline: add the response to the values file: "
                f'apiCallResponses: [{{url: "{URL}", method: GET, response: {{body: {{}}}}}}]'
            ),
        ),
        (
            "GET",
            URL,
            "shop",
            (
                "http calls are not allowed in namespaced policies: "
                "set --allowHTTPInNamespacedPolicies to enable"
            ),
        ),
        (
            "GET",
            "http://127.0.0.1/x",
            "",
            (
                'request failed: Get "http://127.0.0.1/x": connection to 127.0.0.1:80 blocked: '
                "IP 127.0.0.1 falls in blocked range 127.0.0.0/8"
            ),
        ),
        (
            "GET",
            "http://127.0.0.1/a b/ü?c d",
            "",
            (
                'request failed: Get "http://127.0.0.1/a%20b/%C3%BC?c d": connection to '
                "127.0.0.1:80 blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8"
            ),
        ),
        (
            "GET",
            "http://localhost:8080/x",
            "",
            (
                'request failed: Get "http://localhost:8080/x": connection to localhost:8080 '
                "blocked: resolved IP 127.0.0.1 falls in blocked range 127.0.0.0/8"
            ),
        ),
        (
            "POST",
            "https://[::1]:8080",
            "",
            (
                'request failed: Post "https://[::1]:8080": connection to [::1]:8080 blocked: '
                "IP ::1 falls in blocked range ::1/128"
            ),
        ),
        (
            "GET",
            "http://169.254.169.254/latest",
            "",
            (
                'URL "http://169.254.169.254/latest" is blocked: '
                'hostname "169.254.169.254" is on the blocklist'
            ),
        ),
    ],
)
def test_calls_that_nothing_answers(method, url, namespace, reason):
    with pytest.raises(LookupError) as caught:
        http_access(external(), namespace, V_1_19_0).answer_of(method, url)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("url", "address", "network"),
    [
        ("http://169.254.169.254/latest", "169.254.169.254:80", "169.254.169.254/32"),
        ("https://[64:ff9b::a9fe:a9fe]/", "[64:ff9b::a9fe:a9fe]:443", "169.254.169.254/32"),
        ("http://[2002:a9fe:a9fd::]:8080", "[2002:a9fe:a9fd::]:8080", "169.254.169.253/32"),
        ("http://[::127.0.0.1]/", "[::127.0.0.1]:80", "127.0.0.0/8"),
    ],
)
def test_addresses_of_metadata_are_ranges_in_1_19_1(url, address, network):
    with pytest.raises(LookupError) as caught:
        http_access(external(), "", V_1_19_1).answer_of("GET", url)
    start = f'request failed: Get "{url}": connection to {address} blocked: IP '
    assert str(caught.value).startswith(start)
    assert str(caught.value).endswith(f" falls in blocked range {network}")


ENTRY = {
    "apiVersion": "kyverno.io/v2",
    "kind": "GlobalContextEntry",
    "metadata": {"name": "secrets"},
    "spec": {
        "kubernetesResource": {"version": "v1", "resource": "secrets", "namespace": "two"},
        "projections": [{"name": "names", "jmesPath": "[].metadata.name"}],
    },
}


@pytest.mark.parametrize(
    ("name", "projection", "found"),
    [
        ("numbers", "", {"few": 1.0, "many": [1.0, 2.0]}),
        ("numbers", "few", 1.0),
        ("picked", "", {"last": 2.0}),
        ("picked", "last", 2.0),
        ("part", "", [1.0, 2.0]),
        ("secrets", "names", ["b", "c"]),
        ("nobody", "", None),
        ("nobody", "x", None),
    ],
)
def test_global_data(system, name, projection, found):
    data = {"few": 1, "many": [1, 2]}
    mocks = {
        "numbers": GlobalData(data),
        "picked": GlobalData(data, projections=(("last", "many[-1]"),)),
        "part": GlobalData(data, "many"),
    }
    world = ExternalData(
        GivenObjects([*GIVEN.list("v1", "Secret", ""), ENTRY]), Mocks(global_data=mocks)
    )
    hints = []
    assert repr(global_access(world, system, hints, "").data_of(name, projection)) == repr(found)
    assert bool(hints) is (name == "nobody")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"a": 1}, 'projection "p" not found in global context entry "n"'),
        (
            [1],
            ('projection "p" not found in global context entry "n": stored value is not an object'),
        ),
    ],
)
def test_projections_that_are_not_there(system, data, reason):
    world = external(global_data={"n": GlobalData(data)})
    with pytest.raises(LookupError) as caught:
        global_access(world, system, [], "").data_of("n", "p")
    assert str(caught.value) == reason
