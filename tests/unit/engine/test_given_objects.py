import pytest

from kyvsim.engine.world import GivenObjects
from kyvsim.kubernetes.discovery import plural


@pytest.fixture
def given(thing):
    return GivenObjects(
        [
            thing("ConfigMap", "b", "two"),
            thing("ConfigMap", "a", "one"),
            thing("Namespace", "one", "", labels={"env": "prod"}),
            thing("ConfigMap", "b", "one"),
            thing("Deployment", "a", "one", api_version="apps/v1"),
        ]
    )


def test_an_object_is_found_by_its_whole_identity(given):
    assert given.get("v1", "ConfigMap", "one", "a")["metadata"]["name"] == "a"
    for other in (("v2", "ConfigMap"), ("v1", "Secret"), ("apps/v1", "ConfigMap")):
        assert given.get(*other, "one", "a") is None
    assert given.get("v1", "ConfigMap", "", "a") is None


def test_of_two_with_one_name_the_first_counts(thing):
    first, second = (
        thing("ConfigMap", "a", data={"x": "1"}),
        thing("ConfigMap", "a", data={"x": "2"}),
    )
    given = GivenObjects([first, second])
    assert given.get("v1", "ConfigMap", "shop", "a") is first
    assert list(given.list("v1", "ConfigMap", "")) == [first]


SCALER = "HorizontalPodAutoscaler"


@pytest.mark.parametrize(
    ("given_as", "kind", "asked_as"),
    [
        ("autoscaling/v2", SCALER, "autoscaling/v1"),
        ("autoscaling/v1", SCALER, "autoscaling/v2"),
        ("autoscaling/v2", SCALER, "autoscaling/v2beta2"),
        ("batch/v1", "CronJob", "batch/v1beta1"),
        ("policy/v1", "PodDisruptionBudget", "policy/v1beta1"),
        ("networking.k8s.io/v1beta1", "Ingress", "networking.k8s.io/v1"),
        ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowcontrol.apiserver.k8s.io/v1beta3"),
        ("x.io/v1", "Widget", "x.io/v2"),
    ],
)
def test_an_object_is_read_under_every_version_of_its_group(thing, given_as, kind, asked_as):
    obj = thing(kind, "a", api_version=given_as, spec={"x": "y"})
    given = GivenObjects([obj])
    assert given.get(given_as, kind, "shop", "a") is obj
    read = {**obj, "apiVersion": asked_as}
    assert given.get(asked_as, kind, "shop", "a") == read
    assert list(given.list(asked_as, kind, "shop")) == [read]
    assert given.kind_of(asked_as, plural(given_as.partition("/")[0], kind)) == kind


@pytest.mark.parametrize(("group", "kind"), [("autoscaling", SCALER), ("batch", "CronJob")])
def test_no_object_is_read_under_a_version_that_never_was(thing, group, kind):
    given = GivenObjects([thing(kind, "a", api_version=f"{group}/v1")])
    assert given.get(f"{group}/v9", kind, "shop", "a") is None
    assert not given.list(f"{group}/v9", kind, "")
    assert given.kind_of(f"{group}/v9", plural(group, kind)) == ""


@pytest.mark.parametrize("beside", [False, True], ids=["among the objects", "beside them"])
def test_a_definition_says_under_which_versions_objects_are_read(thing, beside):
    versions = [
        {"name": "v1", "served": True},
        {"name": "v1beta1"},
        {"name": "v1alpha1", "served": False},
    ]
    spec = {"group": "x.io", "names": {"kind": "Ox", "plural": "oxen"}, "versions": versions}
    definition = thing(
        "CustomResourceDefinition",
        "oxen.x.io",
        "",
        api_version="apiextensions.k8s.io/v1",
        spec=spec,
    )
    objects, definitions = [thing("Ox", "a", api_version="x.io/v1")], [definition]
    given = GivenObjects(objects, definitions) if beside else GivenObjects(objects + definitions)
    assert given.kind_of("x.io/v1beta1", "oxen") == "Ox"
    assert given.get("x.io/v1beta1", "Ox", "shop", "a")["apiVersion"] == "x.io/v1beta1"
    for version in ("v1alpha1", "v2"):
        assert given.kind_of(f"x.io/{version}", "oxen") == ""
        assert given.get(f"x.io/{version}", "Ox", "shop", "a") is None


def test_one_name_in_two_versions_is_one_object(thing):
    first = thing(SCALER, "a", api_version="autoscaling/v2")
    given = GivenObjects([first, thing(SCALER, "a", api_version="autoscaling/v1")])
    assert list(given.list("autoscaling/v2", SCALER, "")) == [first]
    assert list(given.kinds()) == [("autoscaling/v2", SCALER)]


def test_groups_of_kubernetes_have_no_other_plurals(thing):
    given = GivenObjects([thing("Deployment", "a", api_version="apps/v1")])
    assert given.kind_of("apps/v1", "deployment") == ""
    assert given.kind_of("v1", "pod") == ""
    assert given.kind_of("x.io/v1", "oxen") == "Oxen"


@pytest.mark.parametrize(
    ("api_version", "name", "guessed"),
    [
        ("v1", "pods", False),
        ("v1", "gizmos", False),
        ("apps/v1", "gizmos", False),
        ("x.io/v1", "widgets", False),
        ("x.io/v2", "widgets", False),
        ("x.io/v1", "gizmos", True),
        ("y.io/v1", "widgets", True),
    ],
)
def test_a_kind_that_nothing_tells_of_is_guessed(thing, api_version, name, guessed):
    given = GivenObjects([thing("Widget", "a", api_version="x.io/v1")])
    assert given.guesses(api_version, name) is guessed


def names(found):
    return [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in found]


def test_lists_are_sorted_and_may_be_of_one_namespace(given):
    assert names(given.list("v1", "ConfigMap", "one")) == [("one", "a"), ("one", "b")]
    assert sorted(names(given.list("v1", "ConfigMap", ""))) == [
        ("one", "a"),
        ("one", "b"),
        ("two", "b"),
    ]
    assert list(given.list("v1", "Secret", "")) == []


def test_the_kinds_of_what_there_is(given):
    assert list(given.kinds()) == [
        ("v1", "ConfigMap"),
        ("v1", "Namespace"),
        ("apps/v1", "Deployment"),
    ]


def test_labels_of_a_namespace_that_was_given(given):
    name = {"kubernetes.io/metadata.name": "one"}
    assert given.namespace_labels("one") == {"env": "prod", **name}
    assert given.namespace_labels("two") == {}
