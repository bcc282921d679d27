"""The closing line of a run, the same as data, and the facts that commands have in common.

The words stand here, so that every command says the same thing in the same way.
"""

from collections.abc import Iterable, Iterator

from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.ending import Ending, Fact, Verdict
from kyvsim.report.style import counted, safe_line

_LIST_LIMIT = 10
"""How many input errors are told again at the end."""
_MESSAGE_LIMIT = 100


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
    """Return how many errors there are about inputs, and where the first one is."""
    errors = [one for one in diagnostics if one.severity is Severity.ERROR]
    number = f"{counted(len(errors), 'error')} in {_inputs(errors)}"
    fact = weighing("inputErrors", len(errors), f"{number} {_first(errors)}", Verdict.INCOMPLETE)
    return fact._replace(detail=f"{number}{_first_whole(errors)}") if errors else fact


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


def _first(remarks: list[Diagnostic]) -> str:
    """Return place and code of the first remark, in brackets."""
    if not remarks:
        return ""
    one = remarks[0]
    named = f"{one.location} {one.code}" if one.location else one.code
    return safe_line(f"(first: {named})" if len(remarks) > 1 else f"({named})")


def _first_whole(remarks: list[Diagnostic]) -> str:
    """Return the first remark, shortened, behind what counts them."""
    one = remarks[0]
    place = f"{one.location} " if one.location else ""
    return f"{', first' * (len(remarks) > 1)}: {place}{one.code} {one.message}"


def errors_again(diagnostics: Iterable[Diagnostic]) -> Iterator[str]:
    """Yield the errors about inputs once more, each shortened to a line; no more than a few."""
    errors = [one for one in diagnostics if one.severity is Severity.ERROR]
    if errors:
        yield "Said above, before the results:"
    for one in errors[:_LIST_LIMIT]:
        line = safe_line(str(one))
        room = len(line) - len(safe_line(one.message)) + _MESSAGE_LIMIT
        yield f"  {line}" if len(line) <= room else f"  {line[: room - 1].rstrip()}…"
    if len(errors) > _LIST_LIMIT:
        yield f"  and {counted(len(errors) - _LIST_LIMIT, 'further error')}"
