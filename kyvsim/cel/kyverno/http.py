"""Calls of services.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/http. kyvsim never calls: answers are
given, or the call is an error.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, opaque

_TYPE = opaque("http.Context")
_T = _TYPE.name


class HttpAccess(NamedTuple):
    """The value of the variable `http`."""

    answer_of: Callable[[str, str], Any]
    """Takes method and URL; raises LookupError with the reason where no answer is given."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE


def _answer(access: HttpAccess, method: str, url: str) -> Any:
    try:
        return access.answer_of(method, url)
    except LookupError as error:
        raise CelError(f"request failed: {error}") from None


def _get(access: HttpAccess, url: str, headers: Mapping[str, str] | None = None) -> Any:
    del headers  # answers are given by method and URL
    return _answer(access, "GET", url)


def _post(access: HttpAccess, url: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
    del body, headers
    return _answer(access, "POST", url)


def _client(access: HttpAccess, bundle: str) -> HttpAccess:
    """Return an access that trusts the certificates of a PEM bundle."""
    if bundle and "-----BEGIN CERTIFICATE-----" not in bundle:
        raise CelError("request failed: failed to parse PEM CA bundle for APICall")
    return access


HTTP = Library(
    "http",
    tuple(
        function(spelled, *ways)
        for name, ways in (
            (
                "get",
                (
                    way(f"{_T}.(string) -> any", _get),
                    way(f"{_T}.(string, map<string, string>) -> any", _get),
                ),
            ),
            (
                "post",
                (
                    way(f"{_T}.(string, any) -> any", _post),
                    way(f"{_T}.(string, any, map<string, string>) -> any", _post),
                ),
            ),
            ("client", (way(f"{_T}.(string) -> {_T}", _client),)),
        )
        for spelled in (name, name.capitalize())
    ),
    types=((HttpAccess, _TYPE),),
    variables=(("http", _TYPE),),
)
