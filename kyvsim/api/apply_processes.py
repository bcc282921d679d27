"""`apply` in several processes for resources that are all in memory.

Each process inherits all resources and compiled policies and evaluates a part of the resources, so
the results are those of one process for every rule.
"""

from collections.abc import Iterator
from functools import partial

from kyvsim.api.apply import Application, explaining, failure_marker, responses_of, world_of
from kyvsim.api.apply_parts import (
    PARTS_EACH,
    DistributionError,
    PartText,
    PartTotals,
    RenderPart,
    Sink,
    Watch,
    joined,
    render_responses,
    rendered_by_processes,
    totals_of,
)
from kyvsim.api.inputs import ReadInputs
from kyvsim.report.run import DocumentSet, NotStreamable, Run


def run_in_processes(
    application: Application, jobs: int, documents: DocumentSet, watch: Watch
) -> Run:
    """Return the run of an application, rendered by `jobs` processes; raises DistributionError."""
    inputs, read, _, run = application
    parts = tuple(_parts(read, jobs))
    if len(parts) < 2:
        return run
    try:
        texts = tuple(PartText() for _ in parts)
        begin = partial(_compile_render_part, application, documents)
        for _ in watch(rendered_by_processes(begin, parts, texts, jobs), len(parts)):
            pass
        totals = totals_of(texts, inputs, read)
    except NotStreamable as error:
        raise DistributionError(str(error)) from error
    run.result_counts.add(totals.result_counts)
    return run._replace(responses=iter(()), rendered=joined(texts, totals, documents.formats))


def _parts(read: ReadInputs, jobs: int) -> Iterator[ReadInputs]:
    """Yield parts of the resources in order; the last one has the payloads."""
    resources = read.resources
    size = max(1, len(resources) // (jobs * PARTS_EACH))
    for start in range(0, len(resources), size):
        yield read._replace(resources=resources[start : start + size], payloads=())
    if read.payloads:
        yield read._replace(resources=())


def _compile_render_part(
    application: Application, documents: DocumentSet
) -> RenderPart[ReadInputs]:
    inputs, read, compiled, run = application
    cluster = world_of(read).cluster
    explain = explaining(inputs, read, cluster)
    begun = documents.begin(run._replace(is_part=True, explain=explain))

    def render_part(part: ReadInputs, sink: Sink) -> PartTotals:
        totals = PartTotals(audit_warn=inputs.audit_warn)
        marker = failure_marker(inputs, read, totals.result_counts)
        responses = responses_of(compiled.policies, part, inputs, cluster)
        render_responses(responses, begun, marker, sink, totals)
        return totals

    return render_part
