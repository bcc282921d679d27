"""What Kyverno says of GlobalContextEntries before they are stored.

Source of the rules: upstream api/kyverno/v2beta1/global_context_entry_types.go.
"""

from collections.abc import Iterator

from kyvsim.expr import Environment, QuerySyntaxError, compile_query
from kyvsim.kube.duration import parse_duration
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.model.request import Operation
from kyvsim.sim.kyverno.denial import denial
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Review, Verdict
from kyvsim.sim.server.request import ALLOWED

_WEBHOOK = "kyverno-svc.kyverno.svc"
_WRITES = frozenset({Operation.CREATE, Operation.UPDATE})


class GlobalContextWebhook:
    """Refuses entries that are not sound."""

    def __init__(self, parts: Parts) -> None:
        self._environment = Environment(parts.clock, parts.identities)

    def mutate(self, review: Review) -> Verdict:
        """Return that an entry is left alone."""
        del review
        return ALLOWED

    def validate(self, review: Review) -> Verdict:
        """Return whether an entry is sound, else why not."""
        obj, request = review.object, review.request
        if request.operation not in _WRITES or request.subresource or obj is None:
            return ALLOWED
        key = object_key(obj)
        if key.kind != "GlobalContextEntry" or not key.api_version.startswith("kyverno.io/"):
            return ALLOWED
        problems = list(_problems(obj.get("spec") or {}, key.name, self._environment))
        told = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        return Verdict(denied=denial(_WEBHOOK, told)) if problems else ALLOWED


def _problems(spec: Json, name: str, environment: Environment) -> Iterator[str]:
    if spec.get("kubernetesResource") is not None:
        yield from _of_resource(spec["kubernetesResource"])
    if spec.get("apiCall") is not None:
        yield from _of_call(spec["apiCall"])
    for index, projection in enumerate(spec.get("projections") or ()):
        for problem in _of_projection(projection, name, environment):
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


def _of_projection(projection: Json, entry: str, environment: Environment) -> Iterator[str]:
    name, path = text_field(projection, "name"), text_field(projection, "jmesPath")
    if not name:
        yield "name: Required value: A projection entry requires a name"
    if name == entry:
        why = "a name different from the global context entry name"
        yield f"name: Required value: A projection entry requires {why}"
    if not path:
        yield "jmesPath: Required value: A projection entry requires a JMESPath"
    try:
        compile_query(path or "@", environment)
    except QuerySyntaxError as error:
        yield f'jmesPath: Invalid value: "{path}": {error}'
