"""Context entries that tell their values when something first asks for them."""

from collections.abc import Iterable

from kyvsim.context.json_context import SKIPPED, EntryLoader, JSONContext
from kyvsim.kube.objects import Json
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.following import following
from kyvsim.model.probe import Probe


def followed_entries(
    entries: Iterable[tuple[str, EntryLoader]], probe: Probe
) -> tuple[tuple[str, EntryLoader], ...]:
    """Return entries that tell what is loaded; `probe` is that of the list they stand in."""
    return tuple(
        (name, following(probe.at(index), load, Step(StepKind.CONTEXT, name), _told))
        for index, (name, load) in enumerate(entries)
    )


def _told(step: Step, found: Json, _: JSONContext) -> Step:
    if found is SKIPPED:
        return step._replace(note="nothing answers it")
    return step._replace(found=Value(found))
