"""Names of the objects that others become."""

import re
from hashlib import sha256
from typing import Final

_LONGEST: Final = 63
"""What Kyverno takes for names of policies: it writes them into labels."""
_WRONG: Final = re.compile(r"[^a-z0-9.-]+|\.(?=[.-])|(?<=[.-])\.")
_DIGITS: Final = 6


def object_name(wanted: str) -> str:
    """Return a name for an object: the wanted one if an API server takes it, else one like it.

    What is cut off, or would make two of different ones the same, is told apart by a hash.
    """
    fitting = _WRONG.sub("-", wanted.lower()).strip("-.")
    if fitting == wanted and len(wanted) <= _LONGEST:
        return wanted
    mark = sha256(wanted.encode()).hexdigest()[:_DIGITS]
    return f"{fitting[: _LONGEST - _DIGITS - 1].rstrip('-.')}-{mark}".lstrip("-")
