from datetime import UTC, datetime

import pytest

from kyvsim.load.policy import is_exception, load_exceptions
from kyvsim.model.source import Document, Location


def exception(**changes):
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "e", "namespace": "ns"},
        "spec": {
            "exceptions": [{"policyName": "p", "ruleNames": ["r", "autogen-*"]}],
            "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
            "conditions": {"all": [{"key": "a", "operator": "Equals", "value": "b"}]},
            "podSecurity": [{"controlName": "Sysctls"}],
        },
        **changes,
    }


def load(*data):
    where = Location("e.yaml", 1, 1)
    return load_exceptions([Document(entry, "e.yaml", 0, lambda _: where) for entry in data])


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_an_exception(version):
    exceptions, remarks = load(exception(apiVersion=f"kyverno.io/{version}"), None)
    (found,) = exceptions.rules
    assert remarks == ()
    assert found.key == "ns/e"
    assert found.exceptions == (("p", ("r", "autogen-*")),)
    assert found.match == exception()["spec"]["match"]
    assert found.conditions["all"][0]["operator"] == "Equals"
    assert found.pod_security[0]["controlName"] == "Sysctls"


@pytest.mark.parametrize(
    ("data", "code", "part"),
    [
        (exception(spec={}), "KV015", "`spec.exceptions` is required"),
        (exception(kind="PolicyExcepton"), "KV011", "did you mean"),
        ({"apiVersion": "v1", "kind": "Pod"}, "KV011", "policy exception type not supported"),
        (
            {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy"},
            "KV011",
            "kyverno.io/v1/ClusterPolicy: policies are arguments, exceptions follow --exception",
        ),
    ],
)
def test_what_is_no_exception_is_an_error_and_stops_nothing(data, code, part):
    found, remarks = load(data, exception())
    assert found.total == 1
    assert any(remark.code == code and part in remark.message for remark in remarks)


FOR_POLICIES = {
    "policyRefs": [{"name": "p", "kind": "ValidatingPolicy"}],
    "matchConditions": [{"name": "a", "expression": "true"}],
    "images": ["nginx"],
    "allowedValues": ["x"],
    "reportResult": "pass",
    "expiresAt": "2026-02-03T04:05:06+01:00",
}


def for_policies(version="v1", labels=None, **spec):
    metadata = {"name": "e", "labels": labels or {}}
    api_version = f"policies.kyverno.io/{version}"
    return exception(apiVersion=api_version, metadata=metadata, spec={**FOR_POLICIES, **spec})


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_an_exception_for_policies_in_cel(version):
    exceptions, remarks = load(for_policies(version, {"polex.kyverno.io/priority": "3"}))
    assert remarks == ()
    (found,) = exceptions.policies
    assert found.key == "e"
    assert found.policies == (("ValidatingPolicy", "p"),)
    assert [one["expression"] for one in found.conditions] == ["true"]
    assert (found.images, found.values) == (("nginx",), ("x",))
    assert (found.passes, found.priority) == (True, 3)
    assert found.expires == datetime(2026, 2, 3, 3, 5, 6, tzinfo=UTC)


def test_an_exception_without_images_and_values_is_full():
    part, full = load(for_policies(), for_policies(images=[], allowedValues=[]))[0].policies
    assert not part.is_full
    assert full.is_full


@pytest.mark.parametrize("priority", ["0x3", "high", ""])
def test_only_numbers_above_zero_are_priorities(priority):
    exceptions, _ = load(for_policies(labels={"polex.kyverno.io/priority": priority}))
    assert exceptions.policies[0].priority == 0


@pytest.mark.parametrize("time", ["yesterday", "", "2999-01-31", "2026-13-01T00:00:00Z"])
def test_a_time_that_cannot_be_read_is_an_error(time):
    found, remarks = load(for_policies(expiresAt=time))
    assert found.total == 0
    assert [one.code for one in remarks] == ["KV016"]


@pytest.mark.parametrize(
    ("time", "year"), [("0000-01-01T00:00:00Z", 1), ("9999-12-31T23:59:59-12:00", 9999)]
)
def test_a_time_beyond_all_calendars(time, year):
    assert load(for_policies(expiresAt=time))[0].policies[0].expires.year == year


def test_is_exception():
    assert is_exception(exception())
    assert is_exception(for_policies())
    assert not is_exception({"kind": "PolicyException"})
    assert not is_exception(None)
