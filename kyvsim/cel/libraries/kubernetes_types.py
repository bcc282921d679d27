"""Types that the API server adds: quantities, semantic versions, URLs, named formats."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from kyvsim.cel.environment import Library, function, method, succeeds
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, struct
from kyvsim.cel.values import NONE, Optional, TextList
from kyvsim.kubernetes import quantities
from kyvsim.kubernetes.go_time import TimeError, parse_time
from kyvsim.kubernetes.go_url import GoUrl, UrlError, parse_request_uri, parse_url
from kyvsim.kubernetes.labels import CHECKS as NAME_CHECKS
from kyvsim.kubernetes.labels import Check
from kyvsim.kubernetes.quantities import parse_quantity, quantity_problem
from kyvsim.kubernetes.semver import Version, read_version

# Kubernetes quantities such as `500Mi`.
#
# Source of the rules: upstream k8s.io/apiserver pkg/cel/library/quantity.go.

_QUANTITY = struct("kubernetes.Quantity")
_MAX_INT = (1 << 63) - 1


class CelQuantity(NamedTuple):
    """A quantity in expressions."""

    amount: quantities.Quantity
    computed: bool = False
    """Whether it is a sum or difference: in upstream, one on the right of `==` equals nothing."""
    only_own_kind: bool = True
    cel_type: CelType = _QUANTITY

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CelQuantity) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __str__(self) -> str:
        return str(self.amount)


def _quantity(text: str) -> CelQuantity:
    found = parse_quantity(text)
    if found is None:
        raise CelError(quantity_problem(text))
    return CelQuantity(found)


def _whole(value: CelQuantity) -> int | None:
    """Return the value as an int64, or None if upstream does not convert it.

    As upstream, it converts neither a number with decimals, whatever they are (`1.0`, `1000m`), nor
    one that is stored in billionths because it is large (`1Pi`).
    """
    amount = value.amount
    if amount.scale < 0 or (
        amount.format == quantities.BINARY_SI and abs(amount.mantissa) == _MAX_INT
    ):
        return None
    try:
        found = amount.whole()
    except OverflowError:
        return None
    return found if -_MAX_INT - 1 <= found <= _MAX_INT else None


def _as_integer(value: CelQuantity) -> int:
    found = _whole(value)
    if found is None:
        raise CelError("cannot convert value to integer")
    return found


def _order(left: CelQuantity, right: CelQuantity) -> int:
    order = left.amount.compare(right.amount)
    return (order > 0) - (order < 0)


def _computed(
    compute: Callable[[quantities.Quantity], quantities.Quantity], other: CelQuantity | int
) -> CelQuantity:
    if isinstance(other, int):
        other = CelQuantity(quantities.Quantity(other, 0, quantities.DECIMAL_EXPONENT))
    try:
        return CelQuantity(compute(other.amount), computed=True)
    except OverflowError as error:
        raise CelError(str(error)) from None


QUANTITIES = Library(
    "quantity",
    (
        function(f"quantity(string) -> {_QUANTITY}", _quantity),
        function("isQuantity(string) -> bool", lambda text: parse_quantity(text) is not None),
        method(f"{_QUANTITY}.isInteger() -> bool", lambda value: _whole(value) is not None),
        method(f"{_QUANTITY}.asInteger() -> int", _as_integer),
        method(
            f"{_QUANTITY}.asApproximateFloat() -> double", lambda value: value.amount.approximate()
        ),
        function(
            f"sign({_QUANTITY}) -> int", lambda a: (a.amount.mantissa > 0) - (a.amount.mantissa < 0)
        ),
        method(f"{_QUANTITY}.isLessThan({_QUANTITY}) -> bool", lambda a, b: _order(a, b) < 0),
        method(f"{_QUANTITY}.isGreaterThan({_QUANTITY}) -> bool", lambda a, b: _order(a, b) > 0),
        method(f"{_QUANTITY}.compareTo({_QUANTITY}) -> int", _order),
        method(
            f"{_QUANTITY}.add({_QUANTITY}) -> {_QUANTITY}", lambda a, b: _computed(a.amount.plus, b)
        ),
        method(f"{_QUANTITY}.add(int) -> {_QUANTITY}", lambda a, b: _computed(a.amount.plus, b)),
        method(
            f"{_QUANTITY}.sub({_QUANTITY}) -> {_QUANTITY}",
            lambda a, b: _computed(a.amount.minus, b),
        ),
        method(f"{_QUANTITY}.sub(int) -> {_QUANTITY}", lambda a, b: _computed(a.amount.minus, b)),
    ),
    types=((CelQuantity, _QUANTITY),),
)

# Semantic versions.
#
# Source of the rules: upstream k8s.io/apiserver pkg/cel/library/semverlib.go, version 1.

_SEMVER = struct("kubernetes.Semver")


class Semver(NamedTuple):
    """A version in expressions."""

    version: Version
    text: str
    only_own_kind: bool = True
    cel_type: CelType = _SEMVER

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        """Return whether the versions are equal, ignoring build metadata after `+`."""
        return isinstance(other, Semver) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)


def _semver(text: str, normalize: bool = False) -> Semver:
    """Return the version; `normalize` drops a leading `v` and zeros, and adds missing numbers."""
    if normalize:
        parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
        if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
            raise CelError("short version cannot contain PreRelease/Build meta data")
        text = ".".join([*parts, *["0"] * (3 - len(parts))])
    try:
        return Semver(read_version(text), text)
    except ValueError as error:
        raise CelError(str(error)) from None


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest and rest[0] in "0123456789" else f"0{rest}"


SEMVERS = Library(
    "semver",
    (
        function(f"semver(string) -> {_SEMVER}", _semver),
        function(f"semver(string, bool) -> {_SEMVER}", _semver),
        function("isSemver(string) -> bool", succeeds(_semver)),
        function("isSemver(string, bool) -> bool", succeeds(_semver)),
        method(f"{_SEMVER}.major() -> int", lambda value: value.version.major),
        method(f"{_SEMVER}.minor() -> int", lambda value: value.version.minor),
        method(f"{_SEMVER}.patch() -> int", lambda value: value.version.patch),
        method(f"{_SEMVER}.isLessThan({_SEMVER}) -> bool", lambda a, b: a.version < b.version),
        method(f"{_SEMVER}.isGreaterThan({_SEMVER}) -> bool", lambda a, b: a.version > b.version),
        method(
            f"{_SEMVER}.compareTo({_SEMVER}) -> int",
            lambda a, b: (a.version > b.version) - (a.version < b.version),
        ),
    ),
    types=((Semver, _SEMVER),),
)

# URLs.
#
# Source of the rules: upstream k8s.io/apiserver pkg/cel/library/urls.go, over Go's net/url.

_URL = struct("kubernetes.URL")


class Url(NamedTuple):
    """A URL in expressions."""

    parts: GoUrl
    only_own_kind: bool = True
    cel_type: CelType = _URL


def _url(text: str) -> Url:
    try:
        parse_request_uri(text)
        return Url(parse_url(text))
    except UrlError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


URLS = Library(
    "url",
    (
        function(f"url(string) -> {_URL}", _url),
        function("isURL(string) -> bool", lambda text: not _uri(text)),
        method(f"{_URL}.getScheme() -> string", lambda url: url.parts.scheme),
        method(f"{_URL}.getHost() -> string", lambda url: url.parts.host),
        method(f"{_URL}.getHostname() -> string", lambda url: url.parts.hostname),
        method(f"{_URL}.getPort() -> string", lambda url: url.parts.port),
        method(f"{_URL}.getEscapedPath() -> string", lambda url: url.parts.escaped_path),
        method(
            f"{_URL}.getQuery() -> map<string, list<string>>",
            lambda url: {name: TextList(one) for name, one in url.parts.query().items()},
        ),
    ),
    types=((Url, _URL),),
)

# Named formats of strings, such as DNS labels, in expressions.
#
# Source of the rules: upstream k8s.io/apiserver pkg/cel/library/format.go.

_FORMAT = struct("kubernetes.NamedFormat")


class NamedFormat(NamedTuple):
    """A format in expressions."""

    name: str
    only_own_kind: bool = True
    cel_type: CelType = _FORMAT

    @property
    def pattern_size(self) -> int:
        """The length of its pattern, for estimating costs."""
        return _PATTERN_SIZES[self.name]


# Regular expressions are strings here, which `re` compiles on first use: most runs use none.
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
    if found is None or not _is_date(date):
        return False
    return int(found[1]) <= 23 and int(found[2]) <= 59 and int(found[3]) <= 59


def _unless(holds: Callable[[str], object], problem: str) -> Check:
    return lambda text: [] if holds(text) else [problem]


_CHECKS: Mapping[str, Check] = {
    **NAME_CHECKS,
    "uri": _uri,
    "uuid": _unless(partial(re.fullmatch, _UUID), "does not match the UUID format"),
    "byte": _unless(partial(re.fullmatch, _BASE64), "invalid base64"),
    "date": _unless(_is_date, "invalid date"),
    "datetime": _unless(_is_datetime, "invalid datetime"),
}
"""By name: functions that return the problems of a string with a format."""
_PATTERN_SIZES: Mapping[str, int] = {
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


def _validate(named: NamedFormat, text: str) -> Optional:
    found = _CHECKS[named.name](text)
    return Optional(present=True, value=found) if found else NONE


FORMATS = Library(
    "format",
    (
        *(
            function(f"format.{name}() -> {_FORMAT}", partial(NamedFormat, name))
            for name in _CHECKS
        ),
        function(
            f"format.named(string) -> optional<{_FORMAT}>",
            lambda name: Optional(True, NamedFormat(name)) if name in _CHECKS else NONE,
        ),
        method(f"{_FORMAT}.validate(string) -> optional<list<string>>", _validate),
    ),
    types=((NamedFormat, _FORMAT),),
)
