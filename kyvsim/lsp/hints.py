"""Completions and hover texts: fields of schemas, JMESPath, and CEL."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.api import Source
from kyvsim.api.cel import EXPRESSION_KINDS, signatures, variables
from kyvsim.api.schemas import known_schemas
from kyvsim.api.workspace import ReportedRule, concerns, rules_in
from kyvsim.engine.conditions.operators import OPERATORS, operators
from kyvsim.jmespath.functions import functions
from kyvsim.kubernetes.discovery import every_kind, kind_of_plural, preferred_version
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.kubernetes.package_data import read_table
from kyvsim.linting.cel_policy import element_of, field_of
from kyvsim.lsp.document import (
    EditPosition,
    YamlEntry,
    YamlText,
    in_cel,
    in_jmespath,
    in_template,
    steps_before,
    word_at,
)
from kyvsim.schema.merge_types import NoTypesError, Type, find_type
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
    after_dot: bool = False
    """Whether it only replaces what is typed after the last dot."""


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


@cache
def _field_texts() -> Json:
    """Return `fields`, descriptions, and `pages`, links to documentation.

    Their keys are ends of paths: the names of fields, without indexes, after the kind. Of several,
    the longest applies. Those of chainsaw's files begin with `chainsaw` and a blank. Pages are for
    fields, and all fields below.
    """
    return read_table(__file__, "fields.json")


def _names(kind: str, path: Path) -> tuple[str, ...]:
    return (kind.rpartition("/")[2], *(one for one in path if isinstance(one, str)))


def description_of(kind: str, path: Path) -> str:
    """Return the description of a field in a file of an apiVersion/kind, "" if there is none."""
    own = (one.words.get("description") for one in schema_at(kind, path))
    written = next(filter(None, own), "")
    if written:
        return str(written)
    prefix = "chainsaw " if kind.startswith("chainsaw.") else ""
    names, texts = _names(kind, path), _field_texts()["fields"]
    keys = (prefix + ".".join(names[start:]) for start in range(len(names)))
    return next((texts[key] for key in keys if key in texts), "")


def page_of(kind: str, path: Path) -> str:
    """Return the address of the documentation of a field, "" if there is none."""
    names, pages = _names(kind, path), _field_texts()["pages"]
    if kind.startswith("chainsaw."):
        return str(pages["chainsaw"])
    keys = (*reversed([".".join(pair) for pair in pairwise(names)]), names[0])
    return next((pages[key] for key in keys if key in pages), "")


def about(kind: str, path: Path) -> str:
    """Return the documentation of a field, as Markdown; "" for one that no schema has."""
    nodes = schema_at(kind, path)
    if not nodes:
        return ""
    names = ".".join(str(one) for one in path if isinstance(one, str))
    lines = [f"**{names}**: {' or '.join(dict.fromkeys(map(type_text, nodes)))}"]
    lines.append(description_of(kind, path))
    for node in nodes:
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
    page = page_of(kind, path)
    lines.append(f"[Documentation]({page})" if page else "")
    return "\n\n".join(filter(None, lines))


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
                note = description_of(kind, (*cursor.path, name))
                yield Offer(name, f"{detail}{must}", note, written, is_key=True)
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


def _variable_note(text: YamlText, document: int, word: str) -> str:
    """Return the expression of the variable in `variables.NAME`, as Markdown; "" for others."""
    root, _, name = word.partition(".")
    for one in text.of(document) if root == "variables" else ():
        if one.name == "name" and one.path[-3:-2] == ("variables",) and one.value == name:
            return f"```\n{text.value(document, *one.path[:-1], 'expression')}\n```"
    return ""


class Completion(NamedTuple):
    """A completion for a position, and what it replaces."""

    label: str
    detail: str
    note: str
    """Markdown."""
    insert: str
    kind: str
    """`property`, `function` or `value`."""
    column: int
    """Where the typed text that it replaces begins: before the position, on its line."""


def completions_at(text: YamlText, line: int, column: int) -> Iterator[Completion]:
    """Yield completions for a position; columns count characters."""
    cursor = text.cursor(line, column)
    last_name = cursor.typed.rpartition(".")[2]
    for one in dict.fromkeys(_offers(text, cursor)):
        kind = "value"
        if one.is_key:
            kind = "property"
        elif one.insert.endswith("(") or "->" in one.detail:
            kind = "function"
        start = cursor.column - len(last_name if one.after_dot else cursor.typed)
        yield Completion(one.label, one.detail, one.note, one.insert or one.label, kind, start)


def _offers(text: YamlText, cursor: EditPosition) -> Iterator[Offer]:
    kind = text.kind(cursor.document)
    if in_template(cursor) or in_jmespath(cursor, kind):
        yield from _jmespath_offers(text, cursor)
    elif in_cel(cursor, kind):
        yield from _cel_offers(text, cursor, kind)
    elif concerns(text.text) or len(text.text.split("\n")) <= 2:
        yield from offers_at(text, cursor)


def _jmespath_offers(text: YamlText, cursor: EditPosition) -> Iterator[Offer]:
    steps = steps_before(cursor)
    names = _names_in(text, cursor.document, "context")
    known = {**dict.fromkeys(names, "entry of the context"), **VARIABLES}
    start = ".".join(steps)
    for name, note in known.items():
        if name.startswith(f"{start}." if steps else ""):
            yield Offer(name, "entry" if name in names else "variable", note)
    if steps:
        yield from _object_fields(text, cursor.document, steps)
        return
    for one in functions().values():
        yield Offer(one.name, one.signature, one.note, f"{one.name}(")


def _cel_offers(text: YamlText, cursor: EditPosition, kind: str) -> Iterator[Offer]:
    steps = steps_before(cursor)
    if steps == ("variables",):
        for name in _names_in(text, cursor.document, "variables"):
            yield Offer(name, "variable of the policy", after_dot=True)
        return
    if steps:
        yield from _object_fields(text, cursor.document, steps)
    else:
        for name in _names_in(text, cursor.document, "variables"):
            yield Offer(f"variables.{name}", "variable of the policy")
    for one in _cel_names(cel_kind(kind)).values():
        is_member = f".{one.label}(" in one.note
        if is_member or not steps:
            yield one._replace(after_dot=bool(steps))


_OBJECTS: Final = (
    ("request", "object"), ("request", "oldObject"), ("object",), ("oldObject",), ("target",),
)  # fmt: skip
"""Expressions for objects of the kinds that a policy matches."""


def _object_fields(text: YamlText, document: int, steps: tuple[str, ...]) -> Iterator[Offer]:
    """Yield the fields below a path of the objects that a policy matches, if they are known."""
    root = next((one for one in _OBJECTS if steps[: len(one)] == one), None)
    if root is None:
        return
    found = [*_matched_types(text, document)]
    for step in steps[len(root) :]:
        inner = (element_of(one) if step == "[]" else field_of(one, step) for one in found)
        found = [one for one in inner if one is not None]
    fields = {name for one in found if one.mapping for name in one.mapping.fields}
    yield from (Offer(name, "field", after_dot=True) for name in sorted(fields))


def _matched_types(text: YamlText, document: int) -> Iterator[Type]:
    for one in text.of(document):
        section = one.path[-2] if len(one.path) > 2 else ""
        keys: Iterable[tuple[str, str]] = ()
        if section == "kinds" and "exclude" not in one.path:
            name = one.value.rpartition("/")[2]
            keys = (key for key in every_kind() if key[1] == name)
        elif section == "resources" and "resourceRules" in one.path:
            groups = {
                other.value
                for other in text.of(document)
                if other.path[:-1] == (*one.path[:-2], "apiGroups")
            }
            keys = ((group, kind_of_plural(group, one.value)) for group in groups)
        for group, kind in keys:
            version = preferred_version(group, kind) if kind else ""
            with contextlib.suppress(NoTypesError):
                found = find_type(f"{group}/{version}".lstrip("/"), kind) if version else None
                if found is not None:
                    yield found


def hover_at(text: YamlText, source: Source, line: int, column: int) -> str:
    """Return the hover text for a position, "" if there is none."""
    word, start = word_at(text.text, line, column)
    cursor = text.cursor(line, start)
    kind = text.kind(cursor.document)
    if word and (in_template(cursor) or in_jmespath(cursor, kind)):
        return jmespath_note(word)
    if word and in_cel(cursor, kind):
        return _variable_note(text, cursor.document, word) or cel_note(word, kind)
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
