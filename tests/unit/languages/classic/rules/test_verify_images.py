"""`verifyImages`: what recorded image data lets a rule say, and what it says without any."""

import pytest

from kyvsim.load.values import load_image_data
from kyvsim.model.values import Mocks, Values

DIGEST = "sha256:" + "0" * 64
APP = "ghcr.io/acme/app:1"
PINNED = f"ghcr.io/acme/app@{DIGEST}"
KEY = {"entries": [{"keys": {"kms": "one"}}]}
KEYLESS = {
    "entries": [
        {
            "keyless": {
                "issuer": "https://i",
                "subject": "*@acme",
                "rekor": {"url": "https://r"},
            }
        }
    ]
}
ONE = [{"key": "one"}]


def entry(**fields):
    off = {"mutateDigest": False, "verifyDigest": False, "required": False}
    return {"imageReferences": ["ghcr.io/*"], **off, **fields}


@pytest.fixture
def verify(policy, run, pod, verdicts):
    def verify(entries, images=None, *, image=APP, **rule):
        values = Values(mocks=Mocks(images=load_image_data(images)))
        obj = pod(containers=[{"name": "a", "image": image}])
        written = policy({"verifyImages": entries, **rule}, validationFailureAction="Enforce")
        response = run([written], obj, values=values)
        said = [(status, message) for _, status, message in verdicts(response)]
        return said, response.object["spec"]["containers"][0]["image"]

    return verify


def test_other_images_are_not_looked_at(verify):
    never = {"all": [{"key": "a", "operator": "Equals", "value": "b"}]}
    assert verify([entry(attestors=[KEY])], image="nginx", preconditions=never)[0] == []


SIGNED = [
    ([KEY], ONE, "pass", f"verified image signatures for {APP}"),
    ([KEY], [], "fail", "no signatures found"),
    ([KEY], [{"key": "two"}], "fail", "no matching signatures"),
    ([KEYLESS], [{"issuer": "https://i", "subject": "me@acme"}], "pass", "verified"),
    ([KEYLESS], [{"issuer": "https://i", "subject": "me@other"}], "fail", "no matching"),
    ([KEYLESS], ONE, "fail", "no matching"),
    ([KEY, KEYLESS], ONE, "fail", ".attestors[1].entries[0].keyless: no matching"),
    ([{"count": 1, "entries": KEYLESS["entries"] + KEY["entries"]}], ONE, "pass", "verified"),
    ([{"entries": [{"attestor": KEY}]}], ONE, "pass", "verified"),
]


@pytest.mark.parametrize(("attestors", "signatures", "status", "message"), SIGNED)
def test_recorded_signatures(verify, attestors, signatures, status, message):
    (said,), _ = verify([entry(attestors=attestors)], {APP: {"signatures": signatures}})
    assert said[0] == status
    assert message in said[1]


@pytest.mark.parametrize(
    ("expression", "status"), [("^me@", "pass"), ("^you@", "fail"), ("(", "fail")]
)
def test_a_subject_may_be_named_by_an_expression(verify, expression, status):
    keyless = {"subjectRegExp": expression, "rekor": {"url": "https://r"}}
    signatures = [{"issuer": "https://i", "subject": "me@acme"}]
    ((found, _),), _ = verify(
        [entry(attestors=[{"entries": [{"keyless": keyless}]}])], {APP: {"signatures": signatures}}
    )
    assert found == status


@pytest.mark.parametrize("images", [None, {APP: {"digest": DIGEST}}, {PINNED: {"signatures": ONE}}])
def test_what_is_not_recorded_is_an_error_that_shows_the_mock(verify, images):
    ((status, message),), _ = verify([entry(attestors=[KEY])], images)
    assert status == "error"
    assert f'images: {{"{APP}": {{"signatures": []}}}}' in message


def test_skipped_references_are_neither_asked_for_nor_required(verify):
    said, _ = verify(
        [entry(attestors=[KEY], skipImageReferences=["ghcr.io/acme/*"], required=True)]
    )
    assert said == [
        ("skip", f"skipping image reference image {APP}, policy p ruleName r"),
        ("skip", f"image skipped, skipped images: {APP}"),
    ]


