"""Completions and hover texts: fields of schemas, JMESPath, and CEL."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from lsprotocol import types as lsp

from kyvsim.api import Source
from kyvsim.api.cel import EXPRESSION_KINDS, signatures, variables
from kyvsim.api.schemas import known_schemas
from kyvsim.api.workspace import ReportedRule, concerns, rules_in
from kyvsim.engine.conditions.operators import OPERATORS, operators
from kyvsim.jmespath.functions import functions
from kyvsim.kubernetes.objects import Path
from kyvsim.lsp.document import EditPosition, YamlEntry, YamlText, in_cel, in_template, word_at
from kyvsim.schema.node import SchemaNode

_CONDITIONS = frozenset({"any", "all", "preconditions", "conditions"})


class Offer(NamedTuple):
    """A completion."""

    label: str
    detail: str
    note: str = ""
    insert: str = ""
    """The text to insert; "" for the label itself."""
    is_key: bool = False


@lru_cache(maxsize=1)
def _schemas() -> Mapping[str, SchemaNode]:
    return known_schemas()


def schema_at(kind: str, path: Path) -> tuple[SchemaNode, ...]:
    """Return the schemas at a path in a file of an apiVersion/kind.

    Several where the schema has alternatives; () where there is none.
    """
    found: tuple[SchemaNode, ...] = (_schemas()[kind],) if kind in _schemas() else ()
    for part in path:
        whole = _choices(found)
        inner = (one.child(part) if isinstance(part, str) else one.items for one in whole)
        found = tuple(one for one in inner if one is not None)
    return _choices(found)


def _choices(nodes: Iterable[SchemaNode]) -> tuple[SchemaNode, ...]:
    return tuple(choice for one in nodes for choice in (one.choices or (one,)))


def type_text(node: SchemaNode) -> str:
    """Return a short description of the types of a value."""
    types = " or ".join(node.types) or "any"
    if node.items is not None and "array" in node.types:
        types = f"list of {type_text(node.items)}"
    return types


def about(kind: str, path: Path) -> str:
    """Return the documentation of a field, as Markdown; "" for one that no schema has."""
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
    if path and any(
        path[-1] in (one.words.get("required") or ()) for one in schema_at(kind, path[:-1])
    ):
        lines.append("Required.")
    return "\n\n".join(lines)


def offers_at(text: YamlText, cursor: EditPosition) -> Iterator[Offer]:
    """Yield completions for a position: fields, or values of a field."""
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
        required = node.words.get("required") or ()
        for name in node.properties:
            if name not in there:
                inner = node.child(name)
                detail = type_text(inner) if inner else "any"
                must = ", required" if name in required else ""
                is_nested = inner is not None and bool({"object", "array"} & {*inner.types})
                written = f"{name}:" if is_nested else f"{name}: "
                yield Offer(name, f"{detail}{must}", insert=written, is_key=True)
        yield from _choices_of(node)


def _values(text: YamlText, cursor: EditPosition, kind: str) -> Iterator[Offer]:
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


def _choices_of(node: SchemaNode) -> Iterator[Offer]:
    for one in node.words.get("enum") or ():
        if isinstance(one, str) and one:
            yield Offer(one, "value", operator_note(one))
    if "boolean" in node.types:
        yield from (Offer(one, "boolean") for one in ("true", "false"))


def _types(text: YamlText, cursor: EditPosition) -> Iterator[Offer]:
    version, kind = text.value(cursor.document, "apiVersion"), text.value(cursor.document, "kind")
    for_kinds = cursor.path == ("kind",)
    found: dict[str, str] = {}
    for name in _schemas():
        group, _, own = name.rpartition("/")
        if for_kinds and (not version or group == version):
            found[own] = group
        elif not for_kinds and (not kind or own == kind):
            found[group] = own
    yield from (Offer(name, detail) for name, detail in found.items())


def operator_note(name: str) -> str:
    """Return when a condition with an operator is true, "" for other words."""
    known = operators.get(name)
    return f"true if {known.meaning}" if known else ""


VARIABLES: Final[Mapping[str, str]] = {
    "request.object": "the object after the request",
    "request.oldObject": "the object before an update or deletion",
    "request.operation": "CREATE, UPDATE, DELETE or CONNECT",
    "request.userInfo": "the user of the request: username, groups",
    "request.namespace": "the namespace of the object",
    "request.name": "its name",
    "request.roles": "roles of the user",
    "request.clusterRoles": "cluster roles of the user",
    "serviceAccountName": "the service account of the request",
    "serviceAccountNamespace": "its namespace",
    "images": "the images of the object, by field and container",
    "element": "the element of the innermost loop",
    "elementIndex": "its index",
    "target": "the object that a mutate rule changes",
    "@": "the value that the pattern is compared with",
}
"""Variables in `{{ }}` that are available without a context entry."""


def _names_in(text: YamlText, document: int, section: str) -> tuple[str, ...]:
    """Return the names of the elements of sections of a document, without duplicates."""
    found = (
        one.value
        for one in text.of(document)
        if one.name == "name" and len(one.path) > 2 and one.path[-3] == section
    )
    return tuple(dict.fromkeys(filter(None, found)))


def cel_kind(kind: str) -> str:
    """Return the policy kind whose variables an expression in a document can use."""
    own = kind.rpartition("/")[2]
    return own if own in EXPRESSION_KINDS else "ValidatingAdmissionPolicy"


@lru_cache(maxsize=16)
def _cel_names(kind: str) -> Mapping[str, Offer]:
    found = {name: Offer(name, kind_) for name, kind_ in variables(kind).items()}
    for name, ways in signatures(kind):
        found.setdefault(name, Offer(name, ways[0], "\n\n".join(f"`{one}`" for one in ways)))
    return MappingProxyType(found)


def jmespath_note(word: str) -> str:
    """Return the documentation of a word in a template, as Markdown; "" for an unknown one."""
    function = functions().get(word)
    if function is not None:
        examples = (f"- `{one.expression}`" for one in function.examples[:3])
        lines = [f"```text\n{function.signature}\n```", function.note, "\n".join(examples)]
        return "\n\n".join(filter(None, lines))
    known = VARIABLES.get(word)
    return f"`{word}`: {known}" if known else ""


def cel_note(word: str, kind: str) -> str:
    """Return the documentation of a word in CEL, with all overloads of a function."""
    names = _cel_names(cel_kind(kind))
    offer = names.get(word) or names.get(word.rpartition(".")[2])
    if offer is None:
        return ""
    return offer.note or f"`{offer.label}`: {offer.detail}"


def completions_at(text: YamlText, line: int, column: int) -> Iterator[lsp.CompletionItem]:
    """Yield completions for a position, whose column counts characters."""
    cursor = text.cursor(line, column)
    end = lsp.Position(cursor.line, cursor.column)
    word = lsp.Range(lsp.Position(cursor.line, cursor.column - len(cursor.typed)), end)
    for one in dict.fromkeys(_offers(text, cursor)):
        kind = lsp.CompletionItemKind.Value
        if one.is_key:
            kind = lsp.CompletionItemKind.Property
        elif one.insert.endswith("(") or "->" in one.detail:
            kind = lsp.CompletionItemKind.Function
        note = lsp.MarkupContent(lsp.MarkupKind.Markdown, one.note) if one.note else None
        edit = lsp.TextEdit(word, one.insert or one.label)
        yield lsp.CompletionItem(
            label=one.label, kind=kind, detail=one.detail, documentation=note, text_edit=edit
        )


def _offers(text: YamlText, cursor: EditPosition) -> Iterator[Offer]:
    document = cursor.document
    if in_template(cursor):
        names = _names_in(text, document, "context")
        yield from (Offer(name, "entry of the context") for name in names)
        yield from (Offer(name, "variable", note) for name, note in VARIABLES.items())
        for one in functions().values():
            yield Offer(one.name, one.signature, one.note, f"{one.name}(")
    elif in_cel(cursor, text.kind(document)):
        for name in _names_in(text, document, "variables"):
            yield Offer(f"variables.{name}", "variable of the policy")
        yield from _cel_names(cel_kind(text.kind(document))).values()
    elif concerns(text.text) or len(text.text.split("\n")) <= 2:
        yield from offers_at(text, cursor)


def hover_at(text: YamlText, source: Source, line: int, column: int) -> str:
    """Return the hover text for a position, "" if there is none."""
    word, start = word_at(text.text, line, column)
    cursor = text.cursor(line, start)
    kind = text.kind(cursor.document)
    if word and in_template(cursor):
        return jmespath_note(word)
    if word and in_cel(cursor, kind):
        return cel_note(word, kind)
    entry = text.entry_at(line, column)
    if entry is None:
        return ""
    if entry.names_rule:
        return _rule(rules_in(source), entry) or about(kind, entry.path)
    if entry.name == "operator" and column >= entry.value_column:
        note = operator_note(entry.value)
        return f"`{entry.value}` {note}" if note else ""
    return about(kind, entry.path)


def _rule(rules: Iterable[ReportedRule], entry: YamlEntry) -> str:
    for one in rules:
        if one.line == entry.line + 1 or one.name == entry.value:
            does = f"**{one.section or 'rule'}** of {one.policy}"
            lines = [f"{does}, on {_listed(one.kinds)}"]
            if one.action:
                lines.append(f"failures: {one.action}")
            lines += [f"derived: `{name}`, on {_listed(kinds)}" for name, kinds in one.derived]
            return "\n\n".join(lines)
    return ""


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(f"`{one}`" for one in kinds) or "any kind"
