import pytest

from kyvsim.load.shape import has_known_shape, shape_diagnostics
from kyvsim.model.source import Document, Location

NEW = "policies.kyverno.io/v1"
GLOBAL = "kyverno.io/v2/GlobalContextEntry"
VALIDATING = f"{NEW}/ValidatingPolicy"
GENERATING = f"{NEW}/GeneratingPolicy"


def document(spec, api_version="kyverno.io/v1", kind="ClusterPolicy"):
    data = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "p"}, "spec": spec}
    return Document(data, "p.yaml", 0, lambda path: Location("/".join(map(str, path))))


def said(*arguments):
    found = shape_diagnostics(document(*arguments))
    return [(one.code, one.location.file) for one in found]


def test_a_place_is_told_once():
    rule = {"name": "r", "matsch": {}, "validate": {"message": 1}}
    assert said({"rules": [rule]}) == [
        ("KV012", "spec/rules/0/matsch"),
        ("KV013", "spec/rules/0/validate/message"),
        ("KV015", "spec/rules/0"),
    ]


def test_a_number_that_is_too_large():
    assert said({"webhookTimeoutSeconds": 1 << 40, "rules": []}) == [
        ("KV016", "spec/webhookTimeoutSeconds")
    ]


def test_kinds_that_apply_does_not_evaluate():
    spec = {"generate": [{"expression": "a", "template": {}}]}
    assert ("KV017", "spec/generate/0") in said(spec, "policies.kyverno.io/v1", "GeneratingPolicy")


def told(name, spec, **metadata):
    api_version, _, kind = name.rpartition("/")
    one = document(spec, api_version, kind)
    one.data["metadata"].update(metadata)
    return [(one.code, one.location.file, one.message) for one in shape_diagnostics(one)]


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
        "`spec.webhookConfiguration.timeoutSeconds`: `2147483648` is not a valid int32",
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
        "`spec.apiCall.refreshInterval`: `soon` is not a valid duration",
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
        "`spec.expiresAt`: `2026-13-01T00:00:00Z` is not a valid date-time",
    ),
]


@pytest.mark.parametrize(("name", "data"), FITS)
def test_what_fits(name, data):
    assert told(name, data) == []


@pytest.mark.parametrize(("name", "data", "code", "path", "message"), BROKEN)
def test_what_does_not_fit(name, data, code, path, message):
    assert told(name, data) == [(code, "/".join(map(str, path)), message)]


def test_metadata_is_looked_at():
    assert told(VALIDATING, spec(), labels={"bad key!": "x"}) == [
        (
            "KV016",
            "metadata/labels/bad key!",
            "`bad key!` is not a valid key in `metadata.labels`",
        )
    ]


def test_a_mapping_can_exclude_fields_from_each_other():
    match = {"any": [{"resources": {"kinds": ["Pod"], "name": "a", "names": ["b"]}}]}
    (problem,) = told("kyverno.io/v1/ClusterPolicy", {"rules": [{"name": "r", "match": match}]})
    assert problem[0] == "KV017"
    assert problem[2].endswith("resources` must not have both `name` and `names`")


def test_a_value_of_a_wrong_type_is_told_once():
    assert [one[0] for one in told(VALIDATING, spec(failurePolicy=5))] == ["KV013"]


def test_a_null_in_a_list_is_no_item():
    assert [one[0] for one in told(GENERATING, {"generate": [None]})] == ["KV013"]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        (VALIDATING, True),
        ("kyverno.io/v1/Policy", True),
        ("kyverno.io/v2/CleanupPolicy", True),
        ("kyverno.io/v2/ClusterPolicy", False),
        ("kyverno.io/v1beta1/UpdateRequest", False),
        ("reports.kyverno.io/v1/EphemeralReport", False),
        ("v1/Pod", False),
    ],
)
def test_kinds_that_are_described(name, known):
    api_version, _, kind = name.rpartition("/")
    assert has_known_shape(document({}, api_version, kind)) is known
    assert not has_known_shape(document({})._replace(data=[]))
