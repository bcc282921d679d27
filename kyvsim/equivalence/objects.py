"""First objects of cases: the smallest of each kind, Pods in controllers, role bindings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.context.cluster_api import bound_to, roles_given
from kyvsim.engine.world import GivenObjects
from kyvsim.kubernetes.discovery import (
    NO_KINDS,
    KindTable,
    every_kind,
    is_builtin_group,
    is_namespaced_in_cluster,
    preferred_version,
    split_api_version,
)
from kyvsim.kubernetes.objects import KubernetesObject, metadata, object_key, replaced, text_field
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.policy import Policy
from kyvsim.model.request import UserInfo

NAME = "a"
NAMESPACE = "default"
_POD_SPEC: Mapping[str, object] = {"containers": [{"name": "a", "image": "nginx"}]}
_LABELS: Mapping[str, str] = MappingProxyType({"app": "a"})
_USUAL = (
    *(("", "Pod"), ("", "ConfigMap"), ("", "Service")),
    *(("apps", "Deployment"), ("rbac.authorization.k8s.io", "ClusterRole")),
)
"""The kinds to try for a wildcard."""
_CLUSTER_ROLE: Mapping[str, object] = {
    "apiGroup": "rbac.authorization.k8s.io",
    "kind": "ClusterRole",
    "name": "a",
}
_FIELDS: Mapping[str, Mapping[str, object]] = {
    "Service": {"spec": {"ports": [{"port": 80}]}},
    "PersistentVolumeClaim": {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
    },
    "Ingress": {"spec": {"rules": [{"host": "a.example.com"}]}},
    "NetworkPolicy": {"spec": {"podSelector": {}}},
    "StorageClass": {"provisioner": "example.com/a"},
    "ClusterRoleBinding": {"roleRef": dict(_CLUSTER_ROLE)},
    "RoleBinding": {"roleRef": dict(_CLUSTER_ROLE)},
}
"""The required fields of a kind besides the name."""


class KindName(NamedTuple):
    """A kind in one version."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """The apiVersion of objects."""
        return f"{self.group}/{self.version}".lstrip("/")


def _selecting(template: KubernetesObject) -> KubernetesObject:
    found = metadata(template).get("labels")
    own = found if found.__class__ is dict else {}  # a given object may have anything here
    labelled = {**template, "metadata": {**metadata(template), "labels": {**own, **_LABELS}}}
    return {"selector": {"matchLabels": dict(_LABELS)}, "template": labelled}


def _finishing(template: KubernetesObject) -> KubernetesObject:
    """Return a Job's specification: its Pods must terminate."""
    spec = template.get("spec")
    if spec.__class__ is dict and "restartPolicy" not in spec:
        template = {**template, "spec": {**spec, "restartPolicy": "Never"}}
    return {"template": template}


CONTROLLERS: Mapping[tuple[str, str], Callable[[KubernetesObject], KubernetesObject]] = {
    ("apps", "Deployment"): _selecting,
    ("apps", "DaemonSet"): _selecting,
    ("apps", "StatefulSet"): lambda one: {**_selecting(one), "serviceName": NAME},
    ("apps", "ReplicaSet"): _selecting,
    ("", "ReplicationController"): lambda one: {
        **_selecting(one),
        "selector": dict(_LABELS),
    },
    ("batch", "Job"): _finishing,
    ("batch", "CronJob"): lambda one: {
        "schedule": "0 0 * * *",
        "jobTemplate": {"spec": _finishing(one)},
    },
}
"""The controllers of Pods, each with the function that returns its `spec` for a template."""
POD = ("", "Pod")


def kinds_meant(written: str, kinds: KindTable = NO_KINDS) -> Iterator[KindName]:
    """Yield the kinds that `group/version/Kind` selects; a few for wildcards, not subresources.

    An unknown kind is used as it is; known groups only have known kinds.
    """
    group, version, kind, *part = written.split("/")
    if part:
        return
    known = [one for one in every_kind(kinds) if matches(group, one[0]) and matches(kind, one[1])]
    if "*" in kind or "?" in kind:
        known = [one for one in known if one in _USUAL] or known[:3]
    elif not known:
        is_own = "*" not in group and not is_builtin_group(group)
        if is_own or not any(kind == one for _, one in every_kind(kinds)):
            known = [("" if group == "*" else group, kind)]
    for one_group, one_kind in known[: len(_USUAL)]:
        usual = preferred_version(one_group, one_kind, kinds)
        yield KindName(one_group, usual if "*" in version else version, one_kind)


def smallest(kind: KindName, kinds: KindTable = NO_KINDS) -> KubernetesObject:
    """Return a minimal object of a kind."""
    if (kind.group, kind.kind) in CONTROLLERS:
        return wrapped(smallest(KindName("", "v1", "Pod")), kind)
    is_pod = (kind.group, kind.kind) == POD
    fields = {"spec": dict(_POD_SPEC)} if is_pod else _FIELDS.get(kind.kind, {})
    meta = {"name": NAME}
    if is_namespaced_in_cluster(kind.group, kind.kind, kinds):
        meta["namespace"] = NAMESPACE
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **fields}


