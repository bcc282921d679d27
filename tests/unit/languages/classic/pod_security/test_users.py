"""Users that containers run as."""

import pytest

ROOT, NON_ROOT = "runAsUser", "runAsNonRoot"


def pod(own, *of_containers):
    return {
        "securityContext": own,
        "containers": [{"securityContext": one} for one in of_containers],
    }


def at(number, field):
    return f"containers[{number}].securityContext.{field}"


CASES = [
    (NON_ROOT, pod({NON_ROOT: True}, None, {}), None),
    (NON_ROOT, pod(None, {NON_ROOT: True}), None),
    (NON_ROOT, pod(None, None), [(at(0, NON_ROOT), "required")]),
    (NON_ROOT, pod({NON_ROOT: True}, {NON_ROOT: False}), [(at(0, NON_ROOT), False)]),
    (
        NON_ROOT,
        pod({NON_ROOT: False}, None, {NON_ROOT: False}),
        [
            ("securityContext.runAsNonRoot", False),
            (at(1, NON_ROOT), False),
            (at(0, NON_ROOT), "required"),
        ],
    ),
    (ROOT, pod({ROOT: 1000}, {ROOT: 1}, None), None),
    (ROOT, pod({ROOT: 0}, {ROOT: 0}), [("securityContext.runAsUser", 0), (at(0, ROOT), 0)]),
]


@pytest.mark.parametrize(("control", "spec", "wanted"), CASES)
def test_users(found, control, spec, wanted):
    assert found(control, spec) == wanted
