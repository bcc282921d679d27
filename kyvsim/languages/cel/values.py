"""What the expressions of a policy see of one request.

Source of the rules: upstream pkg/cel/policies/vpol/compiler/eval.go, and
cmd/cli/kubectl-kyverno/processor for what there is of a request without a cluster: at CREATE the
old object is an empty map, at DELETE the object is.
"""

from collections.abc import Mapping
from typing import Any

from kyvsim.cel.environment import Environment
from kyvsim.cel.kyverno.environments import ordered
from kyvsim.cel.kyverno.global_context import GlobalContextAccess
from kyvsim.context.cel_access import constants, image_access, no_services, resource_access
from kyvsim.kube.discovery import plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, object_key
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.rules.cel_request import user_value
from kyvsim.rules.protocol import Evaluation


def values_of(
    env: Environment, evaluation: Evaluation, policy_namespace: str, variables: Mapping[str, Any]
) -> list[Any]:
    """Return the values of an environment's variables for a request, in their order."""
    request = evaluation.request
    deletes = request.operation is Operation.DELETE
    old = request.old_object
    if request.operation is Operation.UPDATE and old is None:
        old = request.object
    outside = evaluation.scope.outside
    clusters = (outside.cluster,) if outside.context is None else (outside.context, outside.cluster)
    given = {
        **constants(),
        "object": {} if deletes else evaluation.object,
        "oldObject": {} if old is None else old,
        "request": request_value(request),
        "namespaceObject": _namespace_object(evaluation),
        "variables": variables,
        "exceptions": {"allowedImages": [], "allowedValues": []},
        "resource": resource_access(clusters, policy_namespace),
        "image": image_access(outside.images),
        "http": no_services(),
        "globalContext": GlobalContextAccess(lambda *_: None),
    }
    return ordered(env, given)


def request_value(request: AdmissionRequest) -> dict[str, Json]:
    """Return the value of `request`."""
    key = object_key(request.subject)
    group, version = split_api_version(key.api_version)
    kind = {"group": group, "version": version, "kind": key.kind}
    resource = {"group": group, "version": version, "resource": plural(group, key.kind)}
    deletes = request.operation is Operation.DELETE
    return {
        "uid": "",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        **({"name": key.name} if key.name else {}),
        **({"namespace": key.namespace} if key.namespace else {}),
        "operation": request.operation.value,
        "userInfo": user_value(request.user),
        "object": None if deletes else request.object,
        "oldObject": request.old_object,
        "dryRun": False,
        "options": None,
    }


def _namespace_object(evaluation: Evaluation) -> Json:
    """Return the Namespace of the request, as far as anything is known of it."""
    key = object_key(evaluation.request.subject)
    if not key.namespace:
        return None
    outside = evaluation.scope.outside
    given = outside.namespaces.get(key.namespace)
    if given is not None or not outside.answers_calls:
        return given
    return outside.cluster.get("v1", "Namespace", "", key.namespace)
