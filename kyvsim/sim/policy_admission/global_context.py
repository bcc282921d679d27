"""GlobalContextEntries: what is refused.

Source of the rules: upstream api/kyverno/v2beta1/global_context_entry_types.go.
"""

from collections.abc import Iterator

from kyvsim.expr import QuerySyntaxError
from kyvsim.expr.parse import parse
from kyvsim.kube.duration import parse_duration
from kyvsim.kube.go_text import quote
from kyvsim.kube.objects import Json

_ONE_SOURCE = "A global context entry should either have KubernetesResource or APICall"


def entry_problems(name: str, spec: Json) -> Iterator[str]:
    """Yield what is wrong with a global context entry, each as `field: what: why`."""
    resource, call = spec.get("kubernetesResource"), spec.get("apiCall")
    if (resource is None) == (call is None):
        yield f"spec.kubernetesResource: Forbidden: {_ONE_SOURCE}"
    if resource is not None:
        yield from _resource_problems(resource)
    if call is not None:
        yield from _call_problems(call)
    for index, projection in enumerate(spec.get("projections") or ()):
        for problem in _projection_problems(name, projection):
            yield f"spec.projections[{index}].{problem}"


def _resource_problems(resource: Json) -> Iterator[str]:
    is_core = not resource.get("group") and resource.get("version") == "v1"
    if not resource.get("group") and not is_core:
        yield "spec.resource.group: Required value: A Resource entry requires a group"
    for field in ("version", "resource"):
        if not resource.get(field):
            yield f"spec.resource.{field}: Required value: A Resource entry requires a {field}"


def _call_problems(call: Json) -> Iterator[str]:
    interval = call.get("refreshInterval")
    if interval is not None and not parse_duration(str(interval)):
        yield (
            "spec.apiCall.refreshIntervalSeconds: Required value: A Resource entry requires a"
            " refresh interval greater than 0 seconds"
        )
    if (call.get("service") is None) == (not call.get("urlPath")):
        yield (
            "spec.apiCall.service: Forbidden: An External API call should either have Service or"
            " URLPath"
        )
    if call.get("data") is not None and call.get("method") != "POST":
        yield (
            "spec.apiCall.method: Forbidden: An External API call with data should have method as"
            " POST"
        )


def _projection_problems(entry: str, projection: Json) -> Iterator[str]:
    name, query = projection.get("name", ""), projection.get("jmesPath", "")
    if not name:
        yield "name: Required value: A projection entry requires a name"
    if name == entry:
        yield (
            "name: Required value: A projection entry requires a name different from the global"
            " context entry name"
        )
    if not query:
        yield "jmesPath: Required value: A projection entry requires a JMESPath"
    try:
        parse(query)
    except QuerySyntaxError as fault:
        yield f"jmesPath: Invalid value: {quote(query)}: {fault}"
