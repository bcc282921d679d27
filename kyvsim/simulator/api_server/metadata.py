"""The fields that an API server sets in objects: uids, names, versions."""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    metadata,
    object_key,
    text_field,
)
from kyvsim.schema.kinds import has_status_apart
from kyvsim.simulator.api_server.store import ObjectStore
from kyvsim.simulator.scheduler import VirtualClock

# Uids and generated names: random, but the same in every run.
# Source of the rules: k8s.io/apiserver pkg/storage/names.


def letters(number: int, length: int) -> str:
    """Return `length` letters and digits that encode a number."""
    alphabet, text = "bcdfghjklmnpqrstvwxz2456789", ""
    for _ in range(length):
        number, index = divmod(number, len(alphabet))
        text += alphabet[index]
    return text


class Identities:
    """Generates uids and suffixes; the same seed gives the same ones for the same objects.

    A value depends on the object and on the number of equal requests before, not on other
    requests: a run in another order of steps has the same names.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._counts: dict[tuple[str, ...], int] = {}

    def copy(self) -> "Identities":
        """Return what generates the same values from now on."""
        other = Identities(self._seed)
        other._counts = {**self._counts}
        return other

    def uid(self, *parts: str) -> str:
        """Return a unique uid."""
        digits = f"{self._next('uid', *parts):032x}"
        first, second, third = digits[:8], digits[8:12], digits[13:16]
        # Version 5 and the usual variant, as of a UUID computed from a hash.
        return f"{first}-{second}-5{third}-8{digits[17:20]}-{digits[20:]}"

    def generated_name(self, base: str, *place: str) -> str:
        """Return a name with a random suffix of five characters."""
        return base[:58] + letters(self._next("name", base, *place), 5)

    def below(self, bound: int) -> int:
        """Return an integer from 0 to `bound` - 1: an `Entropy`."""
        return self._next("number") % bound

    def _next(self, *parts: str) -> int:
        count = self._counts[parts] = self._counts.get(parts, 0) + 1
        text = "/".join((str(self._seed), *parts, str(count)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])


# The fields that an API server sets in objects.
# Source of the rules: k8s.io/apiserver pkg/registry/rest (create.go, update.go).

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_HOLDS = MappingProxyType({"Foreground": FOREGROUND, "Orphan": ORPHAN})
"""By propagation policy, the finalizer for the dependents of an object."""
_KEPT = (
    *("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
    *("generation", "resourceVersion"),
)


def with_metadata(obj: KubernetesObject, fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return an object with changed fields of `metadata`; None removes a field."""
    meta = {**metadata(obj), **fields}
    return {**obj, "metadata": {name: value for name, value in meta.items() if value is not None}}


def reference_to(obj: KubernetesObject) -> dict[str, str]:
    """Return the reference to an object by kind, name and uid, as in `ownerReferences`."""
    key, uid = object_key(obj), text_field(metadata(obj), "uid")
    return {"apiVersion": key.api_version, "kind": key.kind, "name": key.name, "uid": uid}


def as_successor(obj: KubernetesObject, old: KubernetesObject) -> KubernetesObject:
    """Return an updated object with the immutable fields of the old one."""
    before = metadata(old)
    kept = {name: before[name] for name in _KEPT if name in before}
    named = {"name": before["name"], "namespace": before.get("namespace")}
    return with_metadata(obj, {**kept, **named})


def with_generation(obj: KubernetesObject, old: KubernetesObject) -> KubernetesObject:
    """Return an updated object with its generation, which counts changes of the desired state."""
    kept = ("metadata", "status")
    before, after = ({k: v for k, v in one.items() if k not in kept} for one in (old, obj))
    if before == after:
        return obj
    return with_metadata(obj, {"generation": int(metadata(old).get("generation") or 1) + 1})


def is_terminating(obj: KubernetesObject) -> bool:
    """Return whether an object has a deletionTimestamp."""
    return bool(text_field(metadata(obj), "deletionTimestamp"))