def test_a_digest_is_put_in_and_then_found(verify):
    said, image = verify(
        [entry(attestors=[KEY], mutateDigest=True, verifyDigest=True, required=True)],
        {APP: {"digest": DIGEST, "signatures": ONE}},
    )
    assert said == [("pass", f"verified image signatures for {APP}"), ("pass", "image verified")]
    assert image == f"{APP}@{DIGEST}"


def test_without_data_the_digest_stays_missing(verify):
    said, image = verify([entry(mutateDigest=True, verifyDigest=True)])
    assert [status for status, _ in said] == ["error", "fail"]
    assert said[0][1].startswith("failed to update digest: kyvsim is offline")
    assert said[1][1] == f"missing digest for {APP}"
    assert image == APP


def test_required_images_need_an_attestor_that_verified_them(verify):
    assert verify([entry(required=True)])[0] == [("fail", f"unverified image {APP}")]
    said, _ = verify([entry(required=True, attestors=[KEY])], {APP: {"signatures": []}})
    assert [status for status, _ in said] == ["fail", "fail"]


ATTESTED = [
    ([{"type": "t", "predicate": {"level": 3}, "signatures": ONE}], "pass", "attestations for"),
    ([{"type": "t", "predicate": {"level": 1}, "signatures": ONE}], "fail", "checks failed for"),
    ([{"type": "u", "predicate": {"level": 3}, "signatures": ONE}], "fail", "predicate type t"),
    ([{"type": "t", "predicate": {"level": 3}}], "fail", "no matching attestations"),
    ([], "fail", "verifiedCount: 0, requiredCount: 1"),
]


@pytest.mark.parametrize(("attestations", "status", "message"), ATTESTED)
def test_recorded_attestations(verify, attestations, status, message):
    condition = {"key": "{{ level }}", "operator": "GreaterThan", "value": 2}
    wanted = {"type": "t", "attestors": [KEY], "conditions": [{"all": [condition]}]}
    (said,), _ = verify([entry(attestations=[wanted])], {APP: {"attestations": attestations}})
    assert said[0] == status
    assert message in said[1]


def test_a_rule_may_deny_what_attestations_say(verify):
    deny = {"any": [{"key": "{{ build.by }}", "operator": "Equals", "value": "hand"}]}
    wanted = entry(
        attestations=[{"type": "t", "name": "build"}],
        validate={"message": "by {{ build.by }}", "deny": {"conditions": deny}},
    )
    for by, status, message in (
        ("hand", "fail", "validation in verifyImages failed: by hand"),
        ("robot", "pass", "verifyImages validation is passed in r rule"),
    ):
        images = {APP: {"attestations": [{"type": "t", "predicate": {"by": by}}]}}
        assert verify([wanted], images)[0] == [(status, message)]


def test_images_of_other_kinds_are_found_by_extractors(run, thing, verdicts):
    rule = {
        "match": {"any": [{"resources": {"kinds": ["Task"]}}]},
        "imageExtractors": {"Task": [{"path": "/spec/steps/*", "value": "ref", "key": "id"}]},
        "verifyImages": [entry(verifyDigest=True)],
    }
    steps = [{"id": "a", "ref": f"{APP}@{DIGEST}"}, {"id": "b", "ref": APP}]
    task = thing("Task", api_version="tekton.dev/v1", spec={"steps": steps})
    assert verdicts(run(rule, task)) == [("r", "fail", f"missing digest for {APP}")]
    nameless = thing("Task", api_version="tekton.dev/v1", spec={"steps": [{"ref": APP}]})
    assert verdicts(run(rule, nameless))[0][1] == "error"


UNREADABLE = [
    (
        {"name": "b", "image": "UPPER:case:bad"},
        "/spec/containers/1: invalid image 'UPPER:case:bad'",
    ),
    ({"image": "nginx"}, "/spec/containers/1: invalid key"),
]


@pytest.mark.parametrize(("container", "problem"), UNREADABLE)
def test_an_image_that_cannot_be_read_hides_no_other(
    policy, run, pod, verdicts, container, problem
):
    written = policy({"verifyImages": [entry(required=True, attestors=[KEY])]})
    containers = [{"name": "a", "image": APP}, container]
    found = verdicts(run([written], pod(containers=containers)))
    assert [status for _, status, _ in found] == ["error", "error"]
    assert all(f"failed to extract images: {problem}" in message for _, _, message in found)
    (silent,) = run([written], pod(initContainers="text")).responses[:1]
    assert silent.results[0].status == "error"
