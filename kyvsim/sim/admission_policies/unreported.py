"""The admission policies that Kyverno would report on, and here nobody does."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, ObjectKey, object_key
from kyvsim.sim.kyverno.native_reports import API_VERSION, wants_reports
from kyvsim.sim.server import Store

_KIND = "MutatingAdmissionPolicy"


def is_unreported(obj: Json) -> bool:
    """Return whether scans may tell of a policy in a cluster, where the installation wants it."""
    return object_key(obj).kind == _KIND and wants_reports(obj)


def unreported(store: Store) -> Iterator[ObjectKey]:
    """Yield the admission policies of which scans may tell in a cluster."""
    yield from map(object_key, filter(is_unreported, store.list(API_VERSION, _KIND, "")))
