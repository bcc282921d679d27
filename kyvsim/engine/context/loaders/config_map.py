"""`configMap` entries: data and metadata of a ConfigMap from the given objects.

Source of the rules: upstream pkg/engine/context/loaders/configmap.go.
"""

from kyvsim.engine.context.json_context import (
    MISSING_INPUT,
    SKIPPED,
    EntryLoader,
    JSONContext,
    not_stored,
)
from kyvsim.jmespath import QueryError, System, compile_template
from kyvsim.kubernetes.objects import metadata
from kyvsim.policy.tree import ConfigMapEntry


def compile_entry(entry: ConfigMapEntry, system: System) -> EntryLoader:
    """Return the loader of a ConfigMap's data."""
    name = entry.name
    template = compile_template(
        {"name": entry.config_map_name, "namespace": entry.config_map_namespace}, system
    )

    def load(scope: JSONContext) -> object:
        if not scope.external.answers_calls:
            if not scope.holds(name):
                scope.hints.append(
                    f"{MISSING_INPUT}context entry `{name}` cannot be read without a cluster: "
                    f"{_value(name)}"
                )
            return SKIPPED
        try:
            wanted = template.value if template.constant else template.render(scope)
        except QueryError as error:
            if scope.holds(name):
                return SKIPPED
            raise QueryError(
                f"failed to retrieve config map for context entry {name}: failed to substitute "
                f"variables in context {name} configMap: {error.message}"
            ) from error
        namespace = wanted["namespace"] or scope.policy_namespace or "default"
        if scope.policy_namespace not in {"", namespace}:
            raise QueryError(
                f"failed to retrieve config map for context entry {name}: context entry {name}: "
                f'configMap namespace "{namespace}" is different from policy namespace '
                f'"{scope.policy_namespace}"'
            )
        if scope.holds(name):
            return SKIPPED
        found = scope.external.cluster.get("v1", "ConfigMap", namespace, wanted["name"])
        if found is None:
            # Without a cluster the entry is undefined, as in upstream.
            what = f"ConfigMap {namespace}/{wanted['name']} of context entry `{name}`"
            scope.hints.append(
                not_stored(what)
                if scope.external.account
                else f"{MISSING_INPUT}{what} "
                "is not among the resources: add it: {apiVersion: v1, kind: ConfigMap, metadata: "
                f'{{name: "{wanted["name"]}", namespace: "{namespace}"}}, data: {{}}}}; '
                f"or {_value(name)}"
            )
            return SKIPPED
        return scope.external.as_json({"data": found.get("data"), "metadata": metadata(found)})

    return load


def _value(entry: str) -> str:
    return f'add its data to the values file: globalValues: {{"{entry}.data": {{}}}}'