def wrapped(pod: KubernetesObject, kind: KindName) -> KubernetesObject:
    """Return a controller of such Pods, with the Pod's name and namespace."""
    meta = metadata(pod)
    own = {name: value for name, value in meta.items() if name in {"name", "namespace"}}
    inner = {name: value for name, value in meta.items() if name not in own}
    spec = {"spec": pod["spec"]} if "spec" in pod else {}
    template = {**({"metadata": inner} if inner else {}), **spec}
    made = CONTROLLERS[kind.group, kind.kind](template)
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": own, "spec": made}


def unwrapped(obj: KubernetesObject) -> KubernetesObject | None:
    """Return a Pod as a controller creates it, None if the object is not a Pod controller."""
    found = _template_in(obj)
    if found is None:
        return None
    own = {"name", "namespace"}
    meta = {key: one for key, one in metadata(found).items() if key not in own}
    meta |= {key: one for key, one in metadata(obj).items() if key in own}
    spec = {"spec": found["spec"]} if "spec" in found else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, **spec}


def with_template_metadata(obj: KubernetesObject) -> KubernetesObject:
    """Return a controller of Pods whose template has metadata: the field cannot be missing.

    Source of the rule: PodTemplateSpec in k8s.io/api/core/v1, whose ObjectMeta is not a pointer.
    """
    found = _template_in(obj)
    if found is None or "metadata" in found:
        return obj
    whole: KubernetesObject = replaced(obj, template_path(obj), {"metadata": {}, **found})
    return whole


def _template_in(obj: KubernetesObject) -> dict[str, object] | None:
    path = template_path(obj)
    found: object = obj
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found if path and isinstance(found, dict) else None


def template_path(obj: KubernetesObject) -> tuple[str, ...]:
    """Return the path of the Pod template in an object, () if it has none."""
    group, _ = split_api_version(text_field(obj, "apiVersion"))
    kind = text_field(obj, "kind")
    if (group, kind) not in CONTROLLERS:
        return ()
    inner = ("spec", "template")
    return ("spec", "jobTemplate", *inner) if kind == "CronJob" else inner


def missing_targets(
    policies: Iterable[Policy], given: Iterable[KubernetesObject], kinds: KindTable
) -> Iterator[KubernetesObject]:
    """Yield the smallest object for each target of rules that has no given object."""
    there = {object_key(one) for one in given}
    targets = (one for policy in policies for rule in policy.rules for one in rule.facts.targets)
    for target in dict.fromkeys(targets):
        group, version = split_api_version(target.api_version)
        is_open = _is_open(target.name)
        for kind in kinds_meant(f"{group}/{version}/{target.kind}", kinds):
            obj = smallest(kind, kinds)
            meta = {**metadata(obj), "name": NAME if is_open else target.name}
            if "namespace" in meta and not _is_open(target.namespace):
                meta["namespace"] = target.namespace
            made = {**obj, "metadata": meta}
            key = object_key(made)
            if not any(
                one.kind == key.kind and (is_open or matches(target.name, one.name))
                for one in there
            ):
                there.add(key)
                yield made


def _is_open(text: str) -> bool:
    return not text or has_wildcard(text) or "{{" in text


# Bindings that give users their roles in a case; both sides read them.
#
# Rules get the user's roles with the request, CEL policies list the bindings.

_GROUP = "rbac.authorization.k8s.io"
_KINDS = ("RoleBinding", "ClusterRoleBinding")
_ACCOUNT = "system:serviceaccount:"
_NOBODY: Mapping[str, str] = MappingProxyType({"kind": "Group", "name": "nobody"})


def bindings(user: UserInfo, places: Iterable[str]) -> list[KubernetesObject]:
    """Return bindings of a user's roles, and bindings of others, as in every cluster.

    `places` are namespaces, "" for the default one.
    """
    found = [_binding("others", "others", dict(_NOBODY))]
    subject = {"kind": "User", "name": user.username, "apiGroup": _GROUP}
    if user.username.startswith(_ACCOUNT):
        namespace, _, name = user.username.removeprefix(_ACCOUNT).partition(":")
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    found += (_binding("own", name, subject) for name in user.cluster_roles)
    for one in user.roles:
        namespace, sign, name = one.partition(":")
        found += [_binding("own", name, subject, namespace)] if sign else ()
    namespaces = dict.fromkeys(one or NAMESPACE for one in places)
    return found + [_binding("others", "others", dict(_NOBODY), one) for one in namespaces]


def with_roles(user: UserInfo, there: Sequence[KubernetesObject], namespace: str) -> UserInfo:
    """Return a user with the roles that bindings grant for requests in a namespace."""
    cluster = GivenObjects([one for one in there if one.get("kind") in _KINDS])
    found = (bound_to(cluster, (kind, ""), user.username, user.groups) for kind in _KINDS)
    roles, cluster_roles = roles_given((one for some in found for _, one in some), namespace)
    return user._replace(roles=roles, cluster_roles=cluster_roles)


def _binding(
    name: str, role: str, subject: Mapping[str, str], namespace: str = ""
) -> KubernetesObject:
    """Return a binding of a Role in a namespace, or of a ClusterRole in all of them."""
    place = {"namespace": namespace} if namespace else {}
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": {"name": name, **place},
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role},
        "subjects": [subject],
    }
