"""URLs.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/urls.go, over Go's net/url.
"""

from typing import NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, struct
from kyvsim.cel.values import TextList
from kyvsim.kubernetes.go_url import GoUrl, UrlError, parse_request_uri, parse_url

_TYPE = struct("kubernetes.URL")


class Url(NamedTuple):
    """A URL as a value of expressions."""

    parts: GoUrl

    @property
    def only_own_kind(self) -> bool:
        """Whether `==` fails for values of other kinds."""
        return True

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE


def _url(text: str) -> Url:
    try:
        parse_request_uri(text)
        return Url(parse_url(text))
    except UrlError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


def _u(signature: str) -> str:
    return signature.replace("U", _TYPE.name)


URLS = Library(
    "url",
    (
        function("url", way(_u("(string) -> U"), _url)),
        function("isURL", way("(string) -> bool", _is_url)),
        function("getScheme", way(_u("U.() -> string"), lambda url: url.parts.scheme)),
        function("getHost", way(_u("U.() -> string"), lambda url: url.parts.host)),
        function("getHostname", way(_u("U.() -> string"), lambda url: url.parts.hostname)),
        function("getPort", way(_u("U.() -> string"), lambda url: url.parts.port)),
        function("getEscapedPath", way(_u("U.() -> string"), lambda url: url.parts.escaped_path)),
        function(
            "getQuery",
            way(
                _u("U.() -> map<string, list<string>>"),
                lambda url: {name: TextList(one) for name, one in url.parts.query().items()},
            ),
        ),
    ),
    types=((Url, _TYPE),),
)
