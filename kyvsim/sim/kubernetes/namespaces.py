"""The namespace controller: a Namespace that is to be deleted takes all that is in it along.

Source of the rules: k8s.io/kubernetes pkg/controller/namespace/deletion.
"""

from kyvsim.kube.objects import ObjectKey, object_key
from kyvsim.sim.kubernetes.users import NAMESPACE
from kyvsim.sim.kubernetes.work_queue import WorkQueue
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Change
from kyvsim.sim.server.metadata import is_terminating

_FINALIZER = "kubernetes"


def empty_namespaces(parts: Parts) -> None:
    """Delete what is in Namespaces that are to be deleted, then let these go."""
    _NamespaceController(parts)


class _NamespaceController:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._client = parts.client(NAMESPACE)
        self._queue = WorkQueue(parts, "namespace-controller", self._empty)
        self._leaving: set[str] = set()
        parts.store.watch(self._observe)

    def _observe(self, change: Change) -> None:
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
        for found in [object_key(one) for one in self._parts.store.every()]:
            if found.namespace == key.name:
                now = self._client.get(*found)
                if now is not None and not is_terminating(now):
                    well = self._client.delete(found).ok and well
        if any(object_key(one).namespace == key.name for one in self._parts.store.every()):
            return well
        spec = namespace.get("spec") or {}
        kept = [one for one in spec.get("finalizers") or () if one != _FINALIZER]
        emptied = {**namespace, "spec": {**spec, "finalizers": kept}}
        return self._client.update(emptied, "finalize").ok
