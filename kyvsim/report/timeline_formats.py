"""The formats of `simulate`, by the name that chooses them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.model.simulation import Simulation
from kyvsim.report import timeline_html, timeline_json, timeline_mermaid, timeline_text
from kyvsim.report.timeline_rows import TimelineLook

FORMATS: Mapping[str, Callable[[Simulation, TimelineLook], Iterator[str]]] = MappingProxyType(
    {
        "text": timeline_text.render,
        "json": timeline_json.render,
        "html": timeline_html.render,
        "mermaid": timeline_mermaid.render,
    }
)
