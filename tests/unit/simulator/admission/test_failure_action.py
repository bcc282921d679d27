"""Which override decides whether a failure denies a request."""

import pytest

from kyvsim.simulator.admission.review import enforces

LABELLED = {"matchLabels": {"tier": "prod"}}
BROKEN = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}
FITS = [{}, {"namespaces": ["shop*"]}, {"namespaceSelector": LABELLED}]
FITS_NOT = [
    {"namespaces": ["bank"]},
    {"namespaceSelector": {"matchLabels": {"tier": "test"}}},
    {"namespaces": ["bank"], "namespaceSelector": {"matchLabels": {"tier": "test"}}},
    {"namespaceSelector": BROKEN},
]


@pytest.fixture
def enforced(policy):
    def enforced(override, labels=None, **namespace):
        deny = {"validate": {"deny": {}, "failureAction": "Audit"}}
        overrides = [{**override, "action": "Enforce"}]
        written = policy(deny, validationFailureActionOverrides=overrides)
        meta = {"name": "shop-eu", "labels": labels or {"tier": "prod"}}
        found = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
        return enforces(written, written.rules[0], namespace.get("place", found))

    return enforced


@pytest.mark.parametrize(
    "override", [*FITS, {"namespaces": ["bank"], "namespaceSelector": LABELLED}]
)
def test_a_namespace_fits_by_its_name_or_by_its_labels(enforced, override):
    assert enforced(override)


@pytest.mark.parametrize("override", FITS_NOT)
def test_a_namespace_that_fits_neither_way_leaves_the_rule_its_own_action(enforced, override):
    assert not enforced(override)


@pytest.mark.parametrize(("override", "fits"), [({}, True), *((one, False) for one in FITS[1:])])
def test_outside_of_namespaces_only_an_override_of_all_fits(enforced, override, fits):
    assert enforced(override, place=None) is fits


def test_names_alone_ask_for_no_labels(enforced):
    # A selector that is not there selects nothing, however the namespace is labelled.
    assert not enforced({"namespaces": ["bank"]}, labels={"any": "label"})
