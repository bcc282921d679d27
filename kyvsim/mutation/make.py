"""All mutants of a policy: every kind of change at every place where it can be made."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.mutation.change import Change, Kind
from kyvsim.mutation.changes import KINDS
from kyvsim.mutation.walk import sites_of


def mutants_of(data: Json) -> Iterator[tuple[Kind, Change]]:
    """Yield the changes of a policy's document, in the order of their places, each once.

    Two that come to the same document are one. What comes of a change may be no sound policy.
    """
    seen = [data]
    for kind, change in _changes(data):
        if change.data not in seen:
            seen.append(change.data)
            yield kind, change


def _changes(data: Json) -> Iterator[tuple[Kind, Change]]:
    for site in sites_of(data):
        for kind in (one for one in KINDS if site.part in one.parts):
            yield from ((kind, change) for change in kind.changes(site, data))
