"""Named formats of texts, such as DNS labels, as values of expressions.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/format.go.
"""

import re
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.types import CelType, struct
from kyvsim.cel.values import NONE, Optional
from kyvsim.kubernetes.formats import CHECKS as NAME_CHECKS
from kyvsim.kubernetes.formats import Check
from kyvsim.kubernetes.go_time import TimeError, parse_time
from kyvsim.kubernetes.go_url import UrlError, parse_request_uri

_TYPE = struct("kubernetes.NamedFormat")


class Format(NamedTuple):
    """A format as a value of expressions."""

    name: str

    @property
    def only_own_kind(self) -> bool:
        """Whether `==` fails for values of other kinds."""
        return True

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE

    @property
    def pattern_size(self) -> int:
        """The length of a pattern for it, as costs estimate that."""
        return _PATTERN_SIZES[self.name]


# Regular expressions are texts here, which `re` compiles when they are first used: few runs do.
_UUID = "[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}"
_BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))"


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _is_date(text: str) -> bool:
    try:
        parse_time("2006-01-02", text)
    except TimeError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    if len(text) < 4:
        return False
    date, _, clock = text.lower().partition("t")
    found = re.fullmatch(_CLOCK, clock)
    return (
        found is not None
        and _is_date(date)
        and int(found[1]) <= 23
        and int(found[2]) <= 59
        and int(found[3]) <= 59
    )


def _unless(holds: Callable[[str], object], problem: str) -> Check:
    return lambda text: [] if holds(text) else [problem]


_CHECKS: MappingProxyType[str, Check] = MappingProxyType(
    {
        **NAME_CHECKS,
        "uri": _uri,
        "uuid": _unless(partial(re.fullmatch, _UUID), "does not match the UUID format"),
        "byte": _unless(partial(re.fullmatch, _BASE64), "invalid base64"),
        "date": _unless(_is_date, "invalid date"),
        "datetime": _unless(_is_datetime, "invalid datetime"),
    }
)
"""By its name, what returns the problems of a text with a format."""
_PATTERN_SIZES: MappingProxyType[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("dns1123Label", "dns1123LabelPrefix"), 30),
        **dict.fromkeys(("dns1035Label", "dns1035LabelPrefix"), 30),
        **dict.fromkeys(("dns1123Subdomain", "dns1123SubdomainPrefix", "qualifiedName"), 60),
        "labelValue": 40,
        "uri": 1103,
        "uuid": 85,
        "byte": 84,
        "date": 71,
        "datetime": 71,
    }
)


def _named(name: str) -> Optional:
    return Optional(present=True, value=Format(name)) if name in _CHECKS else NONE


def _validate(named: Format, text: str) -> Optional:
    found = _CHECKS[named.name](text)
    return Optional(present=True, value=found) if found else NONE


def _constant(name: str) -> Callable[[], Format]:
    return lambda: Format(name)


FORMATS = Library(
    "format",
    (
        *(
            function(f"format.{name}", way(f"() -> {_TYPE.name}", _constant(name)))
            for name in _CHECKS
        ),
        function("format.named", way(f"(string) -> optional<{_TYPE.name}>", _named)),
        function("validate", way(f"{_TYPE.name}.(string) -> optional<list<string>>", _validate)),
    ),
    types=((Format, _TYPE),),
)
