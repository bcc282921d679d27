"""When policies that delete are due next."""

from collections.abc import Iterable
from datetime import datetime

from kyvsim.kube.cron import next_times
from kyvsim.model.policy import Policy, Schedule
from kyvsim.model.ports import Clock

_SHOWN = 3


def schedules_of(policies: Iterable[Policy], clock: Clock) -> tuple[Schedule, ...]:
    """Return the schedules of the policies that delete among `policies`, as seen now."""
    deleting = [policy for policy in policies if policy.facts.schedule is not None]
    if not deleting:
        return ()
    now = clock.now()
    return tuple(_schedule(policy, now) for policy in deleting)


def _schedule(policy: Policy, now: datetime) -> Schedule:
    text = policy.facts.schedule or ""
    try:
        due = tuple(next_times(text, now, _SHOWN))
    except ValueError as error:
        return Schedule(
            policy.kind, policy.key, text, problem=f"kyvsim can't read the schedule: {error}"
        )
    return Schedule(policy.kind, policy.key, text, due, "" if due else "it is never due again")
