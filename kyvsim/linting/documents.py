"""Checks of documents: deprecated versions, duplicates and expired exceptions."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.cron import field_problem, is_standard_schedule, next_times
from kyvsim.kubernetes.discovery import is_namespaced, preferred_version, split_api_version
from kyvsim.kubernetes.go_time import TimeError, parse_rfc3339
from kyvsim.kubernetes.lifetimes import TTL_LABEL, TtlError, parse_lifetime
from kyvsim.kubernetes.objects import Path, found_at, metadata, text_field
from kyvsim.kubernetes.quantities import SECOND
from kyvsim.languages.classic.validation.rule_parts import is_open
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, TextChange, change
from kyvsim.model.source import Document
from kyvsim.schema.kinds import CEL_GROUP, is_deprecated, kyverno_kinds


def deprecated_versions(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV203: an apiVersion that was replaced by a newer one with the same schema.

    upstream: `deprecated` in Kyverno's CustomResourceDefinitions
    """
    for document in documents:
        api_version, kind = (text_field(document.data, name) for name in ("apiVersion", "kind"))
        if is_deprecated(api_version, kind):
            group = split_api_version(api_version)[0]
            newer = f"{group}/{preferred_version(group, kind, kyverno_kinds())}"
            text = f"{api_version} of {kind} is deprecated: use {newer}"
            fix = Fix(f"use {newer}", (change(document, ChangeKind.VALUE, ("apiVersion",), newer),))
            yield warn(document, "KV203", text, ("apiVersion",), fix=fix)


