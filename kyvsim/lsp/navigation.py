"""Document symbols, definitions, references and new names of policies and rules, code lenses."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from lsprotocol import types as lsp

from kyvsim.api import Source
from kyvsim.lsp.document import YamlEntry, YamlText, read_text


def symbols_of(text: YamlText) -> Iterator[lsp.DocumentSymbol]:
    """Yield a symbol for each document that has a kind."""
    lines = text.text.split("\n")
    for document in sorted({one.document for one in text.entries}):
        own = [*text.of(document)]
        kind, name = text.value(document, "kind"), text.value(document, "metadata", "name")
        if not kind:
            continue
        last = max(one.line for one in own)
        whole = lsp.Range(lsp.Position(own[0].line, 0), lsp.Position(last, len(lines[last])))
        yield lsp.DocumentSymbol(
            name=name or kind,
            detail=kind,
            kind=lsp.SymbolKind.Class,
            range=whole,
            selection_range=_at(own[0]),
            children=[*_named(own)],
        )


def _named(entries: list[YamlEntry]) -> Iterator[lsp.DocumentSymbol]:
    for one in entries:
        is_result = one.path[:1] == ("results",) and one.name == "rule" and len(one.path) == 3
        if (one.names_rule or is_result) and one.value:
            yield lsp.DocumentSymbol(one.value, lsp.SymbolKind.Method, _at(one), _at(one))


def _at(entry: YamlEntry) -> lsp.Range:
    end = entry.value_column + len(entry.value)
    return lsp.Range(lsp.Position(entry.line, entry.column), lsp.Position(entry.line, end))


class SourceRange(NamedTuple):
    """A location in a file; line and column count from 0."""

    file: str
    line: int
    column: int
    length: int


class NamedTarget(NamedTuple):
    """The target that an entry refers to: a policy, possibly one of its rules, or an object."""

    policy: str = ""
    rule: str = ""
    object: str = ""
    file: str = ""


def named_by(text: YamlText, entry: YamlEntry) -> NamedTarget:
    """Return the target that an entry refers to, with empty fields if there is none."""
    kind = text.kind(entry.document)
    where = [part for part in entry.path if isinstance(part, str)]
    value = entry.value.strip("[] ")
    if not where:
        return NamedTarget()  # a list item at the top level, as in an incomplete text
    if kind.startswith("cli.kyverno.io/"):
        return _of_test(text, entry, where, value)
    if kind.endswith("/PolicyException"):
        if where[-1] == "policyName" or (where[-1] == "name" and "policyRefs" in where):
            return NamedTarget(policy=value)
        if "ruleNames" in where:
            at = entry.path.index("ruleNames")
            policy = text.value(entry.document, *entry.path[:at], "policyName")
            return NamedTarget(policy=policy, rule=value)
        return NamedTarget()
    if kind.endswith("AdmissionPolicyBinding") and where[-1] == "policyName":
        return NamedTarget(policy=value)
    names_file = kind.startswith(("kyvsim/", "chainsaw.kyverno.io/"))
    return NamedTarget(file=value) if names_file else NamedTarget()


def _of_test(text: YamlText, entry: YamlEntry, where: list[str], value: str) -> NamedTarget:
    beside = entry.path[:-1]
    if where[-1] == "policy":
        return NamedTarget(policy=value.rpartition("/")[2])
    if where[-1] == "rule":
        policy = text.value(entry.document, *beside, "policy").rpartition("/")[2]
        return NamedTarget(policy=policy, rule=value)
    if where[:1] == ["results"] and where[-1] in {"resource", "resources"}:
        return NamedTarget(object=value.rpartition("/")[2])
    if where[:1] == ["policies"] and where[-1] == "name":
        above = text.value(entry.document, *entry.path[:2], "name")
        return NamedTarget(above, value) if "rules" in where else NamedTarget(value)
    return NamedTarget(file=value)


def defined_by(text: YamlText, entry: YamlEntry) -> NamedTarget:
    """Return the policy or rule that an entry defines, with empty fields if there is none."""
    if not text.value(entry.document, "kind").endswith("Policy") or not entry.value:
        return NamedTarget()
    if entry.path == ("metadata", "name"):
        return NamedTarget(policy=entry.value)
    if entry.names_rule:
        return NamedTarget(text.value(entry.document, "metadata", "name"), entry.value)
    return NamedTarget()


class Occurrence(NamedTuple):
    """A definition of a policy or rule, or a reference to one."""

    range: SourceRange
    """The name without prefixes of namespaces and autogen rules."""
    is_definition: bool


def occurrences_of(wanted: NamedTarget, files: Mapping[str, Source]) -> Iterator[Occurrence]:
    """Yield the places in files, by their real paths, where a policy or rule is named."""
    name = wanted.rule or wanted.policy
    for file, source in files.items() if name else ():
        if name not in source.text:
            continue
        text = read_text(source.text)
        for entry in text.entries:
            if name not in entry.value or entry.value[:1] in {"[", "{", "|", ">"}:
                continue
            defined = defined_by(text, entry)
            found = defined if defined.policy else named_by(text, entry)
            if _without_prefixes(found) == wanted:
                column = entry.value_column + entry.value.rindex(name)
                place = SourceRange(file, entry.line, column, len(name))
                yield Occurrence(place, defined == found)


def _without_prefixes(named: NamedTarget) -> NamedTarget:
    return NamedTarget(named.policy, written_rule(named.rule), named.object, named.file)


def written_rule(name: str) -> str:
    """Return the name of the rule from which an autogen rule is derived, or the name."""
    return name.removeprefix("autogen-").removeprefix("cronjob-")


_PLAIN_NAME = re.compile(r"(?=[^.]*[A-Za-z])[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_NOT_TEXTS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_LONGEST_RULE = 63
_LONGEST_POLICY = 253


def rename_problem(
    wanted: NamedTarget, name: str, found: Iterable[Occurrence], files: Mapping[str, Source]
) -> str:
    """Return why a policy or rule cannot be renamed, "" if it can."""
    longest = _LONGEST_RULE if wanted.rule else _LONGEST_POLICY
    if len(name) > longest or not _PLAIN_NAME.fullmatch(name) or name.lower() in _NOT_TEXTS:
        return (
            f"`{name}` cannot be a name here: use at most {longest} letters, digits, `-`, `_` and "
            "`.`, beginning and ending with a letter or digit"
        )
    definitions = [one.range for one in found if one.is_definition]
    kind = "rule" if wanted.rule else "policy"
    if not definitions:
        return f"the workspace does not define this {kind}"
    if len(definitions) > 1:
        places = ", ".join(f"{one.file}:{one.line + 1}" for one in definitions)
        return f"several definitions have this name, and references do not tell which: {places}"
    new = wanted._replace(rule=name) if wanted.rule else wanted._replace(policy=name)
    if any(one.is_definition for one in occurrences_of(new, files)):
        return f"there is already a {kind} named `{name}`"
    return ""


def runnable_rows(text: YamlText) -> Iterator[tuple[str, YamlEntry]]:
    """Yield what can be run in a test manifest, with its position: "" for all rows, or a row."""
    for document in sorted({one.document for one in text.entries}):
        if text.kind(document).endswith("/Test") and text.kind(document).startswith("cli.kyverno"):
            own = [*text.of(document)]
            rows = {one.path[1]: one for one in reversed(own) if _is_in_row(one)}
            if rows:
                yield "", own[0]
            for row in reversed(rows.values()):
                rule = text.value(document, *row.path[:2], "rule")
                yield rule or text.value(document, *row.path[:2], "policy") or "row", row


def _is_in_row(entry: YamlEntry) -> bool:
    return entry.path[:1] == ("results",) and len(entry.path) > 1


class DefinitionContext(NamedTuple):
    """The files in which a name can be looked up."""

    file: str
    """The file that contains the name: paths are relative to it."""
    files: Mapping[str, Source]
    """Files with policies, by their real paths."""
    read: Callable[[str], Source | None]
    """Returns another file by its real path, None if it must not be read."""


def spots_of(
    named: NamedTarget, text: YamlText, around: DefinitionContext
) -> Iterator[SourceRange]:
    """Yield the locations of a referenced name."""
    if named.file:
        place = _beside(around.file, named.file)
        if named.file.endswith((".yaml", ".yml", ".json")) and around.read(place):
            yield SourceRange(place, 0, 0, 0)
        return
    target = named.policy or named.object
    files = around.files if named.policy else _resources(text, around)
    for file, source in files.items() if target else ():
        if target in source.text:
            text = read_text(source.text)
            for document in sorted({one.document for one in text.entries}):
                own = text.of(document)
                name = next((one for one in own if one.path == ("metadata", "name")), None)
                if name is None or name.value != target:
                    continue
                kind = text.value(document, "kind")
                if named.policy and not kind.endswith("Policy"):
                    continue
                rule = _rule(text.of(document), named.rule) if named.rule else None
                found = rule or name
                yield SourceRange(file, found.line, found.value_column, len(found.value))


def _resources(text: YamlText, around: DefinitionContext) -> Mapping[str, Source]:
    paths = (one.value for one in text.entries if one.path[:1] == ("resources",))
    places = [_beside(around.file, one) for one in paths if one]
    found = {place: around.read(place) for place in places}
    return {place: one for place, one in found.items() if one is not None}


def _beside(file: str, path: str) -> str:
    return os.path.realpath(os.path.join(os.path.dirname(file), path))


def _rule(entries: Iterable[YamlEntry], name: str) -> YamlEntry | None:
    """Return the entry of a rule's name: for a derived rule, that of its original."""
    written = written_rule(name)
    rules = [one for one in entries if one.names_rule]
    exact = (one for one in rules if one.value == name)
    return next(exact, next((one for one in rules if one.value == written), None))
