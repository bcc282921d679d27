"""PolicyExceptions, GlobalContextEntries and cleanup policies: what is refused."""

from collections.abc import Iterator

from kyvsim.engine.match.criteria import filters
from kyvsim.jmespath import QuerySyntaxError, System, compile_query
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.kubernetes.quantities import parse_duration
from kyvsim.languages.classic.validation.match_blocks import check_match_blocks, user_fields
from kyvsim.languages.classic.validation.rule_parts import RuleUnderCheck
from kyvsim.languages.classic.validation.rule_types import exclusion_problems
from kyvsim.model.policy import CelException, Policy, PolicyException, PolicyFacts, Rule, RuleFacts
from kyvsim.simulator.api_server import Store
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.api_server.store import kind_key
from kyvsim.simulator.kyverno.configuration import CLEANUP

# PolicyExceptions of both groups: what is refused.
#
# Source of the rules: upstream api/kyverno/v2/policy_exception_types.go,
# pkg/validation/exception;
# kyverno/api api/policies.kyverno.io/v1beta1/policy_exception.go.

DISABLED = "PolicyException resources would not be processed until it is enabled."
NO_NAMESPACE = "The exceptionNamespace flag is not set"
OTHER_NAMESPACE = "PolicyException resource namespace must match the defined namespace."


def exception_problems(exception: PolicyException, spec: Json) -> Iterator[str]:
    """Yield what is wrong with an exception, each as `field: what: why`."""
    block = {"match": exception.match}
    if spec.get("background") is not False:
        yield from user_fields(filters(block, "match"))
    holder = Policy(
        kind="ClusterPolicy",
        name=exception.name,
        namespace="",
        annotations={},
        spec={},
        rules=(),
        document=exception.document,
        facts=PolicyFacts(""),
    )
    rule = RuleUnderCheck(holder, Rule("", block, ("spec",), RuleFacts()), 0)
    for found in check_match_blocks(rule):
        yield found.message.replace("spec.rules[0].", "spec.", 1)
    for index, entry in enumerate(exception.exceptions):
        if not entry.policy:
            yield (
                f"spec.exceptions[{index}].policyName: Required value: An exception requires a"
                " policy name"
            )
    for index, control in enumerate(exception.pod_security):
        for text in exclusion_problems(control):
            yield f"spec.podSecurity[{index}].{text}"


def cel_exception_problems(exception: CelException) -> Iterator[str]:
    """Yield what is wrong with an exception for policies in CEL, each as `field: what: why`."""
    if not exception.policies:
        yield "spec.policyRefs: Invalid value: []: must specify at least one policy ref"
    for index, one in enumerate(exception.policies):
        for field, value in (("name", one.name), ("kind", one.kind)):
            if not value:
                what = f"spec.policyRefs[{index}].{field}"
                yield f'{what}: Invalid value: "": must specify policy {field}'


# GlobalContextEntries: what is refused.
#
# Source of the rules: upstream api/kyverno/v2beta1/global_context_entry_types.go.


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


# Cleanup policies: what the controller may not do.
#
# Source of the rules: upstream pkg/validation/cleanuppolicy.


def missing_cleanup_rights(policy: Policy, store: Store) -> str:
    """Return what the cleanup controller may not do that a policy needs, "" if it may all."""
    asked = [
        (kind, name)
        for rule in policy.rules
        for entry in rule.facts.match
        for kind in entry.kinds
        for name in entry.resources.get("names") or [""]
    ]
    for kind, name in asked:
        key = kind_key(kind, store)
        if key is None:
            return f"failed to get GVR for kind {kind}"
        place = key._replace(namespace=policy.namespace, name=name)
        for verb in ("delete", "list"):
            if not may(CLEANUP._replace(groups=()), verb, place, store):
                return f"cleanup controller has no permission to {verb} kind {kind}"
    return ""
