"""What changes an object again, or fails, when its mutate rules run a second time."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.model.result import EngineResponse, PolicyResponse, RuleResult, RuleStatus
from kyvsim.report.object_text import hunks, marked_yaml
from kyvsim.report.results import identity, passed_rules
from kyvsim.report.style import Paint, indented, safe_line
from kyvsim.report.text_blocks import author_of, guttered

_INDENT = " " * 9


def repeat_entries(response: EngineResponse) -> Iterator[Json]:
    """Yield what changed again as the JSON document shows it, with the lines that differ.

    A rule that failed has an entry of its own, with its message as `error`.
    """
    for answer, before in _steps(response):
        policy, resource = answer.policy.key, identity(response.trigger)
        if answer.changed:
            lines = marked_yaml(before, answer.object)
            yield {
                "policy": policy,
                "rules": passed_rules(answer),
                "resource": resource,
                "object": answer.object,
                "diff": [mark + line for mark, line in lines if mark != " "],
            }
        for result in _errors(answer):
            yield {
                "policy": policy,
                "rules": [result.rule.name],
                "resource": resource,
                "error": result.message,
            }


def repeat_blocks(response: EngineResponse, paint: Paint) -> Iterator[str]:
    """Yield a block of the text view for each policy that changes the object again, or fails."""
    for answer, before in _steps(response):
        if answer.changed:
            head = f"  {paint('fail', 'changed again')} by {safe_line(author_of(answer))}\n"
            yield f"{head}{''.join(guttered(hunks(marked_yaml(before, answer.object)), paint))}\n"
        for result in _errors(answer):
            name = safe_line(f"policy {answer.policy.key}, rule {result.rule.name}")
            said = indented(result.message, _INDENT)
            yield f"  {paint('error', 'failed the second time')}: {name}\n{_INDENT}{said}\n\n"


def _errors(answer: PolicyResponse) -> Iterator[RuleResult]:
    return (result for result in answer.results if result.status is RuleStatus.ERROR)


def _steps(response: EngineResponse) -> Iterator[tuple[PolicyResponse, Json]]:
    before = response.object
    for answer in response.repeated:
        yield answer, before
        before = answer.object
