"""Names of the temporary files that become outputs when they are whole."""

import os

_LONGEST = 50
"""How much of a name stands in that of its temporary file: names have an end, at 255 bytes."""


def passing_file(place: str) -> str:
    """Return the path of a temporary file beside a place: hidden, and nobody else's."""
    folder, name = os.path.split(place)
    return os.path.join(folder, f".{name[:_LONGEST]}.{os.urandom(4).hex()}.tmp")
