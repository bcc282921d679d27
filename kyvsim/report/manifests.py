"""The resources as mutate rules left them, as a stream of manifests for another program."""

from collections.abc import Iterator

from kyvsim.model.result import EngineResponse
from kyvsim.report.ending import counts_line
from kyvsim.report.finding import compile_field_places
from kyvsim.report.object_text import to_yaml
from kyvsim.report.results import compile_rows
from kyvsim.report.run import Lists, Run, Writing
from kyvsim.report.style import Look, painter
from kyvsim.report.text_blocks import resource_block, verdict_block

_BETWEEN = "---\n"


def begin(run: Run, look: Look) -> Writing:
    """Begin a stream with every resource as a YAML document; verdicts and counts are said aside.

    In a file they are left out: standard output has them.

    Resources that no rule changed are there too, so that the stream is complete.
    """
    paint = painter(colours=look.colours)
    rows_of = compile_rows(audit_warn=run.audit_warn, untold=look.hidden)
    block = verdict_block(paint, compile_field_places(run, look))

    def row(response: EngineResponse) -> str:
        told = "" if look.in_file else block(response, rows_of(response))
        if told:
            look.say(f"{resource_block(response, paint)}{told}")
        has_object = look.objects and response.object is not None
        return f"{_BETWEEN}{to_yaml(response.object)}" if has_object else ""

    def tail(_: Lists) -> Iterator[str]:
        if not look.in_file:
            look.say(counts_line(run))
        yield from ()

    return Writing(head=lambda: (), row=row, tail=tail, skipped=len(_BETWEEN))
