"""ImageValidatingPolicies over objects, as `apply` evaluates them."""

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.model.release import NEWEST, V_1_19_0, V_1_19_1

DIGEST = f"sha256:{'a' * 64}"
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: web, namespace: shop}}
spec:
  containers: [{{name: web, image: "nginx:1"}}]
  initContainers: [{{name: init, image: "ghcr.io/x/init@{DIGEST}"}}]
"""
CRONJOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: web, namespace: shop}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: web, image: "nginx:1"}]}}}}}
"""
HEAD = """
apiVersion: policies.kyverno.io/v1
kind: ImageValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
"""
LENIENT = "  validationConfigurations: {verifyDigest: false, required: false}"
EXCEPTION = """
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e}
spec:
  policyRefs: [{name: p, kind: ImageValidatingPolicy}]
"""
CONTEXT = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Context
metadata: {name: c}
spec: {images: [{image: "nginx:1", config: {user: bob}}]}
"""


@pytest.fixture
def run(tmp_path):
    """Return what gives (rule, status, message) of a policy's results, and the diagnostics."""

    def call(spec, *resources, context="", exception=None, release=NEWEST):
        policy = tmp_path / "policy.yaml"
        lines = spec if "attestors" in spec else f"{spec}\n  attestors: []"
        policy.write_text(HEAD + lines)
        given = tmp_path / "resources.yaml"
        given.write_text("\n---\n".join(resources or (POD,)))
        inputs = ApplyInputs((str(policy),), (str(given),), release=release)
        if context:
            (tmp_path / "context.yaml").write_text(context)
            inputs = inputs._replace(context_file=str(tmp_path / "context.yaml"))
        if exception is not None:
            (tmp_path / "exception.yaml").write_text(EXCEPTION + exception)
            inputs = inputs._replace(exceptions=(str(tmp_path / "exception.yaml"),))
        found = open_application(inputs)
        rows = [
            (result.rule.name, result.status.value, result.message)
            for response in found.responses
            for answer in response.responses
            for result in answer.results
        ]
        return rows, [one for one in found.diagnostics if one.code == "KV150"]

    return call


