"""ClusterPolicies, Policies and policies in CEL: what is refused, and what is warned of."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel import CompileError, compile_expression
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.types import BOOL
from kyvsim.engine.compile import CompileOptions
from kyvsim.kubernetes.cron import next_times
from kyvsim.kubernetes.go_text import quote
from kyvsim.languages.cel import resources_of
from kyvsim.languages.cel.compile import problems_of
from kyvsim.languages.cel.facts import mutating_facts
from kyvsim.languages.classic import admission, validation
from kyvsim.languages.classic.admission import (
    STALE_TARGETS,
    cel_preconditions_problem,
    changed_generation,
)
from kyvsim.languages.classic.validation.match_blocks import check_wildcard_kinds
from kyvsim.languages.classic.validation.rule_bodies import check_derived_bodies
from kyvsim.languages.classic.validation.rule_parts import PolicyCheck, RuleUnderCheck, each_rule
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Filter, Policy, Rule
from kyvsim.model.source import Path
from kyvsim.simulator.api_server import Store
from kyvsim.simulator.api_server.store import find_kinds, is_cluster_wide
from kyvsim.simulator.policy_admission.permissions import missing_rights, unreported
from kyvsim.simulator.time.scheduler import START

# Kinds of Kyverno's that are on their way out.
#
# Source of the texts: upstream pkg/deprecations.

_REPLACEMENTS = MappingProxyType(
    {
        "ClusterPolicy": "ValidatingPolicy, MutatingPolicy, GeneratingPolicy or"
        " ImageValidatingPolicy",
        "Policy": "NamespacedValidatingPolicy, NamespacedMutatingPolicy,"
        " NamespacedGeneratingPolicy or NamespacedImageValidatingPolicy",
        "ClusterCleanupPolicy": "DeletingPolicy",
        "CleanupPolicy": "NamespacedDeletingPolicy",
        "PolicyException": "PolicyException",
    }
)
_GUIDE = "https://kyverno.io/docs/guides/migration-to-cel/"


def deprecation(kind: str) -> str:
    """Return that a kind is on its way out, "" where it is not."""
    replacement = _REPLACEMENTS.get(kind)
    if replacement is None:
        return ""
    return (
        f"{kind} (kyverno.io) is deprecated and will be removed in a future release; migrate to"
        f" {replacement} (policies.kyverno.io), see {_GUIDE}"
    )


# Kinds in match and exclude blocks: whether the cluster serves them.
#
# Source of the rules and texts: upstream pkg/validation/policy/validate.go (validKinds). That one
# unknown kind beside known ones is let pass with a warning, and nothing but unknown kinds is not,
# is
# what upstream's end-to-end tests `policy-validation/cluster-policy/crd-non-exist` and
# `webhooks/unknown-kind` show.


class KindProblem(NamedTuple):
    """What is wrong with the kinds of a policy."""

    refusal: str = ""
    """Why the policy is refused."""
    warning: str = ""
    """What is said of a policy that is let pass, without a look at anything else."""


def kind_problem(policy: Policy, store: Store) -> KindProblem | None:
    """Return the first problem with a policy's kinds, or None."""
    for position, rule in enumerate(policy.rules):
        for entry in _filters(rule):
            problem = _problem(policy, rule, entry, store)
            if problem is None:
                continue
            place = f"path: spec.rules[{position}].{entry.text_path}.kinds: "
            refusal = place + problem.refusal if problem.refusal else ""
            return problem._replace(refusal=refusal)
    return None


def cluster_wide_kinds(rule: Rule, position: int) -> Iterator[tuple[str, str]]:
    """Yield every kind that a rule names, with its path."""
    for entry in _filters(rule):
        for index, kind in enumerate(entry.kinds):
            yield kind, f"spec.rules[{position}].{entry.text_path}.kinds[{index}]"


def _filters(rule: Rule) -> Iterator[Filter]:
    yield from rule.facts.match
    yield from rule.facts.exclude


def _problem(policy: Policy, rule: Rule, entry: Filter, store: Store) -> KindProblem | None:
    if "*" in entry.kinds:
        return None
    scans = policy.background and rule.facts.section == "validate"
    unknown = []
    for kind in entry.kinds:
        found = find_kinds(kind, store)
        if not found:
            unknown.append(kind)
        elif scans and any(part for *_, part in found):
            return KindProblem(refusal=f"background scan enabled with subresource {kind}")
    if not unknown:
        return None
    told = f"unable to convert GVK to GVR for kinds {unknown[0]}, err: resource not found"
    if len(unknown) == len(entry.kinds):
        return KindProblem(refusal=told)
    return KindProblem(warning=f"the kind defined in the all match resource is invalid: {told}")


# ClusterPolicies and Policies: what is refused, and what is warned of.
#
# The checks that need no cluster are those of `kyvsim.languages.classic.validation`; here they are
# in upstream's order, together with those that need one.
# Source of the rules: upstream pkg/validation/policy/validate.go.


