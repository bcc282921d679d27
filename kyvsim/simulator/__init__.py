"""A simulated cluster: the only package with state."""

from importlib import import_module

from kyvsim.kubernetes.objects import KubernetesObject


def as_stored(obj: KubernetesObject) -> KubernetesObject:
    """Return an object with the defaults that an API server sets before policies see it.

    A Pod has the ServiceAccount `default`, which a plugin sets. The API server is imported here,
    since only runs with failures need it.
    """
    with_defaults = import_module("kyvsim.simulator.api_server.defaults").with_defaults
    whole: KubernetesObject = with_defaults(obj)
    spec = whole.get("spec")
    if whole.get("kind") == "Pod" and isinstance(spec, dict):
        name = spec.get("serviceAccountName") or "default"
        spec = {**spec, "serviceAccountName": name, "serviceAccount": name}
        whole = {**whole, "spec": spec}
    return whole
