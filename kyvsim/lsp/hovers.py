"""What is told of what a pointer rests on, as Markdown."""

from collections.abc import Iterable

from kyvsim.api import Source
from kyvsim.api.workspace import ToldRule, rules_in
from kyvsim.lsp.expressions import cel_note, jmespath_note
from kyvsim.lsp.fields import about, operator_note
from kyvsim.lsp.outline import Entry
from kyvsim.lsp.texts import Text, in_cel, in_template, word_at


def hover_at(text: Text, source: Source, line: int, column: int) -> str:
    """Return what is told of a position of a text, "" for nothing."""
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


def _rule(rules: Iterable[ToldRule], entry: Entry) -> str:
    """Return what a rule does, of the one that begins at an entry's line."""
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
