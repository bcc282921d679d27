import pytest

from kyvsim.engine.context.images import ImageError, pod_images
from kyvsim.model.release import NEWEST, V_1_19_0, V_1_19_1

A = {"name": "a", "image": "nginx:1"}
SPEC = {"containers": [A]}


def test_an_image_is_taken_apart(pod):
    image = "ghcr.io/team/app:1@sha256:" + "0" * 64
    found = pod_images(pod(containers=[{"name": "a", "image": image}]), NEWEST)
    assert found == {
        "containers": {
            "a": {
                "registry": "ghcr.io",
                "path": "team/app",
                "name": "app",
                "tag": "1",
                "digest": "sha256:" + "0" * 64,
                "reference": "ghcr.io/team/app@sha256:" + "0" * 64,
                "referenceWithTag": "ghcr.io/team/app:1",
                "jsonPointer": "/spec/containers/0/image",
            }
        }
    }


def test_groups_of_containers_are_told_apart_and_empty_ones_left_out(pod):
    one = [{"name": "a", "image": "nginx"}]
    found = pod_images(pod(containers=one, initContainers=one, ephemeralContainers=[]), NEWEST)
    assert list(found) == ["initContainers", "containers"]
    assert found["initContainers"]["a"]["jsonPointer"] == "/spec/initContainers/0/image"


@pytest.mark.parametrize(
    ("kind", "spec", "pointer"),
    [
        ("Pod", SPEC, "/spec/containers/0/image"),
        ("Deployment", {"template": {"spec": SPEC}}, "/spec/template/spec/containers/0/image"),
        ("Job", {"template": {"spec": SPEC}}, "/spec/template/spec/containers/0/image"),
        (
            "CronJob",
            {"jobTemplate": {"spec": {"template": {"spec": SPEC}}}},
            "/spec/jobTemplate/spec/template/spec/containers/0/image",
        ),
    ],
)
def test_every_pod_controller_keeps_containers_in_its_template(thing, kind, spec, pointer):
    found = pod_images(thing(kind, spec=spec), NEWEST)
    assert found["containers"]["a"]["jsonPointer"] == pointer


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Service", SPEC),
        ("Pod", {}),
        ("Pod", None),
        ("Pod", {"containers": None}),
        ("Pod", {"containers": []}),
        ("Pod", {"containers": [None, {"name": "a"}, {"name": "b", "image": " "}]}),
        ("Deployment", SPEC),
    ],
)
def test_without_images_there_is_nothing(thing, kind, spec):
    assert pod_images(thing(kind, spec=spec), NEWEST) == {}


BY_RELEASE = [
    ("text", "/spec: invalid image config", "/spec: invalid image config"),
    ({"containers": "text"}, "/spec/containers: invalid type", "/spec/containers: invalid image"),
    ({"containers": [{"image": "nginx"}]}, "/spec/containers/0: invalid key", None),
    ({"containers": [{"name": 5}]}, "/spec/containers/0: invalid key", None),
    ({"containers": [A, {"name": "b", "image": "NGINX"}]}, "/1: invalid image 'NGINX'", None),
    ({"containers": ["text", A, 5]}, "/spec/containers/0: invalid image config", ["a"]),
    ({"containers": {"x": "text", "y": A}}, "/spec/containers/x: invalid image config", ["a"]),
    ({"containers": [["name"]]}, "/spec/containers/0: invalid image config", []),
    ({"containers": [[A]]}, "/spec/containers/0: invalid image config", ["a"]),
    ({"containers": {"x": [A]}}, "/containers/x: invalid image config", "/x: invalid image config"),
]
"""A spec, and the error or the names of the images in 1.19.0 and 1.19.1; None for the same."""


@pytest.mark.parametrize(("spec", "old", "new"), BY_RELEASE)
def test_a_release_decides_whether_containers_that_are_no_maps_are_errors(thing, spec, old, new):
    for release, expected in ((V_1_19_0, old), (V_1_19_1, old if new is None else new)):
        try:
            images = pod_images(thing("Pod", spec=spec), release)
            found = [*images.get("containers", {})]
        except ImageError as error:
            found = f"{error.place}: {error.message}"
        assert found == expected if isinstance(expected, list) else expected in found
