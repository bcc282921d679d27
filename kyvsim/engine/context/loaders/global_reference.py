"""`globalReference` entries: data that a GlobalContextEntry keeps for all policies.

Source of the rules: upstream pkg/engine/context/loaders/globalcontext.go,
cmd/cli/kubectl-kyverno/commands/apply/global_context.go and, for data that is given,
cmd/cli/kubectl-kyverno/store (gctx_resolve.go, mock.go).
"""

from kyvsim.engine.context.global_data import KEPT, global_data, search
from kyvsim.engine.context.json_context import SKIPPED, ContextLoader, EntryLoader, JSONContext
from kyvsim.jmespath import QueryError, System, compile_template
from kyvsim.kubernetes.objects import Json
from kyvsim.model.ports import ExternalData


def _compile(name: str, spec: Json, system: System) -> EntryLoader:
    template = compile_template(
        {"name": spec.get("name") or "", "jmesPath": spec.get("jmesPath") or ""}, system
    )

    def load(scope: JSONContext) -> Json:
        external = scope.external
        given = external.mocks.global_data or external.cluster.list(*KEPT)
        if not given and external.account is None:
            # Without any data the entry stays undefined, as upstream's command line has it.
            if not scope.holds(name):
                scope.hints.append(_missing(name, spec.get("name") or ""))
            return SKIPPED
        try:
            filled = template.render(scope)
            if scope.holds(name) and _key(filled["name"]) not in external.mocks.global_data:
                return SKIPPED
            found = _found(filled["name"], external, system)
            if found is SKIPPED:
                scope.hints.append(_missing(name, filled["name"]))
            return _queried(_present(found, filled["name"]), filled["jmesPath"], name, system)
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
        "add it and its objects to the resources, or only the objects to the values file (use "
        "data: {} instead of resources: [] if it is not a list): "
        f'globalContextEntries: [{{name: "{_key(name)}", resources: []}}]'
    )


def _present(found: Json, name: str) -> Json:
    if found is SKIPPED:
        raise QueryError(f"failed to fetch entry key={_key(name)}")
    return found


def _queried(data: Json, path: str, name: str, system: System) -> Json:
    if not path:
        return data
    try:
        return search(path, data, system)
    except QueryError as error:
        raise QueryError(
            f"failed to apply JMESPath {path} for context entry {name}: {error.message}"
        ) from error


def _found(name: str, external: ExternalData, system: System) -> Json:
    """Return the data that a name such as `entry` or `entry.projection` stands for, or SKIPPED."""
    key, _, rest = name.partition(".")
    return global_data(key, rest.split(".")[0], external, system)


LOADER = ContextLoader("globalReference", _compile)
