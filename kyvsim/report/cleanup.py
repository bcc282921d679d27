"""What cleanup policies would delete and when they are due, gathered while responses stream by."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from kyvsim.kube.objects import Json
from kyvsim.model.result import EngineResponse, Phase, RuleStatus
from kyvsim.model.schedule import Schedule
from kyvsim.report.style import Paint, safe_line
from kyvsim.report.subject import identity, short_title


class Deletions:
    """The objects that cleanup policies would delete, by policy."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[str, list[Json]] = {}

    def add(self, response: EngineResponse) -> None:
        """Take in a response."""
        for answer in response.responses:
            if answer.phase is Phase.DELETE:
                matched = [one for one in answer.results if one.status is RuleStatus.PASS]
                self._found.setdefault(answer.policy.key, []).extend(
                    response.trigger for _ in matched
                )

    def of(self, policy: str) -> list[Json]:
        """Return the objects that a policy would delete, in input order."""
        return self._found.get(policy, [])

    def entries(self, schedules: Iterable[Schedule]) -> Iterator[Json]:
        """Yield them as the JSON document shows them."""
        for schedule in schedules:
            for obj in self.of(schedule.policy):
                yield {"policy": schedule.policy, "object": identity(obj)}


def schedule_entry(schedule: Schedule, *, dated: bool) -> Json:
    """Return a schedule for the JSON document, with times only where `dated`: they never repeat."""
    entry: dict[str, Json] = {"policy": schedule.policy, "schedule": schedule.text}
    if dated:
        entry["next"] = [_time(one) for one in schedule.due]
    if schedule.problem:
        entry["problem"] = schedule.problem
    return entry


def cleanup_lines(
    schedules: Iterable[Schedule], deletions: Deletions, paint: Paint
) -> Iterator[str]:
    """Yield the text view's block about each cleanup policy."""
    for schedule in schedules:
        found = deletions.of(schedule.policy)
        what = "would delete" if found else "would delete nothing"
        head = f"Cleanup policy {schedule.policy} ({schedule.text}) {what}"
        yield paint("title", safe_line(head)) + "\n"
        for obj in found:
            yield f"  {paint('removed', 'delete')}  {safe_line(short_title(obj))}\n"
        if schedule.problem:
            yield f"  {paint('warn', 'warning')}  {safe_line(schedule.problem)}\n"
        if schedule.due:
            times = ", ".join(map(_time, schedule.due))
            yield f"  {paint('dim', 'due')}  {times}\n"
        yield "\n"


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
