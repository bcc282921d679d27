"""The controllers of namespaces, ClusterRoles and custom resource definitions."""

from collections.abc import Iterator, Sequence

from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, object_key, text_field
from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server import ObjectStore, StoreChange
from kyvsim.simulator.api_server.metadata import is_terminating
from kyvsim.simulator.context import NOTICE, SimulationContext
from kyvsim.simulator.kubernetes.controller import (
    CLUSTER_ROLE_AGGREGATION,
    NAMESPACE,
    ROOT_CA,
    SERVICE_ACCOUNT,
    WorkQueue,
    watch_kinds,
)

# Namespaces: what each gets, and what goes with it.

# What every Namespace gets: the ServiceAccount `default` and the cluster's root certificate.
#
# Source of the rules: k8s.io/kubernetes pkg/controller/serviceaccount and
# pkg/controller/certificates/rootcacertpublisher.

_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n"


def add_service_accounts(sim: SimulationContext) -> None:
    """Keep a ServiceAccount `default` in every Namespace."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    _keep(sim, "service-account-controller", SERVICE_ACCOUNT, account)


def publish_root_certificate(sim: SimulationContext) -> None:
    """Keep a ConfigMap `kube-root-ca.crt` in every Namespace."""
    published = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kube-root-ca.crt"},
        "data": {"ca.crt": _CERTIFICATE},
    }
    _keep(sim, "root-ca-cert-publisher", ROOT_CA, published)


def _keep(sim: SimulationContext, actor: str, user: UserInfo, wanted: Json) -> None:
    client = sim.client(user)
    kind, name = wanted["kind"], wanted["metadata"]["name"]

    def work(key: ObjectKey) -> bool:
        namespace = client.get(*key)
        if namespace is None or is_terminating(namespace):
            return True
        here = {**wanted, "metadata": {"name": name, "namespace": key.name}}
        found = client.get("v1", kind, key.name, name)
        if found is None:
            return client.create(here).ok
        if "data" in wanted and found.get("data") != wanted["data"]:
            return client.update({**found, "data": wanted["data"]}).ok
        return True

    queue = WorkQueue(sim, actor, work)

    def on_namespace(change: StoreChange) -> None:
        if change.old is None:
            queue.add(change.key)

    def on_object(change: StoreChange) -> None:
        key = change.key
        if key.name == name and change.old is not None:
            queue.add(ObjectKey("v1", "Namespace", "", key.namespace))

    watch_kinds(sim.store, {("v1", "Namespace"): on_namespace, ("v1", kind): on_object})


# The namespace controller: a Namespace that is to be deleted takes all that is in it along.
#
# Source of the rules: k8s.io/kubernetes pkg/controller/namespace/deletion.

_FINALIZER = "kubernetes"


def empty_namespaces(sim: SimulationContext) -> None:
    """Delete what is in Namespaces that are to be deleted, then let these go."""
    _NamespaceController(sim)


class _NamespaceController:
    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._client = sim.client(NAMESPACE)
        self._queue = WorkQueue(sim, "namespace-controller", self._empty)
        self._leaving: set[str] = set()
        sim.store.watch(self._observe)

    def _observe(self, change: StoreChange) -> None:
        key = change.key
        if key[:2] == ("v1", "Namespace"):
            if change.new is None:
                self._leaving.discard(key.name)
            elif is_terminating(change.new):
                self._leaving.add(key.name)
                self._queue.add(key)
        elif change.new is None and key.namespace in self._leaving:
            self._queue.add(ObjectKey("v1", "Namespace", "", key.namespace))

    def _empty(self, key: ObjectKey) -> bool:
        """Delete the contents of a Namespace; return False where something refuses to go."""
        namespace = self._client.get(*key)
        if namespace is None or not is_terminating(namespace):
            return True
        well = True
        for found in [object_key(one) for one in self._sim.store.every()]:
            if found.namespace == key.name:
                now = self._client.get(*found)
                if now is not None and not is_terminating(now):
                    well = self._client.delete(found).ok and well
        if any(object_key(one).namespace == key.name for one in self._sim.store.every()):
            return well
        spec = namespace.get("spec") or {}
        kept = [one for one in spec.get("finalizers") or () if one != _FINALIZER]
        emptied = {**namespace, "spec": {**spec, "finalizers": kept}}
        return self._client.update(emptied, "finalize").ok


# Aggregation of ClusterRoles: one that selects others has their rules.
#
# Source of the rules: k8s.io/kubernetes pkg/controller/clusterroleaggregation.

_ROLE = ("rbac.authorization.k8s.io/v1", "ClusterRole")
_CLUSTER_ROLES_ACTOR = "clusterrole-aggregation-controller"


def aggregate_cluster_roles(sim: SimulationContext) -> None:
    """Fill the roles that select others, now and whenever a role changes."""
    for role, rules in _outdated(sim.store):
        sim.store.put({**role, "rules": rules})

    def observe(change: StoreChange) -> None:
        if change.key[:2] == _ROLE:
            sim.scheduler.after(NOTICE, _CLUSTER_ROLES_ACTOR, reconcile)

    def reconcile() -> None:
        for role, rules in _outdated(sim.store):
            sim.client(CLUSTER_ROLE_AGGREGATION).update({**role, "rules": rules})

    sim.store.watch(observe, {_ROLE})


def _outdated(store: ObjectStore) -> Iterator[tuple[Json, list[Json]]]:
    """Yield the roles whose rules are not those of the roles they select, with what they are."""
    roles = store.list(*_ROLE, "")
    for role in roles:
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
        if selectors is None:
            continue
        rules = _aggregated(role, selectors, roles)
        if rules != (role.get("rules") or []):
            yield role, rules


def _aggregated(role: Json, selectors: list[Json], roles: Sequence[Json]) -> list[Json]:
    own = object_key(role).name
    rules: list[Json] = []
    for selector in selectors:
        try:
            fits = compile_selector(selector)
        except SelectorError:
            continue
        for other in roles:
            if object_key(other).name == own or not fits(labels(other)):
                continue
            rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


# Custom resource definitions: served as soon as they are stored, and said to be so.
#
# Source of the rules: k8s.io/apiextensions-apiserver pkg/controller/status,
# pkg/controller/establish.

_DEFINITIONS_ACTOR = "apiextensions"
_API_SERVER = UserInfo("system:apiserver", groups=("system:masters", "system:authenticated"))
_KIND = "CustomResourceDefinition"


def establish_definitions(sim: SimulationContext) -> None:
    """Let every definition say that its kind is served."""

    def observe(change: StoreChange) -> None:
        key = change.key
        if key.kind == _KIND and change.new is not None and not change.new.get("status"):
            sim.scheduler.after(NOTICE, _DEFINITIONS_ACTOR, lambda: establish(key.name))

    def establish(name: str) -> None:
        found = sim.store.get("apiextensions.k8s.io/v1", _KIND, "", name)
        if found is not None and not found.get("status"):
            status = _status(found["spec"], sim.clock.stamp())
            sim.client(_API_SERVER).update({**found, "status": status}, "status")

    sim.store.watch(observe)


def _status(spec: Json, now: str) -> Json:
    names = spec.get("names") or {}
    kind = text_field(names, "kind")
    accepted = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
    conditions = [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    versions = [one["name"] for one in spec.get("versions") or () if one.get("storage") is True]
    return {
        "acceptedNames": accepted,
        "conditions": [
            {
                "lastTransitionTime": now,
                "message": message,
                "reason": reason,
                "status": "True",
                "type": type_,
            }
            for type_, reason, message in conditions
        ],
        "storedVersions": versions,
    }
