"""`generate.clone`: a copy of one object."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.rules.downstream import SourceMissingError, from_source, target_of
from kyvsim.model.ports import ClusterView


def clone_downstreams(pattern: Json, cluster: ClusterView) -> Iterator[Json]:
    """Give the copy of the source that `clone` names; none where it would be its own copy."""
    target, clone = target_of(pattern), pattern["clone"]
    namespace, name = clone.get("namespace") or "", clone["name"]
    if (namespace, name) == (target.namespace, target.name):
        return
    source = cluster.get(target.api_version, target.kind, namespace, name)
    if source is None:
        place = target._replace(namespace=namespace, name=name)
        raise SourceMissingError(f"source resource {place} not found")
    yield from_source(source, target)
