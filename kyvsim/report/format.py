"""What is to be known of a format before it is chosen: a line in the table of each command."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

ANNOTATIONS = "text/x-github-annotations"
"""The media type of lines that GitHub acts on: only the texts in the commands are the user's."""


class Format(NamedTuple):
    """A format, by its traits. Its module is loaded when it is chosen."""

    module: str
    """The module of `kyvsim.report` that writes it."""
    media: str
    """Its media type."""
    extension: str
    """How files in it are usually called, with the dot."""
    name: str = "begin"
    """The function of the module that writes it."""
    for_people: bool = False
    """Whether it is a view for people, which tells how the run ended; else it is for programs."""
    whole: bool = False
    """Whether it has to see everything before it can write anything; else it streams."""
    parted: bool = False
    """Whether parts of a run can be told apart, by several processes."""
    explains: bool = False
    """Whether it shows how rules came to their verdicts, where that is known."""

    @property
    def write(self) -> Callable[..., Any]:
        """The function that writes it; what it takes and gives is said at each table."""
        module = import_module(f"kyvsim.report.{self.module}")
        found: Callable[..., Any] = getattr(module, self.name)
        return found
