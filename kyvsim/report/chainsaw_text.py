"""The view of chainsaw tests for people: each on a line, why it did not pass below it."""

from collections.abc import Iterator

from kyvsim.model.chainsaw import ChainsawOutcome, ChainsawReport
from kyvsim.report.chainsaw_run import shown, summary_line
from kyvsim.report.style import Paint, indented, painter, safe_line
from kyvsim.report.suite_rows import Sight

_INDENT = " " * 6
_LOOKS = (("pass", "pass", "pass"), ("fail", "FAIL", "fail"), ("unsupported", "n/a ", "skip"))


def render(report: ChainsawReport, sight: Sight) -> Iterator[str]:
    """Yield the view a test at a time; the last line counts."""
    paint = painter(colours=sight.colours)
    between = ""
    for outcome in shown(report, sight):
        yield _test(outcome, paint)
        between = "\n"
    yield f"{between}{summary_line(report)}\n"


def _test(outcome: ChainsawOutcome, paint: Paint) -> str:
    word, look = next((word, look) for name, word, look in _LOOKS if name == outcome.result)
    spent = paint("dim", f"({outcome.seconds:.1f} s of the cluster's time)")
    lines = [f"{paint(look, word)}  {safe_line(outcome.test)}  {spent}\n"]
    if outcome.reason:
        lines.append(f"{_INDENT}{indented(outcome.reason, _INDENT)}\n")
    if outcome.location:
        lines.append(f"{_INDENT}{paint('dim', safe_line(str(outcome.location)))}\n")
    lines += [f"{_INDENT}{safe_line(note)}\n" for note in outcome.notes]
    lines += [f"{_INDENT}{line}\n" for line in _timeline(outcome)]
    return "".join(lines)


def _timeline(outcome: ChainsawOutcome) -> Iterator[str]:
    for event in outcome.events:
        key = event.object
        name = "/".join(filter(None, (key.namespace, key.name)))
        message = f": {event.told}" if event.told else ""
        told = f"{event.actor} {event.action} {key.kind} {name} {event.outcome}{message}"
        yield safe_line(f"{event.time:8.3f}  {told}")
