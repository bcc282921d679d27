"""`generate.data`: an object written out in the rule."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.model.ports import ClusterView
from kyvsim.rules.downstream import from_data, target_of


def data_downstreams(pattern: Json, _cluster: ClusterView) -> Iterator[Json]:
    """Give the object that the pattern's `data` describes; none where there is no data."""
    if pattern.get("data") is not None:
        yield from_data(pattern["data"], target_of(pattern))
