import pytest

from kyvsim.engine.context import SKIPPED
from kyvsim.engine.context.json_context import load_images
from kyvsim.jmespath import QueryError

SPEC = {"containers": [{"name": "a", "image": "nginx:1"}]}


def test_an_image_is_taken_apart(pod):
    image = "ghcr.io/team/app:1@sha256:" + "0" * 64
    found = load_images(pod(containers=[{"name": "a", "image": image}]))
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
    found = load_images(pod(containers=one, initContainers=one, ephemeralContainers=[]))
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
    found = load_images(thing(kind, spec=spec))
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
    assert load_images(thing(kind, spec=spec)) is SKIPPED


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("text", "invalid image config"),
        ({"containers": "text"}, "invalid type"),
        ({"containers": [{"image": "nginx"}]}, "invalid key"),
        ({"containers": [{"name": 5}]}, "invalid key"),
        ({"containers": [["name"]]}, "invalid image config"),
        ({"containers": [{"name": "a", "image": "NGINX"}]}, "invalid image 'NGINX'"),
    ],
)
def test_what_cannot_be_read_is_told(thing, spec, message):
    with pytest.raises(QueryError, match=message):
        load_images(thing("Pod", spec=spec))