def policy_problem(policy: Policy, old: Policy | None, store: Store, warnings: list[str]) -> str:
    """Return why a policy is refused, "" where it is not; warnings are added on the way."""
    warnings += admission.old_actions(policy)
    problem = _match_conditions(policy) or _first(policy, validation.VARIABLE_CHECKS)
    if problem:
        return problem
    for position, rule in enumerate(policy.rules):
        warnings += admission.clone_variable_warnings(rule, position)
    problem = _structure(policy, store) or _first(policy, validation.MODE_CHECKS)
    if problem:
        return problem
    return _in_cluster(policy, old, store, warnings)


def _in_cluster(policy: Policy, old: Policy | None, store: Store, warnings: list[str]) -> str:
    """Return what only a cluster can tell: what was there before, its kinds, its rights."""
    stale, refused = changed_generation(policy, old) if old else (False, "")
    if stale or refused:
        # Upstream says it of a refusal, too, without a reason then.
        told = STALE_TARGETS if stale else ""
        warnings.append(
            "no synchronization will be performed to the old target resource upon policy updates:"
            f" {told}"
        )
        return refused
    problem = _first(policy, (each_rule(check_wildcard_kinds),))
    found = None if problem else kind_problem(policy, store)
    if found is not None and found.warning:
        warnings.append(found.warning)
        return ""
    problem = problem or (found.refusal if found else "")
    return problem or _rules(policy, store, warnings)


def _rules(policy: Policy, store: Store, warnings: list[str]) -> str:
    for position, rule in enumerate(policy.rules):
        subject = RuleUnderCheck(policy, rule, position)
        warnings += admission.warnings_before_permissions(rule)
        problem = _said(one for check in validation.BODY_CHECKS for one in check(subject))
        problem = problem or cel_preconditions_problem(rule, position)
        problem = problem or missing_rights(rule, position, store)
        if problem:
            return problem
        warnings += unreported(rule, store)
        problem = _said(one for check in validation.LAST_CHECKS for one in check(subject))
        if problem:
            return problem
        warnings += admission.warnings_after_permissions(policy, rule)
    return _first(policy, (check_derived_bodies,))


def _structure(policy: Policy, store: Store) -> str:
    """Return all that is wrong with the structure, which upstream tells together."""

    def in_cluster(kind: str) -> bool:
        return is_cluster_wide(kind, store)

    found = [
        one.message for check in validation.structure_checks(in_cluster) for one in check(policy)
    ]
    if policy.kind == "Policy":
        found += _cluster_wide(policy, store)
    return combined(found)


def _cluster_wide(policy: Policy, store: Store) -> Iterator[str]:
    for position, rule in enumerate(policy.rules):
        for kind, path in cluster_wide_kinds(rule, position):
            if is_cluster_wide(kind, store):
                why = f"Cluster wide resource '{kind}' not allowed in namespaced policy"
                yield f"{path.replace('.resources', '')}: Forbidden: {why}"


def combined(problems: Iterable[str]) -> str:
    """Return one text of several problems, as Kubernetes aggregates them."""
    told = list(dict.fromkeys(problems))
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]" if told else ""


def _match_conditions(policy: Policy) -> str:
    """Return what cannot be compiled of the conditions of a policy's webhook."""
    faults = []
    for _, text in policy.facts.webhook_conditions:
        try:
            compile_expression(text, kubernetes_environment(), BOOL)
        except CompileError as fault:
            faults.append(str(fault))
    return f"match conditions compilation errors: [{' '.join(faults)}]" if faults else ""


def _first(policy: Policy, some: Iterable[PolicyCheck]) -> str:
    return _said(one for check in some for one in check(policy))


def _said(found: Iterator[Diagnostic]) -> str:
    first = next(found, None)
    return first.message if first else ""


# Policies in CEL: what is refused.
#
# Source of the rules: upstream pkg/cel/policies/vpol/validate.go.

_IDLE = (
    "spec.evaluation: Forbidden: "
    "disabling both admission and mutateExisting evaluation modes is not allowed"
)
_UNMATCHED = (
    "spec.matchConstraints: Required value: "
    "a matchConstraints with at least one resource rule is required"
)


def cel_policy_problems(policy: Policy, options: CompileOptions) -> Iterator[str]:
    """Yield what is wrong with a policy, each as `field: what: why`."""
    for problem in problems_of(policy, options):
        text = f"Invalid value: {quote(problem.text)}: {problem.message}"
        yield f"{_field(problem.path)}: {text}"
    if not resources_of(policy):
        yield _UNMATCHED
    if not policy.facts.admission and policy.kind.endswith("MutatingPolicy"):
        yield from () if mutating_facts(policy).changes_existing else (_IDLE,)
    if policy.facts.schedule is not None:
        yield from _schedule_problems(policy.facts.schedule)


def _schedule_problems(schedule: str) -> Iterator[str]:
    try:
        next(iter(next_times(schedule, START, 1)), None)
    except ValueError as error:
        why = "schedule spec in the deletingPolicy is not in proper cron format"
        yield f"spec.schedule: Invalid value: {quote(schedule)}: {why}: {error}"


def _field(path: Path) -> str:
    shown = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return shown.removeprefix(".")
