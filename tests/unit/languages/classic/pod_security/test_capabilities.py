"""Capabilities that containers add and drop."""

import pytest

ADD, DROP = (f"containers[0].securityContext.capabilities.{action}" for action in ("add", "drop"))
BASELINE, RESTRICTED = "capabilities_baseline", "capabilities_restricted"


def one(capabilities):
    return {"containers": [{"name": "a", "securityContext": {"capabilities": capabilities}}]}


CASES = [
    (BASELINE, {}, None),
    (BASELINE, {"add": ["KILL", "CHOWN"]}, None),
    (
        BASELINE,
        {"add": ["SYS_TIME", "KILL", "NET_RAW", "NET_RAW"]},
        [(ADD, ("NET_RAW", "SYS_TIME"))],
    ),
    (BASELINE, {"add": ["kill"]}, [(ADD, ("kill",))]),
    (RESTRICTED, {"drop": ["ALL"]}, None),
    (RESTRICTED, {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}, None),
    (RESTRICTED, {"drop": ["ALL"], "add": ["KILL"]}, [(ADD, ("KILL",))]),
    (RESTRICTED, {"drop": ["all"]}, [(DROP, ("all",))]),
    (RESTRICTED, {"drop": []}, [(DROP, "required")]),
    (RESTRICTED, {"drop": ["B", "A"], "add": ["KILL"]}, [(DROP, ("A", "B")), (ADD, ("KILL",))]),
    (RESTRICTED, None, [(DROP, "required")]),
]


@pytest.mark.parametrize(("control", "capabilities", "wanted"), CASES)
def test_capabilities(found, control, capabilities, wanted):
    assert found(control, one(capabilities)) == wanted


def test_missing_drops_are_told_before_additions(found):
    adding = {"securityContext": {"capabilities": {"add": ["A"], "drop": ["ALL"]}}}
    fields = [field for field, _ in found(RESTRICTED, {"containers": [adding, {"name": "b"}]})]
    assert fields == [DROP.replace("0", "1"), ADD]


def test_restricted_holds_before_its_first_version(found):
    assert found(RESTRICTED, one(None), version="v1.19") == [(DROP, "required")]
