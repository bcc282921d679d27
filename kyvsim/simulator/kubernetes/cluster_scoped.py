"""The controllers of Namespaces, ClusterRoles, CRDs and admission policies; garbage collection."""

from contextlib import suppress
from enum import StrEnum

from kyvsim.kubernetes.discovery import is_builtin, is_namespaced_in_cluster
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.languages.native.type_checking import MatchedResources, type_checker
from kyvsim.model.request import UserInfo
from kyvsim.policy.cel_policy import read_cel_policy
from kyvsim.simulator.api_server import ObjectStore, StoreChange
from kyvsim.simulator.api_server.metadata import FOREGROUND, ORPHAN, is_terminating
from kyvsim.simulator.context import NOTICE, TYPE_CHECK, SimulationContext
from kyvsim.simulator.kubernetes.controller import (
    CLUSTER_ROLE_AGGREGATION,
    GARBAGE_COLLECTOR,
    NAMESPACE,
    ROOT_CA,
    SERVICE_ACCOUNT,
    TYPE_CHECKER,
    WorkQueue,
    owner_references,
    write_status,
)

# Source of the rules: k8s.io/kubernetes pkg/controller/serviceaccount and
# pkg/controller/certificates/rootcacertpublisher.


def add_service_accounts(sim: SimulationContext) -> None:
    """Keep a ServiceAccount `default` in every Namespace."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    _keep(sim, "service-account-controller", SERVICE_ACCOUNT, account)


def publish_root_certificate(sim: SimulationContext) -> None:
    """Keep a ConfigMap `kube-root-ca.crt` in every Namespace."""
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}}
    certificate = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n"
    _keep(sim, "root-ca-cert-publisher", ROOT_CA, {**named, "data": {"ca.crt": certificate}})


def _keep(sim: SimulationContext, actor: str, user: UserInfo, desired: KubernetesObject) -> None:
    client = sim.client(user)
    kind, name = desired["kind"], desired["metadata"]["name"]

    def work(key: ObjectKey) -> bool:
        namespace = client.get(*key)
        if namespace is None or is_terminating(namespace):
            return True
        placed = {**desired, "metadata": {"name": name, "namespace": key.name}}
        current = client.get("v1", kind, key.name, name)
        if current is None:
            return client.create(placed).ok
        if "data" in desired and current.get("data") != desired["data"]:
            return client.update({**current, "data": desired["data"]}).ok
        return True

    queue = WorkQueue(sim, actor, work)

    def observe(change: StoreChange) -> None:
        key = change.key
        if key.kind == "Namespace":
            if change.old is None:
                queue.add(key)
        elif key.name == name and change.old is not None:
            queue.add(ObjectKey("v1", "Namespace", "", key.namespace))

    sim.store.watch(observe, {("v1", "Namespace"), ("v1", kind)})


class NamespaceController:
    """Deletes the objects in terminating Namespaces, then finalizes these.

    Source of the rules: k8s.io/kubernetes pkg/controller/namespace/deletion.
    """

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
        """Delete the contents of a Namespace; return False if a deletion fails."""
        namespace = self._client.get(*key)
        if namespace is None or not is_terminating(namespace):
            return True
        well = True
        for content in self._sim.store.contents(key.name):
            now = self._client.get(*content)
            if now is not None and not is_terminating(now):
                well = self._client.delete(content).ok and well
        if self._sim.store.contents(key.name):
            return well
        spec = namespace.get("spec") or {}
        kept = [one for one in spec.get("finalizers") or () if one != "kubernetes"]
        emptied = {**namespace, "spec": {**spec, "finalizers": kept}}
        return self._client.update(emptied, "finalize").ok


_ROLE = ("rbac.authorization.k8s.io/v1", "ClusterRole")


def set_aggregated_rules(store: ObjectStore) -> None:
    """Set the rules of the aggregated ClusterRoles of a new cluster."""
    for role, rules in store.cached(_outdated):
        store.put({**role, "rules": rules})
    store.cached(_outdated)  # for copies of the store


def aggregate_cluster_roles(sim: SimulationContext) -> None:
    """Set the rules of aggregated ClusterRoles whenever a role changes.

    Source of the rules: k8s.io/kubernetes pkg/controller/clusterroleaggregation.
    """
    actor = "clusterrole-aggregation-controller"

    def reconcile() -> None:
        # Several roles often change at once, each with a reconciliation.
        for role, rules in sim.store.cached(_outdated):
            sim.client(CLUSTER_ROLE_AGGREGATION).update({**role, "rules": rules})

    sim.store.watch(lambda _: sim.scheduler.after(NOTICE, actor, reconcile), {_ROLE})


def _outdated(store: ObjectStore) -> list[tuple[KubernetesObject, list[Json]]]:
    """Return the aggregated roles whose rules are outdated, with their new rules."""
    found = []
    roles = [(role, labels(role)) for role in store.list(*_ROLE, "")]
    for role, _ in roles:
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
        if selectors is None:
            continue
        rules: list[Json] = []
        for selector in selectors:
            with suppress(SelectorError):
                fits = compile_selector(selector)
                for other in (one for one, own in roles if one is not role and fits(own)):
                    rules += [rule for rule in other.get("rules") or () if rule not in rules]
        if rules != (role.get("rules") or []):
            found.append((role, rules))
    return found


def establish_definitions(sim: SimulationContext) -> None:
    """Set the conditions of custom resource definitions as soon as they are stored.

    Source of the rules: k8s.io/apiextensions-apiserver pkg/controller/status,
    pkg/controller/establish.
    """
    watched = "CustomResourceDefinition"

    def observe(change: StoreChange) -> None:
        key = change.key
        if key.kind == watched and change.new is not None and not change.new.get("status"):
            sim.scheduler.after(NOTICE, "apiextensions", lambda: establish(key.name))

    def establish(name: str) -> None:
        definition = sim.store.get("apiextensions.k8s.io/v1", watched, "", name)
        if definition is None or definition.get("status"):
            return
        names = definition["spec"].get("names") or {}
        kind = text_field(names, "kind")
        versions = definition["spec"].get("versions") or ()
        held = (
            ("no conflicts found", "NoConflicts", "NamesAccepted"),
            ("the initial names have been accepted", "InitialNamesAccepted", "Established"),
        )
        since, true = {"lastTransitionTime": sim.clock.stamp()}, {"status": "True"}
        status = {
            "acceptedNames": {"singular": kind.lower(), "listKind": f"{kind}List", **names},
            "conditions": [
                {**since, "message": message, "reason": reason, **true, "type": type_}
                for message, reason, type_ in held
            ],
            "storedVersions": [one["name"] for one in versions if one.get("storage") is True],
        }
        server = UserInfo("system:apiserver", groups=("system:masters", "system:authenticated"))
        sim.client(server).update({**definition, "status": status}, "status")

    sim.store.watch(observe)


def check_types(sim: SimulationContext) -> None:
    """Write to the status of ValidatingAdmissionPolicies which expressions have type errors.

    Source of the rules: k8s.io/kubernetes pkg/controller/validatingadmissionpolicystatus.
    """
    client = sim.client(TYPE_CHECKER)

    def work(key: ObjectKey) -> bool:
        policy = client.get(*key)
        generation = metadata(policy).get("generation")
        status = (policy or {}).get("status") or {}
        if policy is None or status.get("observedGeneration") == generation:
            return True
        spec = read_cel_policy(policy["spec"])
        checker = type_checker(
            (
                MatchedResources(one.api_groups, one.api_versions, one.resources)
                for one in spec.resource_rules
            ),
            spec.param_kind,
            spec.variables,
            sim.store.defined,
        )
        warnings = [
            {"fieldRef": f"spec.validations[{index}].{field}", "warning": text}
            for index, field, text in checker.warnings(spec.validations)
        ]
        checked = {"expressionWarnings": warnings} if warnings else {}
        observed = {"observedGeneration": generation, "typeChecking": checked}
        return write_status(client, policy, {**status, **observed})

    queue = WorkQueue(sim, TYPE_CHECKER.username.rpartition(":")[2], work)

    def observe(change: StoreChange) -> None:
        if change.key.kind == "ValidatingAdmissionPolicy" and change.new is not None:
            queue.add(change.key, TYPE_CHECK)

    sim.store.watch(observe)


class _Owner(StrEnum):
    """Whether an owner exists."""

    THERE = "there"
    GONE = "gone"
    WAITING = "waiting"
    """It waits for the deletion of its dependents."""


class GarbageCollector:
    """Deletes objects whose owners are all deleted, and finalizes owners that wait for dependents.

    Source of the rules: k8s.io/kubernetes pkg/controller/garbagecollector.
    """

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._client = sim.client(GARBAGE_COLLECTOR)
        self._dependents: dict[str, dict[ObjectKey, None]] = {}
        """By the uid of an owner, its dependents."""
        self._queue = WorkQueue(sim, "generic-garbage-collector", self._sync)
        sim.store.watch(self._observe)

    def _observe(self, change: StoreChange) -> None:
        old, new = metadata(change.old), metadata(change.new)
        before, after = old.get("ownerReferences"), new.get("ownerReferences")
        key = change.key
        if before != after:
            for reference in owner_references(change.old) if change.old is not None else ():
                self._dependents.get(text_field(reference, "uid"), {}).pop(key, None)
                self._queue.add(self._key_of(reference, key))
            for reference in owner_references(change.new) if change.new is not None else ():
                self._dependents.setdefault(text_field(reference, "uid"), {})[key] = None
                self._queue.add(key)
        if change.new is None:
            for dependent in self._dependents.get(text_field(old, "uid"), ()):
                self._queue.add(dependent)
        elif new.get("deletionTimestamp") and {FOREGROUND, ORPHAN} & {
            *(new.get("finalizers") or ())
        }:
            self._queue.add(key)

    def _sync(self, key: ObjectKey) -> bool:
        obj = self._client.get(*key)
        if obj is None:
            return True
        if is_terminating(obj):
            return self._release(obj)
        references = owner_references(obj)
        states = [self._state(one, key) for one in references]
        if not references or all(one is _Owner.THERE for one in states):
            return True
        if _Owner.THERE in states:
            pairs = zip(references, states, strict=True)
            kept = [one for one, state in pairs if state is _Owner.THERE]
            return self._client.merge(key, {"metadata": {"ownerReferences": kept}}).ok
        has_own = bool(self._dependents.get(text_field(metadata(obj), "uid")))
        foreground = _Owner.WAITING in states and has_own
        return self._client.delete(key, "Foreground" if foreground else "Background").ok

    def _release(self, owner: KubernetesObject) -> bool:
        """Process the finalizers of a terminating object."""
        finalizers = metadata(owner).get("finalizers") or []
        uid = text_field(metadata(owner), "uid")
        dependents = list(self._dependents.get(uid, ()))
        if ORPHAN in finalizers:
            well = True
            for key, obj in ((one, self._client.get(*one)) for one in dependents):
                kept = [one for one in owner_references(obj) if text_field(one, "uid") != uid]
                patch = {"metadata": {"ownerReferences": kept or None}}
                well = (obj is None or self._client.merge(key, patch).ok) and well
            return well and self._without(owner, ORPHAN)
        if FOREGROUND not in finalizers:
            return True
        blocking = [
            key
            for key in dependents
            if any(
                text_field(one, "uid") == uid and one.get("blockOwnerDeletion") is True
                for one in owner_references(self._client.get(*key))
            )
        ]
        for key in blocking:
            self._queue.add(key)
        return bool(blocking) or self._without(owner, FOREGROUND)

    def _without(self, owner: KubernetesObject, finalizer: str) -> bool:
        kept = [one for one in metadata(owner)["finalizers"] if one != finalizer]
        patch = {"metadata": {"finalizers": kept or None}}
        return self._client.merge(object_key(owner), patch).ok

    def _state(self, reference: Json, dependent: ObjectKey) -> _Owner:
        key = self._key_of(reference, dependent)
        defined = self._sim.store.defined
        if not is_builtin(key.group, key.kind) and (key.group, key.kind) not in defined:
            return _Owner.THERE  # its kind is unknown, so it may exist
        if not dependent.namespace and is_namespaced_in_cluster(key.group, key.kind, defined):
            return _Owner.THERE  # an ambiguous reference
        owner = self._client.get(*key)
        if owner is None or metadata(owner).get("uid") != reference.get("uid"):
            return _Owner.GONE
        held = metadata(owner).get("finalizers") or ()
        return _Owner.WAITING if is_terminating(owner) and FOREGROUND in held else _Owner.THERE

    def _key_of(self, reference: Json, dependent: ObjectKey) -> ObjectKey:
        version, kind = text_field(reference, "apiVersion"), text_field(reference, "kind")
        namespaced = self._sim.store.is_namespaced(version, kind)
        namespace = dependent.namespace if namespaced else ""
        return ObjectKey(version, kind, namespace, text_field(reference, "name"))
