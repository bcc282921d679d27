"""`imageRegistry` entries: recorded data, values, or an error, since no registry is asked."""

import pytest

from kyvsim.load.values import load_image_data
from kyvsim.model.values import Mocks, Values

DIGEST = f"sha256:{'a1' * 32}"
RECORDED = {
    "x.io/team/a:1.0": {
        "digest": DIGEST,
        "manifest": {"schemaVersion": 2},
        "configData": {"config": {"User": "app"}},
    },
    "x.io/team/b:1.0": {"digest": DIGEST},
    "x.io/team/c:1.0": {"configData": {}},
}


@pytest.fixture
def recorded():
    return Values(mocks=Mocks(images=load_image_data(RECORDED)))


def test_recorded_images_answer(ask, recorded):
    assert ask(recorded, imageRegistry={"reference": "x.io/team/a:1.0"}) == {
        "image": "x.io/team/a:1.0",
        "resolvedImage": f"x.io/team/a@{DIGEST}",
        "registry": "x.io",
        "repository": "team/a",
        "identifier": "1.0",
        "manifest": {"schemaVersion": 2},
        "manifestList": None,
        "configData": {"config": {"User": "app"}},
    }


def test_an_image_answers_under_its_digest_too(ask, recorded):
    found = ask(recorded, imageRegistry={"reference": f"x.io/team/a@{DIGEST}"})
    assert found["identifier"] == DIGEST


def test_a_query_picks_from_the_data(ask, recorded):
    entry = {"reference": "x.io/team/a:1.0", "jmesPath": "configData.config.User"}
    assert ask(recorded, imageRegistry=entry) == "app"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            {"reference": "x.io/team/a:1.0", "jmesPath": "configData.nope"},
            "failed to apply JMESPath (configData.nope) results to context entry got, error: ",
        ),
        (
            {"reference": "x.io/team/a:1.0", "jmesPath": "{{ join('.', ['configData', '[']) }}"},
            "failed to apply JMESPath (configData.[) results to context entry got, error: ",
        ),
        (
            {"reference": "{{ to_upper('x') }}"},
            "failed to fetch image data for context entry got: bad image: ",
        ),
        ({"reference": "x.io/team/b:1.0"}, "failed to fetch image data of x.io/team/b:1.0 for "),
        ({"reference": "{{ request.object.nope }}"}, "failed to load image reference for context"),
    ],
)
def test_what_cannot_be_had_is_told(ask, recorded, entry, reason):
    assert ask(recorded, imageRegistry=entry).startswith(reason)


def test_an_image_that_nobody_recorded_shows_what_to_write(ask):
    assert ask(imageRegistry={"reference": "x.io/a:{{request.namespace}}"}) == (
        "failed to fetch image data of x.io/a:shop for context entry got: kyvsim is offline: "
        'add image metadata under `images:` in the values file: images: {"x.io/a:shop": '
        "{digest: sha256:…, manifest: {}, configData: {}}}"
    )


@pytest.mark.parametrize(
    ("image", "lacking"),
    [
        ("x.io/team/b:1.0", "has no `manifest` and no `configData`"),
        ("x.io/team/c:1.0", "has no `manifest`"),
    ],
)
def test_an_image_of_which_part_is_recorded_shows_what_is_missing(ask, recorded, image, lacking):
    assert ask(recorded, imageRegistry={"reference": image}) == (
        f"failed to fetch image data of {image} for context entry got: kyvsim is offline: "
        f"the entry `{image}` under `images:` in the values file {lacking}"
    )


def test_a_value_for_the_name_stands_in(ask):
    given = Values(global_values={"got": {"tag": "t"}})
    assert ask(given, imageRegistry={"reference": "x.io/a"}) == {"tag": "t"}
