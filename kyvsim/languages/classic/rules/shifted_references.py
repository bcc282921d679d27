"""Absolute `$(…)` references in messages, moved along with the pattern they point into."""

import re

REFERENCE = re.compile(r"(^|[^\\])(\$\(.[^ ]*\))")
"""A reference: group 1 is what stands before it, group 2 itself.

upstream: pkg/engine/variables/re.compile, RegexReferences.
"""


def shift_references(message: str, way: str, pivot: str) -> str:
    """Return `message` with `way` put behind `pivot` in every reference.

    `pivot` is the name of the rule's body; for `anyPattern` the index that follows stays with it.
    """
    if "$(" not in message:
        return message

    def shifted(found: re.Match[str]) -> str:
        before, reference = found.groups()
        anchor = pivot
        if pivot == "anyPattern" and pivot in reference:
            index = reference.partition(pivot)[2][1:].split("/")[0]
            anchor = f"{pivot}/{index}"
        return before + reference.replace(anchor, f"{anchor}/{way}")

    return REFERENCE.sub(shifted, message)
