"""What rules found as a Markdown table, for a comment or a summary page."""

from collections.abc import Iterator

from kyvsim.report.ending import counts_line, ending_line, run_ending
from kyvsim.report.finding import Finding, compile_findings
from kyvsim.report.run import Lists, Run, Writing
from kyvsim.report.style import Look, markdown_lines, markdown_text, table_line

_COLUMNS = ("result", "object", "rule", "message")


def begin(run: Run, look: Look) -> Writing:
    """Begin the table; with `look.detailed` it has all rows. Remarks and counts follow it."""
    findings = compile_findings(run, look)
    head = table_line(_COLUMNS) + table_line(("---",) * len(_COLUMNS))

    def tail(_: Lists) -> Iterator[str]:
        remarks = run.remarks()
        if remarks:
            yield "\n"
        for one in remarks:
            yield f"- {markdown_text(str(one))}\n"
        yield f"\n{counts_line(run)}\n\n{markdown_text(ending_line(run_ending(run)))}\n"

    return Writing(
        head=lambda: (),
        row=lambda response: "".join(_line(one) for one in findings(response)),
        tail=tail,
        lead=head,
    )


def _line(one: Finding) -> str:
    found = (one.shown_title, str(one.place), one.shown_name, str(one.rule_location))
    name, place, rule, rule_at = map(markdown_text, found)
    said = markdown_lines(one.shown_text)
    return table_line((one.result, f"{name}<br>{place}", f"{rule}<br>{rule_at}", said))
