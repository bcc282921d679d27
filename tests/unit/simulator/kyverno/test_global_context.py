"""What a rule hears of GlobalContextEntries that have nothing to give."""

import pytest

CALLED = {"apiCall": {"urlPath": "/api/v1/namespaces/default/configmaps/gone"}}
UNSERVED = {"kubernetesResource": {"group": "acme.io", "version": "v1", "resource": "gizmos"}}
FAILED = "failed to marshal APICall data for context entry kept: "


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (UNSERVED, f"{FAILED}failed to fetch entry key=kept"),
        (CALLED, f"{FAILED}failed to GET resource with raw url: {CALLED['apiCall']['urlPath']}: "),
    ],
)
def test_an_entry_that_failed_is_an_error_of_the_rule(
    put, admin, obj, pod, cluster_policy, spec, told
):
    put(obj("GlobalContextEntry", "kept", api_version="kyverno.io/v2", spec=spec))
    condition = {"key": "{{ kept }}", "operator": "Equals", "value": "x"}
    rule = {
        "context": [{"name": "kept", "globalReference": {"name": "kept"}}],
        "validate": {
            "message": "no",
            "failureAction": "Enforce",
            "deny": {"conditions": {"any": [condition]}},
        },
    }
    put(cluster_policy("p", rule))
    error = admin.create(pod("a")).error.message
    assert told.replace(" ", "") in "".join(error.split())
