"""Context entries that nothing reads.

An entry is loaded when a query names it, so one whose name stands nowhere else is never loaded. In
a rule that computes names (a variable inside a variable) nothing can be said.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.languages.classic.checks.refusal import is_free, is_query, nodes, texts
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

_WORD = re.compile(r"\w+")
_NESTED = re.compile(r"\{\{[^{}]*\{\{")


def unread_entries(policy: Policy) -> Iterator[Diagnostic]:
    """KV204: a context entry whose name no other text of its rule holds."""
    for rule in policy.rules:
        entries = tuple(_entries(rule.data))
        found = tuple(texts(rule.data)) if entries else ()
        if any(_computes_names(path, text) for path, text in found):
            continue
        places = _places_of_words(found) if entries else {}
        for path, name in entries:
            if _WORD.fullmatch(name):
                is_read = any(place[: len(path)] != path for place in places.get(name, ()))
            else:
                word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
                others = (text for place, text in found if place[: len(path)] != path)
                is_read = any(word.search(text) for text in others)
            if not is_read:
                text = f"context entry `{name}` is never read: no text of the rule names it"
                yield warn(policy.document, "KV204", text, (*rule.path, *path))


def _places_of_words(found: Iterable[tuple[Path, str]]) -> Mapping[str, list[Path]]:
    """Return where each word of some texts stands."""
    places: dict[str, list[Path]] = {}
    for place, text in found:
        for word in _WORD.findall(text):
            places.setdefault(word, []).append(place)
    return places


def _entries(rule: Json) -> Iterator[tuple[Path, str]]:
    """Yield path and name of the context entries of a rule, its loops and its targets."""
    for path, value in nodes(rule):
        if path[-2:-1] == ("context",) and path[-1].__class__ is int and not is_free(path):
            name = text_field(value, "name")
            if name:
                yield path, name


def _computes_names(path: Path, text: str) -> bool:
    return "{{" in text and (is_query(path) or _NESTED.search(text) is not None)
