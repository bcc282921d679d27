"""What the conditions of a merge ask: `(key)` and `<(key)`."""

from typing import Final, NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.kube.text_pattern import split_operator
from kyvsim.kube.wildcard import has_wildcard
from kyvsim.migrate.conditions.equality import READ_TEXTS
from kyvsim.migrate.expressions import Relation, Test, every
from kyvsim.migrate.patches.draft import Around, no_twin
from kyvsim.migrate.patterns import Surroundings, pattern_tests
from kyvsim.migrate.queries import text_value
from kyvsim.migrate.scalars import scalar_test
from kyvsim.migrate.values import Value
from kyvsim.pattern.anchors import ADDITION, CONDITION, GLOBAL, parse_anchor

CONDITIONS: Final = frozenset({CONDITION, GLOBAL})


class Key(NamedTuple):
    """A key of a merge."""

    sign: str | None
    """The anchor's sign, None where it is no anchor."""
    name: str

    @property
    def asks(self) -> bool:
        """Whether it is a condition."""
        return self.sign in CONDITIONS


def key_of(text: str) -> Key:
    """Return what a key of a merge is; raises NotConvertible for anchors that do nothing there."""
    anchor = parse_anchor(text)
    if anchor is None:
        return Key(None, text)
    if anchor.sign not in CONDITIONS | {ADDITION}:
        raise no_twin(f"the anchor `{text}`", "ask in a precondition")
    return Key(anchor.sign, anchor.key)


def adds(patch: Json) -> bool:
    """Return whether a map adds something where it is missing."""
    return isinstance(patch, dict) and any(
        (anchor := parse_anchor(key)) is not None and anchor.sign == ADDITION for key in patch
    )


def asked_of(data: Json, value: Value, around: Around) -> Test:
    """Return the test that a value is there and fits what a condition asks for.

    Raises NotConvertible for what has no twin.
    """
    if isinstance(data, str) and "{{" in data:
        around.scope.desk.note(READ_TEXTS)
        wanted = text_value(data, around.scope)
        return every([value.is_there(), Relation(value.text, "==", wanted.tight(5))])
    if isinstance(data, list):
        raise no_twin("a condition on a list", "ask in a precondition")
    if not isinstance(data, dict):
        return scalar_test(data, value, if_missing=False)
    if adds(data) or not data:
        return value.is_there()
    if any(parse_anchor(key) for key in data) or not all(map(_is_fixed, data.values())):
        # What stands below the condition is merged, too, with its wildcards.
        raise no_twin("a condition on a map with anchors or wildcards", "ask in a precondition")
    surroundings = Surroundings(around.scope.desk, lambda *_: None, around.scope.taken)
    return every(pattern_tests(data, value, surroundings))


def _is_fixed(value: Json) -> bool:
    if not isinstance(value, str):
        return not isinstance(value, dict | list)
    return split_operator(value)[0] == "" and not has_wildcard(value) and "{{" not in value
