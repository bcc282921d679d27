"""The existing objects that a target of a mutate rule means.

Source of the rules: upstream pkg/clients/dclient/helpers.go.
"""

from collections.abc import Iterable, Iterator, Mapping

from kyvsim.kubernetes.discovery import plural, split_api_version
from kyvsim.kubernetes.labels import compile_selector
from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.ports import ClusterView


def find_targets(wanted: Mapping[str, Json], namespace: str, cluster: ClusterView) -> list[Json]:
    """Return the objects that a target means; raise `LookupError` where there must be one.

    `namespace` stands in for the one that is written there. A name and a namespace without
    wildcards ask for one object, whatever the selector says. Raises `SelectorError` where the
    selector is none.
    """
    # Of a subresource the fake API upstream gives the whole object; so it is patched here.
    kind = (wanted.get("kind") or "").partition("/")[0]
    api_version, name = (wanted.get(key) or "" for key in ("apiVersion", "name"))
    given = list(dict.fromkeys(_meant(api_version, kind, cluster.kinds())))
    if name and namespace and not has_wildcard(name + namespace):
        found = [cluster.get(*pair, namespace, name) for pair in given]
        if None in found or not found:
            group = split_api_version(api_version)[0]
            resource = ".".join(filter(None, (plural(group, kind), group)))
            raise LookupError(f'{resource} "{name}" not found')
        return found
    if not given:
        raise LookupError("not found")
    fits = compile_selector(_without_wildcards(wanted.get("selector") or {}))
    return [
        obj
        for pair in given
        for obj in cluster.list(*pair, "")
        if _is_named(obj, namespace, name) and fits(labels(obj))
    ]


def _meant(
    api_version: str, kind: str, kinds: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Give apiVersion and kind of what a target means; objects are read in the version it names."""
    group = split_api_version(api_version)[0]
    for known in kinds:
        if not matches(kind, known[1]):
            continue
        if matches(api_version, known[0]):
            yield known
        elif api_version and not has_wildcard(api_version) and _group(known) == group:
            yield api_version, known[1]


def _group(known: tuple[str, str]) -> str:
    return split_api_version(known[0])[0]


def _without_wildcards(selector: Mapping[str, Json]) -> Json:
    """Return a selector in which a wildcard is no label value; the API knows none."""
    equal = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in (selector.get("matchLabels") or {}).items()
    ]
    return {"matchExpressions": [*equal, *(selector.get("matchExpressions") or ())]}


def _is_named(obj: Json, namespace: str, name: str) -> bool:
    key = object_key(obj)
    return (not namespace or matches(namespace, key.namespace)) and (
        not name or matches(name, key.name)
    )
