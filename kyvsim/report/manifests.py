"""The resources as mutate rules left them, as a stream of manifests for another program."""

from collections.abc import Callable, Iterator

from kyvsim.report.object_yaml import to_yaml
from kyvsim.report.run import Look, Run
from kyvsim.report.run_ending import counts_line
from kyvsim.report.style import painter
from kyvsim.report.summary import compile_rows
from kyvsim.report.text_blocks import resource_block, untold, verdict_block


def render(run: Run, look: Look, say: Callable[[str], None]) -> Iterator[str]:
    """Yield every resource as a YAML document; verdicts and counts go to `say`, a text at a time.

    Resources that no rule changed are there too, so that the stream is complete.
    """
    paint = painter(colours=look.colours)
    rows_of = compile_rows(audit_warn=run.audit_warn, untold=untold(look))
    block = verdict_block(paint, detailed=look.detailed)
    lead = ""
    for response in run.responses:
        told = block(response, rows_of(response))
        if told:
            say(f"{resource_block(response, paint)}{told}")
        if look.objects and response.object is not None:
            yield f"{lead}{to_yaml(response.object)}"
            lead = "---\n"
    say(counts_line(run))
