import pytest

from kyvsim.engine.context.cluster_api import (
    CallError,
    OptionsError,
    answer_get,
    list_of,
    parse_options,
)
from kyvsim.engine.world import GivenObjects


@pytest.fixture
def cluster(thing, pod):
    return GivenObjects(
        [
            pod("web", "shop", nodeName="n1"),
            pod("app", "shop", labels={"tier": "front"}, nodeName="n2"),
            pod("app", "bank", labels={"tier": "back"}, hostNetwork=True),
            thing("Namespace", "shop", ""),
            thing("Gadget", "g", "shop", api_version="g.io/v1"),
            thing("Ox", "o", "", api_version="g.io/v1"),
            thing(
                "CustomResourceDefinition",
                "oxen.g.io",
                "",
                api_version="apiextensions.k8s.io/v1",
                spec={
                    "group": "g.io",
                    "scope": "Cluster",
                    "names": {"kind": "Ox", "plural": "oxen"},
                },
            ),
        ]
    )


def names(answer):
    return [item["metadata"]["name"] for item in answer["items"]]


def test_a_list_has_the_shape_and_the_order_of_the_api(cluster):
    body = answer_get("/api/v1/pods", cluster)
    assert (body["apiVersion"], body["kind"]) == ("v1", "PodList")
    assert body["metadata"] == {"continue": "", "resourceVersion": "4"}
    found = [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in body["items"]]
    assert found == [("bank", "app"), ("shop", "app"), ("shop", "web")]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("/api/v1/namespaces/shop/pods", ["app", "web"]),
        ("/api/v1/namespaces/none/pods", []),
        ("/apis/g.io/v1/gadgets", ["g"]),
        ("/apis/g.io/v1/oxen", ["o"]),
        ("/api/v1/pods?labelSelector=tier", ["app", "app"]),
        ("/api/v1/pods?labelSelector=tier=front", ["app"]),
        ("/api/v1/pods?labelSelector=tier%3D%3Dfront", ["app"]),
        ("/api/v1/pods?labelSelector=tier!=front", ["app", "web"]),
        ("/api/v1/pods?labelSelector=!tier", ["web"]),
        ("/api/v1/pods?labelSelector=tier%20in%20(front,back)", ["app", "app"]),
        ("/api/v1/pods?labelSelector=tier%20notin%20(front),tier", ["app"]),
        ("/api/v1/pods?fieldSelector=metadata.name=web", ["web"]),
        ("/api/v1/pods?fieldSelector=spec.nodeName!=n1,metadata.namespace==shop", ["app"]),
        ("/api/v1/pods?fieldSelector=spec.nodeName=", ["app"]),
        ("/api/v1/pods?fieldSelector=spec.hostNetwork=false", ["app", "web"]),
        ("/api/v1/pods?limit=2&pretty=true", ["app", "app"]),
    ],
)
def test_lists(cluster, url, expected):
    assert names(answer_get(url, cluster)) == expected


def test_a_cut_list_says_what_remains(cluster):
    metadata = answer_get("/api/v1/pods?limit=1", cluster)["metadata"]
    assert metadata["remainingItemCount"] == 2.0
    assert metadata["continue"]


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("/api/v1/namespaces/none/pods", "PodList"),
        ("/api/v1/secrets", "SecretList"),
        ("/apis/policy/v1/poddisruptionbudgets", "PodDisruptionBudgetList"),
        ("/apis/x.io/v1/policies", "PolicyList"),
        ("/apis/x.io/v1/widgets", "WidgetList"),
    ],
)
def test_kinds_that_nobody_gave_have_empty_lists(cluster, url, kind):
    answer = answer_get(url, cluster)
    assert (answer["kind"], answer["items"]) == (kind, [])


def test_objects_by_name(cluster):
    found = answer_get("/api/v1/namespaces/bank/pods/app", cluster)
    assert found["metadata"]["labels"] == {"tier": "back"}
    assert answer_get("/api/v1/namespaces/shop", cluster)["kind"] == "Namespace"
    assert answer_get("/api/v1/namespaces/bank/pods/app/status", cluster) is found


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "/api/v1/namespaces/shop/pods/no",
            'failed to get resource v1/Pod/no: pods "no" not found',
        ),
        (
            "/apis/apps/v1/namespaces/shop/deployments/no",
            'failed to get resource apps/v1/Deployment/no: deployments.apps "no" not found',
        ),
        (
            "/api/v1/namespaces/shop/pods/web/log",
            ('failed to get resource v1/Pod/web: its subresource "log" is not given'),
        ),
        ("/healthz?verbose", "failed to parse path: healthz"),
        (
            "/api/v1/pods?fieldSelector=spec.image=x",
            "failed to list resources v1/Pod: field label not supported: spec.image",
        ),
    ],
)
def test_calls_without_an_answer(cluster, url, message):
    with pytest.raises(CallError) as error:
        answer_get(url, cluster)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "query",
    [
        "limit=-1",
        "limit=many",
        "watch=true",
        "labelSelector=a==b==c",
        "labelSelector=a in b",
        "labelSelector=-a",
        "fieldSelector=metadata.name",
    ],
)
def test_options_that_cannot_be_followed(query):
    with pytest.raises(OptionsError):
        parse_options(query, "Pod")


def test_objects_of_a_resource(cluster):
    assert [one["metadata"]["name"] for one in list_of("v1", "pods", "bank", cluster)] == ["app"]
    assert list_of("x.io/v1", "widgets", "", cluster) == []
