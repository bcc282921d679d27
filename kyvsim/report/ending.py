"""The closing line of a run, the same as data, and the facts that commands have in common.

The words stand here, so that every command says the same thing in the same way.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import Ending, Fact, Verdict
from kyvsim.report.style import Sheet, counted

# The closing line of a run, the same as data, and the facts that commands have in common.
#
# The words stand here, so that every command says the same thing in the same way.


def ending_line(ending: Ending) -> str:
    """Return the line that says how a run ended and why its exit status is what it is."""
    told = [fact.text for fact in ending.ranked if fact.text]
    return f"{ending.verdict.value}: {' · '.join((*told, f'exit status {ending.status}'))}"


def ending_json(ending: Ending) -> Json:
    """Return the same as data: the verdict, the exit status, and all that was counted by name."""
    return {
        "verdict": ending.verdict.value,
        "exitStatus": ending.status,
        "counts": {fact.key: fact.number for fact in ending.facts},
        "text": ending_line(ending),
    }


def error_fact(diagnostics: Iterable[Diagnostic]) -> Fact:
    """Return how many errors there are about inputs; each is reported beside the results."""
    errors = [one for one in diagnostics if one.severity is Severity.ERROR]
    text = f"{counted(len(errors), 'error')} in {_inputs(errors)}"
    return weighing("inputErrors", len(errors), text, Verdict.INCOMPLETE)


def warning_fact(diagnostics: Iterable[Diagnostic]) -> Fact:
    """Return how many warnings there are about inputs."""
    warnings = sum(one.severity is Severity.WARNING for one in diagnostics)
    return informing("warnings", warnings, counted(warnings, "warning"))


def informing(key: str, number: int, text: str) -> Fact:
    """Return a fact that changes no exit status; it is told where there is something to count."""
    return Fact(key, number, text if number else "")


def left_out_fact(number: int) -> Fact:
    """Return how much was left out of folders, being neither policies nor manifests."""
    return informing("leftOut", number, f"{counted(number, 'document')} left out (--show-ignored)")


def weighing(key: str, number: int, text: str, verdict: Verdict = Verdict.FAILED) -> Fact:
    """Return a fact that makes a run end with a verdict, unless its number is 0."""
    return Fact(key, number, text, verdict) if number else Fact(key, number, "")


def _inputs(remarks: list[Diagnostic]) -> str:
    files = {one.location.file if one.location else "" for one in remarks}
    return counted(len(files), "input")


# The end of a view for people: how the run ended.


_LOOKS: Mapping[Verdict, str] = MappingProxyType(
    {
        Verdict.INCOMPLETE: "error",
        Verdict.FAILED: "fail",
        Verdict.WARNED: "warn",
        Verdict.NOTHING: "warn",
        Verdict.PASSED: "pass",
    }
)


def closing_lines(ending: Ending, sheet: Sheet, seconds: float | None = None) -> Iterator[str]:
    """Yield the lines that say how a run ended, in the words of the closing line.

    `seconds` is how long the run took; it is told where
    nobody compares two runs.
    """
    told = [fact.text for fact in ending.ranked if fact.text]
    if seconds is not None:
        told.append(f"{seconds:.1f} s")
    told.append(f"exit status {ending.status}")
    name = ending.verdict.value
    yield from _named(name, _LOOKS[ending.verdict], _joined(told, _room(name, sheet)), sheet)


def _room(name: str, sheet: Sheet) -> int:
    return sheet.width - len(name) - len(": ")


def _joined(facts: Iterable[str], room: int) -> Iterator[str]:
    """Yield the lines of facts, each of which stays on one line."""
    line = ""
    for fact in facts:
        longer = f"{line} · {fact}" if line else fact
        if len(longer) > room and line:
            yield f"{line} ·"
            line = fact
        else:
            line = longer
    yield line


def _named(name: str, look: str, lines: Iterable[str], sheet: Sheet) -> Iterator[str]:
    first, *rest = lines
    yield f"{sheet.paint(look, name)}: {first}\n"
    yield from (f"{' ' * len(name)}  {line}\n" for line in rest)
