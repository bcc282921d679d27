"""Work that MutatingPolicies make themselves: when they come and change, and once an hour.

Source of the rules: upstream pkg/policy (policy_controller.go, mpol.go).
"""

from kyvsim.languages.cel.facts import mutating_facts
from kyvsim.languages.cel.listed_triggers import listed_triggers
from kyvsim.model.policy import Policy
from kyvsim.sim.background.recorded_requests import update_of
from kyvsim.sim.background.update_requests import CEL_MUTATE, Work, submit
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import BACKGROUND


def start_mutating_policies(kyverno: Kyverno) -> None:
    """Let policies in CEL that come or change look at the objects that are there."""
    kyverno.mutating.changed.append(lambda policy, before: _reconcile(policy, before, kyverno))


def sync_mutating_policies(kyverno: Kyverno) -> None:
    """Let those look again that name no targets by an expression."""
    for one in kyverno.mutating.every():
        if not mutating_facts(one.policy).by_expression:
            _sync(one.policy, kyverno)


def _reconcile(policy: Policy, before: Policy | None, kyverno: Kyverno) -> None:
    if before is None or not before.says(policy):
        _sync(policy, kyverno)


def _sync(policy: Policy, kyverno: Kyverno) -> None:
    """Make the work for what is there: for each trigger where that names the targets."""
    facts, parts = mutating_facts(policy), kyverno.parts
    if not facts.changes_existing:
        return
    if not facts.by_expression:
        submit(Work(CEL_MUTATE, policy.key), parts, BACKGROUND)
        return
    for trigger in [*listed_triggers(policy, parts.store, parts.store.defined)]:
        request = update_of(trigger, "", parts.store)
        submit(Work(CEL_MUTATE, policy.key, request=request), parts, BACKGROUND)
