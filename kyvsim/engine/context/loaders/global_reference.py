"""`globalReference` entries: data of GlobalContextEntries, or given data.

Source of the rules: upstream pkg/globalcontext, pkg/engine/context/loaders/globalcontext.go,
cmd/cli/kubectl-kyverno/commands/apply/global_context.go and, for given data,
cmd/cli/kubectl-kyverno/store (gctx_resolve.go, mock.go).
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from kyvsim.engine.context.cluster_api import CallError, answer_get, list_of
from kyvsim.engine.context.json_context import (
    MISSING_INPUT,
    SKIPPED,
    EntryLoader,
    JSONContext,
    not_stored,
)
from kyvsim.engine.context.restrictions import service_problem
from kyvsim.jmespath import QueryError, QuerySyntaxError, System, compile_query, compile_template
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.model.diagnostic import nearest
from kyvsim.model.ports import ExternalData
from kyvsim.model.release import Release
from kyvsim.model.values import GlobalData
from kyvsim.policy.tree import GlobalReferenceEntry


def compile_entry(entry: GlobalReferenceEntry, system: System) -> EntryLoader:
    """Return the loader of a global entry's data."""
    name = entry.name
    confined = system.release.global_context_problem("globalReference", namespaced=True)
    template = compile_template({"name": entry.reference, "jmesPath": entry.jmes_path}, system)

    def load(scope: JSONContext) -> object:
        external = scope.external
        given = external.mocks.global_data or external.cluster.list(*KEPT)
        if not given and external.account is None:
            # Without any data the entry is undefined, as in upstream's command line.
            if not scope.holds(name):
                scope.hints.append(_missing(name, entry.reference, ()))
            return SKIPPED
        if confined and scope.policy_namespace:
            raise QueryError(f"context entry {name}: {confined}")
        try:
            filled = template.render(scope)
            key, _, rest = filled["name"].partition(".")
            if scope.holds(name) and key not in external.mocks.global_data:
                return SKIPPED
            found = global_data(key, rest.split(".")[0], external, system)
            if found is SKIPPED:
                scope.hints.append(
                    not_stored(f"GlobalContextEntry {key} of context entry `{name}`")
                    if external.account
                    else _missing(name, filled["name"], _entries(external))
                )
            elif lacks_objects(found, key, external):
                scope.hints.append(no_objects(key))
            return _queried(found, key, filled["jmesPath"], name, system)
        except QueryError as error:
            raise QueryError(
                f"failed to marshal APICall data for context entry {name}: {error.message}"
            ) from error

    return load


def _entries(external: ExternalData) -> Iterable[str]:
    kept = (object_key(one).name for one in external.cluster.list(*KEPT))
    return (*external.mocks.global_data, *kept)


def _missing(entry: str, name: str, given: Iterable[str]) -> str:
    key = name.partition(".")[0]
    near = nearest(key, given)
    meant = f"did you mean `{near}`? If not, " if near else ""
    return (
        f"{MISSING_INPUT}there is no data for the GlobalContextEntry {key} of context entry "
        f"`{entry}`: {meant}"
        "add it and its objects to the resources, or only the objects to the values file (use "
        "data: {} instead of resources: [] if it is not a list): "
        f'globalContextEntries: [{{name: "{key}", resources: []}}]'
    )


def lacks_objects(found: object, key: str, external: ExternalData) -> bool:
    """Return whether the data of an entry is empty for want of objects: no values say so."""
    return found == [] and external.account is None and key not in external.mocks.global_data


def no_objects(key: str) -> str:
    """Return how to provide the objects of an entry that has none."""
    return (
        f"{MISSING_INPUT}the GlobalContextEntry {key} is an empty list, since there are no "
        "existing objects of its kind (one that is created does not exist yet): add them to the "
        "resources"
    )


def _queried(data: object, key: str, path: str, name: str, system: System) -> object:
    if data is SKIPPED:
        raise QueryError(f"failed to fetch entry key={key}")
    if not path:
        return data
    try:
        return search(path, data, system)
    except QueryError as error:
        raise QueryError(
            f"failed to apply JMESPath {path} for context entry {name}: {error.message}"
        ) from error


KEPT = ("kyverno.io/v2", "GlobalContextEntry", "")
"""The key of the entries in a cluster: apiVersion, kind, and no namespace."""


def global_data(key: str, projection: str, external: ExternalData, system: System) -> object:
    """Return the data of an entry, or of a projection ("" for none); SKIPPED if it is unknown.

    Raises QueryError if a known entry has an error.
    """
    mock = external.mocks.global_data.get(key)
    if mock is not None:
        root = given_data(key, mock, system)
        if not projection:
            return root
        problem = "not found"
        if root.__class__ is not dict:
            problem = "requested but value is not an object"
        elif projection in root:
            return root[projection]
        raise QueryError(f'global context mock: projection "{projection}" {problem}')
    kept = [one for one in external.cluster.list(*KEPT) if object_key(one).name == key]
    spec = kept[0].get("spec") or {} if kept else {}
    paths = {one.get("name"): one.get("jmesPath") or "" for one in spec.get("projections") or ()}
    if spec.get("kubernetesResource") is not None:
        # upstream stores neither an entry for a kind that is not served, nor a projection that
        # cannot be computed: pkg/globalcontext/k8sresource/entry.go.
        wanted = spec["kubernetesResource"]
        group, version, resource, namespace = (
            wanted.get(field) or "" for field in ("group", "version", "resource", "namespace")
        )
        api_version = f"{group}/{version}" if group else version
        if not external.cluster.kind_of(api_version, resource):
            return SKIPPED
        data = external.as_json(list_of(api_version, resource, namespace, external.cluster))
        if not projection:
            return data
        with suppress(KeyError, QueryError):
            return search(paths[projection], data, system)
        raise QueryError(f'projection "{projection}" not found')
    # If one projection cannot be computed, the entry returns only its error, see
    # pkg/globalcontext/externalapi/entry.go upstream.
    call = spec.get("apiCall")
    if call is None:
        return SKIPPED
    body = _called(call, external, system.release)
    found = {"": body, **{name: search(path, body, system) for name, path in paths.items()}}
    if found.get(projection) is None:
        raise QueryError("no data available")
    return found[projection]


def _called(call: Mapping[str, Json], external: ExternalData, release: Release) -> object:
    path, service = call.get("urlPath") or "", (call.get("service") or {}).get("url") or ""
    method = call.get("method") or "GET"
    mock = external.mocks.answer(method, service or path)
    if mock is not None:
        if mock.good:
            return mock.body
        raise QueryError(f"HTTP {mock.status}")
    problem = "" if path else service_problem("globalcontext", method, service, release)
    if problem:
        raise QueryError(problem)
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


def given_data(key: str, mock: GlobalData, system: System) -> object:
    """Return the given data of an entry: the whole data, or the projections by name."""
    about = f'globalContextEntries "{key}"'
    root = mock.data
    if mock.field_path:
        root = _in_mock(f"{about} fieldPath", mock.field_path, root, system)
    if mock.projections:
        root = {
            name: _in_mock(f'{about} projection "{name}" path "{path}"', path, root, system)
            for name, path in mock.projections
        }
    return root


def _in_mock(about: str, path: str, data: object, system: System) -> object:
    try:
        return search(path, data, system)
    except QueryError as error:
        raise QueryError(f"{about}: {error.message}") from error


def search(path: str, data: object, system: System) -> object:
    """Return the value of a JMESPath expression; raises QueryError."""
    try:
        return compile_query(path, system).evaluate(data)
    except QuerySyntaxError as error:
        raise QueryError(str(error)) from error
