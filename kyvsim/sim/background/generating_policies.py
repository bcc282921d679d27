"""Work that policies in CEL that generate make themselves: when they come, change and go.

Source of the rules: upstream pkg/policy (policy_controller.go, gpol.go).
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, labels
from kyvsim.languages.cel.facts import generating_facts
from kyvsim.languages.cel.listed_triggers import listed_triggers
from kyvsim.model.policy import Policy
from kyvsim.sim.background.ownership import trigger_from_labels
from kyvsim.sim.background.update_requests import (
    CEL_GENERATE,
    Work,
    cel_context,
    in_batches,
    reference,
    submit,
)
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import BACKGROUND


def start_generating_policies(kyverno: Kyverno) -> None:
    """Let policies in CEL that come, change or go bring their objects along."""
    lister = kyverno.generating
    lister.changed.append(lambda policy, before: _reconcile(policy, before, kyverno))
    lister.dropped.append(lambda policy: _drop(policy, kyverno))


def sync_generating_policies(kyverno: Kyverno) -> None:
    """Let all of them look at the cluster again."""
    for one in kyverno.generating.every():
        _sync(one.policy, kyverno)


def _drop(policy: Policy, kyverno: Kyverno) -> None:
    kyverno.downstreams.leave(policy.key, deletes=not generating_facts(policy).orphans)


def _reconcile(policy: Policy, before: Policy | None, kyverno: Kyverno) -> None:
    if before is not None:
        if before.says(policy):
            return
        stops = not generating_facts(policy).synchronizes
        if stops and generating_facts(before).synchronizes:
            kyverno.downstreams.leave(policy.key, deletes=False)
    _sync(policy, kyverno)


def _sync(policy: Policy, kyverno: Kyverno) -> None:
    """Make the work for what a policy finds in the cluster."""
    facts = generating_facts(policy)
    if facts.synchronizes:
        _submit(policy, [*_renewals(policy, kyverno)], kyverno)
    if facts.looks_back:
        found = [cel_context(policy.key, reference(one)) for one in _triggers(policy, kyverno)]
        _submit(policy, found, kyverno)


def _submit(policy: Policy, contexts: list[Json], kyverno: Kyverno) -> None:
    for work in in_batches(Work(CEL_GENERATE, policy.key, tuple(contexts))):
        submit(work, kyverno.parts, BACKGROUND)


def _renewals(policy: Policy, kyverno: Kyverno) -> Iterator[Json]:
    """Give what makes anew all that is known to be generated, which is deleted before.

    Where nothing is known, it gives what finds out which objects are there.
    """
    known = kyverno.downstreams.of(policy.key)
    if not known:
        for trigger in _triggers(policy, kyverno):
            yield cel_context(policy.key, reference(trigger), restores=True)
        return
    for obj in known:
        yield cel_context(policy.key, trigger_from_labels(labels(obj)))
    kyverno.downstreams.delete(policy.key)


def _triggers(policy: Policy, kyverno: Kyverno) -> Iterator[Json]:
    return listed_triggers(policy, kyverno.parts.store, kyverno.downstreams.kinds)
