"""Values as the reference's YAML nodes, their anchors, and the errors of patches."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final

from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.kubernetes.quantities import with_whole_numbers
from kyvsim.policy import anchors
from kyvsim.policy.anchors import parse_anchor


class PatchError(Exception):
    """A patch that does not apply; `message` is the reference's."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class FailedTestError(PatchError):
    """A `test` of a JSON patch that finds a different value."""


class UnreadableObjectError(Exception):
    """A patched document that is no longer a Kubernetes object.

    The reference prints `message` after `failed to unmarshal patched resource: `, not after
    `failed to patch resource: ` as for a PatchError.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def read_back(patched: object) -> object:
    """Return the object of a patched document, with whole numbers as ints.

    Raises UnreadableObjectError if it is not an object, has no kind, or no valid apiVersion.
    upstream: `pkg/engine/mutate/mutation.go` over apimachinery's `UnstructuredJSONScheme`, which
    decodes every number without fraction and exponent that fits as an int64.
    """
    if patched.__class__ is not dict:
        message = "json: cannot unmarshal array into Go value of type map[string]interface {}"
        raise UnreadableObjectError(message)
    if not text_field(patched, "kind") or text_field(patched, "apiVersion").count("/") > 1:
        raise UnreadableObjectError(f"Object 'Kind' is missing in '{to_json(patched)}'")
    return with_whole_numbers(patched)


# Values as the reference's YAML nodes while it merges: text, kind, equality.
#
# upstream: a strategic merge uses the YAML nodes of the JSON text (kyaml `yaml/rnode.go`), so
# that two scalars are equal if their texts are, and null differs from a missing field.

ABSENT: Final[object] = object()
"""No value, unlike None, which is a null."""

_EXACT = 2.0**53


def text(value: object) -> str:
    """Return the text of a scalar as in JSON, without quotes; "" for a map or list."""
    if value.__class__ is str:
        return value
    if value.__class__ is dict or value.__class__ is list:
        return ""
    if value.__class__ is float and value.is_integer() and -_EXACT < value < _EXACT:
        return str(int(value))
    return to_json(value)


def is_empty(value: object) -> bool:
    """Return whether a value is absent, null or an empty map: merged lists do not contain these."""
    return value is ABSENT or value is None or (value.__class__ is dict and not value)


def is_named(value: object) -> bool:
    """Return whether a field's value can be a name: it exists, and is not null, {} or []."""
    if value.__class__ is dict or value.__class__ is list:
        return bool(value)
    return value is not ABSENT and value is not None


def field_of(value: object, name: str) -> object:
    """Return the field of a map, or ABSENT."""
    return value.get(name, ABSENT) if value.__class__ is dict else ABSENT


def texts_at(items: Sequence[Json], key: str) -> list[str] | None:
    """Return the strings of all items of a list at a key; None unless all are such maps.

    A loop that patches one element of a long list at a time calls this for each, so that only
    builtin functions run for an item.
    """
    try:
        found = [*map(itemgetter(key), items)]
    except (KeyError, TypeError):
        return None
    return found if {*map(type, found)} == {str} else None


def kind_of(value: object) -> str:
    """Return the kind of a value's YAML node."""
    if value.__class__ is dict:
        return "MappingNode"
    return "SequenceNode" if value.__class__ is list else "ScalarNode"


def wrong_kind(expected: str, value: object) -> PatchError:
    """Return the error about a value that is not an `expected` kind of node."""
    return PatchError(
        f"wrong node kind: expected {expected} but got {kind_of(value)}: "
        f"node contents:\n{_flow(value)}\n"
    )


def _flow(value: object) -> str:
    """Return a value in YAML's flow style, as decoded from JSON."""
    if value.__class__ is dict:
        return f"{{{', '.join(f'{to_json(key)}: {_flow(value[key])}' for key in sorted(value))}}}"
    if value.__class__ is list:
        return f"[{', '.join(map(_flow, value))}]"
    return to_json(value)


def same(one: object, other: object) -> bool:
    """Return whether both values have the same JSON text (80 and 80.0 have, 1 and true do not)."""
    if one is other:
        return True
    if one.__class__ is dict:
        return (
            other.__class__ is dict
            and one.keys() == other.keys()
            and all(same(value, other[key]) for key, value in one.items())
        )
    if one.__class__ is list:
        return other.__class__ is list and len(one) == len(other) and all(map(same, one, other))
    if one.__class__ is other.__class__:
        return one == other
    return {one.__class__, other.__class__} == {int, float} and text(one) == text(other)


# The keys and strings of a strategic merge patch that are anchors.
#
# upstream: `pkg/engine/anchor`; in a string element of a list only conditions count.

GLOBAL = frozenset({anchors.GLOBAL})
CONDITION = frozenset({anchors.CONDITION})
CONDITIONS = GLOBAL | CONDITION
ADDITION = frozenset({anchors.ADDITION})
DECIDING = CONDITIONS | ADDITION
"""Anchors that affect the resulting patch; other anchors are ordinary keys."""


def modifier(key: str) -> str | None:
    """Return the sign of an anchor; None for other keys."""
    # Strings of patches are passed, too: those without parentheses are not cached.
    anchor = parse_anchor(key) if ")" in key else None
    return None if anchor is None else anchor.sign


def anchors_of(fields: Mapping[str, object], kinds: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the written and the bare key of a map's anchors of some kinds."""
    for written in fields:
        anchor = parse_anchor(written)
        if anchor and anchor.sign in kinds:
            yield written, anchor.key


def has_anchors(patch: object, kinds: frozenset[str] = DECIDING) -> bool:
    """Return whether a key below is one of these anchors, or a string looks like a condition."""
    if patch.__class__ is dict:
        return any(
            modifier(key) in kinds or (is_named(value) and has_anchors(value, kinds))
            for key, value in patch.items()
        )
    if patch.__class__ is list:
        return any(has_anchors(item, kinds) for item in patch)
    return patch.__class__ is str and modifier(patch) in CONDITIONS
