"""The objects that an operation is about: inline, from files, or in the cluster."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kyvsim.chainsaw.errors import HardError
from kyvsim.chainsaw.session import Situation
from kyvsim.chainsaw.unsupported import is_served, require_simulated, require_written
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.model.chainsaw import UnreachableError

# `forceTerminationGracePeriod`: how long the Pods of a test may take to end.
#
# Source of the kinds: chainsaw's documentation, "Termination grace period".

_TEMPLATE = ("spec", "template", "spec")
_PLACES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("v1", "Pod"): ("spec",),
        ("apps/v1", "Deployment"): _TEMPLATE,
        ("apps/v1", "StatefulSet"): _TEMPLATE,
        ("apps/v1", "DaemonSet"): _TEMPLATE,
        ("batch/v1", "Job"): _TEMPLATE,
        ("batch/v1", "CronJob"): ("spec", "jobTemplate", *_TEMPLATE),
    }
)
"""Where the specification of Pods is, by apiVersion and kind."""


def with_grace_period(obj: Json, seconds: float | None) -> Json:
    """Return an object whose Pods get some seconds to end; None and 0 leave it as it is."""
    key = object_key(obj)
    path = _PLACES.get((key.api_version, key.kind))
    return obj if path is None or not seconds else _set(obj, path, int(seconds))


def _set(data: Json, path: tuple[str, ...], seconds: int) -> Json:
    if not path:
        return {**data, "terminationGracePeriodSeconds": seconds}
    inner = data.get(path[0])
    if inner.__class__ is not dict:
        return data
    return {**data, path[0]: _set(inner, path[1:], seconds)}


_REACH = "run `kyvsim chainsaw` on a folder that holds the test and the files that it names"


def given_objects(situation: Situation, spec: Mapping[str, Json]) -> list[Json]:
    """Return the objects of `resource` or `file` as they are to be sent."""
    return [
        require_usable(in_namespace(situation, situation.templated(spec, obj)))
        for obj in written_objects(situation, spec)
    ]


def require_usable(obj: Json) -> Json:
    """Return an object whose expressions are filled in, if its identity is made of texts.

    Raises HardError where it is not, and UnsupportedError for a kind that is not simulated.
    """
    about = obj.get("metadata")
    if about is not None and about.__class__ is not dict:
        raise HardError("`metadata` must be a mapping")
    holders = ((obj, ("apiVersion", "kind")), (about or {}, ("name", "generateName", "namespace")))
    for holder, names in holders:
        for name in names:
            value = holder.get(name)
            if value is not None and value.__class__ is not str:
                raise HardError(f"`{name}` must be a string, not `{json.dumps(value)}`")
    marks = (about or {}).get("labels")
    if marks is not None and marks.__class__ is not dict:
        raise HardError("`labels` must be a mapping")
    require_simulated(object_key(obj))
    return obj


def written_objects(situation: Situation, spec: Mapping[str, Json]) -> Sequence[Json]:
    """Return the objects of `resource` or `file` as they are written."""
    if spec.get("resource") is not None:
        found: Sequence[Json] = [spec["resource"]]
    else:
        name = str(situation.filled(text_field(spec, "file")))
        try:
            found, why = situation.session.files.of_operation(name)
        except UnreachableError as error:
            raise HardError(f"`{name}`: {error}; {_REACH}") from None
        if why:
            raise HardError(why)
        found = [one for document in found for one in _listed(document)]
        if not found:
            raise HardError(f"`{name}` holds no object")
    for obj in found:
        if obj.__class__ is not dict:
            raise HardError("an object must be a mapping")
    return found


def _listed(document: Json) -> Sequence[Json]:
    """Return the objects of a document: what has a list of items is a list, whatever its kind."""
    items = document.get("items") if document.__class__ is dict else None
    return items if items.__class__ is list else [document]


def in_namespace(situation: Situation, obj: Json) -> Json:
    """Return an object of a namespaced kind in the test's namespace, if it says no other."""
    key = object_key(obj)
    session = situation.session
    if key.namespace or not key.kind or not session.is_namespaced(key.api_version, key.kind):
        return obj
    return {**obj, "metadata": {**metadata(obj), "namespace": session.namespace}}


def candidates(situation: Situation, obj: Json) -> list[Json]:
    """Return the objects in the cluster that a name, or a namespace and labels, choose."""
    key = object_key(obj)
    client = situation.session.client
    if key.name:
        found = client.get(*key)
        return [] if found is None else [found]
    wanted = labels(obj).items()
    return [
        one
        for one in client.list(key.api_version, key.kind, key.namespace)
        if wanted <= labels(one).items()
    ]


def referred(situation: Situation, spec: Mapping[str, Json]) -> list[ObjectKey]:
    """Return the identities of the objects in the cluster that `ref` or `file` names."""
    if spec.get("ref") is None:
        named = given_objects(situation, spec)
    else:
        ref = situation.filled(spec["ref"])
        names = ("name", "namespace", "labels")
        meta = {name: ref[name] for name in names if ref.get(name)}
        kind = {"apiVersion": ref.get("apiVersion"), "kind": ref.get("kind")}
        if any(one.__class__ is not str for one in (ref.get("labels") or {}).values()):
            raise HardError("`labels` must be strings")
        named = [in_namespace(situation, require_usable({**kind, "metadata": meta}))]
    store = situation.session.sim.store
    for key in map(object_key, named):
        require_written(key, store)
        if not is_served(key, store):
            raise HardError(f'no matches for kind "{key.kind}" in version "{key.api_version}"')
    return [object_key(one) for obj in named for one in candidates(situation, obj)]
