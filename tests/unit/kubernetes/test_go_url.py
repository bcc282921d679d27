import pytest

from kyvsim.kubernetes.go_url import UrlError, parse_request_uri, parse_url


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://a:80/", "a", "80"),
        ("http://a:/", "a", ""),
        ("//a:b:80", "a:b", "80"),
        ("http://u:p@a.b/?x#y", "a.b", ""),
        ("https://[::1]:443", "::1", "443"),
        ("http://[fe80::1%25eth%200]/", "fe80::1%eth 0", ""),
        ("http://%C3%A9.example", "é.example", ""),
        ("mailto:a@b", "", ""),
        ("///a", "", ""),
        ("*", "", ""),
    ],
)
def test_hosts(url, host, port):
    found = parse_url(url)
    assert (found.hostname, found.port) == (host, port)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://a:b:80/", 'invalid port ":b:80" after host'),
        ("http://a:b", 'invalid port ":b" after host'),
        ("http://a%41/", 'invalid URL escape "%41"'),
        ("http://a/%zz", 'invalid URL escape "%zz"'),
        ("http://a/#%é", 'invalid URL escape "%é"'),
        ("http://u%:p@a/", 'invalid URL escape "%"'),
        ("http://u v@a/", "net/url: invalid userinfo"),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://a[::1]", "invalid IP-literal"),
        ("http://[10.0.0.1]", "invalid IP-literal"),
        ("http://[::1", "missing ']' in host"),
        ("http://[a]", 'invalid host: ParseAddr("a"): unable to parse IP'),
        ("http://[fe80::1%25%0A]/", 'invalid URL escape "%0A"'),
        (":a", "missing protocol scheme"),
        ("1:b/c", "first path segment in URL cannot contain colon"),
    ],
)
def test_what_go_refuses(url, problem):
    with pytest.raises(UrlError) as caught:
        parse_url(url)
    assert str(caught.value).endswith(f": {problem}")


def test_requests_name_an_absolute_place():
    assert parse_request_uri("/a?b#c").raw_query == "b#c"
    for text in ("", "a"):
        with pytest.raises(UrlError):
            parse_request_uri(text)


@pytest.mark.parametrize(
    ("url", "fields"),
    [
        ("https://a/b?x=1#f%41", {"Host": "a", "RawQuery": "x=1", "Fragment": "fA"}),
        ("https://a/#f%41", {"RawFragment": "f%41"}),
        ("mailto:a@b", {"Opaque": "a@b", "OmitHost": False}),
        ("file:/a%20b", {"Path": "/a b", "RawPath": "", "OmitHost": True}),
        ("http://h/a?", {"ForceQuery": True, "RawQuery": ""}),
    ],
)
def test_the_structure_that_go_writes_as_json(url, fields):
    found = parse_url(url).as_json()
    assert {name: found[name] for name in fields} == fields
