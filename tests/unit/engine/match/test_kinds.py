import pytest
from match_blocks import block as read

from kyvsim.engine.match import compile_kinds, kinds_of_block


@pytest.mark.parametrize(
    ("selector", "matched"),
    [
        ("Pod", True),
        ("pod", False),
        ("P*", True),
        ("P?d", True),
        ("*", True),
        ("v1/Pod", True),
        ("v2/Pod", False),
        ("*/Pod", True),
        ("*/*", True),
        ("Pod/*", True),
        ("*/*/Pod", False),
        ("core/v1/Pod", False),
        ("apps/v1/Pod", False),
        ("Pod/exec", False),
        ("Pod.exec", False),
        ("", False),
    ],
)
def test_a_selector_and_a_plain_pod(facts, selector, matched):
    assert compile_kinds([selector])(facts()) is matched


@pytest.mark.parametrize(
    ("selector", "matched"),
    [
        ("Deployment", True),
        ("apps/v1/Deployment", True),
        ("apps/*/Deployment", True),
        ("a*/v1/Deploy*", True),
        ("*/Deployment", True),
        ("v1/Deployment", True),
        ("batch/v1/Deployment", False),
        ("apps/v1beta1/Deployment", False),
    ],
)
def test_a_selector_and_a_deployment(facts, selector, matched):
    assert compile_kinds([selector])(facts("Deployment", api_version="apps/v1")) is matched


@pytest.mark.parametrize(
    ("selector", "subresource", "matched"),
    [
        ("Pod", "exec", False),
        ("Pod/exec", "exec", True),
        ("Pod.exec", "exec", True),
        ("v1/Pod/exec", "exec", True),
        ("Pod/*", "exec", True),
        ("*/exec", "exec", True),
        ("*", "exec", False),
        ("*/*", "exec", True),
        ("Pod", "ephemeralcontainers", True),
        ("Service", "ephemeralcontainers", False),
    ],
)
def test_a_selector_and_a_subresource(facts, selector, subresource, matched):
    assert compile_kinds([selector])(facts(subresource=subresource)) is matched


def test_one_of_several_selectors_is_enough(facts):
    several = compile_kinds(["Service", "Pod"])
    assert several(facts())
    assert several(facts("Service"))
    assert not several(facts("Secret"))


def test_a_mapped_subresource_is_seen_as_its_parent(facts):
    scale = facts(
        "Scale",
        api_version="autoscaling/v1",
        subresource="scale",
        parent_kind=("apps", "v1", "Deployment"),
    )
    assert compile_kinds(["apps/v1/Deployment/scale"])(scale)
    assert not compile_kinds(["Scale"])(scale)


@pytest.mark.parametrize(
    ("block", "kinds"),
    [
        ({"resources": {"kinds": ["Pod", "apps/v1/Deployment"]}}, {"Pod", "Deployment"}),
        (
            {"any": [{"resources": {"kinds": ["Pod"]}}, {"resources": {"kinds": ["Job"]}}]},
            {"Pod", "Job"},
        ),
        ({"all": [{"resources": {"kinds": ["Pod/exec"]}}]}, {"Pod"}),
        ({"any": [{"resources": {"kinds": ["Pod"]}}, {"resources": {"names": ["a"]}}]}, None),
        ({"any": [{"resources": {"kinds": ["P*"]}}]}, None),
        ({"any": [{"roles": ["a"]}]}, None),
        ({}, None),
    ],
)
def test_the_kinds_that_a_block_can_match_at_all(block, kinds):
    assert kinds_of_block(read(block)) == kinds
