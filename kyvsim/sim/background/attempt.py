"""How one attempt at an UpdateRequest ended."""

from typing import NamedTuple


class Attempt(NamedTuple):
    """Whether there is more to do."""

    problems: tuple[str, ...] = ()
    """Why it failed; it is tried again."""
    note: str = ""
    """What is to be told where it did not fail."""
