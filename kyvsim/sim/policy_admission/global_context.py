"""GlobalContextEntries: what is refused.

Source of the rules: upstream api/kyverno/v2beta1/global_context_entry_types.go.
"""

from collections.abc import Iterator

from kyvsim.expr import QuerySyntaxError, System, compile_query
from kyvsim.kube.duration import parse_duration
from kyvsim.kube.objects import Json, text_field


def entry_problems(spec: Json, name: str, system: System) -> Iterator[str]:
    """Yield what is wrong with a global context entry, each as `field: what: why`."""
    if spec.get("kubernetesResource") is not None:
        yield from _of_resource(spec["kubernetesResource"])
    if spec.get("apiCall") is not None:
        yield from _of_call(spec["apiCall"])
    for index, projection in enumerate(spec.get("projections") or ()):
        for problem in _of_projection(projection, name, system):
            yield f"spec.projections[{index}].{problem}"


def _of_resource(resource: Json) -> Iterator[str]:
    core = resource.get("version") == "v1"
    for field in ("group", "version", "resource"):
        if not resource.get(field) and not (field == "group" and core):
            why = f"A Resource entry requires a {field}"
            yield f"spec.resource.{field}: Required value: {why}"


def _of_call(call: Json) -> Iterator[str]:
    interval = call.get("refreshInterval")
    if interval is not None and not parse_duration(str(interval)):
        why = "A Resource entry requires a refresh interval greater than 0 seconds"
        yield f"spec.apiCall.refreshIntervalSeconds: Required value: {why}"
    if (call.get("service") is None) == (not call.get("urlPath")):
        why = "An External API call should either have Service or URLPath"
        yield f"spec.apiCall.service: Forbidden: {why}"
    if call.get("data") is not None and call.get("method") != "POST":
        why = "An External API call with data should have method as POST"
        yield f"spec.apiCall.method: Forbidden: {why}"


def _of_projection(projection: Json, entry: str, system: System) -> Iterator[str]:
    name, path = text_field(projection, "name"), text_field(projection, "jmesPath")
    if not name:
        yield "name: Required value: A projection entry requires a name"
    if name == entry:
        why = "a name different from the global context entry name"
        yield f"name: Required value: A projection entry requires {why}"
    if not path:
        yield "jmesPath: Required value: A projection entry requires a JMESPath"
    try:
        compile_query(path or "@", system)
    except QuerySyntaxError as error:
        yield f'jmesPath: Invalid value: "{path}": {error}'
