"""Variables name something that will exist: the request, a function's result, a context entry.

upstream: pkg/validation/policy/validate.go (hasInvalidVariables),
pkg/engine/context/mock_context.go
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from kyvsim.expr.errors import QuerySyntaxError
from kyvsim.expr.parse import parse
from kyvsim.expr.variables import VARIABLE, note_on_cut, remains_of
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import matches
from kyvsim.languages.classic.checks.references import broken_references, pointer
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck, marked_texts
from kyvsim.languages.classic.checks.variable_text import expression_of
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Path

_INVALID = "policy contains invalid variables: "
_CALL = r"([a-z_0-9]+\()[^{}]"
_MOST_ROUNDS = 64
"""How often variables inside variables are replaced; deeper ones do not occur."""


class _Allowed(NamedTuple):
    """What variables may name: an expression found anywhere in them, or patterns for the whole."""

    expression: str
    patterns: tuple[str, ...]


@cache
def _expression(background: bool, target: bool) -> str:
    """Return what upstream lets pass; without background and target its reserved keys."""
    if not background and not target:
        return (
            "request|serviceAccountName|serviceAccountNamespace"
            rf"|element|elementIndex|@|images|image|{_CALL}"
        )
    user = "" if background else "|serviceAccountName|serviceAccountNamespace"
    own = r"|target\." if target else ""
    return rf"request\.{user}|element|elementIndex|@|images|images\.|image\.{own}|{_CALL}"


@lru_cache(maxsize=8)
def _words_in(expression: str) -> tuple[str, ...]:
    """Return the alternatives of an expression that are plain words: most variables have one."""
    return tuple(one.replace("\\.", ".") for one in expression.split("|") if one not in {"", _CALL})


def check_variables(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every variable and every reference in a rule leads somewhere."""
    for message, path in invalid_variables(subject, background=subject.policy.background):
        note = _note_on_cut(subject.data, path) if "\ufffd" in message else ""
        if note:
            yield subject.refuse("KV146", _INVALID + message, path)._replace(excerpt=(note,))
        else:
            yield subject.refuse("KV112", _INVALID + message, path)


def _note_on_cut(data: Json, path: Path) -> str:
    """Return what helps where a variable follows a character beyond ASCII, or ""."""
    texts = (text for place, text in marked_texts(data) if place == path)
    return next(filter(None, map(note_on_cut, texts)), "")


def invalid_variables(subject: RuleUnderCheck, *, background: bool) -> Iterator[tuple[str, Path]]:
    """Yield what is wrong with variables of a rule, and where in the rule."""
    data = _without_attestation_conditions(subject.data)
    targets = data.get("mutate", {}).get("targets")
    if targets is not None:
        outer = {name: data[name] for name in ("context", "preconditions") if name in data}
        allowed = _Allowed(_expression(background, False), _names(outer.get("context", ())))
        for index, target in enumerate(targets):
            own = {name: target.get(name) for name in _TARGET_FIELDS}
            place = ("mutate", "targets", index)
            for message, path in (*_problems(outer, allowed), *_problems(own, allowed, place)):
                yield f"invalid variables defined at mutate.targets[{index}]: {message}", path
    allowed = _Allowed(_expression(background, targets is not None), _patterns(data))
    for message, path in _problems(data, allowed):
        yield f"variable substitution failed for rule {subject.rule.name}: {message}", path


_OF_CLEANUP = _Allowed(rf"([a-z_0-9]+)|(target\.|images\.|{_CALL})", ())
"""upstream: pkg/validation/cleanuppolicy/validate.go"""


def invalid_cleanup_variables(conditions: Json) -> Iterator[tuple[str, Path, str]]:
    """Yield what is wrong with variables of a cleanup policy's conditions, where, and a note."""
    for message, path in _problems(conditions, _OF_CLEANUP):
        yield message, path, _note_on_cut(conditions, path)


def unreadable_variables(data: Json) -> Iterator[tuple[str, Path, str]]:
    """Yield why a variable in data is not JMESPath, where its text is, and what helps there."""
    for path, text in marked_texts(data):
        problem = _unreadable(text) if "{{" in text else ""
        if problem:
            yield problem, path, note_on_cut(text)


