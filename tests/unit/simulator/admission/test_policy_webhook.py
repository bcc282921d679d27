"""The webhooks for Kyverno's own kinds."""

import pytest

from kyvsim.simulator.api_server.server import ADMIN

# Exceptions and cleanup policies, as a cluster judges them.

PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}
CRON = "schedule spec in the cleanupPolicy is not in proper cron format"
RULES = [{"policyName": "p", "ruleNames": ["r"]}]


@pytest.fixture
def exception(obj):
    return lambda **spec: obj(
        "PolicyException",
        "e",
        "default",
        "kyverno.io/v2",
        spec={"exceptions": RULES, "match": PODS, **spec},
    )


@pytest.fixture
def cleanup(obj):
    return lambda **spec: obj(
        "ClusterCleanupPolicy",
        "c",
        api_version="kyverno.io/v2",
        spec={"match": PODS, "schedule": "* * * * *", **spec},
    )


def ending(response):
    return response.error.message.partition(" denied the request: ")[2] if response.error else ""


def test_exceptions_that_scans_cannot_judge_are_refused(admin, exception):
    match = {"any": [{**PODS["any"][0], "clusterRoles": ["admin"]}]}
    assert ending(admin.create(exception(match=match))) == (
        "spec.match.any[0].clusterRoles: Forbidden: Usage of user info is forbidden"
    )
    assert admin.create(exception(match=match, background=False)).ok


def test_faults_of_exceptions_are_told_together(admin, exception):
    control = {"controlName": "Capabilities"}
    why = "exclude.images must be specified for the container level control"
    assert ending(admin.create(exception(podSecurity=[control, control]))) == (
        f'[spec.podSecurity[0].controlName: Invalid value: "Capabilities": {why}, '
        f'spec.podSecurity[1].controlName: Invalid value: "Capabilities": {why}]'
    )


@pytest.mark.parametrize("exceptions", [True, False])
def test_exceptions_are_warned_of_where_nobody_looks_at_them(make_cluster, exception, exceptions):
    admin = make_cluster(exceptions=exceptions).sim.client(ADMIN)
    warnings = admin.create(exception()).warnings
    assert any("would not be processed" in one for one in warnings) is not exceptions


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, ""),
        (
            {"match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}},
            "cleanup controller has no permission to delete kind ConfigMap",
        ),
        (
            {"schedule": "often"},
            f'spec.schedule: Invalid value: "often": {CRON}',
        ),
    ],
)
def test_cleanup_policies(admin, cleanup, spec, told):
    assert ending(admin.create(cleanup(**spec))) == told


# What is said of GlobalContextEntries before they are stored.

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
