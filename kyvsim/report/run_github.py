"""What rules found as workflow commands, which GitHub shows beside the lines of a change."""

from collections.abc import Iterator

from kyvsim.report.ending import counts_line
from kyvsim.report.finding import Finding, compile_findings
from kyvsim.report.run import Lists, Run, Writing
from kyvsim.report.style import Look
from kyvsim.report.workflow_command import annotation, remark


def begin(run: Run, look: Look) -> Writing:
    """Begin a command for each remark and each finding; the last line counts, for the log."""
    findings = compile_findings(run, look._replace(detailed=False))

    def told(one: Finding) -> str:
        text = f"{one.shown_summary}\nrule: {one.rule_location}"
        return annotation(one.weight, one.place, one.shown_name, text, end=one.end)

    def tail(_: Lists) -> Iterator[str]:
        yield from map(remark, run.last_remarks())
        yield f"{counts_line(run)}\n"

    return Writing(
        head=lambda: map(remark, run.diagnostics),
        row=lambda response: "".join(told(one) for one in findings(response)),
        tail=tail,
    )
