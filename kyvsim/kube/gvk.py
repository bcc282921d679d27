"""Group, version and kind: API versions of objects, and the selectors that policies write."""

from functools import lru_cache
from typing import NamedTuple

_DIGITS = frozenset("0123456789")
_LEVELS = frozenset({"alpha", "beta"})


class KindSelector(NamedTuple):
    """What a `kinds` entry selects; every part may hold wildcards.

    Without a subresource it selects objects only; all parts are "" where the text has too many.
    """

    group: str
    version: str
    kind: str
    subresource: str


@lru_cache(maxsize=512)
def split_api_version(api_version: str) -> tuple[str, str]:
    """Return group and version of an `apiVersion`; the core group is ""."""
    group, slash, version = api_version.partition("/")
    return (group, version) if slash else ("", group)


def _is_version(text: str) -> bool:
    """Return whether a part is a version, such as `v1` or `v1beta1`, or `*`."""
    if text[:1] != "v" or text[1:2] not in _DIGITS:
        return text == "*"
    return len(text) == 2 or (text[2:-1] in _LEVELS and text[-1] in _DIGITS)


def _two_parts(first: str, second: str) -> KindSelector:
    if first == "*" and second == "*":
        return KindSelector("*", "*", "*", "*")
    is_subresource = first == "*" and second.lower() == second
    if _is_version(first) and not is_subresource:
        return KindSelector("*", first, second, "")
    return KindSelector("*", "*", first, second)


@lru_cache(maxsize=512)
def parse_kind_selector(text: str) -> KindSelector:
    """Return the parts of `Kind`, `version/Kind` or `group/version/Kind`, maybe with a subresource.

    A subresource follows after `/` or, in the last piece, after `.`. Parts that are not written are
    `*`, a subresource that is not written is "". upstream: pkg/utils/kube `ParseKindSelector`.
    """
    *leading, last = text.split("/")
    parts = [*leading, *last.split(".")]
    match parts:
        case [kind]:
            return KindSelector("*", "*", kind, "")
        case [first, second]:
            return _two_parts(first, second)
        case [version, kind, subresource] if _is_version(version):
            return KindSelector("*", version, kind, subresource)
        case [group, version, kind]:
            return KindSelector(group, version, kind, "")
        case [group, version, kind, subresource]:
            return KindSelector(group, version, kind, subresource)
    return KindSelector("", "", "", "")
