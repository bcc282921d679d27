"""The levels that a rule on Pods is for: Pods, their controllers, CronJobs."""

from collections.abc import Iterator
from typing import Final

from kyvsim.languages.classic.autogen import ComputedRules, DerivedRule

CONTROLLERS: Final = "controllers"
CRON_JOBS: Final = "cronjobs"
RULES: Final = ("spec", "rules")


def derived_levels(place: int, computed: ComputedRules) -> Iterator[tuple[str, DerivedRule]]:
    """Yield the rules that are derived of the one at a place, with their levels."""
    path = (*RULES, place)
    for one in computed.derived:
        if one.rule.path == path:
            yield CRON_JOBS if one.for_cron_jobs else CONTROLLERS, one


def names_of_levels(place: int, computed: ComputedRules) -> dict[str, str]:
    """Return what a rule is called by level, "" for what is written."""
    written = next(one for one in computed.written if one.path == (*RULES, place))
    derived = {level: one.rule.name for level, one in derived_levels(place, computed)}
    return {"": written.name, **derived}
