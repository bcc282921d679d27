"""Whether a request names a kind that is served, and a namespace that is there."""

from dataclasses import replace

from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.request import Operation
from kyvsim.model.simulation import Reason
from kyvsim.simulator.server import errors
from kyvsim.simulator.server.metadata import is_terminating, with_metadata
from kyvsim.simulator.server.request import ApiError, ApiRequest
from kyvsim.simulator.server.store import Store


def placed(request: ApiRequest, store: Store) -> ApiRequest:
    """Return a request as its path says it: what lies in no namespace has none, whatever it says.

    upstream: k8s.io/apiserver pkg/registry/rest/meta.go
    """
    key, obj = request.key, request.object
    if not key.namespace or store.is_namespaced(key.api_version, key.kind):
        return request
    if obj is not None and not request.subresource:
        obj = with_metadata(obj, {"namespace": None})
    return replace(request, key=key._replace(namespace=""), object=obj)


def place_problem(request: ApiRequest, store: Store) -> ApiError | None:
    """Return why nothing can be at the place that a request names, or None.

    upstream: the NamespaceLifecycle plugin, k8s.io/apiserver pkg/admission/plugin/namespace.
    """
    key = request.key
    group = split_api_version(key.api_version)[0]
    is_known = is_builtin(group, key.kind) or (group, key.kind) in store.defined
    if not (key.api_version and is_known):
        return errors.no_match(key)
    if not store.is_namespaced(key.api_version, key.kind):
        return None
    if request.operation is not Operation.CREATE or request.subresource:
        return None
    return _namespace_problem(key, store)


def _namespace_problem(key: ObjectKey, store: Store) -> ApiError | None:
    namespace = store.get("v1", "Namespace", "", key.namespace)
    if namespace is None:
        place = ObjectKey("v1", "Namespace", "", key.namespace)
        return errors.not_found(place, store.defined)._replace(why=Reason.NO_NAMESPACE)
    if is_terminating(namespace):
        why = (
            f"unable to create new content in namespace {key.namespace} "
            "because it is being terminated"
        )
        return errors.forbidden(key, store.defined, why)._replace(why=Reason.NAMESPACE_GOES)
    return None
