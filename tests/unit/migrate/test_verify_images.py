"""Image rules become ImageValidatingPolicies that ask the same of the same images."""

import pytest

from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.wildcard import compile_glob
from kyvsim.languages.classic.images import image_fits
from kyvsim.model.migration import ConversionOutcome

PEM = "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----"
LOGS = {"url": "https://rekor.sigstore.dev"}
IMAGES = "(images.containers + images.initContainers + images.ephemeralContainers)"


def rule(*entries, references=("r.io/a/*",), count=None, **fields):
    attestors = {"entries": list(entries), **({"count": count} if count else {})}
    entry = {
        "imageReferences": list(references),
        "failureAction": "Enforce",
        **({"attestors": [attestors]} if entries else {}),
        **fields,
    }
    return {"verifyImages": [entry]}


def key(text="a", **fields):
    return {"keys": {"publicKeys": PEM.format(text), **fields}}


@pytest.fixture
def spec(converted):
    """Return what gives the `spec` that a rule becomes."""

    def spec_of(rule, **more):
        told, made = converted(rule, background=False, **more)
        assert told.outcome is ConversionOutcome.CONDITIONAL, told.reason
        assert made[0]["kind"] == "ImageValidatingPolicy"
        return made[0]["spec"]

    return spec_of


def test_a_key(spec):
    found = spec(rule(key(), mutateDigest=False))
    assert found["validationActions"] == ["Deny"]
    assert found["matchImageReferences"] == [{"glob": "r.io/a/*"}]
    assert found["attestors"] == [
        {"name": "key", "cosign": {"key": {"data": PEM.format("a")}, "ctlog": LOGS}}
    ]
    configured = {"mutateDigest": False, "verifyDigest": True, "required": True}
    assert found["validationConfigurations"] == configured
    assert [
        one["expression"].replace("\n", "").replace("  ", " ") for one in found["validations"]
    ] == [f"{IMAGES}.all(image, verifyImageSignatures(image, [attestors.key]) >= 1)"]


ATTESTORS = [
    ({"keys": {"kms": "awskms:///alias/a"}}, {"key": {"kms": "awskms:///alias/a"}}),
    (
        key(rekor={"url": "https://log", "ignoreTlog": True}, ctlog={"ignoreSCT": True}),
        {
            "key": {"data": PEM.format("a")},
            "ctlog": {
                "url": "https://log",
                "insecureIgnoreTlog": True,
                "insecureIgnoreSCT": True,
            },
        },
    ),
    (
        {"keyless": {"issuer": "https://i", "subject": "s"}},
        {"keyless": {"identities": [{"issuer": "https://i", "subject": "s"}]}},
    ),
    (
        {"keyless": {"issuer": "https://i", "subject": "a.b/*", "roots": "R"}},
        {
            "keyless": {
                "identities": [{"issuer": "https://i", "subjectRegExp": r"^(?s:a\.b/.*)$"}],
                "roots": "R",
            }
        },
    ),
    (
        {"keyless": {"subjectRegExp": "x+"}},
        {"keyless": {"identities": [{"issuerRegExp": ".+", "subjectRegExp": "x+"}]}},
    ),
    (
        {"certificates": {"cert": "C", "certChain": "D"}, "annotations": {"a": "b"}},
        {
            "certificate": {"cert": {"value": "C"}, "certChain": {"value": "D"}},
            "annotations": {"a": "b"},
        },
    ),
    (
        {**key(), "repository": "r.io/signatures"},
        {"key": {"data": PEM.format("a")}, "source": {"repository": "r.io/signatures"}},
    ),
]


@pytest.mark.parametrize(("attestor", "wanted"), ATTESTORS, ids=str)
def test_attestors(attestor, wanted, spec):
    (found,) = spec(rule(attestor))["attestors"]
    assert found["cosign"] == {"ctlog": LOGS, **wanted}


def test_counts_and_sets(spec):
    entry = rule(key("a"), key("b"), key("c"), count=2)
    entry["verifyImages"][0]["attestors"].append({"entries": [key("a"), key("d")]})
    found = spec(entry)
    assert [one["name"] for one in found["attestors"]] == ["key", "key2", "key3", "key4"]
    first, second = (one["expression"] for one in found["validations"])
    assert "[attestors.key, attestors.key2, attestors.key3]) >= 2" in first
    assert "[attestors.key, attestors.key4]) >= 2" in second


def test_several_keys_in_one_text_are_several_attestors(spec):
    both = {"keys": {"publicKeys": f"{PEM.format('a')}\n{PEM.format('b')}"}}
    found = spec(rule(both))
    assert len(found["attestors"]) == 2
    assert ">= 2" in found["validations"][0]["expression"]


def test_certificates_of_notary_and_variables(spec):
    keys = {"name": "keys", "configMap": {"name": "keys", "namespace": "x"}}
    attestor = {"certificates": {"cert": "{{ keys.data.certificate }}"}}
    found = spec({**rule(attestor, type="Notary"), "context": [keys]})
    (notary,) = found["attestors"]
    assert notary["notary"] == {"certs": {"expression": "variables.keys.data.certificate"}}
    assert [one["name"] for one in found["variables"]] == ["keys"]


