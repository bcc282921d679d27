"""The admission policies that Kyverno would report on, and here nobody does."""

from collections.abc import Iterator

from kyvsim.kube.objects import ObjectKey, labels, object_key
from kyvsim.sim.admission_policies.bound import API_VERSION, POLICIES
from kyvsim.sim.server import Store

EXCLUDED = "reports.kyverno.io/disabled"


def unreported(store: Store) -> Iterator[ObjectKey]:
    """Yield the admission policies of which scans would tell in a cluster."""
    for kind in POLICIES:
        for policy in store.list(API_VERSION, kind, ""):
            if EXCLUDED not in labels(policy):
                yield object_key(policy)
