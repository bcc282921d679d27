"""What a context loader is: the field it reads, and how an entry with that field is compiled."""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.context.json_context import EntryLoader
from kyvsim.expr import System
from kyvsim.kube.objects import Json


class ContextLoader(NamedTuple):
    """One source of context entries."""

    field: str
    """The field of an entry that this loader reads, such as `configMap`."""
    compile: Callable[[str, Json, System], EntryLoader]
    """Takes the entry's name and what stands in its field."""
