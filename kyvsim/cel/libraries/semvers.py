"""Semantic versions.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/semverlib.go, version 1.
"""

from typing import NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, struct
from kyvsim.kubernetes.semver import Version, read_version

_TYPE = struct("kubernetes.Semver")


class Semver(NamedTuple):
    """A version as a value of expressions."""

    version: Version
    text: str

    @property
    def only_own_kind(self) -> bool:
        """Whether `==` fails for values of other kinds."""
        return True

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE

    def __str__(self) -> str:
        """Return the version as it is written."""
        return self.text

    def __eq__(self, other: object) -> bool:
        """Tell whether the versions are equal; what is written after `+` does not count."""
        return isinstance(other, Semver) and self.version == other.version

    def __hash__(self) -> int:
        """Return the hash of the version."""
        return hash(self.version)


def _semver(text: str, normalize: bool = False) -> Semver:
    try:
        whole = _normalized(text) if normalize else text
        return Semver(read_version(whole), whole)
    except ValueError as error:
        raise CelError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except CelError:
        return False
    return True


def _normalized(text: str) -> str:
    """Return the version without a leading `v` and zeros, and with all three numbers."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest and rest[0] in "0123456789" else f"0{rest}"


def _compare(left: Semver, right: Semver) -> int:
    return (left.version > right.version) - (left.version < right.version)


def _s(signature: str) -> str:
    return signature.replace("S", _TYPE.name)


SEMVERS = Library(
    "semver",
    (
        function(
            "semver",
            way(_s("(string) -> S"), _semver),
            way(_s("(string, bool) -> S"), _semver),
        ),
        function(
            "isSemver",
            way("(string) -> bool", _is_semver),
            way("(string, bool) -> bool", _is_semver),
        ),
        function("major", way(_s("S.() -> int"), lambda value: value.version.major)),
        function("minor", way(_s("S.() -> int"), lambda value: value.version.minor)),
        function("patch", way(_s("S.() -> int"), lambda value: value.version.patch)),
        function("isLessThan", way(_s("S.(S) -> bool"), lambda a, b: _compare(a, b) < 0)),
        function("isGreaterThan", way(_s("S.(S) -> bool"), lambda a, b: _compare(a, b) > 0)),
        function("compareTo", way(_s("S.(S) -> int"), _compare)),
    ),
    types=((Semver, _TYPE),),
)