def is_held(obj: KubernetesObject) -> bool:
    """Return whether a finalizer, or the grace period of a Pod, blocks the end of a deletion."""
    spec = obj.get("spec") if object_key(obj)[:2] == ("v1", "Namespace") else None
    held = metadata(obj).get("finalizers") or metadata(obj).get("deletionGracePeriodSeconds")
    return bool(held or (spec.__class__ is dict and spec.get("finalizers")))


def grace_period(obj: KubernetesObject, requested: int | None) -> int:
    """Return the seconds that the containers of a Pod get to end; 0 for other objects.

    A Pod that no kubelet runs, or whose containers have ended, is deleted at once.
    upstream: k8s.io/kubernetes pkg/registry/core/pod/strategy.go (CheckGracefulDelete)
    """
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    runs = spec.get("nodeName") and status.get("phase") not in {"Succeeded", "Failed"}
    if object_key(obj)[:2] != ("v1", "Pod") or not runs:
        return 0
    given = spec.get("terminationGracePeriodSeconds", 0) if requested is None else requested
    return int(given) if given >= 0 else 1


def is_being_deleted(obj: KubernetesObject, requested: int | None) -> bool:
    """Return whether another deletion changes nothing: it succeeds without admission.

    That is so for a Namespace with content, and for a Pod unless its grace period gets shorter.
    upstream: k8s.io/apiserver pkg/registry/rest/delete.go (BeforeDelete, `gracefulPending`),
    k8s.io/kubernetes pkg/registry/core/namespace/storage
    """
    if not is_terminating(obj):
        return False
    if object_key(obj)[:2] == ("v1", "Namespace"):
        return bool((obj.get("spec") or {}).get("finalizers"))
    before = int(metadata(obj).get("deletionGracePeriodSeconds") or 0)
    return before > 0 and (requested is None or (requested if requested >= 0 else 1) >= before)


def marked_for_deletion(
    obj: KubernetesObject, clock: VirtualClock, propagation: str, requested: int | None
) -> KubernetesObject:
    """Return an object marked for deletion by a request, with its finalizers.

    A later request can only shorten the grace period of a Pod.
    upstream: k8s.io/apiserver pkg/registry/rest/delete.go (BeforeDelete)
    """
    meta, seconds = metadata(obj), grace_period(obj, requested)
    if is_terminating(obj):
        before = meta.get("deletionGracePeriodSeconds") or 0
        if requested is None or seconds >= before:
            return obj
        since = datetime.fromisoformat(meta["deletionTimestamp"]) - timedelta(seconds=before)
        elapsed = (since - clock.now()).total_seconds()
        stamp = clock.stamp(elapsed + seconds)
        shorter = {"deletionTimestamp": stamp, "deletionGracePeriodSeconds": seconds}
        return with_metadata(obj, shorter)
    held = [one for one in meta.get("finalizers") or () if one not in {FOREGROUND, ORPHAN}]
    held += [_HOLDS[propagation]] if propagation in _HOLDS else []
    fields = {
        "deletionTimestamp": clock.stamp(seconds),
        "deletionGracePeriodSeconds": seconds,
        "finalizers": held or None,
        "generation": int(meta.get("generation") or 0) + 1,
    }
    marked = with_metadata(obj, fields)
    if object_key(obj)[:2] == ("v1", "Namespace"):
        return {**marked, "status": {"phase": "Terminating"}}
    return marked


# Kinds whose status is a subresource.
# Source of the rules: k8s.io/kubernetes pkg/registry (every kind with a status has the
# subresource); for custom kinds their definition decides.


def has_status(key: ObjectKey, store: ObjectStore) -> bool:
    """Return whether only requests to `status` can change the status of a kind."""
    group, version = split_api_version(key.api_version)
    if is_builtin(group, key.kind) or has_status_apart(key.api_version, key.kind):
        return True
    return any(
        (one.get("subresources") or {}).get("status") is not None
        for one in store.defined_versions(group, key.kind)
        if one["name"] == version
    )
