"""What policies would delete and when they are due, gathered while responses stream by."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import Schedule
from kyvsim.model.result import EngineResponse, Phase, RuleStatus
from kyvsim.report.results import identity, short_title
from kyvsim.report.style import Paint, safe_line


class Deletions:
    """The objects that policies would delete, by policy."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[Json]] = {}

    def add(self, response: EngineResponse) -> None:
        """Take in a response."""
        for answer in response.responses:
            if answer.phase is Phase.DELETE:
                matched = [one for one in answer.results if one.status is RuleStatus.PASS]
                place = answer.policy.kind, answer.policy.key
                self._found.setdefault(place, []).extend(response.trigger for _ in matched)

    def of(self, schedule: Schedule) -> list[Json]:
        """Return the objects that a policy would delete, in input order."""
        return self._found.get((schedule.kind, schedule.policy), [])

    def entries(self, schedules: Iterable[Schedule]) -> Iterator[Json]:
        """Yield them as the JSON document shows them."""
        for schedule in schedules:
            for obj in self.of(schedule):
                yield {"policy": schedule.policy, "object": identity(obj)}

    def lines(self, schedules: Iterable[Schedule], paint: Paint) -> Iterator[str]:
        """Yield the text view's block about each policy that deletes."""
        for schedule in schedules:
            found = self.of(schedule)
            what = "would delete" if found else "would delete nothing"
            head = f"{_title(schedule)} ({schedule.text}) {what}"
            yield paint("title", safe_line(head)) + "\n"
            for obj in found:
                yield f"  {paint('removed', 'delete')}  {safe_line(short_title(obj))}\n"
            if schedule.problem:
                yield f"  {paint('warn', 'warning')}  {safe_line(schedule.problem)}\n"
            if schedule.due:
                times = ", ".join(map(_time, schedule.due))
                yield f"  {paint('dim', 'due')}  {times}\n"
            yield "\n"


def schedule_entry(schedule: Schedule, *, dated: bool) -> Json:
    """Return a schedule for the JSON document, with times only where `dated`: they never repeat."""
    entry: dict[str, Json] = {"policy": schedule.policy, "schedule": schedule.text}
    if dated:
        entry["next"] = [_time(one) for one in schedule.due]
    if schedule.problem:
        entry["problem"] = schedule.problem
    return entry


def _title(schedule: Schedule) -> str:
    what = "Cleanup policy" if schedule.kind.endswith("CleanupPolicy") else "Deleting policy"
    return f"{what} {schedule.policy}"


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
