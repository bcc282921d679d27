"""Hazards: what goes wrong in a run, or could; described in docs/hazards.md."""

from collections.abc import Callable, Iterable

from kyvsim.model.simulation import Hazard
from kyvsim.simulator.hazards import generation, mutation, policies, runs
from kyvsim.simulator.hazards.facts import Facts

HAZARDS: tuple[Callable[[Facts], Iterable[Hazard]], ...] = (
    generation.unmet_reference,
    generation.denied_trigger,
    generation.generate_loop,
    mutation.unstable_mutation,
    generation.missing_source,
    generation.downstream_name,
    policies.missing_permission,
    policies.background_off,
    mutation.nameless_mutation,
    generation.missing_namespace,
    generation.early_trigger,
    generation.lost_trigger,
    runs.cut_run,
    policies.refused_policy,
    policies.unenforced_kinds,
    runs.denied_pods,
    generation.denied_downstream,
    generation.lost_drift,
    mutation.mutation_loop,
    policies.hindered_cleanup,
    policies.lasting_lifetime,
    policies.failing_rule,
    runs.given_up,
    policies.unevaluated_rule,
    mutation.unused_mutation,
    mutation.repeated_mutation,
    policies.underived_twin,
    generation.unsynchronized_deletion,
    generation.unfollowed_copy,
    policies.lifetime_annotation,
    generation.leftover_objects,
    generation.objects_lost_with_policy,
    policies.later_schedule,
    policies.cleanup_without_effect,
)


def find_hazards(facts: Facts) -> tuple[Hazard, ...]:
    """Return the hazards of a run, by code."""
    return tuple(hazard for find in HAZARDS for hazard in find(facts))
