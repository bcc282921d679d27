"""Elements of lists in merges: those that are named, and templates for all that fit."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.migrate.patches.asked import key_of
from kyvsim.migrate.patches.draft import no_twin
from kyvsim.patch.directives import DIRECTIVE
from kyvsim.pattern.anchors import ADDITION, GLOBAL

_NAME: Final = "name"
_OF_LOOP: Final = "{{element.name}}"


class Element(NamedTuple):
    """An element of a list in a merge."""

    data: Mapping[str, Json]
    names: Mapping[str, Json]
    """What tells it from others, by key."""
    rest: Mapping[str, Json]
    """What is merged, with conditions on elements."""
    everywhere: Mapping[str, Json]
    """What one element has to fit for anything to be merged at all, by key."""
    is_template: bool
    """Whether it is for each element of the object that has a name and meets its conditions."""
    is_loops: bool
    """Whether it is for the element that a loop is at."""
    must_be: bool
    """Whether it changes what is there only: its name is a condition."""
    is_deleted: bool

    @property
    def adds(self) -> bool:
        """Whether something is added where it is missing, and not for one element alone."""
        return _adds(self.rest, alone=self.is_loops and self.must_be)


def _adds(patch: Json, *, alone: bool) -> bool:
    if not isinstance(patch, dict):
        return False
    found = (key_of(text).sign == ADDITION for text in patch)
    return any(found) or (not alone and any(_adds(one, alone=False) for one in patch.values()))


def _is_of_loop(name: Json) -> bool:
    return isinstance(name, str) and name.replace(" ", "") == _OF_LOOP


def element_patch(patch: Json, keys: tuple[str, ...]) -> Element:
    """Return an element of a list that merges by keys.

    Raises NotConvertible for what has no twin.
    """
    if not isinstance(patch, dict):
        raise no_twin("an element without a name in a list that merges by names")
    signs = {text: key_of(text) for text in patch}
    names = {one.name: patch[text] for text, one in signs.items() if one.name in keys}
    is_loops = keys == (_NAME,) and _is_of_loop(names.get(_NAME))
    asks = any(one.sign is not None for one in signs.values())
    if asks and not is_loops and keys != (_NAME,):
        raise no_twin("anchors in an element that has no name", "name what is meant")
    everywhere = {one.name: patch[text] for text, one in signs.items() if one.sign == GLOBAL}
    if everywhere and len(everywhere) < len(patch):
        # Kyverno merges nothing into such elements.
        raise no_twin("an element with a global condition and more", "ask in a precondition")
    rest = {
        text: data
        for text, data in patch.items()
        if text not in keys
        and text != DIRECTIVE
        and signs[text].sign != GLOBAL
        and not (is_loops and signs[text].name == _NAME)
        and not (signs[text].asks and data == "*" and signs[text].name == _NAME)
    }
    if not asks and not is_loops and not names:
        raise no_twin("an element without a name in a list that merges by names")
    return Element(
        patch,
        names,
        rest,
        everywhere,
        is_template=asks and not is_loops,
        is_loops=is_loops,
        must_be=_NAME not in patch,
        is_deleted=patch.get(DIRECTIVE) == "delete",
    )
