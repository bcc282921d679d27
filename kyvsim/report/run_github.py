"""What rules found as workflow commands, which GitHub shows beside the lines of a change."""

from collections.abc import Iterator

from kyvsim.model.result import EngineResponse
from kyvsim.report.look import Look
from kyvsim.report.places import rule_place
from kyvsim.report.run import Run
from kyvsim.report.run_ending import counts_line
from kyvsim.report.run_findings import compile_findings, name_of, place_of, told_of, weight
from kyvsim.report.summary import Row
from kyvsim.report.workflow_command import annotation, remark
from kyvsim.report.writing import Lists, Writing


def begin(run: Run, look: Look) -> Writing:
    """Begin a command for each remark and each finding; the last line counts, for the log."""
    findings = compile_findings(run, look._replace(detailed=False))

    def told(row: Row, response: EngineResponse) -> str:
        text = f"{told_of(row)}\nrule: {rule_place(row)}"
        return annotation(weight(row), place_of(row, response), name_of(row), text)

    def tail(_: Lists) -> Iterator[str]:
        yield from map(remark, run.last_remarks())
        yield f"{counts_line(run)}\n"

    return Writing(
        head=lambda: map(remark, run.diagnostics),
        row=lambda response: "".join(told(one, response) for one in findings(response)),
        tail=tail,
    )
