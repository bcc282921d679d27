import pytest

from kyvsim.load.exceptions import is_exception, load_exceptions
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
    (found,), remarks = load(exception(apiVersion=f"kyverno.io/{version}"), None)
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
        (exception(apiVersion="policies.kyverno.io/v1"), "KV018", "does not evaluate"),
        (exception(kind="PolicyExcepton"), "KV011", "did you mean"),
        ({"apiVersion": "v1", "kind": "Pod"}, "KV011", "policy exception type not supported"),
    ],
)
def test_what_is_no_exception_is_an_error_and_stops_nothing(data, code, part):
    found, remarks = load(data, exception())
    assert len(found) == 1
    assert any(remark.code == code and part in remark.message for remark in remarks)


def test_is_exception():
    assert is_exception(exception())
    assert not is_exception({"kind": "PolicyException"})
    assert not is_exception(None)
