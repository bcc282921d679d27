"""The directive `$patch` in maps and lists of a strategic merge patch.

upstream: kyaml `yaml/merge2/smpdirective.go`.
"""

from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.patch.errors import PatchError
from kyvsim.patch.nodes import ABSENT, field_of, text

DIRECTIVE: Final = "$patch"
DIRECTIVES: Final = frozenset({"replace", "delete", "merge"})


def map_directive(patch: Json) -> tuple[str, Json]:
    """Return what a map's `$patch` says ("merge" without one), and the map without it.

    Raises PatchError for an unknown directive.
    """
    found = patch.get(DIRECTIVE, ABSENT)
    if found is ABSENT:
        return "merge", patch
    return _checked(text(found)), without_directive(patch)


def list_directive(patch: Json) -> tuple[str, Json]:
    """Return what a list's first `$patch` element says, and the list without such elements.

    Raises PatchError for an unknown directive.
    """
    first = next((item for item in patch if field_of(item, DIRECTIVE) is not ABSENT), None)
    if first is None or len(first) > 1:
        return "merge", patch
    word = _checked(text(first[DIRECTIVE]))
    left = [
        item
        for item in patch
        if item is not None and item != {} and text(field_of(item, DIRECTIVE)) != word
    ]
    return word, left


def _checked(word: str) -> str:
    if word not in DIRECTIVES:
        raise PatchError(f"unknown patch strategy '{word}'")
    return word


def without_directive(patch: Json) -> Json:
    """Return a map without its `$patch`."""
    return {name: value for name, value in patch.items() if name != DIRECTIVE}
