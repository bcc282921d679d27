import pytest

from kyvsim.kubernetes.image import parse_image

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("nginx", "docker.io/nginx:latest"),
        ("a/b:1", "docker.io/a/b:1"),
        ("ghcr.io/a/b", "ghcr.io/a/b:latest"),
        ("localhost/x", "localhost/x:latest"),
        ("localhost:5000/x:y", "localhost:5000/x:y"),
        ("Host/x", "Host/x:latest"),
        (f"nginx:1@{DIGEST}", f"docker.io/nginx@{DIGEST}"),
        ("[::1]:5000/x", "[::1]:5000/x:latest"),
    ],
)
def test_reference(text, reference):
    assert parse_image(text).reference == reference


def test_parts():
    image = parse_image(f"ghcr.io/team/app:v1@{DIGEST}")
    assert image.as_variable() == {
        "registry": "ghcr.io",
        "name": "app",
        "path": "team/app",
        "tag": "v1",
        "digest": DIGEST,
        "reference": f"ghcr.io/team/app@{DIGEST}",
        "referenceWithTag": "ghcr.io/team/app:v1",
    }
    assert "digest" not in parse_image("nginx").as_variable()
    assert "tag" not in parse_image(f"nginx@{DIGEST}").as_variable()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("NGINX", "repository name must be lowercase"),
        ("a b", "invalid reference format"),
        ("", "invalid reference format"),
        ("x:", "invalid reference format"),
        ("x:" + "t" * 129, "invalid reference format"),
        ("a" * 256, "must not be more than 255 characters"),
        ("x@sha256:" + "a" * 32, "invalid checksum digest length"),
        ("x@sha256:" + "A" * 64, "invalid checksum digest format"),
        ("x@md5:" + "a" * 32, "unsupported digest algorithm"),
        ("nginx\n", "invalid reference format"),
    ],
)
def test_bad_image(text, problem):
    with pytest.raises(ValueError, match="bad image: ") as caught:
        parse_image(text)
    assert problem in str(caught.value)
