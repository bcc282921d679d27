"""ClusterPolicies and Policies: what is refused, and what is warned of.

The checks that need no cluster are those of `kyvsim.languages.classic.checks`; here they stand in
upstream's order beside those that need one.
Source of the rules: upstream pkg/validation/policy/validate.go.
"""

from collections.abc import Iterable, Iterator

from kyvsim.cel import CompileError, compile_expression
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.types import BOOL
from kyvsim.languages.classic import admission_remarks as remarks
from kyvsim.languages.classic import checks
from kyvsim.languages.classic.checks.kinds import check_wildcard_kinds
from kyvsim.languages.classic.checks.refusal import PolicyCheck, RuleUnderCheck, each_rule
from kyvsim.languages.classic.checks.rule_bodies import check_derived_bodies
from kyvsim.languages.classic.generate_changes import (
    STALE_TARGETS,
    celled_generation,
    changed_generation,
)
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.sim.policy_admission.matched_kinds import cluster_wide_kinds, kind_problem
from kyvsim.sim.policy_admission.permissions import missing_rights, unreported
from kyvsim.sim.server import Store
from kyvsim.sim.server.served_kinds import is_cluster_wide


def policy_problem(policy: Policy, old: Policy | None, store: Store, warnings: list[str]) -> str:
    """Return why a policy is refused, "" where it is not; warnings are added on the way."""
    warnings += remarks.old_actions(policy)
    problem = _match_conditions(policy) or _first(policy, checks.VARIABLE_CHECKS)
    if problem:
        return problem
    for position, rule in enumerate(policy.rules):
        warnings += remarks.cloned_variables(rule, position)
    problem = _structure(policy, store) or _first(policy, checks.MODE_CHECKS)
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
        warnings += remarks.before_rights(rule)
        problem = _said(one for check in checks.BODY_CHECKS for one in check(subject))
        problem = problem or celled_generation(rule, position)
        problem = problem or missing_rights(rule, position, store)
        if problem:
            return problem
        warnings += unreported(rule, store)
        problem = _said(one for check in checks.LAST_CHECKS for one in check(subject))
        if problem:
            return problem
        warnings += remarks.after_rights(policy, rule)
    return _first(policy, (check_derived_bodies,))


def _structure(policy: Policy, store: Store) -> str:
    """Return all that is wrong with the structure, which upstream tells together."""

    def in_cluster(kind: str) -> bool:
        return is_cluster_wide(kind, store)

    found = [one.message for check in checks.structure_checks(in_cluster) for one in check(policy)]
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
