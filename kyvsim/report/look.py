"""How a report looks, where a format leaves a choice: what a user may ask of a view."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple


def _unsaid(_text: str) -> None:
    return None


class Show(StrEnum):
    """How much a view for people shows."""

    CHANGES = "changes"
    """Failures with their reasons, and what is new in objects; what is alike is told once."""
    ALL = "all"
    """The same of each object, however alike."""
    OBJECTS = "objects"
    """Failures in a line or two, and objects as a whole."""


class Look(NamedTuple):
    """How a report looks, where a format leaves a choice."""

    colours: bool = False
    detailed: bool = False
    """Show passed and skipped rules too, with their messages."""
    quiet: bool = False
    """Show only what failed."""
    statistics: bool = False
    """Show only how often each rule ended how."""
    diff: bool = False
    """Show only the changed parts of mutated objects."""
    objects: bool = True
    """Show mutated and generated objects; False when they go to files."""
    show: Show = Show.CHANGES
    lifetime: str = ""
    """How long Kyverno keeps exceptions that are made, as Go writes a time; "" for ever."""
    width: int = 80
    """Columns of a line that is wrapped."""
    on_terminal: bool = False
    """Whether people read it as it is written, and no program behind a pipe does."""
    in_file: bool = False
    """Whether it goes to a file, while standard output shows what rules found."""
    say: Callable[[str], None] = _unsaid
    """Takes what a document for programs has no place for."""
