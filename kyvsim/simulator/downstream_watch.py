"""Watch, restore and delete the objects that CEL policies generated."""

from collections.abc import Callable, Iterable

from kyvsim.kubernetes.discovery import is_builtin
from kyvsim.kubernetes.objects import (
    KubernetesObject,
    ObjectKey,
    annotations,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.simulator.api_server import Client, Purpose, StoreChange
from kyvsim.simulator.api_server.authorizer import denial, may
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.configuration import BACKGROUND
from kyvsim.simulator.context import NOTICE, SimulationContext

# The background controller stores them in memory only, by kind.
# Source of the rules: upstream pkg/background/gpol/dynamic_watcher.go.

POLICY, TRIGGER, SOURCE = (
    f"generate.kyverno.io/{name}" for name in ("policy-name", "trigger-uid", "source-uid")
)
OF_SERVER = dict.fromkeys(
    ("uid", "selfLink", "creationTimestamp", "managedFields", "resourceVersion")
)
"""The fields of `metadata` that the API server sets, to be removed."""
_Kind = tuple[str, str]


class DownstreamWatch:
    """Generated objects by kind and uid, and the kinds of each policy.

    Policies are identified by key, but labels contain only their name: downstreams of namespaced
    policies are not recognised, as in upstream.
    """

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        release = sim.settings.release
        self._tracks_restored = release.tracks_restored
        self.renews_in_place = release.renews_in_place
        """Whether objects stay while they are generated again."""
        self.restart()
        sim.store.watch(self._observe)

    def restart(self) -> None:
        """Forget everything; the served kinds are listed now and never updated."""
        self.kinds = self._sim.store.defined
        self._watched: dict[_Kind, dict[str, KubernetesObject]] = {}
        self._of_policy: dict[str, list[_Kind]] = {}
        self._references: dict[_Kind, int] = {}
        self._invalid: set[str] = set()
        """The uids of objects that are not restored until they are generated again."""

    def take(self, policy: str, trigger: str, objects: Iterable[KubernetesObject]) -> None:
        """Watch the objects generated for a trigger's uid; delete those of other kinds."""
        kinds: list[_Kind] = []
        for obj in objects:
            kind = _kind_of(obj)
            if not is_builtin(*kind) and kind not in self.kinds:
                why = f"the kind {kind[1]} was not served when the controller started"
                self._record_unwatched(obj, policy, why)
                return
            if kind not in (*kinds, *self._of_policy.get(policy, ())):
                refused = denial(BACKGROUND, "watch", _everywhere(obj), self._sim.store)
                if refused is not None:
                    self._record_unwatched(obj, policy, refused.message)
            self._watched.setdefault(kind, {})[_uid(obj)] = obj
            self._invalid.discard(_uid(obj))
            kinds += [kind] if kind not in kinds else []
        before = self._of_policy.get(policy, [])
        for kind in kinds:
            if kind not in before:
                self._references[kind] = self._references.get(kind, 0) + 1
        for kind in before:
            if kind in kinds:
                continue
            self._delete(policy, kind, _fits(policy, trigger))
            if any(map(_fits(policy), self._watched.get(kind, {}).values())):
                kinds.append(kind)
            else:
                self._release(kind)
        self._of_policy[policy] = kinds

    def of(self, policy: str) -> list[KubernetesObject]:
        """Return the known objects that a policy generated."""
        some = (self._watched.get(kind, {}) for kind in self._of_policy.get(policy, ()))
        fits = _fits(policy)
        return [obj for known in some for obj in known.values() if fits(obj)]

    def knows(self, obj: KubernetesObject) -> bool:
        """Return whether changes of an object are noticed: its uid is known."""
        return _uid(obj) in self._watched.get(_kind_of(obj), {})

    def delete(self, policy: str, trigger: str | None = None) -> None:
        """Delete the objects that a policy generated for a trigger's uid [default: all]."""
        for kind in self._of_policy.get(policy, ()):
            self._delete(policy, kind, _fits(policy, trigger))

    def renew(self, policy: str) -> None:
        """Expect that a policy generates its objects again; until then they are not restored."""
        if self.renews_in_place:
            self._invalid.update(map(_uid, self.of(policy)))
        else:
            self.delete(policy)

    def delete_others(self, policy: str, trigger: str, kept: Iterable[KubernetesObject]) -> None:
        """Delete the objects that a policy generated for a trigger, except for `kept`."""
        names, fits = {object_key(obj) for obj in kept}, _fits(policy, trigger)
        for kind in self._of_policy.get(policy, ()):
            self._delete(policy, kind, lambda obj: fits(obj) and object_key(obj) not in names)

    def leave(self, policy: str, *, deletes: bool) -> None:
        """Stop watching for a policy; with `deletes`, delete its objects without a source."""
        fits = _fits(policy)
        for kind in self._of_policy.pop(policy, ()):
            if deletes:
                self._delete(policy, kind, lambda obj: fits(obj) and SOURCE not in labels(obj))
            known = self._watched.get(kind, {})
            for uid in [uid for uid, obj in known.items() if fits(obj)]:
                del known[uid]
            self._release(kind)

    def _release(self, kind: _Kind) -> None:
        self._references[kind] = self._references.get(kind, 0) - 1
        if self._references[kind] <= 0:
            self._references.pop(kind)
            self._watched.pop(kind, None)

    def _delete(self, policy: str, kind: _Kind, fits: Callable[[KubernetesObject], bool]) -> None:
        known = self._watched.get(kind, {})
        client = self._client("delete downstream", policy)
        for uid in [uid for uid, obj in known.items() if fits(obj)]:
            if client.delete(object_key(known[uid])).ok:
                del known[uid]

    def _observe(self, change: StoreChange) -> None:
        if change.old is None or _kind_of(change.subject) not in self._watched:
            return
        react = self._gone if change.new is None else self._changed
        self._sim.scheduler.after(NOTICE, "background-controller", lambda: react(change.subject))

    def _changed(self, obj: KubernetesObject) -> None:
        """Restore a changed downstream, or update the copies of a changed source."""
        known = self._known(obj)
        desired = known.get(_uid(obj))
        is_valid = _uid(obj) not in self._invalid
        if desired is not None and is_valid and _content(obj) != _content(desired):
            self._client("restore", labels(desired)[POLICY]).update(_clean(desired))
        for copy in self._copies(obj, known) if desired is None else ():
            key, marks = object_key(copy), labels(copy)
            named = {"name": key.name, "namespace": key.namespace or None, "labels": marks}
            fresh = with_metadata(_clean(obj), named)
            if self._client("synchronize", marks[POLICY]).update(fresh).ok:
                known[_uid(copy)] = fresh

    def _gone(self, obj: KubernetesObject) -> None:
        """Restore a deleted downstream, or delete the copies of a deleted source."""
        known = self._known(obj)
        if labels(obj).get("app.kubernetes.io/managed-by") == "kyverno":
            self._restore(_uid(obj), known)
            return
        for copy in self._copies(obj, known):
            client = self._client("delete downstream", labels(copy)[POLICY])
            if client.delete(object_key(copy)).ok:
                known.pop(_uid(copy), None)

    def _restore(self, uid: str, known: dict[str, KubernetesObject]) -> None:
        desired = known.get(uid)
        if desired is None:
            return
        if uid in self._invalid:
            self._invalid.discard(uid)
            del known[uid]
            return
        made = self._client("restore", labels(desired)[POLICY]).create(_clean(desired))
        # Otherwise it is still known by its old uid: a second deletion is not undone.
        if made.object is not None and self._tracks_restored:
            del known[uid]
            known[_uid(made.object)] = desired

    def _known(self, obj: KubernetesObject) -> dict[str, KubernetesObject]:
        """Return the known objects of an object's kind, {} if it may no longer be watched."""
        if not may(BACKGROUND, "watch", _everywhere(obj), self._sim.store):
            return {}
        return self._watched.get(_kind_of(obj), {})

    def _copies(
        self, source: KubernetesObject, known: dict[str, KubernetesObject]
    ) -> list[KubernetesObject]:
        everywhere = _everywhere(source)
        if not known or not may(BACKGROUND, "list", everywhere, self._sim.store):
            return []
        return [
            obj
            for obj in self._sim.store.list(*everywhere[:3])
            if labels(obj).get(SOURCE) == _uid(source) and _uid(obj) in known
        ]

    def _client(self, action: str, policy: str) -> Client:
        return self._sim.client(BACKGROUND, Purpose(action, (policy,)))

    def _record_unwatched(self, obj: KubernetesObject, policy: str, why: str) -> None:
        self._sim.timeline.record(
            "background",
            "synchronize",
            object_key(obj),
            outcome="skipped",
            message=f"not synchronized: {why}",
            policies=(policy,),
        )


def _everywhere(obj: KubernetesObject) -> ObjectKey:
    """Return the key for all objects of an object's kind."""
    return object_key(obj)._replace(namespace="", name="")


def _fits(policy: str, trigger: str | None = None) -> Callable[[KubernetesObject], bool]:
    """Return a test of labels for a policy, and for a trigger's uid if there is one."""

    def fits(obj: KubernetesObject) -> bool:
        marks = labels(obj)
        return marks.get(POLICY) == policy and (trigger is None or marks.get(TRIGGER) == trigger)

    return fits


def _kind_of(obj: KubernetesObject) -> _Kind:
    key = object_key(obj)
    return key.group, key.kind


def _uid(obj: KubernetesObject) -> str:
    return text_field(metadata(obj), "uid")


def _clean(obj: KubernetesObject) -> KubernetesObject:
    """Return an object without the fields that an API server sets."""
    return with_metadata(obj, OF_SERVER)


def _content(obj: KubernetesObject) -> object:
    """Return the compared part of an object. upstream: pkg/utils/report CalculateResourceHash."""
    rest = {name: one for name, one in obj.items() if name not in {"metadata", "status", "scale"}}
    if rest.get("spec").__class__ is dict:
        rest["spec"] = {name: one for name, one in rest["spec"].items() if name != "nodeName"}
    return labels(obj), annotations(obj), rest
