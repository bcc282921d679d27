"""Data that GlobalContextEntries keep for all policies, or that is given in their place.

Source of the rules: upstream pkg/globalcontext, cmd/cli/kubectl-kyverno/commands/apply/
global_context.go and, for data that is given, cmd/cli/kubectl-kyverno/store (gctx_resolve.go,
mock.go).
"""

from collections.abc import Iterable
from contextlib import suppress

from kyvsim.engine.context.cluster_api import CallError, answer_get, list_of
from kyvsim.engine.context.json_context import SKIPPED
from kyvsim.jmespath import QueryError, QuerySyntaxError, System, compile_query
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import GlobalData

KEPT = ("kyverno.io/v2", "GlobalContextEntry", "")
"""Where a cluster has the entries: apiVersion, kind, and no namespace."""


def global_data(key: str, projection: str, external: ExternalData, system: System) -> Json:
    """Return the data of an entry, or of a projection ("" for none); SKIPPED where none is known.

    Raises QueryError where a known entry cannot answer.
    """
    mock = external.mocks.global_data.get(key)
    if mock is not None:
        return _projection_of_mock(given_data(key, mock, system), projection)
    kept = [one for one in external.cluster.list(*KEPT) if object_key(one).name == key]
    spec = kept[0].get("spec") or {} if kept else {}
    if spec.get("kubernetesResource") is not None:
        data = _objects(spec["kubernetesResource"], external)
        if data is SKIPPED or not projection:
            return data
        return _projection(spec, projection, data, system)
    return _answered(spec, projection, external, system)


def _objects(wanted: Json, external: ExternalData) -> Json:
    """Return the objects of a kind; an entry for a kind that is not served is never stored.

    upstream: pkg/globalcontext/k8sresource/entry.go
    """
    group, version, resource, namespace = (
        wanted.get(field) or "" for field in ("group", "version", "resource", "namespace")
    )
    api_version = f"{group}/{version}" if group else version
    if not external.cluster.kind_of(api_version, resource):
        return SKIPPED
    return external.as_json(list_of(api_version, resource, namespace, external.cluster))


def _projection(spec: Json, name: str, data: Json, system: System) -> Json:
    """Return a projection of objects; one that cannot be computed is not kept."""
    path = _paths(spec).get(name)
    if path is not None:
        with suppress(QueryError):
            return search(path, data, system)
    raise QueryError(f'projection "{name}" not found')


def _paths(spec: Json) -> dict[str, str]:
    return {one.get("name"): one.get("jmesPath") or "" for one in spec.get("projections") or ()}


def _answered(spec: Json, projection: str, external: ExternalData, system: System) -> Json:
    """Return the answer to an entry's call, or a projection of it; SKIPPED where none is kept.

    One projection that cannot be computed spoils the entry: its error is all that it gives.
    upstream: pkg/globalcontext/externalapi/entry.go
    """
    call = spec.get("apiCall")
    if call is None:
        return SKIPPED
    body = _called(call, external)
    kept = {"": body}
    for name, path in _paths(spec).items():
        kept[name] = search(path, body, system)
    if kept.get(projection) is None:
        raise QueryError("no data available")
    return kept[projection]


def _called(call: Json, external: ExternalData) -> Json:
    path, service = call.get("urlPath") or "", (call.get("service") or {}).get("url") or ""
    method = call.get("method") or "GET"
    mock = external.mocks.answer(method, service or path)
    if mock is not None:
        if mock.good:
            return mock.body
        raise QueryError(f"HTTP {mock.status}")
    if not path:
        raise QueryError(
            f"failed to execute HTTP request for APICall globalcontext: {method} {service}: "
            "kyvsim is offline: add the response to the values file: apiCallResponses: "
            f'[{{url: "{service}", method: {method}, response: {{body: {{}}}}}}]'
        )
    try:
        return external.as_json(answer_get(path, external.cluster, external.account))
    except CallError as error:
        raise QueryError(f"failed to {method} resource with raw url: {path}: {error}") from error


def given_data(key: str, mock: GlobalData, system: System) -> Json:
    """Return what is given for an entry: all of it, or the projections by name."""
    about = f'globalContextEntries "{key}"'
    root = mock.data
    if mock.field_path:
        root = _in_mock(f"{about} fieldPath", mock.field_path, root, system)
    if mock.projections:
        root = _projected(about, mock.projections, root, system)
    return root


def _projection_of_mock(root: Json, projection: str) -> Json:
    if not projection:
        return root
    if root.__class__ is not dict:
        raise QueryError(
            f'global context mock: projection "{projection}" requested but value is not an object'
        )
    if projection not in root:
        raise QueryError(f'global context mock: projection "{projection}" not found')
    return root[projection]


def _projected(
    about: str, projections: Iterable[tuple[str, str]], root: Json, system: System
) -> Json:
    return {
        name: _in_mock(f'{about} projection "{name}" path "{path}"', path, root, system)
        for name, path in projections
    }


def _in_mock(about: str, path: str, data: Json, system: System) -> Json:
    try:
        return search(path, data, system)
    except QueryError as error:
        raise QueryError(f"{about}: {error.message}") from error


def search(path: str, data: Json, system: System) -> Json:
    """Return what a JMESPath expression finds; raises QueryError."""
    try:
        return compile_query(path, system).evaluate(data)
    except QuerySyntaxError as error:
        raise QueryError(str(error)) from error
