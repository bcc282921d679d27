"""Lifetimes: the label, the webhook that checks it, and the controller that deletes objects."""

import re
from datetime import UTC, datetime, timedelta

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    ObjectKey,
    annotations,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.quantities import parse_duration
from kyvsim.simulator.api_server import Change, Purpose, Review, Store, Verdict
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.api_server.metadata import is_terminating
from kyvsim.simulator.api_server.request import ALLOWED, written
from kyvsim.simulator.kyverno.configuration import CLEANUP
from kyvsim.simulator.kyverno.installed import Kyverno
from kyvsim.simulator.latency import NOTICE
from kyvsim.simulator.parts import Parts

# How long a label lets an object live.
#
# Source of the rules: upstream pkg/controllers/ttl/utils.go, k8s.io/kube-openapi
# pkg/validation/strfmt/duration.go.

TTL_LABEL = "cleanup.kyverno.io/ttl"
_SECOND = 10**9
_UNITS = (
    (1, ("ns",), "nano"),
    (1_000, ("us", "\N{MICRO SIGN}s"), "micro"),
    (1_000_000, ("ms",), "milli"),
    (_SECOND, ("s",), "sec"),
    (60 * _SECOND, ("m",), "min"),
    (3_600 * _SECOND, ("h", "hr"), "hour"),
    (86_400 * _SECOND, ("d",), "day"),
    (604_800 * _SECOND, ("w", "wk"), "week"),
)
"""Nanoseconds, names of the unit, and how longer names begin."""
_AMOUNT = re.compile("([0-9]+)\\s*([A-Za-z\N{MICRO SIGN}]+)")
_LAYOUTS = ("%Y-%m-%dT%H%M%SZ", "%Y-%m-%d")
_EXACT = re.compile(r"\d{4}-\d\d-\d\d(T\d{6}Z)?")


class TtlError(ValueError):
    """A text that is neither a duration nor a time."""


def end_of_life(obj: Json, now: datetime) -> datetime | None:
    """Return when the label wants an object deleted, None where it has no such label.

    `now` is when an object is created that has no time of creation yet. Raises TtlError where the
    label cannot be read.
    """
    text = labels(obj).get(TTL_LABEL)
    if text is None:
        return None
    lifetime = _duration(text)
    if lifetime is None:
        return _time(text)
    created = text_field(metadata(obj), "creationTimestamp")
    born = datetime.fromisoformat(created) if created else now
    return born + timedelta(microseconds=lifetime / 1000)


def _duration(text: str) -> int | None:
    """Return the nanoseconds that a text stands for: Go's durations, or `2days`, `1w3hours`."""
    plain = parse_duration(text)
    if plain is not None:
        return plain
    found = [
        int(amount) * size
        for amount, unit in _AMOUNT.findall(text)
        for size, names, start in _UNITS
        if unit.lower() in names or unit.lower().startswith(start)
    ]
    return sum(found) if found else None


def _time(text: str) -> datetime:
    for layout in _LAYOUTS if _EXACT.fullmatch(text) else ():
        try:
            return datetime.strptime(text, layout).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise TtlError(f'parsing time "{text}" as "2006-01-02": cannot parse "{text}" as "2006"')


# What the cleanup controller says of labels with a lifetime before they are stored.
#
# Source of the rules: upstream cmd/cleanup-controller/handlers/admission/resource,
# pkg/validation.

_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_UNREAD = "cleanup.kyverno.io/ttl label value cannot be parsed as any recognizable format"


class TimeToLiveWebhook:
    """Warns of lifetimes that cannot be read."""

    def mutate(self, review: Review) -> Verdict:
        """Return that an object is left alone."""
        del review
        return ALLOWED

    def validate(self, review: Review) -> Verdict:
        """Return a warning where the label of an object is no lifetime; nothing is refused."""
        obj = written(review)
        if obj is None:
            return ALLOWED
        try:
            end_of_life(obj, _SOME_TIME)
        except TtlError as error:
            return Verdict(warnings=(f"{_UNREAD} ({error})",))
        return ALLOWED


