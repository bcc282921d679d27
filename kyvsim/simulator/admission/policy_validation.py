"""The webhooks for Kyverno's own kinds: errors, warnings, and the permissions of rules."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import NamedTuple, TypeVar

from kyvsim.engine.compile import CompileOptions
from kyvsim.jmespath import QuerySyntaxError, System, compile_query
from kyvsim.kubernetes.cron import next_times
from kyvsim.kubernetes.discovery import parse_kind_selector, plural, split_api_version
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.labels import format_problems
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    object_key,
    path_text,
    text_field,
)
from kyvsim.kubernetes.quantities import parse_duration
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.cel import resources_of
from kyvsim.languages.cel.compile import forbidden_names, problems_of
from kyvsim.languages.cel.exceptions import refused_conditions
from kyvsim.languages.cel.facts import mutating_facts
from kyvsim.languages.classic import admission, validation
from kyvsim.languages.classic import native_twin as classic
from kyvsim.languages.classic.admission import (
    STALE_TARGETS,
    cel_preconditions_problem,
    changed_generation,
)
from kyvsim.languages.classic.validation.match_blocks import (
    block_problems,
    check_wildcard_kinds,
    user_problems,
)
from kyvsim.languages.classic.validation.rule_bodies import check_derived_bodies
from kyvsim.languages.classic.validation.rule_parts import RuleUnderCheck, each_rule
from kyvsim.languages.classic.validation.rule_types import exclusion_problems
from kyvsim.languages.cleanup.compile import cleanup_problems
from kyvsim.languages.native.type_checking import (
    MatchedResources,
    condition_faults,
    type_checker,
)
from kyvsim.model.background import GeneratePattern, Generation, MutationTarget
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import CelException, Policy, PolicyException, Rule
from kyvsim.model.release import Release
from kyvsim.model.request import UserInfo
from kyvsim.schema.kinds import CEL_GROUP, RULES_GROUP
from kyvsim.simulator.admission.review import denial
from kyvsim.simulator.api_server import ObjectStore, Review, WebhookResponse
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.api_server.request import ALLOWED, Webhook, written
from kyvsim.simulator.api_server.store import find_kinds, is_cluster_wide, kind_key
from kyvsim.simulator.configuration import ADMISSION, BACKGROUND, CLEANUP, REPORTS
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.native_policies import UnclearKindError, match_resources
from kyvsim.simulator.policies import CEL_KINDS
from kyvsim.simulator.scheduler import START

# The permissions that a rule needs, and the ClusterRoles that grant the missing ones.
# Source of the rules: upstream pkg/policy/{generate,mutate,auth}, and for the labels by which
# users' roles are aggregated to a controller charts/kyverno/templates/*/clusterrole.yaml.


NO_CLEANUP_RIGHT = "cleanup controller has no permission to"


class RequiredAccess(NamedTuple):
    """The permissions that a controller needs for a kind."""

    user: UserInfo
    key: ObjectKey
    """The kind, with the namespace and name if they are constant."""
    verbs: tuple[str, ...]


def lacking_needs(policy: Policy, store: ObjectStore) -> list[RequiredAccess]:
    """Return the permissions for the rules of a policy that controllers lack at least in part."""
    needs = dict.fromkeys(one for rule in policy.rules for one in _needs(rule, store))
    # As in upstream, only the name of the account counts.
    return [
        one
        for one in needs
        if not all(may(one.user._replace(groups=()), verb, one.key, store) for verb in one.verbs)
    ]


def roles_for(
    policy: Policy, lacking: list[RequiredAccess], store: ObjectStore
) -> tuple[KubernetesObject, ...]:
    """Return the ClusterRoles that grant the missing permissions, one for each controller."""
    roles = []
    for user in dict.fromkeys(one.user.username for one in lacking):
        controller = user.removeprefix("system:serviceaccount:kyverno:kyverno-")
        rules: dict[tuple[str, str], dict[str, None]] = {}
        for need in lacking:
            if need.user.username == user:
                group = split_api_version(need.key.api_version)[0]
                resource = plural(group, need.key.kind, store.defined)
                rules.setdefault((group, resource), {}).update(dict.fromkeys(need.verbs))
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {
                "name": f"kyverno:{policy.name}:{controller}",
                "labels": {f"rbac.kyverno.io/aggregate-to-{controller}": "true"},
            },
            "rules": [
                {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
                for (group, resource), verbs in rules.items()
            ],
        }
        roles.append(role)
    return tuple(roles)


def _needs(rule: Rule, store: ObjectStore) -> Iterator[RequiredAccess]:
    for target in rule.facts.targets:
        for place in _places(target, (), store):
            yield RequiredAccess(BACKGROUND, place, ("get", "update"))
    generation = rule.facts.generation
    for made in generation.patterns if generation else ():
        for place in _places(made, made.clone_kinds, store):
            for user, verbs in _generating_rights(generation):
                # Upstream's messages list those of the admission controller in reverse order.
                listed = verbs[::-1] if user is ADMISSION else verbs
                yield RequiredAccess(user, place, listed)


def _generating_rights(generation: Generation | None) -> Iterator[tuple[UserInfo, tuple[str, ...]]]:
    if generation and generation.synchronizes:
        yield ADMISSION, ("list", "get")
        yield BACKGROUND, ("get", "create", "update", "delete")
    else:
        yield BACKGROUND, ("get", "create")


def _places(
    target: MutationTarget | GeneratePattern, kinds: tuple[str, ...], store: ObjectStore
) -> Iterator[ObjectKey]:
    """Yield `kinds`, or the kind of a target, with its namespace, if they are constant."""
    namespace = target.namespace
    for kind in kinds or (f"{target.api_version}/{target.kind}",):
        if "{{" in kind or "*" in kind or parse_kind_selector(kind).subresource:
            continue
        key = kind_key(kind.removeprefix("/"), store)
        if key is not None:
            yield key._replace(namespace="" if "{{" in namespace else namespace)


# Check whether Kyverno's controllers have the permissions that a policy needs.
# Source of the rules and texts: upstream pkg/policy/{auth,generate,mutate,validate}.


def missing_rights(rule: Rule, position: int, store: ObjectStore) -> str:
    """Return which permissions for a rule the controllers lack, "" if none."""
    what, problem = "mutate", ""
    if rule.facts.targets and not rule.facts.patches_elements:
        problem = _cannot_mutate(rule.facts.targets, store)
    if rule.facts.generation and not problem:
        what, problem = "generate", _cannot_generate(rule.facts.generation, store)
    return f"path: spec.rules[{position}].{what}.{problem}" if problem else ""


def unreported(rule: Rule, store: ObjectStore) -> Iterator[str]:
    """Yield the matched kinds that the reports controller cannot read."""
    if rule.facts.patches_elements:
        return
    generation = rule.facts.generation
    # Upstream lists the kinds of the legacy form first, and stops at a wildcard.
    match = rule.tree.match
    filters = (match.own, *(match.any or ()), *(match.all or ()))
    kinds = (kind for one in filters for kind in one.kinds)
    named = takewhile(lambda kind: not has_wildcard(kind), kinds)
    refusals = (_refusal(REPORTS, ("get", "list", "watch"), kind, store) for kind in named)
    shown = [one for one in refusals if one]
    times = 2 if generation and generation.synchronizes else 1
    yield from (shown[:1] if rule.facts.section == "validate" else shown * times)


def _cannot_mutate(targets: Iterable[MutationTarget], store: ObjectStore) -> str:
    problems = []
    for target in targets:
        if "{{" in target.kind:
            continue
        kind, part = parse_kind_selector(target.kind)[2:]
        gvk, place = f"{target.api_version}/{kind}", (target.namespace, target.name)
        problems.append(
            _refusal(BACKGROUND, ("get", "update"), gvk, store, *place, subresource=part)
        )
    shown = "; ".join(filter(None, problems))
    why = "auth check fails, additional privileges are required for the service account"
    return f"targets.: {why} '{BACKGROUND.username}': {shown}" if shown else ""


def _cannot_generate(generation: Generation, store: ObjectStore) -> str:
    loops = generation.loops
    path = "foreach" if loops is not None else ""
    for user, verbs in _generating_rights(generation):
        for target in loops if loops is not None else (generation.whole,):
            kinds = target.clone_kinds
            # Of a list of kinds, upstream checks only the first.
            gvk = kinds[0] if kinds else f"{target.api_version}/{target.kind}"
            problem = "" if "{{" in gvk else _refusal(user, verbs, gvk, store, target.namespace)
            if problem:
                return f"{path}.: {problem}"
    return ""


def _refusal(
    user: UserInfo,
    verbs: Iterable[str],
    kind: str,
    store: ObjectStore,
    namespace: str = "",
    name: str = "",
    *,
    subresource: str = "",
) -> str:
    """Return which verbs a user may not use on a kind, "" if all are granted.

    `kind` may be `apiVersion/kind`.
    """
    key = kind_key(kind.removeprefix("/"), store)
    if key is None:
        return f"failed to get GVR for kind {kind}"
    # Upstream checks the name alone; permissions of service accounts' groups do not count.
    asked = user._replace(groups=())
    key = key._replace(namespace=namespace, name=name)
    lacking = [verb for verb in verbs if not may(asked, verb, key, store, subresource=subresource)]
    if not lacking:
        return ""
    shown = f"{kind}/{subresource}" if subresource else kind
    text = f"{user.username} requires permissions {','.join(lacking)} for resource {shown}"
    return f"{text} in namespace {namespace}" if namespace else text


# Kinds in match and exclude blocks: whether the cluster serves them.
# Source of the rules and texts: upstream pkg/validation/policy/validate.go (validKinds). A filter
# with some unknown kinds is admitted with a warning, one with only unknown kinds is rejected:
# upstream's end-to-end tests `policy-validation/cluster-policy/crd-non-exist` and
# `webhooks/unknown-kind` show it.


def kind_problem(policy: Policy, store: ObjectStore) -> tuple[str, str]:
    """Return why the kinds of a policy are rejected, and a warning if they are not.

    A policy with a warning is admitted without further checks.
    """
    for rule in policy.rules:
        for one in rule.tree.filters:
            refusal, warning = _problem(policy, rule, one.kinds, store)
            if refusal:
                return f"path: {path_text(one.path)}.kinds: {refusal}", ""
            if warning:
                return "", warning
    return "", ""


def _problem(
    policy: Policy, rule: Rule, kinds: Sequence[str], store: ObjectStore
) -> tuple[str, str]:
    if "*" in kinds:
        return "", ""
    scans = policy.background and rule.facts.section == "validate"
    unknown = []
    for kind in kinds:
        found = find_kinds(kind, store)
        if not found:
            unknown.append(kind)
        elif scans and any(part for *_, part in found):
            return f"background scan enabled with subresource {kind}", ""
    if not unknown:
        return "", ""
    shown = f"unable to convert GVK to GVR for kinds {unknown[0]}, err: resource not found"
    if len(unknown) == len(kinds):
        return shown, ""
    return "", f"the kind defined in the all match resource is invalid: {shown}"


# ClusterPolicies and Policies: errors and warnings.
#
# The checks that need no cluster are those of `kyvsim.languages.classic.checks`; here they run
# in upstream's order together with those that need one. Source of the rules: upstream
# pkg/validation/policy/validate.go.


def policy_problem(
    policy: Policy, old: Policy | None, store: ObjectStore, warnings: list[str], release: Release
) -> str:
    """Return why a policy is rejected, "" if it is not; append to `warnings`."""
    warnings += admission.deprecated_actions(policy, with_paths=release.locates_deprecated_fields)
    problem = condition_faults(policy) or _first(policy, validation.VARIABLE_CHECKS)
    if problem:
        return problem
    for position, rule in enumerate(policy.rules):
        warnings += admission.clone_variable_warnings(rule, position)
    return (
        _structure(policy, store)
        or _first(policy, validation.MODE_CHECKS)
        or _in_cluster(policy, old, store, warnings, release)
    )


def _in_cluster(
    policy: Policy, old: Policy | None, store: ObjectStore, warnings: list[str], release: Release
) -> str:
    """Return the problems that need a cluster: the former policy, kinds, permissions."""
    stale, refused = changed_generation(policy, old) if old else (False, "")
    if stale or refused:
        # Upstream also warns if the update is rejected, then without a reason.
        shown = STALE_TARGETS if stale else ""
        warnings.append(
            "no synchronization will be performed to the old target resource upon policy updates:"
            f" {shown}"
        )
        return refused
    problem = _first(policy, (each_rule(check_wildcard_kinds),))
    if problem:
        return problem
    problem, warning = kind_problem(policy, store)
    if problem or warning:
        warnings += [warning] if warning else []
        return problem
    for position, rule in enumerate(policy.rules):
        subject = RuleUnderCheck(policy, rule, position)
        warnings += admission.warnings_before_permissions(rule)
        problem = (
            _first(subject, validation.body_checks(release))
            or cel_preconditions_problem(rule, position)
            or missing_rights(rule, position, store)
        )
        if not problem:
            warnings += unreported(rule, store)
            problem = _first(subject, validation.LAST_CHECKS)
        if problem:
            return problem
        warnings += admission.warnings_after_permissions(policy, rule)
    problem = _first(policy, (check_derived_bodies,))
    if not problem and classic.has_native_twin(policy):
        try:
            warnings += _type_warnings(policy, store)
        except UnclearKindError as error:
            warnings.clear()  # as upstream
            return str(error)
    return problem


def _type_warnings(policy: Policy, store: ObjectStore) -> Iterator[str]:
    """Yield the expressions of a rule in CEL that do not fit the types of the matched kinds.

    Raises UnclearKindError for a kind that selects several resources.
    """
    twin = classic.native_twin(policy, ())
    matched = match_resources(twin.match, twin.exclude, store)
    validate = policy.rules[0].tree.validate
    cel = validate and validate.cel
    if cel is None:
        return
    resources = (
        MatchedResources(rule["apiGroups"], rule["apiVersions"], rule["resources"])
        for rule in matched.get("resourceRules") or ()
    )
    checker = type_checker(resources, cel.param_kind, cel.variables, store.defined)
    for index, field, warning in checker.warnings(cel.expressions):
        line = warning.replace("\n", ";")
        yield f"spec.rules[0].validate.cel.expressions[{index}].{field}:{line}"


def _structure(policy: Policy, store: ObjectStore) -> str:
    """Return all problems of the structure, which upstream reports together."""
    checks = validation.structure_checks(partial(is_cluster_wide, store=store))
    found = [one.message for check in checks for one in check(policy)]
    for rule in policy.rules if policy.kind == "Policy" else ():
        for one in rule.tree.filters:
            place = path_text(one.path)
            found += (
                f"{place}.kinds[{index}]: Forbidden: Cluster wide resource '{kind}' not allowed in "
                "namespaced policy"
                for index, kind in enumerate(one.kinds)
                if is_cluster_wide(kind, store)
            )
    return combined(found)


def combined(problems: Iterable[str]) -> str:
    """Join several problems to one text, as Kubernetes aggregates them."""
    shown = list(dict.fromkeys(problems))
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]" if shown else ""


_Subject = TypeVar("_Subject", Policy, RuleUnderCheck)


def _first(subject: _Subject, checks: Iterable[Callable[[_Subject], Iterable[Diagnostic]]]) -> str:
    """Return the first problem of a policy or rule, "" if there is none."""
    return next((one.message for check in checks for one in check(subject)), "")


# CEL policies: errors.
# Source of the rules: upstream validate.go of pkg/cel/policies/{vpol,mpol,gpol,dpol} and of
# pkg/image/verification/evaluator.


def cel_policy_problems(policy: Policy, options: CompileOptions) -> Iterator[str]:
    """Yield the problems of a policy, each as `field: what: why`."""
    for problem in problems_of(policy, options):
        place = path_text(problem.path)
        yield f"{place}: Invalid value: {quote(problem.text)}: {problem.message}"
    if not resources_of(policy):
        why = "a matchConstraints with at least one resource rule is required"
        yield f"spec.matchConstraints: Required value: {why}"
    mutates_alone = not policy.facts.admission and policy.kind.endswith("MutatingPolicy")
    if mutates_alone and not mutating_facts(policy).changes_existing:
        why = "disabling both admission and mutateExisting evaluation modes is not allowed"
        yield f"spec.evaluation: Forbidden: {why}"
    if policy.facts.schedule is not None:
        try:
            next(iter(next_times(policy.facts.schedule, START, 1)), None)
        except ValueError as error:
            why = "schedule spec in the deletingPolicy is not in proper cron format"
            yield f"spec.schedule: Invalid value: {quote(policy.facts.schedule)}: {why}: {error}"
    yield from (f"spec: Forbidden: {why}" for _, why in forbidden_names(policy, options))


# PolicyExceptions of both groups: errors.
# Source of the rules: upstream api/kyverno/v2/policy_exception_types.go, pkg/validation/exception;
# kyverno/api api/policies.kyverno.io/v1beta1/policy_exception.go.

_DISABLED = "PolicyException resources would not be processed until it is enabled."


def exception_problems(exception: PolicyException, spec: Json) -> Iterator[str]:
    """Yield the problems of an exception, each as `field: what: why`."""
    if spec.get("background") is not False:
        yield from user_problems(exception.match)
    for problem in block_problems(exception.match, namespaced=False):
        yield problem.message
    for index, entry in enumerate(exception.exceptions):
        if not entry.policy:
            why = "An exception requires a policy name"
            yield f"spec.exceptions[{index}].policyName: Required value: {why}"
    for index, control in enumerate(exception.pod_security):
        for text in exclusion_problems(control):
            yield f"spec.podSecurity[{index}].{text}"


def cel_exception_problems(exception: CelException, release: Release) -> Iterator[str]:
    """Yield the problems of an exception for CEL policies, each as `field: what: why`."""
    if not exception.policies:
        yield "spec.policyRefs: Invalid value: []: must specify at least one policy ref"
    for index, one in enumerate(exception.policies):
        for field, value in (("name", one.name), ("kind", one.kind)):
            if not value:
                what = f"spec.policyRefs[{index}].{field}"
                yield f'{what}: Invalid value: "": must specify policy {field}'
    if release.compiles_exceptions:
        yield from _condition_problems(exception)


_MOST_CONDITIONS = 64


def _condition_problems(exception: CelException) -> Iterator[str]:
    count, names = len(exception.conditions), set[str]()
    if count > _MOST_CONDITIONS:
        yield (
            f"spec.matchConditions: Too many: {count}: must have at most {_MOST_CONDITIONS} items"
        )
    refused = {one.path: one for one in refused_conditions(exception)}
    for one in exception.conditions:
        place, problem = path_text(one.path), refused.get((*one.path, "expression"))
        if not one.expression.strip():
            yield f"{place}.expression: Required value"
        elif problem is not None:
            shown = quote(one.expression.strip())
            yield f"{place}.expression: Invalid value: {shown}: {problem.message}"
        if not one.name:
            yield f"{place}.name: Required value"
            continue
        wrong = format_problems("qualifiedName", one.name)
        for text in wrong:
            yield f"{place}.name: Invalid value: {quote(one.name)}: {text}"
        if not wrong and one.name in names:
            yield f"{place}.name: Duplicate value: {quote(one.name)}"
        names.add(one.name)


# GlobalContextEntries: errors.
# Source of the rules: upstream api/kyverno/v2beta1/global_context_entry_types.go.


def entry_problems(spec: Json) -> Iterator[str]:
    """Yield the problems of a global context entry, each as `field: what: why`."""
    if spec.get("kubernetesResource") is not None:
        resource = spec["kubernetesResource"]
        core = resource.get("version") == "v1"
        for field in ("group", "version", "resource"):
            if not resource.get(field) and not (field == "group" and core):
                why = f"A Resource entry requires a {field}"
                yield f"spec.resource.{field}: Required value: {why}"
    if spec.get("apiCall") is not None:
        call = spec["apiCall"]
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


def projection_problems(projection: Json, entry: str, system: System) -> Iterator[str]:
    """Yield the problems of a projection of a global context entry, in the same form."""
    requires = "Required value: A projection entry requires"
    name, path = text_field(projection, "name"), text_field(projection, "jmesPath")
    if not name:
        yield f"name: {requires} a name"
    if name == entry:
        yield f"name: {requires} a name different from the global context entry name"
    if not path:
        yield f"jmesPath: {requires} a JMESPath"
    try:
        compile_query(path or "@", system)
    except QuerySyntaxError as error:
        yield f'jmesPath: Invalid value: "{path}": {error}'


# Cleanup policies: the permissions that the controller lacks.
# Source of the rules: upstream pkg/validation/cleanuppolicy.


def missing_cleanup_rights(policy: Policy, store: ObjectStore) -> str:
    """Return which permission for a policy the cleanup controller lacks, "" if none."""
    filters = (one for rule in policy.rules for one in rule.tree.match.filters)
    asked = ((kind, name) for one in filters for kind in one.kinds for name in one.names or ("",))
    for kind, name in asked:
        key = kind_key(kind, store)
        if key is None:
            return f"failed to get GVR for kind {kind}"
        place = key._replace(namespace=policy.namespace, name=name)
        for verb in ("delete", "list"):
            if not may(CLEANUP._replace(groups=()), verb, place, store):
                return f"{NO_CLEANUP_RIGHT} {verb} kind {kind}"
    return ""


# The webhooks for Kyverno's own kinds.
# Source of the rules: upstream pkg/webhooks (policy, exception, globalcontext),
# cmd/cleanup-controller/handlers/admission/policy.

_POLICIES = "validate-policy.kyverno.svc"
_OTHERS = "kyverno-svc.kyverno.svc"
_CLEANUP = "kyverno-cleanup-controller.kyverno.svc"


class PolicyWebhook(Webhook):
    """Rejects invalid objects of Kyverno's own kinds."""

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether an object of a Kyverno kind is valid, or why not."""
        obj = written(review)
        if obj is None:
            return ALLOWED
        key = object_key(obj)
        webhook, look = _KINDS.get((key.api_version.partition("/")[0], key.kind), ("", None))
        if look is None:
            return ALLOWED
        problem, warnings = look(self._sim, obj, review.old)
        refused = denial(webhook, problem) if problem else None
        return WebhookResponse(warnings=tuple(warnings), denied=refused)


_Said = tuple[str, list[str]]
"""Why an object is rejected ("" if it is not), and warnings."""


def _policy(sim: SimulationContext, obj: KubernetesObject, old: KubernetesObject | None) -> _Said:
    warnings: list[str] = []
    policy, remarks = sim.readers.policy(obj)
    before = sim.readers.policy(old)[0] if old is not None else None
    if policy is None:
        return _unreadable(remarks), [_deprecation(sim, obj)]
    problem = policy_problem(policy, before, sim.store, warnings, sim.settings.release)
    return problem, [*warnings, _deprecation(sim, obj)]


def _exception(sim: SimulationContext, obj: KubernetesObject, _: object) -> _Said:
    settings, warnings = sim.settings, []
    if not settings.exceptions_namespace:
        enabled = settings.installation.exceptions_enabled and settings.exceptions is None
        warnings = ["The exceptionNamespace flag is not set" if enabled else _DISABLED]
    elif settings.exceptions_namespace not in {"*", object_key(obj).namespace}:
        warnings = ["PolicyException resource namespace must match the defined namespace."]
    exception, remarks = sim.readers.exception(obj)
    if exception is None:
        problem = _unreadable(remarks)
    else:
        problem = combined(exception_problems(exception, obj.get("spec") or {}))
    return problem, [*warnings, _deprecation(sim, obj)]


def _cel_policy(sim: SimulationContext, obj: KubernetesObject, _: object) -> _Said:
    policy, remarks = sim.readers.policy(obj)
    if policy is None:
        return _unreadable(remarks), []
    options = CompileOptions(sim.system(), kinds=sim.store.defined)
    problems = list(cel_policy_problems(policy, options))
    return combined(problems), problems


def _cel_exception(sim: SimulationContext, obj: KubernetesObject, _: object) -> _Said:
    warnings = [] if sim.settings.exceptions_namespace else [_DISABLED]
    exception, remarks = sim.readers.cel_exception(obj)
    if exception is None:
        return _unreadable(remarks), warnings
    return combined(cel_exception_problems(exception, sim.settings.release)), warnings


def _cleanup(sim: SimulationContext, obj: KubernetesObject, _: object) -> _Said:
    policy, remarks = sim.readers.policy(obj)
    if policy is None:
        return _unreadable(remarks), []
    problem = combined(cleanup_problems(policy)) or missing_cleanup_rights(policy, sim.store)
    return problem, [] if problem else [_deprecation(sim, obj)]


def _entry(sim: SimulationContext, obj: KubernetesObject, _: object) -> _Said:
    system = sim.system()
    spec, name = obj.get("spec") or {}, object_key(obj).name
    problems = list(entry_problems(spec))
    for index, one in enumerate(spec.get("projections") or ()):
        of_projection = projection_problems(one, name, system)
        problems += (f"spec.projections[{index}].{problem}" for problem in of_projection)
    return combined(problems), []


def _deprecation(sim: SimulationContext, obj: KubernetesObject) -> str:
    return sim.settings.release.deprecation(text_field(obj, "apiVersion"), obj["kind"])


def _unreadable(remarks: tuple[Diagnostic, ...]) -> str:
    return next((one.message for one in remarks if one.severity is Severity.ERROR), "")


_KINDS: Mapping[
    tuple[str, str],
    tuple[str, Callable[[SimulationContext, KubernetesObject, KubernetesObject | None], _Said]],
] = {
    (RULES_GROUP, "CleanupPolicy"): (_CLEANUP, _cleanup),
    (RULES_GROUP, "ClusterCleanupPolicy"): (_CLEANUP, _cleanup),
    (RULES_GROUP, "ClusterPolicy"): (_POLICIES, _policy),
    (RULES_GROUP, "GlobalContextEntry"): (_OTHERS, _entry),
    (RULES_GROUP, "Policy"): (_POLICIES, _policy),
    (RULES_GROUP, "PolicyException"): (_OTHERS, _exception),
    **{(CEL_GROUP, kind): (_POLICIES, _cel_policy) for kind in CEL_KINDS},
    (CEL_GROUP, "PolicyException"): (_OTHERS, _cel_exception),
}
