"""The webhooks that are asked about Kyverno's own kinds.

Source of the rules: upstream pkg/webhooks (policy, exception, globalcontext),
cmd/cleanup-controller/handlers/admission/policy.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.engine.compile import CompileOptions
from kyvsim.jmespath import System
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.languages.cleanup.compile import cleanup_problems
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.schema.kinds import CEL_GROUP, RULES_GROUP
from kyvsim.simulator.api_server import Review, Verdict
from kyvsim.simulator.api_server.request import ALLOWED, written
from kyvsim.simulator.kyverno.denial import denial
from kyvsim.simulator.kyverno.policies import CEL_KINDS
from kyvsim.simulator.parts import Parts, Settings
from kyvsim.simulator.policy_admission.other_kinds import (
    DISABLED,
    NO_NAMESPACE,
    OTHER_NAMESPACE,
    cel_exception_problems,
    entry_problems,
    exception_problems,
    missing_cleanup_rights,
)
from kyvsim.simulator.policy_admission.policies import (
    cel_policy_problems,
    combined,
    deprecation,
    policy_problem,
)

_POLICIES = "validate-policy.kyverno.svc"
_OTHERS = "kyverno-svc.kyverno.svc"
_CLEANUP = "kyverno-cleanup-controller.kyverno.svc"


class PolicyWebhook:
    """Refuses objects of Kyverno's own kinds that are not sound."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def mutate(self, review: Review) -> Verdict:
        """Return that a policy is left alone."""
        del review
        return ALLOWED

    def validate(self, review: Review) -> Verdict:
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
        problem, warnings = look(self._parts, obj, review.old)
        refused = denial(webhook, problem) if problem else None
        return Verdict(warnings=tuple(warnings), denied=refused)


_Said = tuple[str, list[str]]
"""Why an object is refused ("" if it is not), and warnings."""


def _policy(parts: Parts, obj: Json, old: Json) -> _Said:
    warnings: list[str] = []
    policy, remarks = parts.readers.policy(obj)
    before = parts.readers.policy(old)[0] if old is not None else None
    if policy is None:
        problem = _unreadable(remarks)
    else:
        problem = policy_problem(policy, before, parts.store, warnings)
    return problem, [*warnings, deprecation(obj["kind"])]


def _exception(parts: Parts, obj: Json, old: Json) -> _Said:
    del old
    namespace = parts.settings.exceptions_namespace
    counts = namespace in {"*", object_key(obj).namespace}
    warnings = [] if counts else [_uncounted(parts.settings)]
    exception, remarks = parts.readers.exception(obj)
    if exception is None:
        problem = _unreadable(remarks)
    else:
        problem = combined(exception_problems(exception, obj.get("spec") or {}))
    return problem, [*warnings, deprecation(obj["kind"])]


def _cel_policy(parts: Parts, obj: Json, old: Json) -> _Said:
    del old
    policy, remarks = parts.readers.policy(obj)
    if policy is None:
        return _unreadable(remarks), []
    system = System(parts.clock, parts.identities, parts.settings.meter())
    options = CompileOptions(system, kinds=parts.store.defined)
    problems = list(cel_policy_problems(policy, options))
    return combined(problems), problems


def _cel_exception(parts: Parts, obj: Json, old: Json) -> _Said:
    del old
    warnings = [] if parts.settings.exceptions_namespace else [DISABLED]
    exception, remarks = parts.readers.cel_exception(obj)
    if exception is None:
        return _unreadable(remarks), warnings
    return combined(cel_exception_problems(exception)), warnings


def _uncounted(settings: Settings) -> str:
    """Return why an exception does not count."""
    if settings.exceptions_namespace:
        return OTHER_NAMESPACE
    enabled = settings.installation.exceptions_enabled and settings.exceptions is None
    return NO_NAMESPACE if enabled else DISABLED


def _cleanup(parts: Parts, obj: Json, old: Json) -> _Said:
    del old
    policy, remarks = parts.readers.policy(obj)
    if policy is None:
        return _unreadable(remarks), []
    problem = combined(cleanup_problems(policy)) or missing_cleanup_rights(policy, parts.store)
    return problem, [] if problem else [deprecation(obj["kind"])]


def _entry(parts: Parts, obj: Json, old: Json) -> _Said:
    del old
    system = System(parts.clock, parts.identities, parts.settings.meter())
    problems = entry_problems(obj.get("spec") or {}, object_key(obj).name, system)
    return combined(problems), []


def _unreadable(remarks: tuple[Diagnostic, ...]) -> str:
    return next((one.message for one in remarks if one.severity is Severity.ERROR), "")


_KINDS: Mapping[tuple[str, str], tuple[str, Callable[[Parts, Json, Json], _Said]]] = (
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
