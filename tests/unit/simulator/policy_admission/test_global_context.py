"""What is said of GlobalContextEntries before they are stored."""

import pytest

CALL = {"urlPath": "/api/v1/pods"}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"apiCall": {**CALL, "service": {"url": "http://s"}}}, "either have Service or URLPath"),
        ({"apiCall": {**CALL, "data": [{"key": "a", "value": 1}]}}, "have method as POST"),
        ({"apiCall": {**CALL, "refreshInterval": "0s"}}, "greater than 0 seconds"),
        ({"kubernetesResource": {"version": "v1beta1", "resource": "x"}}, "requires a group"),
        (
            {"apiCall": CALL, "projections": [{"name": "e", "jmesPath": "@"}]},
            "a name different from the global context entry name",
        ),
        ({"apiCall": CALL, "projections": [{"name": "p", "jmesPath": "a["}]}, "Invalid value"),
    ],
)
def test_unsound_entry_is_refused(admin, obj, spec, problem):
    entry = obj("GlobalContextEntry", "e", api_version="kyverno.io/v2", spec=spec)
    message = admin.create(entry).error.message
    assert message.startswith('admission webhook "kyverno-svc.kyverno.svc" denied the request: ')
    assert problem in message


def test_sound_entry_is_stored(admin, obj):
    resource = {"version": "v1", "resource": "pods", "namespace": "default"}
    spec = {"kubernetesResource": resource, "projections": [{"name": "p", "jmesPath": "[0]"}]}
    entry = obj("GlobalContextEntry", "e", api_version="kyverno.io/v2", spec=spec)
    assert admin.create(entry).ok
