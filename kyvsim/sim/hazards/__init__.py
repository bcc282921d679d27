"""Hazards: what goes wrong in a run, or will; one file a hazard, described in docs/hazards.md."""

from collections.abc import Callable, Iterable

from kyvsim.model.simulation import Hazard
from kyvsim.sim.hazards import (
    background_off,
    cut_run,
    denied_downstream,
    denied_pods,
    denied_trigger,
    downstream_name,
    early_trigger,
    failing_rule,
    generate_loop,
    given_up,
    hindered_cleanup,
    idle_mutation,
    lasting_lifetime,
    lost_drift,
    lost_trigger,
    missing_namespace,
    missing_permission,
    missing_source,
    mutation_loop,
    nameless_mutation,
    refused_policy,
    repeated_mutation,
    underived_twin,
    unenforced_kinds,
    unevaluated_rule,
    unfollowed_copy,
    unmet_reference,
    unstable_mutation,
    unsynchronized_deletion,
)
from kyvsim.sim.hazards.facts import Facts

HAZARDS: tuple[Callable[[Facts], Iterable[Hazard]], ...] = (
    unmet_reference.find,
    denied_trigger.find,
    generate_loop.find,
    unstable_mutation.find,
    missing_source.find,
    downstream_name.find,
    missing_permission.find,
    background_off.find,
    nameless_mutation.find,
    missing_namespace.find,
    early_trigger.find,
    lost_trigger.find,
    cut_run.find,
    refused_policy.find,
    unenforced_kinds.find,
    denied_pods.find,
    denied_downstream.find,
    lost_drift.find,
    mutation_loop.find,
    hindered_cleanup.find,
    lasting_lifetime.find,
    failing_rule.find,
    given_up.find,
    unevaluated_rule.find,
    idle_mutation.find,
    repeated_mutation.find,
    underived_twin.find,
    unsynchronized_deletion.find,
    unfollowed_copy.find,
)
"""All that is looked for, in the order of their codes."""


def find_hazards(facts: Facts) -> tuple[Hazard, ...]:
    """Return the hazards of a run, by code."""
    return tuple(hazard for find in HAZARDS for hazard in find(facts))
