"""The page in which policies are tried, and what it shows of them: parts of the other pages."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kyvsim.api.apply import render_run
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.explanation import ObjectExplanation
from kyvsim.model.simulation import Simulation
from kyvsim.report.explain import object_part
from kyvsim.report.page import ending_of, fragment, page
from kyvsim.report.run import Lists, Run
from kyvsim.report.run_html import streaming_page, values_of
from kyvsim.report.style import RenderOptions
from kyvsim.report.timeline_html import columns
from kyvsim.report.timeline_html import values_of as timeline_values
from kyvsim.report.timeline_rows import SimulationTerms, TimelineOptions, simulation_ending


class PlaygroundExample(NamedTuple):
    """Texts to begin with."""

    title: str
    texts: dict[str, str]
    """By the names of the page's editors."""


class PageUpdate(NamedTuple):
    """What takes the place of the answer before."""

    html: str
    style: str = ""
    """What it needs besides the page's own style."""


_LOOK = RenderOptions(detailed=True)


def playground(editors: Sequence[tuple[str, str]], examples: Iterable[PlaygroundExample]) -> str:
    """Return the page; `editors` are names of texts with what they are for."""
    return "".join(
        page(
            "playground.html",
            style=("timeline.css", "playground.css"),
            script=("playground.js",),
            asks=True,
            editors=editors,
            examples=tuple(examples),
        )
    )


def verdicts(run: Run) -> PageUpdate:
    """Return what policies found, changed and generated, and why."""
    parts = streaming_page(run, _LOOK, lambda lists: _verdicts(run, lists))
    return PageUpdate("".join(piece for _, piece in render_run(run, (parts,))))


def _verdicts(run: Run, lists: Lists) -> Iterator[str]:
    yield fragment("playground_verdicts.html", **values_of(run, _LOOK, lists))


def reasons(run: Run, objects: Iterable[ObjectExplanation]) -> PageUpdate:
    """Return each step of each rule, on each object."""
    found = tuple(object_part(one) for one in objects)
    return PageUpdate(
        fragment("playground_reasons.html", objects=found, remarks=run.all_diagnostics())
    )


def timeline(simulation: Simulation | None, remarks: Sequence[Diagnostic]) -> PageUpdate:
    """Return what happens on a simulated cluster; None where nothing could be played."""
    ending = ending_of(simulation_ending(simulation, SimulationTerms(tuple(remarks))))
    values: dict[str, Any] = {"simulation": None}
    style = ""
    if simulation is not None:
        values = timeline_values(simulation, TimelineOptions())
        style = columns(len(values["lanes"].names))
    html = fragment("playground_timeline.html", remarks=remarks, ending=ending, **values)
    return PageUpdate(html, style)
