"""The parameter objects of a CEL rule.

Parameters of a kind that lives in namespaces are those of the object's own namespace, unless the
rule names another. Source of the rules: upstream pkg/admissionpolicy (CollectParams).
"""

from collections.abc import Callable, Sequence

from kyvsim.engine.compile.compiled import Evaluation
from kyvsim.kubernetes.discovery import kind_of_plural, plural, split_api_version
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.model.ports import ClusterView


class ParamsError(Exception):
    """There are no parameters, or it cannot be told where they are."""


_Find = Callable[[Evaluation], Sequence[Json]]
_Search = Callable[[ClusterView, str], list[Json]]
"""Finds parameters in a namespace, "" for all; raises `ParamsError`."""


def compile_params(cel: Json) -> _Find:
    """Return what finds the parameter objects for a request; that raises `ParamsError`."""
    reference = cel["paramRef"]
    api_version = cel["paramKind"].get("apiVersion") or ""
    kind = cel["paramKind"].get("kind") or ""
    look_up = _by_name if reference.get("name") else _by_selector
    find = look_up(reference, api_version, kind)
    group, _ = split_api_version(api_version)
    builtin = kind_of_plural(group, plural(group, kind)) == kind

    def checked(evaluation: Evaluation) -> Sequence[Json]:
        if api_version.count("/") > 1:
            raise ParamsError("can't parse the parameter resource group version")
        cluster = evaluation.scope.outside.cluster
        if not builtin and not cluster.list(api_version, kind, ""):
            raise ParamsError("failed to check if resource is namespaced or not (not found)")
        if cluster.is_namespaced(api_version, kind):
            return find(cluster, _namespace(reference, evaluation.request.subject))
        if reference.get("namespace"):
            raise ParamsError(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        return find(cluster, "")

    return checked


def _namespace(reference: Json, subject: Json) -> str:
    """Return where parameters are looked for; raise `ParamsError` where there is no such place."""
    found = reference.get("namespace") or object_key(subject).namespace
    if not found:
        raise ParamsError("can't use namespaced paramRef to match cluster-scoped resources")
    return str(found)


def _by_name(reference: Json, api_version: str, kind: str) -> _Search:
    name = reference["name"]
    group, _ = split_api_version(api_version)
    resource = f"{plural(group, kind)}.{group}" if group else plural(group, kind)

    def find(cluster: ClusterView, namespace: str) -> list[Json]:
        found = cluster.get(api_version, kind, namespace, name)
        if found is None:
            raise ParamsError(f'{resource} "{name}" not found')
        return [found]

    return find


def _by_selector(reference: Json, api_version: str, kind: str) -> _Search:
    selector = reference.get("selector")
    try:
        selects = compile_selector(selector) if selector is not None else None
    except SelectorError as error:
        problem = str(error)

        def refuse(_: ClusterView, _namespace: str) -> list[Json]:
            raise ParamsError(problem)

        return refuse

    def find(cluster: ClusterView, namespace: str) -> list[Json]:
        found = cluster.list(api_version, kind, namespace) if selects is not None else ()
        chosen = [one for one in found if selects is not None and selects(labels(one))]
        if not chosen and reference.get("parameterNotFoundAction") == "Deny":
            raise ParamsError("no params found")
        return chosen

    return find