def test_a_key_in_a_secret_is_read(spec):
    secret = {"name": "k", "namespace": "x"}
    (found,) = spec(rule({"keys": {"secret": secret}}))["attestors"]
    read = "resource.Get('v1', 'secrets', 'x', 'k').data['cosign.pub']"
    assert found["cosign"]["key"] == {"expression": f"string(base64.decode({read}))"}


def test_attestations(spec):
    scan = {
        "name": "scan",
        "type": "https://vuln",
        "attestors": [{"entries": [key()]}],
        "conditions": [
            {"all": [{"key": "{{ scanner.uri }}", "operator": "Equals", "value": "trivy"}]}
        ],
    }
    found = spec(rule(attestations=[scan]))
    assert found["attestations"] == [{"name": "scan", "intoto": {"type": "https://vuln"}}]
    signed, said = (one["expression"] for one in found["validations"])
    assert "verifyAttestationSignatures(image, attestations.scan, [attestors.key]) >= 1" in signed
    assert "extractPayload(image, attestations.scan).predicate.scanner.uri" in said


def test_attestations_of_notary_are_their_own_statements(spec):
    sbom = {
        "name": "sbom",
        "type": "sbom/x",
        "attestors": [{"entries": [{"certificates": {"cert": "C"}}]}],
    }
    denied = {"any": [{"key": "{{ sbom.format }}", "operator": "NotEquals", "value": "X"}]}
    check = {"deny": {"conditions": denied}, "message": "no"}
    found = spec(rule(attestations=[sbom], type="Notary", validate=check))
    assert found["attestations"] == [{"name": "sbom", "referrer": {"type": "sbom/x"}}]
    assert (
        "extractPayload(image, attestations.sbom).format" in found["validations"][1]["expression"]
    )
    assert found["validations"][1]["message"] == "no"


def test_skipped_images_need_digests_but_no_signatures(spec):
    found = spec(rule(key(), skipImageReferences=["r.io/a/public/*"]))
    assert found["matchImageReferences"] == [{"glob": "r.io/a/*"}]
    assert found["validationConfigurations"]["required"] is False
    assert "image.startsWith('r.io/a/public/') ||" in found["validations"][0]["expression"]


def test_credentials(spec):
    given = {"secrets": ["pull"], "providers": ["amazon"]}
    assert spec(rule(key(), imageRegistryCredentials=given))["credentials"] == given


WRITTEN = [
    ("ghcr.io/a/*", ["ghcr.io/a/b", "ghcr.io/a/b:1", "ghcr.io/b/a", "docker.io/a/b"]),
    ("ghcr.io/a/b:*", ["ghcr.io/a/b", "ghcr.io/a/b:1", "ghcr.io/a/bc:1", "ghcr.io/a/b/c"]),
    ("ghcr.io/a/b:latest", ["ghcr.io/a/b", "ghcr.io/a/b:latest", "ghcr.io/a/b:1"]),
    ("ghcr.io/a/b:v*", ["ghcr.io/a/b", "ghcr.io/a/b:v1", "ghcr.io/a/b:1"]),
    ("docker.io/a/*", ["a/b", "docker.io/a/b:1", "ghcr.io/a/b", "a"]),
    ("docker.io/nginx:*", ["nginx", "nginx:1", "nginxx", "docker.io/nginx"]),
    ("localhost:5000/*", ["localhost:5000/a", "localhost/a"]),
]


@pytest.mark.parametrize(("pattern", "images"), WRITTEN, ids=str)
def test_the_same_images_are_meant_however_they_are_written(pattern, images, spec):
    found = spec(rule(key(), references=[pattern]))["matchImageReferences"]
    globs = [compile_glob(one["glob"]) for one in found]
    for image in images:
        meant = any(glob.fullmatch(image) for glob in globs)
        assert meant is image_fits(parse_image(image).reference, [pattern]), image


def test_all_images(spec):
    assert "matchImageReferences" not in spec(rule(key(), references=["*"]))


REFUSED = [
    (rule({"attestor": {"entries": [key()]}}), "[0].attestors[0].entries[0].attestor"),
    (rule(mutateDigest=False), "[0]"),
    (rule(attestations=[{"type": "x"}]), "[0].attestations[0]"),
    ({"verifyImages": rule(key())["verifyImages"] * 2}, "[1]"),
    (
        rule({"keyless": {"issuer": "{{ request.namespace }}", "subject": "x"}}),
        "[0].attestors[0].entries[0].keyless.issuer",
    ),
]


@pytest.mark.parametrize(("refused", "path"), REFUSED, ids=str)
def test_what_cannot_be_said_is_told_with_its_place(refused, path, converted):
    told, made = converted(refused, background=False)
    assert made == []
    assert told.path == f"spec.rules[0].verifyImages{path}"
    assert told.reason
    assert told.advice
