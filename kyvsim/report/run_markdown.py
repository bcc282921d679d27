"""What rules found as a Markdown table, for a comment or a summary page."""

from collections.abc import Iterator

from kyvsim.model.result import EngineResponse
from kyvsim.report.ending import ending_line
from kyvsim.report.look import Look
from kyvsim.report.markdown_text import markdown_text, table_line
from kyvsim.report.places import rule_place
from kyvsim.report.run import Run
from kyvsim.report.run_ending import counts_line, run_ending
from kyvsim.report.run_findings import compile_findings, name_of, place_of, said_of
from kyvsim.report.subject import title
from kyvsim.report.summary import Row
from kyvsim.report.writing import Lists, Writing

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
        row=lambda response: "".join(_line(one, response) for one in findings(response)),
        tail=tail,
        lead=head,
    )


def _line(row: Row, response: EngineResponse) -> str:
    found = (title(row.resource), str(place_of(row, response)), name_of(row), str(rule_place(row)))
    name, place, rule, rule_at = map(markdown_text, found)
    said = markdown_text(said_of(row))
    return table_line((row.status, f"{name}<br>{place}", f"{rule}<br>{rule_at}", said))