# The controller of lifetimes: it deletes objects when their label says so.
#
# Source of the rules: upstream pkg/controllers/ttl (manager.go, controller.go). The manager looks
# every minute which kinds it may watch and delete; of those it follows every change.

_ACTOR = "ttl"
_INTERVAL = 60.0
_VERBS = ("watch", "list", "delete")
_PROPAGATION = "cleanup.kyverno.io/propagation-policy"
_POLICIES = frozenset({"Foreground", "Background", "Orphan"})


def start_ttl(kyverno: Kyverno) -> None:
    """Let objects be deleted when their label says so."""
    controller = _TtlController(kyverno.parts)
    kyverno.parts.store.watch(controller.observe)
    kyverno.cleaning.append(controller.relist)


class _TtlController:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._followed: set[tuple[str, str]] = set()
        """Group and kind of what is followed."""
        self._left: dict[ObjectKey, None] = {}
        """Labelled objects of kinds that were not followed when they were written."""
        self._looks = False

    def observe(self, change: Change) -> None:
        """Follow an object that has the label."""
        if change.new is not None:
            self._take(change.new)

    def _take(self, obj: Json) -> None:
        if TTL_LABEL not in labels(obj) or is_terminating(obj):
            return
        key = object_key(obj)
        if self._follows(key):
            self._parts.scheduler.after(NOTICE, _ACTOR, lambda: self._plan(key))
        else:
            self._left[key] = None
            self._look_later()

    def relist(self) -> None:
        """Look at every object anew."""
        for obj in tuple(self._parts.store.every()):
            self._take(obj)

    def _follows(self, key: ObjectKey) -> bool:
        """Return whether the manager has seen that it may follow a kind."""
        named = _group_kind(key)
        # Whether a kind was open to it at its last look is asked when it first matters.
        if named not in self._followed and self._parts.clock.elapsed >= _INTERVAL:
            self._try(key)
        return named in self._followed

    def _try(self, key: ObjectKey) -> None:
        if not missing_verbs(key, self._parts.store):
            self._followed.add(_group_kind(key))

    def _look_later(self) -> None:
        if not self._looks:
            self._looks = True
            wait = _INTERVAL - self._parts.clock.elapsed % _INTERVAL
            self._parts.scheduler.after(wait, _ACTOR, self._look, timer=True)

    def _look(self) -> None:
        """See which kinds may be followed now, and follow what is there of them."""
        self._looks = False
        for key in tuple(self._left):
            self._try(key)
            if _group_kind(key) in self._followed or self._parts.store.get(*key) is None:
                del self._left[key]
                self._plan(key)
        if self._left:
            self._look_later()

    def _plan(self, key: ObjectKey) -> None:
        """Delete an object whose time has come; wait for the time of another."""
        obj = self._parts.store.get(*key)
        if obj is None or is_terminating(obj):
            return
        try:
            end = end_of_life(obj, self._parts.clock.now())
        except TtlError:
            return
        if end is None:
            return
        rest = (end - self._parts.clock.now()).total_seconds()
        if rest > 0:
            self._parts.scheduler.after(rest, _ACTOR, lambda: self._plan(key), timer=True)
        else:
            purpose = Purpose("", message="its time to live is over")
            self._parts.client(CLEANUP, purpose).delete(key, _propagation(obj))


def missing_verbs(key: ObjectKey, store: Store) -> list[str]:
    """Return what the controller may not do to a kind that it is to follow."""
    anywhere = key._replace(namespace="", name="")
    return [verb for verb in _VERBS if not may(CLEANUP, verb, anywhere, store)]


def _propagation(obj: Json) -> str:
    wish = annotations(obj).get(_PROPAGATION, "")
    return wish if wish in _POLICIES else "Background"


def _group_kind(key: ObjectKey) -> tuple[str, str]:
    return split_api_version(key.api_version)[0], key.kind
