"""What may be written at a place, after the schemas of Kyverno and of kyvsim's own files."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.api.schemas import known_schemas
from kyvsim.engine.conditions.operators import OPERATORS
from kyvsim.lsp.texts import Cursor, Text
from kyvsim.model.source import Path
from kyvsim.schema.node import Node

_CONDITIONS = frozenset({"any", "all", "preconditions", "conditions"})


class Offer(NamedTuple):
    """A word that may be written."""

    label: str
    detail: str
    note: str = ""
    insert: str = ""
    """What is written in its place; "" for the word itself."""
    is_key: bool = False


@lru_cache(maxsize=1)
def _schemas() -> Mapping[str, Node]:
    return known_schemas()


def schema_at(kind: str, path: Path) -> tuple[Node, ...]:
    """Return the schemas of what stands at a path in a file of an apiVersion/kind.

    Several where its form is open; () where nothing is known of it.
    """
    found: tuple[Node, ...] = (_schemas()[kind],) if kind in _schemas() else ()
    for part in path:
        whole = _choices(found)
        inner = (one.child(part) if isinstance(part, str) else one.items for one in whole)
        found = tuple(one for one in inner if one is not None)
    return _choices(found)


def _choices(nodes: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(choice for one in nodes for choice in (one.choices or (one,)))


def type_text(node: Node) -> str:
    """Return what a value may be, in a few words."""
    types = " or ".join(node.types) or "any"
    if node.items is not None and "array" in node.types:
        types = f"list of {type_text(node.items)}"
    return types


def about(kind: str, path: Path) -> str:
    """Return what is known of a field, as Markdown; "" for one that no schema has."""
    nodes = schema_at(kind, path)
    if not nodes:
        return ""
    names = ".".join(str(one) for one in path if isinstance(one, str))
    lines = [f"**{names}**: {' or '.join(dict.fromkeys(map(type_text, nodes)))}"]
    for node in nodes:
        if node.words.get("description"):
            lines.append(str(node.words["description"]))
        if node.words.get("enum"):
            lines.append("one of " + ", ".join(f"`{one}`" for one in node.words["enum"]))
        if node.default is not None:
            lines.append(f"default: `{node.default}`")
        if node.properties:
            lines.append("fields: " + ", ".join(f"`{one}`" for one in sorted(node.properties)))
    if path and any(path[-1] in _required(one) for one in schema_at(kind, path[:-1])):
        lines.append("It has to be there.")
    return "\n\n".join(lines)


def _required(node: Node) -> tuple[str, ...]:
    return tuple(node.words.get("required") or ())


def offers_at(text: Text, cursor: Cursor) -> Iterator[Offer]:
    """Yield what may be written where somebody types: fields, or values of one."""
    kind = text.kind(cursor.document)
    if cursor.in_value:
        yield from _values(text, cursor, kind)
        return
    nodes = schema_at(kind, cursor.path)
    there = {
        one.name for one in text.of(cursor.document)
        if one.path[:-1] == cursor.path and one.line != cursor.line
    }  # fmt: skip
    if not cursor.path and kind not in _schemas():
        nodes = ()
        yield from (Offer(one, "string", insert=f"{one}: ", is_key=True)
                    for one in ("apiVersion", "kind") if one not in there)  # fmt: skip
    for node in nodes:
        required = _required(node)
        for name in node.properties:
            if name not in there:
                inner = node.child(name)
                detail = type_text(inner) if inner else "any"
                must = ", required" if name in required else ""
                yield Offer(name, f"{detail}{must}", insert=_written(name, inner), is_key=True)
        yield from _choices_of(node)


def _written(name: str, node: Node | None) -> str:
    """Return a key with what surely follows on its line."""
    is_nested = node is not None and bool({"object", "array"} & {*node.types})
    return f"{name}:" if is_nested else f"{name}: "


def _values(text: Text, cursor: Cursor, kind: str) -> Iterator[Offer]:
    name = cursor.path[-1] if cursor.path else ""
    if cursor.path in {("kind",), ("apiVersion",)}:
        yield from _types(text, cursor)
        return
    nodes = schema_at(kind, cursor.path)
    if re.search(r":\s+\[[^\]]*$", cursor.before):
        nodes = tuple(one.items for one in nodes if one.items is not None)
    offered = [offer for node in nodes for offer in _choices_of(node)]
    yield from offered
    if name == "operator" and not offered and _CONDITIONS & {*cursor.path}:
        yield from (Offer(one.name, "operator", operator_note(one.name)) for one in OPERATORS)


def _choices_of(node: Node) -> Iterator[Offer]:
    for one in node.words.get("enum") or ():
        if isinstance(one, str) and one:
            yield Offer(one, "value", operator_note(one))
    if "boolean" in node.types:
        yield from (Offer(one, "boolean") for one in ("true", "false"))


def _types(text: Text, cursor: Cursor) -> Iterator[Offer]:
    """Yield kinds, or apiVersions, that go with what is written already."""
    version, kind = text.value(cursor.document, "apiVersion"), text.value(cursor.document, "kind")
    wants_kind = cursor.path == ("kind",)
    found: dict[str, str] = {}
    for name in _schemas():
        group, _, own = name.rpartition("/")
        if wants_kind and (not version or group == version):
            found[own] = group
        elif not wants_kind and (not kind or own == kind):
            found[group] = own
    yield from (Offer(name, detail) for name, detail in found.items())


_NOTES: Mapping[str, str] = MappingProxyType(
    {
        one.name: " ".join((one.holds.__doc__ or "").split("\n\n")[0].split())
        for one in OPERATORS
    }
)  # fmt: skip


def operator_note(name: str) -> str:
    """Return when a condition with an operator holds, "" for other words."""
    told = _NOTES.get(name, "").removeprefix("Return whether ").rstrip(".")
    return f"holds where {told}" if told else ""
