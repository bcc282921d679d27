"""Named formats of texts, such as DNS labels, as values of expressions.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/format.go.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.environment import Library
from kyvsim.cel.signature import function, way
from kyvsim.cel.types import CelType, struct
from kyvsim.cel.values import NONE, Optional
from kyvsim.kube.formats import CHECKS, format_problems

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
    return Optional(present=True, value=Format(name)) if name in CHECKS else NONE


def _validate(named: Format, text: str) -> Optional:
    found = format_problems(named.name, text)
    return Optional(present=True, value=found) if found else NONE


def _constant(name: str) -> Callable[[], Format]:
    return lambda: Format(name)


FORMATS = Library(
    "format",
    (
        *(
            function(f"format.{name}", way(f"() -> {_TYPE.name}", _constant(name)))
            for name in CHECKS
        ),
        function("format.named", way(f"(string) -> optional<{_TYPE.name}>", _named)),
        function("validate", way(f"{_TYPE.name}.(string) -> optional<list<string>>", _validate)),
    ),
    types=((Format, _TYPE),),
)
