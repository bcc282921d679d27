"""What changes an object again when its mutate rules run a second time."""

from collections.abc import Iterable, Iterator

from kyvsim.kube.objects import Json
from kyvsim.model.result import EngineResponse, PolicyResponse
from kyvsim.report.changes import passed_rules
from kyvsim.report.diff import hunks
from kyvsim.report.object_diff import marked_yaml
from kyvsim.report.style import Paint, safe_line
from kyvsim.report.subject import identity
from kyvsim.report.text_objects import author_of, guttered


class Unstable:
    """Counts the policies that change an object again, while responses stream by."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def watching(self, responses: Iterable[EngineResponse]) -> Iterator[EngineResponse]:
        """Yield the responses, counting."""
        for response in responses:
            self.count += len(response.repeated)
            yield response


def repeat_entries(response: EngineResponse) -> Iterator[Json]:
    """Yield what changed again as the JSON document shows it, with the lines that differ."""
    for answer, before in _steps(response):
        lines = marked_yaml(before, answer.object)
        yield {
            "policy": answer.policy.key,
            "rules": passed_rules(answer),
            "resource": identity(response.trigger),
            "object": answer.object,
            "diff": [mark + line for mark, line in lines if mark != " "],
        }


def repeat_blocks(response: EngineResponse, paint: Paint) -> Iterator[str]:
    """Yield a block of the text view for each policy that changes the object again."""
    for answer, before in _steps(response):
        head = f"  {paint('fail', 'changed again')} by {safe_line(author_of(answer))}\n"
        yield f"{head}{''.join(guttered(hunks(marked_yaml(before, answer.object)), paint))}\n"


def _steps(response: EngineResponse) -> Iterator[tuple[PolicyResponse, Json]]:
    before = response.object
    for answer in response.repeated:
        yield answer, before
        before = answer.object
