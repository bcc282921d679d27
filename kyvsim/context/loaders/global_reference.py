"""`globalReference` entries: data that a GlobalContextEntry keeps for all policies.

Source of the rules: upstream pkg/engine/context/loaders/globalcontext.go,
cmd/cli/kubectl-kyverno/commands/apply/global_context.go and, for data that is given,
cmd/cli/kubectl-kyverno/store (gctx_resolve.go, mock.go).
"""

from collections.abc import Iterable
from contextlib import suppress

from kyvsim.context.cluster_api import CallError, answer_get, list_of
from kyvsim.context.json_context import SKIPPED, EntryLoader, JSONContext
from kyvsim.context.loaders.protocol import ContextLoader
from kyvsim.expr import Environment, QueryError, QuerySyntaxError, compile_query, compile_template
from kyvsim.kube.objects import Json, object_key
from kyvsim.model.mocks import GlobalData
from kyvsim.model.outside import Outside

_KEPT = ("kyverno.io/v2", "GlobalContextEntry", "")


def _compile(name: str, spec: Json, environment: Environment) -> EntryLoader:
    template = compile_template(
        {"name": spec.get("name") or "", "jmesPath": spec.get("jmesPath") or ""}, environment
    )

    def load(scope: JSONContext) -> Json:
        outside = scope.outside
        given = outside.mocks.global_data or outside.cluster.list(*_KEPT)
        if not given and outside.account is None:
            # Without any data the entry stays undefined, as upstream's command line has it.
            if not scope.holds(name):
                scope.hints.append(_missing(name, spec.get("name") or ""))
            return SKIPPED
        try:
            filled = template.render(scope)
            if scope.holds(name) and _key(filled["name"]) not in outside.mocks.global_data:
                return SKIPPED
            found = _find(filled["name"], outside, environment)
            if found is SKIPPED:
                scope.hints.append(_missing(name, filled["name"]))
            return _queried(_present(found, filled["name"]), filled["jmesPath"], name, environment)
        except QueryError as error:
            raise QueryError(
                f"failed to marshal APICall data for context entry {name}: {error.message}"
            ) from error

    return load


def _key(name: str) -> str:
    return name.partition(".")[0]


def _missing(entry: str, name: str) -> str:
    return (
        f"no data is given for the GlobalContextEntry {_key(name)} of context entry `{entry}`: "
        "give it with the resources, with what it keeps; or its objects in the values file (for "
        "what is no list, data: {} in place of resources: []): "
        f'globalContextEntries: [{{name: "{_key(name)}", resources: []}}]'
    )


def _present(found: Json, name: str) -> Json:
    if found is SKIPPED:
        raise QueryError(f"failed to fetch entry key={_key(name)}")
    return found


def _queried(data: Json, path: str, name: str, environment: Environment) -> Json:
    if not path:
        return data
    try:
        return _search(path, data, environment)
    except QueryError as error:
        raise QueryError(
            f"failed to apply JMESPath {path} for context entry {name}: {error.message}"
        ) from error


def _search(path: str, data: Json, environment: Environment) -> Json:
    try:
        return compile_query(path, environment).evaluate(data)
    except QuerySyntaxError as error:
        raise QueryError(str(error)) from error


def _find(name: str, outside: Outside, environment: Environment) -> Json:
    """Return the data that a name such as `entry` or `entry.projection` stands for, or SKIPPED."""
    key, _, rest = name.partition(".")
    projection = rest.split(".")[0]
    mock = outside.mocks.global_data.get(key)
    if mock is not None:
        return _mocked(key, mock, projection, environment)
    kept = [one for one in outside.cluster.list(*_KEPT) if object_key(one).name == key]
    spec = kept[0].get("spec") or {} if kept else {}
    if spec.get("kubernetesResource") is not None:
        data = _objects(spec["kubernetesResource"], outside)
        if data is SKIPPED or not projection:
            return data
        return _projection(spec, projection, data, environment)
    return _answered(spec, projection, outside, environment)


def _objects(wanted: Json, outside: Outside) -> Json:
    """Return the objects of a kind; an entry for a kind that nobody serves is never kept.

    upstream: pkg/globalcontext/k8sresource/entry.go
    """
    group, version, resource, namespace = (
        wanted.get(field) or "" for field in ("group", "version", "resource", "namespace")
    )
    api_version = f"{group}/{version}" if group else version
    if not outside.cluster.kind_of(api_version, resource):
        return SKIPPED
    return outside.as_json(list_of(api_version, resource, namespace, outside.cluster))


def _projection(spec: Json, name: str, data: Json, environment: Environment) -> Json:
    """Return a projection of objects; one that cannot be computed is not kept."""
    path = _paths(spec).get(name)
    if path is not None:
        with suppress(QueryError):
            return _search(path, data, environment)
    raise QueryError(f'projection "{name}" not found')


def _paths(spec: Json) -> dict[str, str]:
    return {one.get("name"): one.get("jmesPath") or "" for one in spec.get("projections") or ()}


def _answered(spec: Json, projection: str, outside: Outside, environment: Environment) -> Json:
    """Return the answer to an entry's call, or a projection of it; SKIPPED where none is kept.

    One projection that cannot be computed spoils the entry: its error is all that it gives.
    upstream: pkg/globalcontext/externalapi/entry.go
    """
    call = spec.get("apiCall")
    if call is None:
        return SKIPPED
    body = _called(call, outside)
    kept = {"": body}
    for name, path in _paths(spec).items():
        kept[name] = _search(path, body, environment)
    if kept.get(projection) is None:
        raise QueryError("no data available")
    return kept[projection]


def _called(call: Json, outside: Outside) -> Json:
    path, service = call.get("urlPath") or "", (call.get("service") or {}).get("url") or ""
    method = call.get("method") or "GET"
    mock = outside.mocks.answer(method, service or path)
    if mock is not None:
        if mock.good:
            return mock.body
        raise QueryError(f"HTTP {mock.status}")
    if not path:
        raise QueryError(
            f"failed to execute HTTP request for APICall globalcontext: {method} {service}: "
            "kyvsim calls no services; give its answer in the values file: apiCallResponses: "
            f'[{{url: "{service}", method: {method}, response: {{body: {{}}}}}}]'
        )
    try:
        return outside.as_json(answer_get(path, outside.cluster, outside.account))
    except CallError as error:
        raise QueryError(f"failed to {method} resource with raw url: {path}: {error}") from error


def _mocked(key: str, mock: GlobalData, projection: str, environment: Environment) -> Json:
    about = f'globalContextEntries "{key}"'
    root = mock.data
    if mock.field_path:
        root = _in_mock(f"{about} fieldPath", mock.field_path, root, environment)
    if mock.projections:
        root = _projected(about, mock.projections, root, environment)
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
    about: str, projections: Iterable[tuple[str, str]], root: Json, environment: Environment
) -> Json:
    return {
        name: _in_mock(f'{about} projection "{name}" path "{path}"', path, root, environment)
        for name, path in projections
    }


def _in_mock(about: str, path: str, data: Json, environment: Environment) -> Json:
    try:
        return _search(path, data, environment)
    except QueryError as error:
        raise QueryError(f"{about}: {error.message}") from error


LOADER = ContextLoader("globalReference", _compile)
