"""The webhooks that are asked about Kyverno's own kinds.

Source of the rules: upstream pkg/webhooks (policy, exception, globalcontext),
cmd/cleanup-controller/handlers/admission/policy.
"""

from collections.abc import Callable
from types import MappingProxyType

from kyvsim.expr import Environment
from kyvsim.kube.objects import Json, object_key
from kyvsim.languages.cleanup.checks import cleanup_problems
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.sim.kyverno.denial import denial
from kyvsim.sim.parts import Parts, Settings
from kyvsim.sim.policy_admission.cleanup import missing_cleanup_rights
from kyvsim.sim.policy_admission.deprecation import deprecation
from kyvsim.sim.policy_admission.exceptions import (
    DISABLED,
    NO_NAMESPACE,
    OTHER_NAMESPACE,
    exception_problems,
)
from kyvsim.sim.policy_admission.global_context import entry_problems
from kyvsim.sim.policy_admission.policies import combined, policy_problem
from kyvsim.sim.server import Review, Verdict
from kyvsim.sim.server.request import ALLOWED, written

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
        asked = _KINDS.get(key.kind) if key.api_version.startswith("kyverno.io/") else None
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
    environment = Environment(parts.clock, parts.identities)
    problems = entry_problems(obj.get("spec") or {}, object_key(obj).name, environment)
    return combined(problems), []


def _unreadable(remarks: tuple[Diagnostic, ...]) -> str:
    return next((one.message for one in remarks if one.severity is Severity.ERROR), "")


_KINDS: MappingProxyType[str, tuple[str, Callable[[Parts, Json, Json], _Said]]] = MappingProxyType(
    {
        "CleanupPolicy": (_CLEANUP, _cleanup),
        "ClusterCleanupPolicy": (_CLEANUP, _cleanup),
        "ClusterPolicy": (_POLICIES, _policy),
        "GlobalContextEntry": (_OTHERS, _entry),
        "Policy": (_POLICIES, _policy),
        "PolicyException": (_OTHERS, _exception),
    }
)
