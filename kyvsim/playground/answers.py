"""What the page is answered: texts that are typed → parts of a page."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.api.explain import explained_run
from kyvsim.api.typed import Typed, explain_typed, simulate_typed
from kyvsim.playground.pages import PageUpdate, reasons, timeline, verdicts


class Asked(NamedTuple):
    """What the page asks for."""

    typed: Typed
    view: str
    """One of VIEWS."""


def _verdicts(typed: Typed) -> PageUpdate:
    return verdicts(explained_run(explain_typed(typed)))


def _reasons(typed: Typed) -> PageUpdate:
    found = explain_typed(typed)
    objects = tuple(found.objects)
    return reasons(found.run, objects)


def _timeline(typed: Typed) -> PageUpdate:
    found = simulate_typed(typed)
    return timeline(found.simulation, found.diagnostics)


VIEWS: Mapping[str, Callable[[Typed], PageUpdate]] = MappingProxyType(
    {"verdicts": _verdicts, "reasons": _reasons, "timeline": _timeline}
)
"""The tabs of the page, and what shows them."""


def answer(asked: Asked) -> PageUpdate:
    """Return what the page shows."""
    return VIEWS[asked.view](asked.typed)
