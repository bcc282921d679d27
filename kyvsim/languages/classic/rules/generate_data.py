"""`generate.data`: an object written out in the rule."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.rules.downstream import from_data, target_of
from kyvsim.model.ports import ClusterView


def data_downstreams(pattern: Json, _cluster: ClusterView) -> Iterator[Json]:
    """Give the object that the pattern's `data` describes, a bare one where it says nothing."""
    data = pattern.get("data")
    yield from_data({} if data is None else data, target_of(pattern))
