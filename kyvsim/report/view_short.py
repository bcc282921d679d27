"""Two short views of `apply`: what failed, and how often each rule ended how."""

from collections.abc import Iterator

from kyvsim.model.result import EngineResponse, PolicyResponse, RuleStatus
from kyvsim.report.by_rule import every_rule_lines
from kyvsim.report.ledger import Ledger
from kyvsim.report.look import Look
from kyvsim.report.run import Run
from kyvsim.report.view_told import Told
from kyvsim.report.wrapped import sheet_of
from kyvsim.report.writing import Lists, Writing

_FAULTS = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


def begin_short(run: Run, look: Look) -> Writing:
    """Begin the view of failures alone, or that of counts alone."""
    told = Told(run, look, Ledger())

    def tail(_: Lists) -> Iterator[str]:
        if look.statistics:
            yield from every_rule_lines(run, sheet_of(look))
        else:
            yield from told.folded()

    def failures(response: EngineResponse) -> EngineResponse:
        """Return a response with nothing in it but failures."""
        return response._replace(answers=tuple(_failed(response)), repeated=())

    if look.statistics:
        return Writing(lambda: (), lambda _: "", tail, joined=lambda _: iter(()))
    return Writing(
        head=lambda: (),
        row=lambda response: (told.line if run.is_part else told.row)(failures(response)),
        tail=tail,
        joined=told.joined,
        counted=told.counted,
    )


def _failed(response: EngineResponse) -> Iterator[PolicyResponse]:
    for answer in response.evaluated:
        results = tuple(one for one in answer.results if one.status in _FAULTS)
        if results:
            yield answer._replace(results=results)