def _unreadable(text: str) -> str:
    """Return why the first variable of a text that cannot be read cannot, or ""."""
    for _ in range(_MOST_ROUNDS):
        found = VARIABLE.findall(text)
        for before, variable in found:
            expression = expression_of(remains_of(before) + variable)
            problem = syntax_problem(expression) if expression != "@" else ""
            if problem:
                return f"`{expression}` is not JMESPath: {problem}"
            text = text.replace(before + variable, before + "null", 1)
        if not found:
            break
    return ""


_TARGET_FIELDS = ("apiVersion", "kind", "namespace", "name", "uid", "selector")


def _without_attestation_conditions(data: Json) -> Json:
    """Return the rule without what is only known from attestations."""
    images = data.get("verifyImages")
    if not images:
        return data
    cleaned = [
        {
            **image,
            "attestations": [
                {name: value for name, value in entry.items() if name != "conditions"}
                for entry in image.get("attestations", ())
            ],
        }
        for image in images
    ]
    return {**data, "verifyImages": cleaned}


def _patterns(data: Json) -> tuple[str, ...]:
    """Return patterns for the names that a rule's context entries and attestations define."""
    entries = [*data.get("context", ())]
    for operation in ("validate", "mutate", "generate"):
        body = data.get(operation, {})
        for loop in (*body.get("foreach", ()), *body.get("targets", ())):
            entries += loop.get("context", ())
    found = list(_names(entries))
    images = data.get("verifyImages", ())
    if any(image.get("validate") for image in images):
        found += [
            f"{entry.get('name', '')}*" for image in images for entry in image["attestations"]
        ]
    return tuple(found)


def _names(entries: Iterable[Json]) -> tuple[str, ...]:
    found = []
    for entry in entries:
        name = entry["name"]
        if "configMap" in entry:
            parts = ("data", "metadata", "data.*", "metadata.*")
            found += [f"{name}.{part}" for part in parts]
        else:
            found.append(f"{name}*")
    return tuple(found)


def _problems(data: Json, allowed: _Allowed, base: Path = ()) -> Iterator[tuple[str, Path]]:
    found = tuple(marked_texts(data))
    for message, path in broken_references(data, found):
        yield message, (*base, *path)
    for path, text in found:
        message = _problem(text, (*base, *path), allowed) if "{{" in text else ""
        if message:
            yield message, (*base, *path)


def _problem(text: str, path: Path, allowed: _Allowed) -> str:
    """Return what is wrong with the first bad variable in a text, or "".

    Inner variables stand for null, as while upstream tries the rule without data.
    """
    for _ in range(_MOST_ROUNDS):
        found = VARIABLE.findall(text)
        if not found:
            return ""
        for before, variable in found:
            reason = _query_problem(expression_of(remains_of(before) + variable), allowed, path)
            if reason:
                return reason
            if text == variable:
                return ""
            text = text.replace(before + variable, before + "null", 1)
    return ""


@lru_cache(maxsize=64)
def _form(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _query_problem(expression: str, allowed: _Allowed, path: Path) -> str:
    """Return why an expression may not be a variable, or ""."""
    if expression == "@":
        return ""
    place = f"failed to resolve {expression} at path {pointer(path)}: "
    if not expression:
        return f"{place}invalid query (nil)"
    syntax = syntax_problem(expression)
    if syntax:
        return f"{place}invalid JMESPath query {expression}: {syntax}"
    bare = expression.replace('"', "")
    if any(word in bare for word in _words_in(allowed.expression)):
        return ""
    if _form(allowed.expression).search(bare):
        return ""
    if any(matches(pattern, bare) for pattern in allowed.patterns):
        return ""
    listed = " ".join(allowed.patterns)
    return f'variable {bare} must match regex "{allowed.expression}" or patterns [{listed}]'


@lru_cache(maxsize=1024)
def syntax_problem(expression: str) -> str:
    """Return why an expression cannot be parsed, or ""."""
    try:
        parse(expression)
    except QuerySyntaxError as error:
        return error.message
    return ""
