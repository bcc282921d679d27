"""Traverses the tree of a policy, and the strings of a rule."""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.policy.read import CONTEXT_SOURCES
from kyvsim.policy.rule import RuleNode
from kyvsim.policy.tree import ContextEntry, PatternEntry, PatternMap, PatternNode

if TYPE_CHECKING:
    from kyvsim.policy.nodes import Node


def children(node: "Node") -> list["Node"]:
    """Return the nodes directly below a node, in the order of its fields."""
    found: list[Any] = []
    for value in node[1:]:  # after the path
        # Nodes are named tuples: paths and lists of nodes are plain ones.
        if value.__class__ is tuple:
            found += [one for one in value if isinstance(one, tuple) and one.__class__ is not tuple]
        elif isinstance(value, tuple):
            found.append(value)
    return found


def walk(node: "Node") -> Iterator["Node"]:
    """Yield a node and all nodes below it, each before its children.

    Iterates without recursion: documents may be deep.
    """
    pending = [node]
    while pending:
        one = pending.pop()
        yield one
        pending += reversed(children(one))


def pattern_at(node: PatternNode, *keys: str) -> PatternNode | None:
    """Return the part of a pattern at some keys, as written; None if there is none."""
    for key in keys:
        entries = node.entries if isinstance(node, PatternMap) else ()
        found = next((one.value for one in entries if one.text == key), None)
        if found is None:
            return None
        node = found
    return node


def written_at(rule: RuleNode, path: Path) -> Json:
    """Return the value of a rule at a path of the document, or None."""
    found: Json = rule.data
    for step in path[len(rule.path) :]:
        is_there = isinstance(found, list) or (isinstance(found, dict) and step in found)
        if not is_there:
            return None
        found = found[step]
    return found


def has_wildcard_key(pattern: PatternNode) -> bool:
    """Return whether any key in a pattern contains a wildcard, at any depth."""
    return any(isinstance(one, PatternEntry) and has_wildcard(one.text) for one in walk(pattern))


# Strings of rules. Variables may be in any of them, also in parts that have no node.


class TextKind(Enum):
    """The kind of a string in a rule."""

    TEMPLATE = "template"
    """A string of the rule itself, with variables `{{ }}` and references `$( )`."""
    QUERY = "query"
    """A JMESPath expression."""
    CEL = "cel"
    """A part of a block in CEL."""
    DATA = "data"
    """User data: patterns, patches, values, objects to generate. May contain variables."""


class Text(NamedTuple):
    """A string of a rule."""

    path: Path
    """The path in the document; a key has the path of its map."""
    text: str
    kind: TextKind


def texts(rule: RuleNode, nodes: Iterable["Node"] | None = None) -> Iterator[Text]:
    """Yield every key and string of a rule, in the written order; `nodes` are those of the rule."""
    kinds = {
        (*node.path, *path): kind
        for node in (walk(rule) if nodes is None else nodes)
        for kind, path in PARTS.get(type(node).__name__, ())
    }
    return texts_within(rule.data, rule.path, kinds)


def texts_within(
    data: object, path: Path, kinds: Mapping[Path, TextKind] = MappingProxyType({})
) -> Iterator[Text]:
    """Yield every key and string of data at a path: templates, except for the `kinds` of parts.

    Iterates without recursion: documents may be deep.
    """
    pending: list[tuple[Path, object, TextKind]] = [(path, data, TextKind.TEMPLATE)]
    while pending:
        place, value, outer = pending.pop()
        kind = kinds.get(place, outer)
        below: Iterable[tuple[str | int, object]] = ()
        if value.__class__ is str:
            yield Text(place, value, kind)
        elif value.__class__ is dict:
            yield from [Text(place, key, kind) for key in value]
            below = value.items()
        elif value.__class__ is list:
            below = enumerate(value)
        pending += reversed([((*place, step), one, kind) for step, one in below])


_FIELDS_OF_SOURCES = (
    (TextKind.QUERY, "jmesPath"),
    (TextKind.DATA, "value"),
    (TextKind.DATA, "data"),
    (TextKind.DATA, "default"),
)
PARTS: Mapping[str, tuple[tuple[TextKind, Path], ...]] = {
    **dict.fromkeys(
        (entry.__name__ for entry in get_args(ContextEntry)),
        tuple(
            (kind, (source, name))
            for source in CONTEXT_SOURCES
            for kind, name in _FIELDS_OF_SOURCES
        ),
    ),
    **dict.fromkeys(
        ("ForEachValidation", "ForEachMutation", "ForEachGeneration"),
        ((TextKind.QUERY, ("list",)),),
    ),
    **dict.fromkeys(("CelValidation", "NamedExpression"), ((TextKind.CEL, ()),)),
    "Condition": ((TextKind.DATA, ("value",)),),
    "Pattern": ((TextKind.DATA, ()),),
    "JsonPatch": ((TextKind.DATA, ()),),
    "ImageExtractor": ((TextKind.QUERY, ("jmesPath",)),),
    "GenerateTarget": ((TextKind.DATA, ("data",)),),
    "Validate": ((TextKind.DATA, ("manifests",)), (TextKind.DATA, ("assert",))),
}
"""The parts of nodes that are not templates, by their paths from the node.

Keys are class names: most runs do not load the modules of all classes.
"""
