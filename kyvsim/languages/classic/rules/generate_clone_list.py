"""`generate.cloneList`: copies of all objects of some kinds in a namespace."""

from collections.abc import Iterator

from kyvsim.kube.gvk import parse_kind_selector
from kyvsim.kube.labels import compile_selector
from kyvsim.kube.objects import Json, labels, object_key
from kyvsim.languages.classic.rules.downstream import Target, from_source
from kyvsim.model.ports import ClusterView


def clone_list_downstreams(pattern: Json, cluster: ClusterView) -> Iterator[Json]:
    """Give copies of the sources that `cloneList` selects, under their own names."""
    clones, namespace = pattern["cloneList"], pattern.get("namespace") or ""
    selects = compile_selector(clones["selector"]) if clones.get("selector") else None
    for text in clones["kinds"]:
        selector = parse_kind_selector(text)
        group = "" if selector.group == "*" else f"{selector.group}/"
        api_version = f"{group}{selector.version}"
        for source in cluster.list(api_version, selector.kind, clones.get("namespace") or ""):
            key = object_key(source)
            if key.namespace == namespace or (selects and not selects(labels(source))):
                continue
            yield from_source(source, Target(api_version, selector.kind, namespace, key.name))