def duplicate_names(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV208: two objects with the same kind, namespace and name: the later one replaces it."""
    seen: dict[tuple[str, ...], Document] = {}
    for document in documents:
        data, kind = document.data, text_field(document.data, "kind")
        group = split_api_version(text_field(data, "apiVersion"))[0]
        name, namespace = (text_field(metadata(data), key) for key in ("name", "namespace"))
        # An API server clears the namespace of a cluster-scoped kind.
        namespace = namespace if is_namespaced(group, kind, kyverno_kinds()) else ""
        first = seen.setdefault((group, kind, namespace, name), document)
        if name and (first.file, first.number) != (document.file, document.number):
            one, other = document, first
            if _is_partial(first) and not _is_partial(document):
                one, other = first, document
            text = (
                f"duplicate {kind} `{name}`, also defined in {other.locate(())}: only one of "
                "them takes effect"
            )
            if _is_partial(one) and not _is_partial(other):
                text = (
                    f"this is only a part of the {kind} `{name}` in {other.locate(())}: a patch is "
                    "listed under `patches` of a kustomization, not under `resources`"
                )
            yield warn(one, "KV208", text, ("metadata", "name"))


def _is_partial(document: Document) -> bool:
    """Return whether a policy lacks what each has: rules, or constraints of what it matches."""
    spec = document.data.get("spec")
    needed = {"rules"} if text_field(document.data, "kind") in _WITH_RULES else {"matchConstraints"}
    is_policy = text_field(document.data, "kind").endswith("Policy")
    return is_policy and isinstance(spec, dict) and needed.isdisjoint(spec)


_WITH_RULES = frozenset({"ClusterPolicy", "Policy"})


def expired_exceptions(documents: Iterable[Document], now: datetime) -> Iterator[Diagnostic]:
    """KV219: an expired exception; only those of policies.kyverno.io can expire.

    upstream: api/policies.kyverno.io/v1/policy_exception.go `IsExpired`
    """
    for document in documents:
        group = split_api_version(text_field(document.data, "apiVersion"))[0]
        if (group, text_field(document.data, "kind")) != (CEL_GROUP, "PolicyException"):
            continue
        spec = document.data.get("spec")
        expires = spec.get("expiresAt") if spec.__class__ is dict else None
        if expires.__class__ is not str:
            continue
        try:
            end = parse_rfc3339(expires).nanoseconds / SECOND
        except TimeError:
            continue
        if end < now.timestamp():
            text = f"the exception has no effect: it expired at {expires}"
            yield warn(document, "KV219", text, ("spec", "expiresAt"))


def lifetime_problems(document: Document, path: Path, value: object) -> Iterator[Diagnostic]:
    """KV321: the label for the lifetime of objects as an annotation; KV345: an invalid lifetime.

    upstream: pkg/controllers/ttl, which lists objects by this label and ignores invalid values
    """
    if path[-2] == "annotations":
        text = f"the annotation `{TTL_LABEL}` has no effect: Kyverno reads the label with this name"
        yield warn(document, "KV321", text, path, fix=_as_label(document, path, value))
    elif path[-2] == "labels" and isinstance(value, str) and not is_open(value):
        try:
            parse_lifetime(value)
        except TtlError:
            text = (
                f"`{value}` is not a lifetime, so nothing deletes the object: write a duration "
                "such as `2h` or `3d`, or a time such as `2030-01-31T120000Z`"
            )
            yield warn(document, "KV345", text, path)


def _as_label(document: Document, path: Path, value: object) -> Fix | None:
    """Return the fix that moves an annotation to the labels."""
    *above, _, name = path
    owner = found_at(document.data, tuple(above))
    place, labels, annotations = tuple(above), (*above, "labels"), (*above, "annotations")
    is_alone = len(owner["annotations"]) == 1
    removed = change(document, ChangeKind.REMOVE, annotations if is_alone else path)
    entry = f"{name}: {json.dumps(value, ensure_ascii=False)}"
    changes: tuple[TextChange, ...]
    if owner.get("labels"):
        changes = (removed, change(document, ChangeKind.ADD, labels, entry))
    elif "labels" in owner:
        return None
    elif is_alone:
        changes = (change(document, ChangeKind.KEY, annotations, "labels"),)
    else:
        changes = (removed, change(document, ChangeKind.ADD, place, f"labels:\n  {entry}"))
    return Fix("use labels", changes)


_METADATA = (
    ("metadata",),
    ("spec", "template", "metadata"),
    ("spec", "jobTemplate", "spec", "template", "metadata"),
)


def manifest_problems(manifests: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV327, KV321 and KV345: labels and annotations that are not strings, and lifetimes."""
    for document in manifests:
        for start in _METADATA:
            place = document.data
            for step in start:
                place = place.get(step) if place.__class__ is dict else None
            for field in ("labels", "annotations") if place.__class__ is dict else ():
                entries = place.get(field)
                for name, value in entries.items() if entries.__class__ is dict else ():
                    path = (*start, field, name)
                    if isinstance(value, bool | int | float):
                        changes = (change(document, ChangeKind.QUOTE, path),)
                        what = f"`{name}` must be a string, in quotes"
                        text = f"an API server rejects this value: {what}"
                        fix = Fix("add quotes", changes)
                        yield warn(document, "KV327", text, path, fix=fix)
                    elif name == TTL_LABEL and start == ("metadata",):
                        yield from lifetime_problems(document, path, value)


_SCHEDULED = frozenset({"CronJob", "CleanupPolicy", "ClusterCleanupPolicy", "DeletingPolicy"})


_FIELDS = 5


def _noun(kind: str) -> str:
    return "object" if kind == "CronJob" else "policy"


def refused_contexts(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV393: a context entry for which a cluster rejects a cleanup policy.

    upstream: api/kyverno/v2/cleanup_policy_types.go `ValidateContext`
    """
    for document in documents:
        spec = document.data.get("spec")
        is_cleanup = text_field(document.data, "kind") in {"CleanupPolicy", "ClusterCleanupPolicy"}
        context = spec.get("context") if is_cleanup and spec.__class__ is dict else None
        for index, entry in enumerate(context if context.__class__ is list else ()):
            for name, advice in _REFUSED.items():
                if entry.__class__ is dict and name in entry:
                    text = (
                        f"a cluster rejects the policy: `{name}` is not allowed in the context of "
                        f"cleanup policies ({advice})"
                    )
                    yield warn(document, "KV393", text, ("spec", "context", index, name))


_REFUSED: Mapping[str, str] = {
    "configMap": "read it with `apiCall`",
    "imageRegistry": "only API calls, GlobalContextEntries and variables are",
}


def unreadable_schedules(documents: Iterable[Document], now: datetime) -> Iterator[Diagnostic]:
    """KV234: a schedule that cannot be read, or whose time never comes; KV381: one misread.

    upstream: api/kyverno/v2/cleanup_policy_types.go `ValidateSchedule`,
    pkg/controllers/deleting/controller.go
    """
    for document in documents:
        kind = text_field(document.data, "kind").removeprefix("Namespaced")
        spec = document.data.get("spec")
        schedule = spec.get("schedule") if kind in _SCHEDULED and spec.__class__ is dict else None
        if schedule.__class__ is not str:
            continue
        if is_standard_schedule(schedule):
            if schedule.startswith("@"):
                continue
            if text := _time_problem(kind, schedule, now):
                yield warn(document, "KV234", text, ("spec", "schedule"))
            elif text := _unlike_times(schedule):
                yield warn(document, "KV381", text, ("spec", "schedule"))
            continue
        text = f"`{schedule}` is not a schedule of cron, so a cluster rejects the {_noun(kind)}"
        number = len(schedule.split())
        if 1 < number != _FIELDS:
            text = f"{text}: it has {number} fields instead of minute, hour, day, month and weekday"
        elif number == _FIELDS:
            text = f"{text}: {field_problem(schedule)}"
        yield warn(document, "KV234", text, ("spec", "schedule"))


def _time_problem(kind: str, schedule: str, now: datetime) -> str:
    try:
        if next_times(schedule, now, 1):
            return ""
    except ValueError as error:
        # Kyverno computes times with a stricter implementation than Kubernetes.
        is_stricter = kind != "CronJob"
        return f"Kyverno cannot compute the times of `{schedule}`: {error}" if is_stricter else ""
    return f"the time of the schedule `{schedule}` never comes: no month has such a day"


_STEP = re.compile(r"\*/(\d+)")
_SINGLE = re.compile(r"\d+")


def _unlike_times(schedule: str) -> str:
    """Return how the times of a schedule with five fields differ from those that it seems to show.

    Hours from one to another are left, such as `* 9-17 * * *`: each minute of them may be meant.
    """
    minute, hour, day, _, weekday = fields = schedule.split()
    is_few = hour not in {"*", "*/1"} and "-" not in hour
    is_day = hour == "*" and (_SINGLE.fullmatch(day) or _SINGLE.fullmatch(weekday))
    if minute in {"*", "*/1"} and (is_few or is_day):
        once = " ".join(("0", "0" if is_day else hour, *fields[2:]))
        when = "of the whole day" if is_day else "of these hours"
        return f"`{schedule}` is every minute {when}: for one time, write `{once}`"
    for text, noun, count in ((minute, "minute", 60), (hour, "hour", 24)):
        found = _STEP.fullmatch(text)
        step = int(found[1]) if found else 0
        if step > count / 2:
            times = " and ".join(map(str, range(0, count, step)))
            return (
                f"`{text}` is not every {step} {noun}s, but each {noun} {times}: steps begin again "
                f"with 0 after {count} {noun}s"
            )
    return ""
