"""The webhooks for Kyverno's own kinds."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.engine.compile import CompileOptions
from kyvsim.engine.match.criteria import filters
from kyvsim.jmespath import QuerySyntaxError, System, compile_query
from kyvsim.kubernetes.objects import Json, object_key, text_field
from kyvsim.kubernetes.quantities import parse_duration
from kyvsim.languages.classic.validation.match_blocks import check_match_blocks, user_fields
from kyvsim.languages.classic.validation.rule_parts import RuleUnderCheck
from kyvsim.languages.classic.validation.rule_types import exclusion_problems
from kyvsim.languages.cleanup.compile import cleanup_problems
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import CelException, Policy, PolicyException, PolicyFacts, Rule, RuleFacts
from kyvsim.schema.kinds import CEL_GROUP, RULES_GROUP
from kyvsim.simulator.admission.policy_validation import (
    cel_policy_problems,
    combined,
    deprecation,
    policy_problem,
)
from kyvsim.simulator.admission.review import denial
from kyvsim.simulator.api_server import ObjectStore, Review, WebhookResponse
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.api_server.request import ALLOWED, written
from kyvsim.simulator.api_server.store import kind_key
from kyvsim.simulator.configuration import CLEANUP
from kyvsim.simulator.context import SimulationContext, SimulationSettings
from kyvsim.simulator.policies import CEL_KINDS

# PolicyExceptions, GlobalContextEntries and cleanup policies: what is refused.

# PolicyExceptions of both groups: what is refused.
#
# Source of the rules: upstream api/kyverno/v2/policy_exception_types.go, pkg/validation/exception;
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
        resource = spec["kubernetesResource"]
        core = resource.get("version") == "v1"
        for field in ("group", "version", "resource"):
            if not resource.get(field) and not (field == "group" and core):
                why = f"A Resource entry requires a {field}"
                yield f"spec.resource.{field}: Required value: {why}"
    if spec.get("apiCall") is not None:
        yield from _of_call(spec["apiCall"])
    for index, projection in enumerate(spec.get("projections") or ()):
        for problem in _of_projection(projection, name, system):
            yield f"spec.projections[{index}].{problem}"


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


def missing_cleanup_rights(policy: Policy, store: ObjectStore) -> str:
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


# The webhooks for Kyverno's own kinds.
#
# Source of the rules: upstream pkg/webhooks (policy, exception, globalcontext),
# cmd/cleanup-controller/handlers/admission/policy.

_POLICIES = "validate-policy.kyverno.svc"
_OTHERS = "kyverno-svc.kyverno.svc"
_CLEANUP = "kyverno-cleanup-controller.kyverno.svc"


class PolicyWebhook:
    """Refuses objects of Kyverno's own kinds that are not sound."""

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim

    def mutate(self, review: Review) -> WebhookResponse:
        """Return that a policy is left alone."""
        del review
        return ALLOWED

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether an object of Kyverno's is sound, else why not."""
        obj = written(review)
        if obj is None:
            return ALLOWED
        key = object_key(obj)
        group = key.api_version.partition("/")[0]
        asked = _KINDS.get((group, key.kind))
        if asked is None:
            return ALLOWED
        webhook, look = asked
        problem, warnings = look(self._sim, obj, review.old)
        refused = denial(webhook, problem) if problem else None
        return WebhookResponse(warnings=tuple(warnings), denied=refused)


_Said = tuple[str, list[str]]
"""Why an object is refused ("" if it is not), and warnings."""


def _policy(sim: SimulationContext, obj: Json, old: Json) -> _Said:
    warnings: list[str] = []
    policy, remarks = sim.readers.policy(obj)
    before = sim.readers.policy(old)[0] if old is not None else None
    if policy is None:
        problem = _unreadable(remarks)
    else:
        problem = policy_problem(policy, before, sim.store, warnings)
    return problem, [*warnings, deprecation(obj["kind"])]


def _exception(sim: SimulationContext, obj: Json, old: Json) -> _Said:
    del old
    namespace = sim.settings.exceptions_namespace
    counts = namespace in {"*", object_key(obj).namespace}
    warnings = [] if counts else [_uncounted(sim.settings)]
    exception, remarks = sim.readers.exception(obj)
    if exception is None:
        problem = _unreadable(remarks)
    else:
        problem = combined(exception_problems(exception, obj.get("spec") or {}))
    return problem, [*warnings, deprecation(obj["kind"])]


def _cel_policy(sim: SimulationContext, obj: Json, old: Json) -> _Said:
    del old
    policy, remarks = sim.readers.policy(obj)
    if policy is None:
        return _unreadable(remarks), []
    system = System(sim.clock, sim.identities, sim.settings.meter())
    options = CompileOptions(system, kinds=sim.store.defined)
    problems = list(cel_policy_problems(policy, options))
    return combined(problems), problems


def _cel_exception(sim: SimulationContext, obj: Json, old: Json) -> _Said:
    del old
    warnings = [] if sim.settings.exceptions_namespace else [DISABLED]
    exception, remarks = sim.readers.cel_exception(obj)
    if exception is None:
        return _unreadable(remarks), warnings
    return combined(cel_exception_problems(exception)), warnings


def _uncounted(settings: SimulationSettings) -> str:
    """Return why an exception does not count."""
    if settings.exceptions_namespace:
        return OTHER_NAMESPACE
    enabled = settings.installation.exceptions_enabled and settings.exceptions is None
    return NO_NAMESPACE if enabled else DISABLED


def _cleanup(sim: SimulationContext, obj: Json, old: Json) -> _Said:
    del old
    policy, remarks = sim.readers.policy(obj)
    if policy is None:
        return _unreadable(remarks), []
    problem = combined(cleanup_problems(policy)) or missing_cleanup_rights(policy, sim.store)
    return problem, [] if problem else [deprecation(obj["kind"])]


def _entry(sim: SimulationContext, obj: Json, old: Json) -> _Said:
    del old
    system = System(sim.clock, sim.identities, sim.settings.meter())
    problems = entry_problems(obj.get("spec") or {}, object_key(obj).name, system)
    return combined(problems), []


def _unreadable(remarks: tuple[Diagnostic, ...]) -> str:
    return next((one.message for one in remarks if one.severity is Severity.ERROR), "")


_KINDS: Mapping[tuple[str, str], tuple[str, Callable[[SimulationContext, Json, Json], _Said]]] = (
    MappingProxyType(
        {
            (RULES_GROUP, "CleanupPolicy"): (_CLEANUP, _cleanup),
            (RULES_GROUP, "ClusterCleanupPolicy"): (_CLEANUP, _cleanup),
            (RULES_GROUP, "ClusterPolicy"): (_POLICIES, _policy),
            (RULES_GROUP, "GlobalContextEntry"): (_OTHERS, _entry),
            (RULES_GROUP, "Policy"): (_POLICIES, _policy),
            (RULES_GROUP, "PolicyException"): (_OTHERS, _exception),
            **{(CEL_GROUP, kind): (_POLICIES, _cel_policy) for kind in CEL_KINDS},
            (CEL_GROUP, "PolicyException"): (_OTHERS, _cel_exception),
        }
    )
)