UNFETCHED = (
    "failed to evaluate policy: failed to get imagedata: there is no data of `nginx:1`, and kyvsim "
    "is offline: add it to `spec.images` of a --context-file"
)
TAKES_NONE = "  matchImageReferences: [{glob: 'zzz*'}]"
TRUE = "  validations: [{expression: 'true'}]"
OUTCOMES = {
    "no image is taken": (f"{TAKES_NONE}\n{TRUE}", ("p", "pass", "success")),
    "lists are there and empty": (
        f"{TAKES_NONE}\n  validations: [{{expression: 'images.containers == []'}}]",
        ("p", "pass", "success"),
    ),
    "no digest": (TRUE, ("p", "fail", "image nginx:1 does not have a digest")),
    "an image without a digest that is not taken": (
        f"  matchImageReferences: [{{glob: 'ghcr.io/*'}}]\n{TRUE}",
        ("evaluation", "error", UNFETCHED.replace("nginx:1", f"ghcr.io/x/init@{DIGEST}")),
    ),
    "nothing is known of an image": (f"{LENIENT}\n{TRUE}", ("evaluation", "error", UNFETCHED)),
    "an expression takes images": (
        (
            "  matchImageReferences: [{expression: 'image(ref).registry() == \"ghcr.io\"'}]\n"
            "  validations: [{expression: 'false'}]\n"
            "  validationConfigurations: {verifyDigest: false}"
        ),
        ("evaluation", "error", UNFETCHED.replace("nginx:1", f"ghcr.io/x/init@{DIGEST}")),
    ),
    "an expression about images fails": (
        f"  matchImageReferences: [{{expression: 'ref.size() / 0 == 1'}}]\n{TRUE}",
        ("evaluation", "error", "failed to evaluate policy: division by zero"),
    ),
    "a validation is false": (
        f"{TAKES_NONE}\n  validations: [{{expression: 'false', message: nope}}]",
        ("p", "fail", "nope"),
    ),
    "a validation fails": (
        f"{TAKES_NONE}\n  validations: [{{expression: '1 / 0 == 1'}}]",
        ("evaluation", "error", "failed to evaluate policy: division by zero"),
    ),
    "images of its own": (
        (
            "  matchImageReferences: [{glob: 'other*'}]\n"
            f"  images: [{{name: more, expression: '[\"other\"]'}}]\n{TRUE}"
        ),
        ("p", "fail", "image other does not have a digest"),
    ),
    "images that are no texts": (
        f"{TAKES_NONE}\n  images: [{{name: more, expression: 'dyn(true)'}}]\n{TRUE}",
        (
            "evaluation",
            "error",
            "failed to evaluate policy: type conversion error from bool to '[]string'",
        ),
    ),
    "an image that cannot be read": (
        f"  images: [{{name: containers, expression: '[\"UP:x:y\"]'}}]\n{TRUE}",
        (
            "evaluation",
            "error",
            (
                "failed to evaluate policy: failed to parse image reference UP:x:y: could not "
                "parse reference: UP:x:y"
            ),
        ),
    ),
    "signatures of an image that is not taken": (
        (
            f"{TAKES_NONE}\n  attestors: [{{name: k, cosign: {{key: {{data: x}}}}}}]\n"
            "  validations: [{expression: 'verifyImageSignatures(\"x\", [attestors.k]) == 0'}]"
        ),
        ("p", "pass", "success"),
    ),
    "an attestation that is not there": (
        f'{TAKES_NONE}\n  validations: [{{expression: \'extractPayload("x", "y") == 1\'}}]',
        ("evaluation", "error", "failed to evaluate policy: attestation not found in policy: y"),
    ),
    "an attestor that cannot be completed": (
        (
            f"{TAKES_NONE}\n"
            "  attestors: [{name: k, cosign: {key: {expression: 'object.spec.x'}}}]\n"
            "  validations: [{expression: 'attestors.k == null'}]"
        ),
        (
            "evaluation",
            "error",
            (
                "failed to evaluate policy: failed to convert key in compiled attestor: k, error: "
                "failed to evaluate compiled attestor: k, error: no such key: x"
            ),
        ),
    ),
    "a condition asks for images": (
        f"  matchConditions: [{{name: a, expression: 'images == dyn(1)'}}]\n{TRUE}",
        ("evaluation", "error", "failed to evaluate policy: no such attribute(s): images"),
    ),
    "a condition fails": (
        f"  matchConditions: [{{name: a, expression: '1 / 0 == 1'}}]\n{TRUE}",
        ("evaluation", "error", "failed to evaluate policy: division by zero"),
    ),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_outcomes(run, case):
    spec, row = OUTCOMES[case]
    assert run(spec)[0] == [row]


@pytest.mark.parametrize(
    "spec",
    [
        "  matchConditions: [{name: a, expression: 'false'}]",
        "  failurePolicy: Ignore\n  matchConditions: [{name: a, expression: '1 / 0 == 1'}]",
    ],
)
def test_conditions_that_do_not_hold_leave_no_result(run, spec):
    assert run(f"{spec}\n{TRUE}")[0] == []


EXEMPT = [("exception", "skip", "rule is skipped due to policy exception: e")]


@pytest.mark.parametrize(
    ("release", "resource", "more", "skips"),
    [
        (V_1_19_0, POD, "", True),
        (V_1_19_0, POD, "  images: ['nginx*']", True),
        (V_1_19_0, POD, "  allowedValues: [x]", True),
        (V_1_19_0, CRONJOB, "", False),
        (V_1_19_1, POD, "", True),
        (V_1_19_1, POD, "  images: ['nginx*']", False),
        (V_1_19_1, POD, "  allowedValues: [x]", False),
        (V_1_19_1, CRONJOB, "", True),
        (V_1_19_1, CRONJOB, "  images: ['nginx*']", False),
    ],
)
def test_which_exceptions_skip_the_policy(run, release, resource, more, skips):
    rows, _ = run(TRUE, resource, exception=more, release=release)
    assert (rows == EXEMPT) is skips
    assert rows


@pytest.mark.parametrize("release", [V_1_19_0, V_1_19_1])
def test_an_exception_that_cannot_be_evaluated_counts_unless_a_full_one_matches(run, release):
    second = EXCEPTION + "  matchConditions: [{name: a, expression: object.nope == 1}]"
    rows, _ = run(TRUE, exception=f"\n---\n{second}", release=release)
    error = ("evaluation", "error", "failed to evaluate policy: no such key: nope")
    assert rows == ([error] if release is V_1_19_0 else EXEMPT)


def test_conditions_come_before_exceptions(run):
    spec = f"  matchConditions: [{{name: a, expression: 'false'}}]\n{TRUE}"
    assert run(spec, exception="  reportResult: pass")[0] == []


def test_exceptions_that_do_not_match_change_nothing(run):
    other = "  matchConditions: [{name: a, expression: 'false'}]"
    assert run(TRUE, exception=other)[0][0][1] == "fail"


def test_images_of_a_context_file_are_known(run):
    spec = "  matchImageReferences: [{glob: 'nginx*'}]\n" + LENIENT
    test = (
        "  validations: [{expression: 'getImageData(images.containers[0]).config.user == \"%s\"'}]"
    )
    assert run(f"{spec}\n{test % 'bob'}", context=CONTEXT)[0] == [("p", "pass", "success")]
    assert run(f"{spec}\n{test % 'eve'}", context=CONTEXT)[0][0][1] == "fail"


def test_images_that_are_to_be_verified_are_not(run):
    spec = "  matchImageReferences: [{glob: 'nginx*'}]\n"
    spec += f"  validationConfigurations: {{verifyDigest: false}}\n{TRUE}"
    text = (
        "image nginx:1 is not verified: no policy performed a signature or attestation check on it"
    )
    assert run(spec, context=CONTEXT)[0] == [("p", "fail", text)]
    signed = (
        "  attestors: [{name: k, cosign: {key: {data: x}}}]\n  validations: "
        "[{expression: 'verifyImageSignatures(\"nginx:1\", [attestors.k]) > 0'}]"
    )
    attested = f"  attestations: [{{name: a, intoto: {{type: sbom}}}}]\n{signed}".replace(
        'verifyImageSignatures("nginx:1"',
        'verifyAttestationSignatures("nginx:1", attestations.a',
    )
    why = "signatures of `nginx:1` cannot be verified without its registry"
    for asking in (signed, attested):
        (row,), _ = run(spec.replace(TRUE, asking), context=CONTEXT)
        assert row[1:] == ("error", f"failed to evaluate policy: {why}")


def test_controllers_are_looked_into(run):
    text = "image nginx:1 does not have a digest"
    assert run(TRUE, CRONJOB)[0] == [("p", "fail", text)]
    assert run(f"{TRUE}\n  autogen: {{podControllers: {{controllers: []}}}}", CRONJOB)[0] == []


BROKEN = {
    "images are counted after those that are known": (
        "  images: [{name: a, expression: foo}]",
        'spec.images[3].expression: Invalid value: "foo": ERROR: <input>:1:1: undeclared',
    ),
    "images of the wrong type": (
        "  images: [{name: a, expression: '1'}]",
        'spec.images[3].expression: Invalid value: "1": output is expected to be of type list',
    ),
    "all variables": (
        "  variables: [{name: a, expression: foo}, {name: b, expression: bar}]",
        '[spec.variables[0].expression: Invalid value: "foo": ERROR:',
    ),
    "references come first": (
        "  matchConditions: [{name: a, expression: foo}]\n  matchImageReferences: [{glob: '[a'}]",
        (
            "<nil>: Internal error: failed to compile matches: spec.MatchImageReferences[0].glob: "
            'Invalid value: "[a": unexpected end of input'
        ),
    ),
    "a reference to nothing": (
        "  matchImageReferences: [{glob: ''}]",
        (
            "<nil>: Internal error: failed to compile matches: spec.MatchImageReferences[0]: "
            "Invalid value: {}: either glob or expression must be set"
        ),
    ),
    "attestors": (
        "  attestors: [{name: k, notary: {certs: {expression: foo}}}]",
        'spec.attestors[0]: Invalid value: {"certs":{"expression":"foo"}}: ERROR: <input>:1:1:',
    ),
    "exceptions are unknown": (
        "  matchConditions: [{name: a, expression: 'exceptions.allowedImages == []'}]",
        'spec.matchConditions[0].expression: Invalid value: "exceptions.allowedImages == []": ',
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_compiled_is_told_and_an_error_of_each_object(run, case):
    spec, start = BROKEN[case]
    rows, told = run(f"{spec}\n{TRUE}")
    assert told
    ((rule, status, message),) = rows
    assert (rule, status) == ("evaluation", "error")
    assert message.startswith(f"failed to compile policy: {start}")
