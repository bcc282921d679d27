"""What kubectl calls kinds: plurals, singulars, short names, groups behind a dot."""

from typing import NamedTuple

from kyvsim.kube.discovery import kinds_named, plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import text_field
from kyvsim.sim.server import Store

_SHORT = (
    ("cm", "configmaps"),
    ("cpol", "clusterpolicies"),
    ("crd", "customresourcedefinitions"),
    ("crds", "customresourcedefinitions"),
    ("cj", "cronjobs"),
    ("cpolr", "clusterpolicyreports"),
    ("deploy", "deployments"),
    ("ds", "daemonsets"),
    ("ep", "endpoints"),
    ("ev", "events"),
    ("gctxentry", "globalcontextentries"),
    ("hpa", "horizontalpodautoscalers"),
    ("ing", "ingresses"),
    ("limits", "limitranges"),
    ("netpol", "networkpolicies"),
    ("no", "nodes"),
    ("ns", "namespaces"),
    ("pdb", "poddisruptionbudgets"),
    ("po", "pods"),
    ("pol", "policies"),
    ("polex", "policyexceptions"),
    ("polr", "policyreports"),
    ("pv", "persistentvolumes"),
    ("pvc", "persistentvolumeclaims"),
    ("quota", "resourcequotas"),
    ("rc", "replicationcontrollers"),
    ("rs", "replicasets"),
    ("sa", "serviceaccounts"),
    ("sts", "statefulsets"),
    ("svc", "services"),
    ("ur", "updaterequests"),
)
_VERSIONS = (
    (("autoscaling", ""), "v2"),
    (("wgpolicyk8s.io", ""), "v1alpha2"),
    (("kyverno.io", "ClusterPolicy"), "v1"),
    (("kyverno.io", "Policy"), "v1"),
    (("kyverno.io", ""), "v2"),
)
"""Versions that kubectl asks for where it is not v1, by group and kind."""


class NamedKind(NamedTuple):
    """A kind, and how it is asked for."""

    api_version: str
    kind: str


def kind_named(name: str, store: Store) -> NamedKind | None:
    """Return the kind of a name such as `pods`, `po`, `Deployment` or `deployments.apps`."""
    base, _, rest = name.lower().partition(".")
    base = dict(_SHORT).get(base, base)
    for group, kind in kinds_named(base, store.defined):
        if not rest or rest == group or rest.partition(".")[2] == group:
            return NamedKind(preferred(group, kind, store), kind)
    return None


def preferred(group: str, kind: str, store: Store) -> str:
    """Return the apiVersion under which kubectl asks for a kind."""
    for definition in store.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", ""):
        spec = definition["spec"]
        if (text_field(spec, "group"), text_field(spec.get("names"), "kind")) == (group, kind):
            return f"{group}/{spec['versions'][0]['name']}"
    version = next(
        (one for (its, of), one in _VERSIONS if its == group and of in {"", kind}),
        "v1",
    )
    return f"{group}/{version}" if group else version


def shown_kind(api_version: str, kind: str, *, in_plural: bool = False) -> str:
    """Return how kubectl names a kind in what it prints: `pod`, `deployment.apps`."""
    group = split_api_version(api_version)[0]
    name = plural(group, kind) if in_plural else kind.lower()
    return f"{name}.{group}" if group else name
