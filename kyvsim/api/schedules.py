"""When policies that delete are due next."""

from collections.abc import Iterable
from datetime import datetime

from kyvsim.model.policy import Policy
from kyvsim.model.schedule import Schedule

_SHOWN = 3


def schedules_of(policies: Iterable[Policy], now: datetime) -> tuple[Schedule, ...]:
    """Return the schedules of the policies that delete among `policies`, as seen at `now`."""
    return tuple(_schedule(policy, now) for policy in policies if policy.facts.schedule is not None)


def _schedule(policy: Policy, now: datetime) -> Schedule:
    from kyvsim.kube.cron import next_times  # noqa: PLC0415 — for policies that delete only

    text = policy.facts.schedule or ""
    try:
        due = tuple(next_times(text, now, _SHOWN))
    except ValueError as error:
        return Schedule(
            policy.kind, policy.key, text, problem=f"kyvsim can't read the schedule: {error}"
        )
    return Schedule(policy.kind, policy.key, text, due, "" if due else "it is never due again")
