import pytest

from kyvsim.jmespath.functions import QueryError
from kyvsim.jmespath.functions.references import image_normalize, is_external_url, semver_compare


@pytest.mark.parametrize(
    ("url", "outside"),
    [
        ("http://127.0.0.1", False),
        ("https://user:pw@10.1.2.3:8443/x?y#z", False),
        ("http://[::1]:80/", False),
        ("http://[::ffff:10.0.0.1]/", False),
        ("http://[fd00::1]/", False),
        ("//192.168.0.1/x", False),
        ("http://172.32.0.1", True),
        ("http://[fe80::1%25eth0]/", True),
        ("http://8.8.8.8", True),
        ("https://example.com", True),
        ("https://LOCALHOST.", False),
        ("http://kubernetes.default.svc", False),
        ("http://a.svc.cluster.local", False),
        ("http://build", False),
    ],
)
def test_external(url, outside):
    assert is_external_url(url) is outside


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.com", "/x", "1http://a", "http://a b", "http://[::1", "http://a:b"),
        *("http://127.1", "http://2130706433", "http://010.0.0.1", "http://0x7f.1"),
        *("mailto:a@b", "http://a\nb", ":x"),
    ],
)
def test_undecidable(url):
    with pytest.raises(QueryError):
        is_external_url(url)


def test_a_text_that_is_no_version_counts_as_zero():
    assert semver_compare("v9.9.9", "0.0.0")
    assert not semver_compare("v9.9.9", ">0.0.0")
    with pytest.raises(QueryError):
        semver_compare("1.2.3", "~1.2")


def test_images():
    assert image_normalize("a:1@sha256:" + "b" * 64) == "docker.io/a@sha256:" + "b" * 64
    with pytest.raises(QueryError, match="JMESPath function 'image_normalize': bad image: "):
        image_normalize("A")
