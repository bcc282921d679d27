import pytest

from kyvsim.load.crd import crd_problems, has_crd

NEW = "policies.kyverno.io/v1"
GLOBAL = "kyverno.io/v2/GlobalContextEntry"
VALIDATING = f"{NEW}/ValidatingPolicy"
GENERATING = f"{NEW}/GeneratingPolicy"


def said(name, spec, **fields):
    api_version, _, kind = name.rpartition("/")
    data = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "p"}, "spec": spec}
    return [tuple(problem) for problem in crd_problems(name, {**data, **fields})]


def spec(**fields):
    return {"validations": [{"expression": "true"}], **fields}


FITS = [
    (VALIDATING, spec()),
    (VALIDATING, spec(failurePolicy=None)),
    (VALIDATING, spec(variables=[{"name": n, "expression": "1"} for n in "ab"])),
    (VALIDATING, spec(webhookConfiguration={"timeoutSeconds": (1 << 31) - 1})),
    (GENERATING, {"generate": [{"expression": "x"}]}),
    (GLOBAL, {"apiCall": {"urlPath": "/x", "refreshInterval": "1h30m"}}),
    (GLOBAL, {"apiCall": {"urlPath": "/x", "refreshInterval": "2 days"}}),
]
BROKEN = [
    (VALIDATING, [], "KV013", ("spec",), "`spec` must be a mapping, not a list"),
    (
        VALIDATING,
        spec(failurePolice="Fail"),
        "KV012",
        ("spec", "failurePolice"),
        "unknown field `spec.failurePolice`: did you mean `failurePolicy`?",
    ),
    (
        VALIDATING,
        spec(failurePolicy="No"),
        "KV014",
        ("spec", "failurePolicy"),
        "`spec.failurePolicy` must be one of `Ignore`, `Fail`, not `No`",
    ),
    (
        VALIDATING,
        spec(validations=[{"message": "x", "expression": None}]),
        "KV015",
        ("spec", "validations", 0),
        "`spec.validations[0].expression` is required",
    ),
    (
        VALIDATING,
        spec(variables=[{"name": "a", "expression": e} for e in "12"]),
        "KV016",
        ("spec", "variables", 1),
        "`spec.variables[1]` repeats `a`",
    ),
    (
        VALIDATING,
        spec(webhookConfiguration={"timeoutSeconds": 1 << 31}),
        "KV016",
        ("spec", "webhookConfiguration", "timeoutSeconds"),
        "`spec.webhookConfiguration.timeoutSeconds`: `2147483648` is no int32",
    ),
    (
        GENERATING,
        {"generate": []},
        "KV016",
        ("spec", "generate"),
        "`spec.generate` must have at least 1 item, not 0",
    ),
    (
        GENERATING,
        {"generate": [{}]},
        "KV017",
        ("spec", "generate", 0),
        "`spec.generate[0]` must have exactly one of `expression`, `template`",
    ),
    (
        GLOBAL,
        {"apiCall": {"refreshInterval": "soon"}},
        "KV016",
        ("spec", "apiCall", "refreshInterval"),
        "`spec.apiCall.refreshInterval`: `soon` is no duration",
    ),
    (
        GLOBAL,
        {"apiCall": {"retryLimit": 0}},
        "KV016",
        ("spec", "apiCall", "retryLimit"),
        "`spec.apiCall.retryLimit` must be at least 1",
    ),
    (
        f"{NEW}/PolicyException",
        {"policyRefs": [], "expiresAt": "2026-13-01T00:00:00Z"},
        "KV016",
        ("spec", "expiresAt"),
        "`spec.expiresAt`: `2026-13-01T00:00:00Z` is no date-time",
    ),
]


@pytest.mark.parametrize(("name", "data"), FITS)
def test_what_fits(name, data):
    assert said(name, data) == []


@pytest.mark.parametrize(("name", "data", "code", "path", "message"), BROKEN)
def test_what_does_not_fit(name, data, code, path, message):
    assert said(name, data) == [(code, path, message)]


def test_metadata_is_looked_at():
    labels = {"bad key!": "x"}
    ((code, path, message),) = said(VALIDATING, spec(), metadata={"name": "p", "labels": labels})
    assert (code, path) == ("KV016", ("metadata", "labels", "bad key!"))
    assert message == "`bad key!` is no valid key in `metadata.labels`"


def test_a_mapping_can_exclude_fields_from_each_other():
    match = {"any": [{"resources": {"kinds": ["Pod"], "name": "a", "names": ["b"]}}]}
    (problem,) = said("kyverno.io/v1/ClusterPolicy", {"rules": [{"name": "r", "match": match}]})
    assert problem[0] == "KV017"
    assert problem[2].endswith("resources` must not have both `name` and `names`")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        (VALIDATING, True),
        ("kyverno.io/v1/Policy", True),
        ("kyverno.io/v2/CleanupPolicy", True),
        ("kyverno.io/v1beta1/UpdateRequest", False),
        ("v1/Pod", False),
    ],
)
def test_kinds_with_a_crd(name, known):
    assert has_crd(name) is known
