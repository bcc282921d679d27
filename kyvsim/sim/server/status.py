"""Kinds whose status is written apart from the rest.

Source of the rules: k8s.io/kubernetes pkg/registry (every kind with a status has the subresource);
for custom kinds their definition says it.
"""

from kyvsim.kube.discovery import is_builtin
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey, text_field
from kyvsim.schema.facts import has_status_apart
from kyvsim.sim.server.store import Store


def has_status(key: ObjectKey, store: Store) -> bool:
    """Return whether only requests to `status` can change the status of a kind."""
    group, version = split_api_version(key.api_version)
    if is_builtin(group, key.kind) or has_status_apart(key.api_version, key.kind):
        return True
    for definition in store.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", ""):
        spec = definition["spec"]
        if (text_field(spec, "group"), text_field(spec.get("names"), "kind")) == (group, key.kind):
            return any(_serves_status(one) for one in spec["versions"] if one["name"] == version)
    return False


def _serves_status(version: Json) -> bool:
    return (version.get("subresources") or {}).get("status") is not None
