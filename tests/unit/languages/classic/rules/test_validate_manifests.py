"""`validate.manifests`: an object against the signed manifest in its annotations."""

import base64
import gzip
import io
import tarfile

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from kyvsim.kubernetes.quantities import with_floats, with_whole_numbers

DOMAIN = "cosign.sigstore.dev"
MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: n1
  containers:
  - {name: a, image: nginx}
  - {name: b, image: busybox:1}
"""
SPEC = {
    "nodeName": "n1",
    "containers": [{"name": "a", "image": "nginx"}, {"name": "b", "image": "busybox:1"}],
}
ONE, TWO = (ec.derive_private_key(number, ec.SECP256R1()) for number in (1001, 1002))


def pem(key):
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def archive(text):
    data, file = io.BytesIO(), tarfile.TarInfo("m.yaml")
    file.size = len(text.encode())
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        tar.addfile(file, io.BytesIO(text.encode()))
    return data.getvalue()


def sign(key, content):
    if isinstance(key, rsa.RSAPrivateKey):
        made = key.sign(content, padding.PKCS1v15(), hashes.SHA256())
    elif isinstance(key, ed25519.Ed25519PrivateKey):
        made = key.sign(content)
    else:
        made = key.sign(content, ec.ECDSA(hashes.SHA256()))
    return base64.b64encode(made).decode()


def signed(content, *keys, domain=DOMAIN):
    found = {f"{domain}/message": base64.b64encode(gzip.compress(content)).decode()}
    for number, key in enumerate(keys):
        found[f"{domain}/signature" + (f"_{number}" if number else "")] = sign(key, content)
    return found


def attestors(*keys, **more):
    return [{"entries": [{"keys": {"publicKeys": pem(key)}} for key in keys], **more}]


@pytest.fixture
def check(run, pod, verdicts):
    def check(marks, wanted, spec=SPEC, *, name="web", **manifests):
        obj = pod(name, **spec)
        obj["metadata"]["annotations"] = marks
        rule = {"validate": {"manifests": {"attestors": wanted, **manifests}}}
        ((_, status, message),) = verdicts(run(rule, obj))
        return status, message

    return check


@pytest.mark.parametrize("content", [archive(MANIFEST), MANIFEST.encode()])
def test_an_object_like_its_manifest_passes(check, content):
    count = "succeeded; verifiedCount 1; requiredCount 1; message singed by a valid signer: "
    assert check(signed(content, ONE), attestors(ONE)) == (
        "pass",
        f"verified manifest signatures; manifest verification {count}",
    )


def containers(*images):
    return {
        **SPEC,
        "containers": [{"name": n, "image": i} for n, i in zip("ab", images, strict=True)],
    }


SAME = [
    containers("docker.io/nginx", "busybox:1"),
    containers("nginx:latest", "busybox:1"),
    {**SPEC, "hostname": "", "dnsPolicy": "None"},
]
CHANGED = [
    (containers("nginx:2", "busybox:1"), '"key":"spec.containers.0.image"'),
    ({**SPEC, "nodeName": 1}, '"after":"(type: float64) %!s(float64=1)"'),
    ({**SPEC, "hostNetwork": True}, '{"after":true,"before":null}'),
    ({**SPEC, "containers": SPEC["containers"][:1]}, '"before":"busybox:1"'),
]


@pytest.mark.parametrize("spec", SAME)
def test_what_a_cluster_fills_in_is_no_change(check, spec):
    assert check(signed(archive(MANIFEST), ONE), attestors(ONE), spec)[0] == "pass"


@pytest.mark.parametrize(("spec", "told"), CHANGED)
def test_a_change_is_told(check, spec, told):
    status, message = check(signed(archive(MANIFEST), ONE), attestors(ONE), spec)
    assert status == "fail"
    assert ".attestors[0].entries[0].keys: failed to verify signature. diff found; {" in message
    assert told in message


def test_a_rule_may_ignore_a_field(check):
    changed, marks = {**SPEC, "nodeName": "n2"}, signed(archive(MANIFEST), ONE)
    for kind, status in (("Pod", "pass"), ("Service", "fail")):
        ignored = [{"objects": [{"kind": kind}], "fields": ["spec.nodeName"]}]
        assert check(marks, attestors(ONE), changed, ignoreFields=ignored)[0] == status


@pytest.mark.parametrize(
    ("marks", "wanted", "status"),
    [
        (signed(archive(MANIFEST), ONE, TWO), attestors(ONE, TWO), "pass"),
        (signed(archive(MANIFEST), TWO), attestors(ONE, TWO, count=1), "pass"),
        (signed(archive(MANIFEST), ONE), attestors(ONE, TWO), "error"),
        (signed(archive(MANIFEST), TWO), attestors(ONE), "error"),
        (signed(archive(MANIFEST)), attestors(ONE), "fail"),
        ({}, attestors(ONE), "fail"),
        (signed(archive("kind: Service"), ONE), attestors(ONE), "fail"),
        (signed(b"\x00", ONE), attestors(ONE), "error"),
        ({f"{DOMAIN}/message": "!"}, attestors(ONE), "error"),
        (signed(archive(MANIFEST), ONE, domain="acme.io"), attestors(ONE), "fail"),
    ],
)
def test_who_must_sign(check, marks, wanted, status):
    assert check(marks, wanted)[0] == status


@pytest.mark.parametrize(
    "key",
    [
        ec.derive_private_key(7, ec.SECP384R1()),
        ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)),
        rsa.generate_private_key(65537, 2048),
    ],
)
def test_kinds_of_keys(check, key):
    assert check(signed(archive(MANIFEST), key), attestors(key))[0] == "pass"
    assert check(signed(archive(MANIFEST), ONE), attestors(key))[0] == "error"


@pytest.mark.parametrize(
    ("attestor", "told"),
    [
        ({"keyless": {"rekor": {"url": "https://r"}}}, "transparency log"),
        ({"keys": {"publicKeys": "k8s://a/b"}}, "public keys in PEM format"),
        ({"keys": {"publicKeys": "-----BEGIN PUBLIC KEY-----\nx"}}, "failed to judge"),
        ({"keys": {"publicKeys": pem(ONE)}, "repository": "ghcr.io/a/b"}, "kyvsim is offline"),
        ({"keys": {"publicKeys": pem(ONE)}, "annotations": {"by": "me"}}, "annotations mismatch"),
    ],
)
def test_what_cannot_be_verified_is_an_error_that_says_so(check, attestor, told):
    status, message = check(signed(archive(MANIFEST), ONE), [{"entries": [attestor]}])
    assert status == "error"
    assert told in message


@pytest.mark.parametrize("typed", [with_floats, with_whole_numbers])
def test_a_number_is_the_same_however_it_is_held(run, pod, verdicts, typed):
    text = f"{MANIFEST}  activeDeadlineSeconds: 5\n"
    obj = typed(pod("web", **SPEC, activeDeadlineSeconds=5))
    obj["metadata"]["annotations"] = signed(archive(text), ONE)
    rule = {"validate": {"manifests": {"attestors": attestors(ONE)}}}
    assert [status for _, status, _ in verdicts(run(rule, obj))] == ["pass"]
