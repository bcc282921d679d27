"""What there is to vary: the kinds, places, users and labels that either set of policies names."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from kyvsim.equivalence.case import STRANGER
from kyvsim.equivalence.moments import moments
from kyvsim.equivalence.seeds import CONTROLLERS, NAMESPACE, POD, KindName, kinds_meant
from kyvsim.equivalence.subresources import Part, parts_meant
from kyvsim.equivalence.values import is_key, samples
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import About, Mention, Way
from kyvsim.model.request import UserInfo

_LABELS: Way = ("metadata", "labels")
_ACCOUNT = UserInfo(f"system:serviceaccount:{NAMESPACE}:a")
_NO_PLACES: frozenset[Way] = frozenset({(), ("kind",)})
"""What is never changed in an object: one of another kind is another object."""


class Space(NamedTuple):
    """What cases can differ in."""

    kinds: tuple[KindName, ...]
    derived: frozenset[str]
    """Those of them that no policy names: controllers for which rules are derived."""
    places: Mapping[Way, tuple[Json, ...]]
    """Ways in the object, with the values that are written for them."""
    read: Mapping[Way, tuple[Json, ...]]
    """Ways in what is looked up, after the name of its source, with the values written for them."""
    sizes: Mapping[Way, tuple[int, ...]]
    """How much policies ask for at ways of either sort."""
    user: UserInfo
    """Who sends requests, where it does not matter."""
    users: tuple[UserInfo, ...]
    """Who is named, without those whom nobody names."""
    namespace_labels: tuple[Mapping[str, str], ...]
    """Labels for the Namespace of the object."""
    asked: tuple[str, ...]
    """What is asked for besides object and request: `configMap`, `resource`, …"""
    parts: tuple[Part, ...]
    """Subresources that are named."""
    subresources: tuple[str, ...]
    """Those of which nobody knows what is sent to them: these are not tried."""
    updates: frozenset[Way]
    """Ways at which the object is looked at as it was before."""


def space_of(mentions: Iterable[Mention], kinds: KindTable, now: datetime) -> Space:
    """Return the space that policies span with what they mention; `now` is when they are asked."""
    told = tuple(mentions)
    places = _places(told)
    written = _same_spelling(one for m in told if m.about is About.KIND for one in m.values)
    found = dict.fromkeys(kind for one in written for kind in kinds_meant(one, kinds))
    controllers = tuple(one for one in _controllers(found) if one not in found)
    parts = {one: tuple(parts_meant(one, kinds)) for one in written if one.count("/") > 2}
    return Space(
        kinds=(*found, *controllers),
        derived=frozenset(one.kind for one in controllers),
        places={way: (*values, *moments(way, values, now)) for way, values in places.items()},
        read=_read(told),
        sizes=_sizes(told),
        user=STRANGER,
        users=tuple(dict.fromkeys(_users(told))),
        namespace_labels=tuple(_namespace_labels(told)),
        asked=tuple(sorted({str(m.way[0]) for m in told if m.about is About.WORLD})),
        parts=tuple(dict.fromkeys(part for some in parts.values() for part in some)),
        subresources=tuple(one for one, some in parts.items() if not some),
        updates=frozenset(m.way for m in told if m.about is About.OLD_OBJECT and m.way),
    )


def _same_spelling(written: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds that are written, each in one spelling.

    One that is guessed of a plural has one capital letter, whatever the kind has: where the same
    is written out somewhere, that counts.
    """
    parts = [one.split("/") for one in written]
    best: dict[str, str] = {}
    for _, _, kind, *_ in parts:
        known = best.get(kind.lower(), kind)
        best[kind.lower()] = max(known, kind, key=lambda name: sum(map(str.isupper, name)))
    spelled = ("/".join((*some[:2], best[some[2].lower()], *some[3:])) for some in parts)
    return tuple(dict.fromkeys(spelled))


def _controllers(found: Iterable[KindName]) -> Iterator[KindName]:
    """Yield all controllers where Pods are among the kinds: rules are derived for these."""
    if any((one.group, one.kind) == POD for one in found):
        yield from (KindName(group, "v1", kind) for group, kind in CONTROLLERS)


def _places(mentions: Iterable[Mention]) -> Mapping[Way, tuple[Json, ...]]:
    found: dict[Way, tuple[Json, ...]] = {}
    for one in mentions:
        if one.about in {About.OBJECT, About.OLD_OBJECT} and one.way not in _NO_PLACES:
            found[one.way] = (*found.get(one.way, ()), *one.values)
        elif one.about is About.REQUEST and one.way[:1] in {("namespace",), ("name",)}:
            way: Way = ("metadata", *one.way[:1])
            found[way] = (*found.get(way, ()), *one.values)
    return found


def _sizes(mentions: Iterable[Mention]) -> Mapping[Way, tuple[int, ...]]:
    found: dict[Way, tuple[int, ...]] = {}
    for one in mentions:
        if one.sizes:
            found[one.way] = (*found.get(one.way, ()), *one.sizes)
    return found


def _read(mentions: Iterable[Mention]) -> Mapping[Way, tuple[Json, ...]]:
    found: dict[Way, tuple[Json, ...]] = {}
    for one in mentions:
        if one.about is About.WORLD:
            found[one.way] = (*found.get(one.way, ()), *one.values)
    return found


def _users(mentions: Iterable[Mention]) -> Iterator[UserInfo]:
    for one in mentions:
        if one.about is not About.REQUEST or not one.way:
            continue
        field = str(one.way[1]) if one.way[0] == "userInfo" and len(one.way) > 1 else one.way[0]
        # Whose account it is may only be held against the object.
        written = one.values or (("a",) if field == "serviceAccountName" else ())
        for value in samples(written):
            if value.__class__ is str and value:
                yield from _user(str(field), value)


def _user(field: str, value: str) -> Iterator[UserInfo]:
    if field == "username":
        yield STRANGER._replace(username=value)
    elif field == "serviceAccountName" and is_key(value):
        yield STRANGER._replace(username=f"system:serviceaccount:{NAMESPACE}:{value}")
    elif field == "groups":
        yield STRANGER._replace(groups=(*STRANGER.groups, value))
    elif field == "roles":
        yield from (one._replace(roles=(value,)) for one in (STRANGER, _ACCOUNT))
    elif field == "clusterRoles":
        yield from (one._replace(cluster_roles=(value,)) for one in (STRANGER, _ACCOUNT))


def _namespace_labels(mentions: Iterable[Mention]) -> Iterator[Mapping[str, str]]:
    """Yield the labels one by one, then the first value of each together."""
    together: dict[str, str] = {}
    for one in mentions:
        if one.about is not About.NAMESPACE or one.way[:2] != _LABELS or len(one.way) != 3:
            continue
        name = str(one.way[2])
        texts = [value for value in samples(one.values or ("a",)) if isinstance(value, str)]
        if texts:
            together[name] = texts[0]
        yield from ({name: text} for text in texts)
    if len(together) > 1:
        yield together
