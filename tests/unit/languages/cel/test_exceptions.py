"""PolicyExceptions of `policies.kyverno.io`, as `apply` takes them."""

from datetime import UTC, datetime

import pytest

from kyvsim.api import ApplyInputs, open_application

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: web, image: nginx}]}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{name: web, image: nginx}]}}}
"""
POLICY = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  variables: [{name: one, expression: "1"}]
  validations:
  - expression: object.spec.containers.all(c, c.image in exceptions.allowedImages)
    message: bad image
"""
FAILED = ("", "fail", "bad image")
SKIPPED = ("exception", "skip", "rule is skipped due to policy exception: e")
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def exception(spec="", name="e", kind="ValidatingPolicy", labels="", policy="p"):
    return (
        "apiVersion: policies.kyverno.io/v1beta1\nkind: PolicyException\n"
        f"metadata: {{name: {name}, labels: {{{labels}}}}}\n"
        f"spec:\n  policyRefs: [{{name: {policy}, kind: {kind}}}]\n  {spec}\n"
    )


def condition(text):
    return f"matchConditions: [{{name: c, expression: {text!r}}}]"


@pytest.fixture
def run(tmp_path):
    """Return what gives (rule, status, message) of all results, the notes, and the diagnostics."""

    def call(*exceptions, policy=POLICY, resource=POD, **more):
        paths = []
        texts = {"policy": policy, "resource": resource, "exceptions": "---\n".join(exceptions)}
        for name, text in texts.items():
            path = tmp_path / f"{name}.yaml"
            path.write_text(text)
            paths.append((str(path),))
        inputs = ApplyInputs(paths[0], paths[1], exceptions=paths[2], now=NOW)
        found = open_application(inputs._replace(**more))
        results = [
            result
            for response in found.responses
            for answer in response.responses
            for result in answer.results
        ]
        rows = [(one.rule.name, one.status.value, one.message) for one in results]
        return rows, [one.note for one in results if one.note], found.diagnostics

    return call


OUTCOMES = {
    "full": ([exception()], SKIPPED),
    "passes": (
        [exception("reportResult: pass")],
        ("exception", "pass", "rule is passed due to policy exception: e"),
    ),
    "condition holds": ([exception(condition("object.metadata.name == 'web'"))], SKIPPED),
    "condition does not hold": ([exception(condition("object.metadata.name == 'x'"))], FAILED),
    "images": ([exception("images: [nginx]")], ("", "pass", "success")),
    "other images": ([exception("images: [redis]")], FAILED),
    "another kind": ([exception(kind="NamespacedValidatingPolicy")], FAILED),
    "another policy": ([exception(policy="q")], FAILED),
    "priority decides": (
        [
            exception(),
            exception("reportResult: pass", "f", labels="polex.kyverno.io/priority: '1'"),
        ],
        ("exception", "pass", "rule is passed due to policy exception: e, f"),
    ),
    "a partial one beside a full one": (
        [exception("images: [redis]", "part"), exception()],
        ("exception", "skip", "rule is skipped due to policy exception: part, e"),
    ),
    "cannot be evaluated": (
        [exception(condition("object.spec.no == 1"))],
        ("evaluation", "error", "failed to load context: no such key: no"),
    ),
    "variables have no value": (
        [exception(condition("variables.one == 1"))],
        ("evaluation", "error", "failed to load context: no such attribute(s): variables"),
    ),
    "cannot be evaluated after a full one": (
        [exception(), exception(condition("object.spec.no == 1"), "f")],
        SKIPPED,
    ),
}


@pytest.mark.parametrize(("exceptions", "row"), OUTCOMES.values(), ids=OUTCOMES)
@pytest.mark.parametrize("resource", [POD, DEPLOYMENT], ids=["Pod", "Deployment"])
def test_outcomes(run, exceptions, row, resource):
    assert run(*exceptions, resource=resource)[0] == [row]


def test_faults_of_conditions_may_be_ignored(run):
    policy = POLICY.replace("failurePolicy: Fail", "failurePolicy: Ignore")
    for text in ("object.spec.no == 1", "variables.one == 1"):
        assert run(exception(condition(text)), policy=policy)[0] == [FAILED]


def test_an_exception_comes_before_the_policys_conditions(run):
    unmet = f"{POLICY}  {condition('false')}\n"
    assert run(policy=unmet, exceptions=())[0] == [("", "skip", "skip")]
    assert run(exception(), policy=unmet)[0] == [SKIPPED]


@pytest.mark.parametrize(
    ("end", "row"), [("2026-01-01T00:00:00Z", FAILED), ("2026-01-03T00:00:00Z", SKIPPED)]
)
def test_time_ends_an_exception(run, end, row):
    rows, notes, _ = run(exception(f"expiresAt: '{end}'"))
    assert rows == [row]
    assert notes == (["the exception `e` has expired and is ignored"] if row == FAILED else [])


def test_an_expired_exception_stops_nothing(run):
    gone = exception(f"{condition('object.spec.no == 1')}\n  expiresAt: '2020-01-01T00:00:00Z'")
    assert run(gone)[:2] == ([FAILED], [])


def test_what_does_not_compile_is_told_at_its_place_and_refuses_the_policy(run):
    rows, _, told = run(exception(condition("objec == 1")))
    assert rows == []
    (problem,) = [one for one in told if one.code == "KV150"]
    assert problem.location.file.endswith("exceptions.yaml")
    assert "undeclared reference to 'objec'" in problem.message


@pytest.mark.parametrize("where", ["exceptions_within_policies", "exceptions_with_resources"])
def test_exceptions_may_stand_among_others(run, where):
    beside = POLICY if where == "exceptions_within_policies" else POD
    text = f"{beside}\n---\n{exception()}"
    changed = {"policy": text} if beside is POLICY else {"resource": text}
    rows, _, _ = run(**changed, exceptions=(), **{where: True})
    assert [row[:2] for row in rows] == [("exception", "skip")]


IDLE = {
    "another policy": (exception(policy="q"), "which was not passed (passed: `p`)"),
    "another kind": (
        exception(kind="MutatingPolicy"),
        "which was not passed: write the kind of `p`, ValidatingPolicy",
    ),
    "no policy": (
        exception().replace("[{name: p, kind: ValidatingPolicy}]", "[]"),
        "the exception lists no policy",
    ),
}


@pytest.mark.parametrize(("text", "part"), IDLE.values(), ids=IDLE)
def test_an_exception_that_lets_nothing_off_is_told(run, text, part):
    _, _, told = run(text)
    (one,) = [one for one in told if one.code == "KV071"]
    assert part in one.message
