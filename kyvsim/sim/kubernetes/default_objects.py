"""What every Namespace gets: the ServiceAccount `default` and the cluster's root certificate.

Source of the rules: k8s.io/kubernetes pkg/controller/serviceaccount and
pkg/controller/certificates/rootcacertpublisher.
"""

from kyvsim.kube.objects import Json, ObjectKey
from kyvsim.model.request import UserInfo
from kyvsim.sim.kubernetes.users import ROOT_CA, SERVICE_ACCOUNT
from kyvsim.sim.kubernetes.work_queue import WorkQueue, watch_kinds
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Change
from kyvsim.sim.server.metadata import is_terminating

_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n"


def add_service_accounts(parts: Parts) -> None:
    """Keep a ServiceAccount `default` in every Namespace."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    _keep(parts, "service-account-controller", SERVICE_ACCOUNT, account)


def publish_root_certificate(parts: Parts) -> None:
    """Keep a ConfigMap `kube-root-ca.crt` in every Namespace."""
    published = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kube-root-ca.crt"},
        "data": {"ca.crt": _CERTIFICATE},
    }
    _keep(parts, "root-ca-cert-publisher", ROOT_CA, published)


def _keep(parts: Parts, actor: str, user: UserInfo, wanted: Json) -> None:
    client = parts.client(user)
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

    queue = WorkQueue(parts, actor, work)

    def on_namespace(change: Change) -> None:
        if change.old is None:
            queue.add(change.key)

    def on_object(change: Change) -> None:
        key = change.key
        if key.name == name and change.old is not None:
            queue.add(ObjectKey("v1", "Namespace", "", key.namespace))

    watch_kinds(parts.store, {("v1", "Namespace"): on_namespace, ("v1", kind): on_object})
