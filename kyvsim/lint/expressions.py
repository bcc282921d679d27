"""Checks of JMESPath: context entries that are never read, and expressions that cannot work."""

import re
from collections.abc import Iterable, Iterator, Mapping

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.languages.classic.validation.rule_parts import is_free, is_query, nodes, texts
from kyvsim.languages.classic.validation.variables import impossible_calls_in, syntax_problem
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

# Context entries that nothing reads.
#
# An entry is loaded when a query names it, so one whose name is nowhere else is never loaded.
# In a rule that computes names (a variable inside a variable) nothing is reported.

_WORD = re.compile(r"\w+")
_NESTED = re.compile(r"\{\{[^{}]*\{\{")


def unread_entries(policy: Policy) -> Iterator[Diagnostic]:
    """KV204: a context entry that is never used in its rule."""
    for rule in policy.rules:
        entries = tuple(_entries(rule.data))
        found = tuple(texts(rule.data)) if entries else ()
        if any(
            ("{{" in text and (is_query(path) or _NESTED.search(text) is not None))
            for path, text in found
        ):
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
                text = f"the context entry `{name}` is never used in the rule"
                yield warn(policy.document, "KV204", text, (*rule.path, *path))


def _places_of_words(found: Iterable[tuple[Path, str]]) -> Mapping[str, list[Path]]:
    """Return the paths of each word of some strings."""
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


# Fixed expressions that are not JMESPath, where Kyverno reads them only when the rule runs.
#
# Those of a rule's own context entries and of variables `{{ }}` are read, and refused, before
# (KV112, KV135).


def unreadable_queries(policy: Policy) -> Iterator[Diagnostic]:
    """KV209: an expression in a loop or target that cannot be parsed: the rule ends in error."""
    for rule in policy.rules:
        for path, query in _queries(rule.data):
            problem = syntax_problem(query)
            if problem:
                message = f"`{query}` is not valid JMESPath: {problem}"
                yield warn(policy.document, "KV209", message, (*rule.path, *path))


def _queries(rule: Json) -> Iterator[tuple[Path, str]]:
    """Yield the fixed expressions of a rule that no check has read, with their paths."""
    for path, text in texts(rule):
        if is_query(path) and path[0] != "context" and text.strip() and "{{" not in text:
            yield path, text.strip()


# Calls of JMESPath functions that can only fail.
#
# To Kyverno these are errors of evaluation: the policy is accepted, and the rule ends in error.
#
# Source of the rules: upstream kyverno/go-jmespath `functions.go`, CallFunction


def impossible_calls(policy: Policy) -> Iterator[Diagnostic]:
    """KV205: a function that does not exist, or a call with a number of arguments it never takes.

    Fixed expressions are checked everywhere; those with variables are not.
    """
    for rule in policy.rules:
        for problem, path in impossible_calls_in(rule.data):
            yield warn(policy.document, "KV205", problem, (*rule.path, *path))
