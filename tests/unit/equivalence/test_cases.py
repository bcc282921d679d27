"""What cases are made of: spaces, requests to subresources."""

from datetime import UTC, datetime

import pytest

from kyvsim.equivalence.cases import parts_meant, smallest_requests, space_of, with_option_types
from kyvsim.equivalence.field_rules import is_accepted
from kyvsim.equivalence.objects import KindName
from kyvsim.model.field_reference import FieldReference, Segment, Subject
from kyvsim.model.request import Operation
from kyvsim.schema.merge_types import find_type

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def kinds(*written):
    return space_of([FieldReference(Subject.KIND, (), written)], {}, NOW).kinds


def test_a_kind_is_found_in_its_version():
    assert kinds("*/*/Deployment") == (KindName("apps", "v1", "Deployment"),)


def test_pods_bring_their_controllers():
    found = {one.kind for one in kinds("*/*/Pod")}
    assert found >= {"Pod", "Deployment", "CronJob", "ReplicationController"}


def test_a_guessed_kind_is_spelled_as_it_is_elsewhere():
    found = kinds("*/*/PodSecurityPolicy", "policy/v1beta1/Podsecuritypolicy")
    assert {one.kind for one in found} == {"PodSecurityPolicy"}


def test_subresources_are_tried_as_far_as_it_is_known_what_is_sent_to_them():
    written = ("*/v1/Pod/exec", "*/v1/Pod/log", "apps/v1/Deployment/scale", "*/*/*/*")
    space = space_of([FieldReference(Subject.KIND, (), written)], {}, NOW)
    assert KindName("", "v1", "Pod") not in space.kinds
    assert space.subresources == ("*/v1/Pod/log",)
    found = {(one.kind.kind, one.name) for one in space.parts}
    assert {("Pod", "exec"), ("Pod", "eviction"), ("Deployment", "scale")} <= found


def test_users_are_those_that_are_named():
    mention = FieldReference(Subject.REQUEST, ("userInfo", "groups"), ("admins",))
    assert ("system:authenticated", "admins") in [
        one.groups for one in space_of([mention], {}, NOW).users
    ]


def test_labels_of_namespaces_come_one_by_one_and_together():
    mentions = [
        FieldReference(Subject.NAMESPACE, ("metadata", "labels", name), (value,))
        for name, value in (("a", "1"), ("b", "2"))
    ]
    found = space_of(mentions, {}, NOW).namespace_labels
    assert {"a": "1"} in found
    assert {"a": "1", "b": "2"} in found


def test_kinds_are_in_no_group_but_their_own():
    assert kinds("apps/v1/Pod") == ()
    assert kinds("example.com/v1/Thing") == (KindName("example.com", "v1", "Thing"),)
    assert kinds("example.com/v1/Role") == (KindName("example.com", "v1", "Role"),)
    assert [one.group for one in kinds("*/*/Role")] == ["rbac.authorization.k8s.io"]


def test_an_object_stays_of_its_kind():
    told = [
        FieldReference(Subject.OBJECT, path, ("CronJob",)) for path in (("kind",), ("spec", "kind"))
    ]
    assert list(space_of(told, {}, NOW).places) == [("spec", "kind")]


def test_who_sends_a_request_has_a_name():
    mention = FieldReference(Subject.REQUEST, ("userInfo", "username"), ("*", "jane"))
    names = [one.username for one in space_of([mention], {}, NOW).users]
    assert "jane" in names
    assert "" not in names


def test_times_lie_as_far_from_now_as_durations_that_are_written():
    path = ("metadata", "creationTimestamp")
    found = space_of([FieldReference(Subject.OBJECT, path, ("24h", "x"))], {}, NOW).places[path]
    assert found == (
        *("24h", "x"),
        *("2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
    )


@pytest.mark.parametrize("source", ["imageRegistry", "image"])
def test_images_are_of_the_registries_that_are_compared_with_those_of_images(source):
    image = ("spec", "containers", Segment.ELEMENT, "image")
    mentions = [
        FieldReference(Subject.OBJECT, image, ("b",)),
        FieldReference(Subject.OBJECT, ("spec", "nodeName"), ("b",)),
        FieldReference(Subject.WORLD, (source, "registry"), ("ghcr.io",)),
        FieldReference(Subject.WORLD, ("configMap", "registry"), ("c",)),
    ]
    places = space_of(mentions, {}, NOW).places
    assert places == {image: ("b", "ghcr.io/a"), ("spec", "nodeName"): ("b",)}


def test_durations_of_other_places_make_no_times():
    path = ("spec", "period")
    mentioned = [FieldReference(Subject.OBJECT, path, ("24h",))]
    assert space_of(mentioned, {}, NOW).places[path] == ("24h",)


# What is sent to subresources: each request is one that an API server hands to policies.


@pytest.mark.parametrize(
    ("written", "operation", "kind"),
    [
        ("*/*/Pod/exec", Operation.CONNECT, "PodExecOptions"),
        ("*/*/Pod/attach", Operation.CONNECT, "PodAttachOptions"),
        ("*/*/Pod/portforward", Operation.CONNECT, "PodPortForwardOptions"),
        ("*/*/Node/proxy", Operation.CONNECT, "NodeProxyOptions"),
        ("*/*/Pod/eviction", Operation.CREATE, "Eviction"),
        ("*/*/Pod/binding", Operation.CREATE, "Binding"),
        ("*/*/ServiceAccount/token", Operation.CREATE, "TokenRequest"),
        ("apps/*/Deployment/scale", Operation.UPDATE, "Scale"),
        ("*/*/Pod/ephemeralcontainers", Operation.UPDATE, "Pod"),
        ("*/*/Node/status", Operation.UPDATE, "Node"),
    ],
)
def test_what_is_sent_is_taken_by_an_api_server(written, operation, kind):
    (part,) = parts_meant(written, {})
    cases = list(smallest_requests(part, {}))
    assert [(one.operation, one.object["kind"]) for one in cases] == [(operation, kind)]
    find = with_option_types(find_type)
    assert all(is_accepted(one.object, find) for one in cases)
    assert all(one.part == written.rpartition("/")[2] for one in cases)


def test_what_nobody_sends_is_none():
    assert list(parts_meant("*/v1/Pod/log", {})) == []
    assert list(parts_meant("*/v1/Pod", {})) == []


def test_wildcards_stand_for_what_people_connect_to():
    found = list(parts_meant("*/*/*/*", {}))
    assert (KindName("", "v1", "Pod"), "exec") in found
