"""The parameter objects of a CEL rule.

Source of the rules: upstream pkg/admissionpolicy (CollectParams).
"""

from collections.abc import Callable, Sequence

from kyvsim.kube.discovery import is_namespaced
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.labels import compile_selector
from kyvsim.kube.objects import Json, labels, object_key
from kyvsim.rules.protocol import Evaluation


class ParamsError(Exception):
    """There are no parameters, or it cannot be told where they are."""


def compile_params(cel: Json) -> Callable[[Evaluation], Sequence[Json]]:
    """Return what finds the parameter objects for a request; that raises `ParamsError`."""
    kind, reference = cel["paramKind"], cel["paramRef"]
    api_version, kind_name = kind.get("apiVersion") or "", kind.get("kind") or ""
    group, _ = split_api_version(api_version)
    namespaced = is_namespaced(group, kind_name)
    selector = reference.get("selector")
    selects = compile_selector(selector) if selector is not None else None

    def find(evaluation: Evaluation) -> Sequence[Json]:
        cluster = evaluation.scope.outside.cluster
        namespace = _namespace(reference, evaluation, namespaced=namespaced)
        if name := reference.get("name"):
            found = cluster.get(api_version, kind_name, namespace, name)
            if found is None:
                raise ParamsError(f"{kind_name} {name} not found")
            return (found,)
        objects = cluster.list(api_version, kind_name, namespace) if selects else ()
        params = [one for one in objects if selects is not None and selects(labels(one))]
        if not params and reference.get("parameterNotFoundAction") == "Deny":
            raise ParamsError("no params found")
        return params

    return find


def _namespace(reference: Json, evaluation: Evaluation, *, namespaced: bool) -> str:
    given: str = reference.get("namespace") or ""
    if not namespaced:
        if given:
            raise ParamsError(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        return ""
    namespace = given or object_key(evaluation.request.subject).namespace
    if not namespace:
        raise ParamsError("can't use namespaced paramRef to match cluster-scoped resources")
    return namespace
