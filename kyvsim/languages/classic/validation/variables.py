"""Checks that variables in a policy refer to something that exists and is allowed there.

Valid are the request, function calls, context entries, and other texts of the rule; the user who
sends a request is unknown in background mode.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import TypeAlias

from kyvsim.engine.match import criteria_of
from kyvsim.jmespath.query import impossible_calls, note_on_syntax, with_quoted_keys
from kyvsim.jmespath.variables import VARIABLE, note_on_cut, remains_of
from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.objects import Json, Path, contains_text, found_at, path_text, without
from kyvsim.kubernetes.wildcard import OPERATORS, matches
from kyvsim.languages.classic.validation.rule_parts import (
    RuleUnderCheck,
    marked_texts,
    rules_under_check,
    syntax_problem,
    validation_error,
)
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change, likely, string_at
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document
from kyvsim.policy.anchors import parse_anchor
from kyvsim.policy.autogen import REFERENCE
from kyvsim.policy.rule import RuleNode
from kyvsim.policy.tree import ConfigMapEntry, ContextEntry
from kyvsim.policy.visit import Text, TextKind


def expression_of(variable: str) -> str:
    """Return the expression in a variable, without braces and without a leading `-`."""
    text = variable.replace("{{", "").replace("}}", "").strip()
    return text[1:].strip() if text.startswith("-") else text


def impossible_calls_in(found: Iterable[Text]) -> Iterator[tuple[str, Path]]:
    """Yield the problems of function calls in strings, with paths."""
    for path, text, kind in found:
        if "(" not in text or kind is TextKind.CEL:
            continue
        expressions = [text] if kind is TextKind.QUERY else []
        if "{{" in text:
            expressions = [expression_of(variable) for _, variable in VARIABLE.findall(text)]
        for expression in expressions:
            for problem in impossible_calls(expression):
                yield problem, path


# upstream: pkg/engine/variables/vars.go, substituteReferencesIfAny


def pointer(path: Path) -> str:
    """Return a path as upstream writes it when it traverses data."""
    return "".join("/" + str(step).replace("/", "\\/") for step in path)


def _reference_problem(data: object, reference: str, path: Path) -> str:
    """Return why a reference in the string at `path` cannot be resolved in `data`, or ""."""
    place = pointer(path)
    target = reference.strip("$()")
    comparison = next(sign for sign in OPERATORS if target.startswith(sign))
    if len(target) < 2:
        comparison = ""
    target = target.removeprefix(comparison)
    if not target:
        return (
            f"failed to resolve {reference} at path {place}: expected path, found empty reference"
        )
    if not target.startswith("/"):
        target = posixpath.join(place or "/", target) if place else target
    value = _value_at(data, posixpath.normpath(target))
    if comparison:
        if value.__class__ in {str, int, float}:
            return ""
        return (
            f"failed to resolve {reference} at path {place}: incorrect expression: operator"
            f" {comparison} does not match with value {sprint(value)}"
        )
    if value is None:
        return f"got nil resolved variable {reference} at path {place}: <nil>"
    if value.__class__ is not str:
        return f"NotResolvedReferenceErr,reference {reference} not resolved at path {place}"
    return ""


def _value_at(data: object, target: str) -> Json:
    """Return the leaf at a path without anchors, some key of a mapping there, or None."""
    values: list[tuple[object, list[str]]] = [(data, [])]
    found: object = None
    while values:
        value, steps = values.pop()
        if value.__class__ is dict:
            children = []
            for key, child in value.items():
                anchor = parse_anchor(key)
                step = (anchor.key if anchor else key).replace("/", "\\/")
                children.append((child, [*steps, step]))
        elif value.__class__ is list:
            children = [(child, [*steps, str(index)]) for index, child in enumerate(value)]
        else:
            children = []
        if "/" + "/".join(steps) == target and value.__class__ is not list:
            found = next(iter(value), None) if value.__class__ is dict else value
        values.extend(child for child in children if target.startswith("/" + child[1][0]))
    return found


# upstream: pkg/validation/policy/validate.go (hasInvalidVariables),
# pkg/engine/context/mock_context.go

_INVALID = "policy contains invalid variables: "
_CALL = r"([a-z_0-9]+\()[^{}]"
_MOST_ROUNDS = 64
"""The maximum rounds of replacing nested variables; deeper nesting does not occur."""


_Allowed: TypeAlias = tuple[str, tuple[str, ...]]
"""Allowed variables: a regular expression that they contain, or patterns of whole variables."""


@cache
def _form(background: bool, target: bool) -> str:
    """Return upstream's expression for allowed variables, in background mode and in targets."""
    if not background and not target:
        keys = "request|serviceAccountName|serviceAccountNamespace"
        return rf"{keys}|element|elementIndex|@|images|image|{_CALL}"
    user = "" if background else "|serviceAccountName|serviceAccountNamespace"
    own = r"|target\." if target else ""
    return rf"request\.{user}|element|elementIndex|@|images|images\.|image\.{own}|{_CALL}"


@lru_cache(maxsize=8)
def _words_in(expression: str) -> tuple[str, ...]:
    """Return the plain alternatives of an expression: most variables contain one."""
    return tuple(one.replace("\\.", ".") for one in expression.split("|") if one not in {"", _CALL})


def check_variables(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every variable and every reference in a rule can be resolved."""
    for message, path in invalid_variables(subject, background=subject.policy.background):
        rule = subject.rule.tree
        cut = _note_on_cut(rule.data, path) if "\ufffd" in message else ""
        note = cut or _note(rule.data, path) or _note_on_name(rule, message)
        place = (*subject.rule.path, *path)
        error = subject.error(place, "KV146" if cut else "KV112", _INVALID + message)
        fix = fix_of_keys(subject.policy.document, place)
        yield error._replace(excerpt=(note,) if note else (), fix=fix)


def fix_of_keys(document: Document, path: Path) -> Fix | None:
    """Return the fix of keys without quotes in the JMESPath at a path; None if there are none."""
    text = new = string_at(document, path)
    for one in {variable for _, variable in VARIABLE.findall(text)} or {text}:
        if syntax_problem(expression_of(one)):
            new = new.replace(one, with_quoted_keys(one))
    changes = (change(document, ChangeKind.VALUE, path, new),)
    return Fix("add quotes", changes) if new != text else None


def _note_on_cut(data: object, path: Path) -> str:
    """Return a note if a variable follows a non-ASCII character, or ""."""
    texts = (text for place, text in marked_texts(data) if place == path)
    return next(filter(None, map(note_on_cut, texts)), "")


_HELM = "{{`"
_HELM_NOTE = "note: this is an unrendered Helm template: pass the output of `helm template`"


def _note(data: object, path: Path) -> str:
    """Return how to fix the string at a path that cannot be read, or ""."""
    for place, text in marked_texts(data):
        if place == path:
            if _HELM in text:
                return _HELM_NOTE
            variables = (expression_of(variable) for _, variable in VARIABLE.findall(text))
            return next((note_on_syntax(one) for one in variables if syntax_problem(one)), "")
    return ""


_UNKNOWN_NAME = r": variable [^\w ]*(?P<name>\w+).* must match regex "


_ACCOUNT = ("serviceAccountName", "serviceAccountNamespace")


def _note_on_name(rule: RuleNode, message: str) -> str:
    """Return how to provide the name with which a forbidden variable begins, or ""."""
    found = re.search(_UNKNOWN_NAME, message)
    if found is None:
        return ""
    name = found["name"]
    if name in _ACCOUNT:
        return f"note: background scans know no user: set `background: false` to read `{name}`"
    if name in {"object", "oldObject", "operation", "userInfo"}:
        return f"note: write `request.{name}`"
    if name == "target":
        return "note: only rules with `mutate.targets` have a `target`"
    entries = {one.name: one for one in _entries(rule)}
    if isinstance(entries.get(name), ConfigMapEntry):
        return f"note: the values of a ConfigMap are in `{name}.data`"
    if name in entries or name == "request":
        return ""
    hint = likely(name, (*entries, "request", "element", "images", *_ACCOUNT))
    return f"note: there is no `{name}`{hint or ': add a `context` entry with this name'}"


def invalid_variables(subject: RuleUnderCheck, *, background: bool) -> Iterator[tuple[str, Path]]:
    """Yield the problems of variables in a rule, with paths."""
    rule = subject.rule.tree
    # Data that are only known from attestations are left out.
    data: Json = rule.data
    for image in rule.verify_images or ():
        for one in image.attestations:
            if one.conditions is not None:
                data = without(data, one.conditions.path[len(rule.path) :])
    targets = rule.mutate.targets if rule.mutate else None
    for index, target in enumerate(targets or ()):
        outer = {name: data[name] for name in ("context", "preconditions") if name in data}
        allowed = _form(background, False), _names(rule.context)
        place = target.path[len(rule.path) :]
        written = found_at(data, place)
        fields = ("apiVersion", "kind", "namespace", "name", "uid", "selector")
        own = {name: written.get(name) for name in fields}
        for message, path in (*_problems(outer, allowed), *_problems(own, allowed, place)):
            yield f"invalid variables defined at mutate.targets[{index}]: {message}", path
    found = list(_names(_entries(rule)))
    images = rule.verify_images or ()
    if any(image.validate for image in images):
        found += [f"{one.name}*" for image in images for one in image.attestations]
    allowed = _form(background, targets is not None), tuple(found)
    for message, path in _problems(data, allowed):
        yield f"variable substitution failed for rule {subject.rule.name}: {message}", path


def _entries(rule: RuleNode) -> Iterator[ContextEntry]:
    """Yield the context entries of a rule, its loops and targets, but not of nested loops."""
    yield from rule.context
    for section in (rule.validate, rule.mutate, rule.generate):
        for loop in (section and section.foreach) or ():
            yield from loop.context
    for target in (rule.mutate and rule.mutate.targets) or ():
        yield from target.context


def invalid_cleanup_variables(conditions: object) -> Iterator[tuple[str, Path, str]]:
    """Yield the problems of variables in a cleanup policy's conditions, with paths and notes.

    upstream: pkg/validation/cleanuppolicy/validate.go
    """
    form = rf"([a-z_0-9]+)|(target\.|images\.|{_CALL})"
    for message, path in _problems(conditions, (form, ())):
        yield message, path, _note_on_cut(conditions, path) or _note(conditions, path)


def unreadable_variables(data: object) -> Iterator[tuple[str, Path, str]]:
    """Yield why variables in data are not JMESPath, the paths of their texts, and notes."""
    for path, text in marked_texts(data):
        problem = _unreadable(text) if "{{" in text else ""
        if problem:
            yield problem, path, note_on_cut(text) or note_on_syntax(text)


def _unreadable(text: str) -> str:
    """Return why the first unreadable variable of a text cannot be read, or ""."""
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


def _names(entries: Iterable[ContextEntry]) -> tuple[str, ...]:
    of_config_map = (".data", ".metadata", ".data.*", ".metadata.*")
    return tuple(
        entry.name + end
        for entry in entries
        for end in (of_config_map if isinstance(entry, ConfigMapEntry) else ("*",))
    )


def _problems(data: object, allowed: _Allowed, base: Path = ()) -> Iterator[tuple[str, Path]]:
    found = tuple(marked_texts(data))
    for path, text in found:
        for reference in REFERENCE.finditer(text) if "$(" in text else ():
            message = _reference_problem(data, remains_of(reference[1]) + reference[2], path)
            if message:
                yield message, (*base, *path)
    for path, text in found:
        message = _problem(text, (*base, *path), allowed) if "{{" in text else ""
        if message:
            yield message, (*base, *path)


def _problem(text: str, path: Path, allowed: _Allowed) -> str:
    """Return the problem of the first invalid variable in a text, or "".

    Nested variables are null, as when upstream tests the rule without data.
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


def _query_problem(expression: str, allowed: _Allowed, path: Path) -> str:
    """Return why an expression is not allowed in a variable, or ""."""
    if expression == "@":
        return ""
    place = f"failed to resolve {expression} at path {pointer(path)}: "
    if not expression:
        return f"{place}invalid query (nil)"
    syntax = syntax_problem(expression)
    if syntax:
        return f"{place}invalid JMESPath query {expression}: {syntax}"
    bare = expression.replace('"', "")
    form, patterns = allowed
    if (
        any(word in bare for word in _words_in(form))
        or re.search(form, bare)
        or any(matches(pattern, bare) for pattern in patterns)
    ):
        return ""
    return f'variable {bare} must match regex "{form}" or patterns [{" ".join(patterns)}]'


# upstream: pkg/engine/variables/vars.go, validateElementInForEach


def check_elements(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """`element` is not used outside of `foreach`."""
    data = subject.rule.tree.data
    if not contains_text(data, "element"):
        return
    for path, text in marked_texts(data):
        if "{{" not in text or "/foreach/" in pointer(path):
            continue
        for found in VARIABLE.finditer(text):
            expression = expression_of(remains_of(found[1]) + found[2])
            if expression.startswith("element"):
                place = pointer(path)
                message = f"variable '{expression}' present outside of foreach at path {place}"
                error = subject.error((*subject.rule.path, *path), "KV134", message)
                is_message = path == ("validate", "message") and "foreach" in data["validate"]
                yield error._replace(excerpt=(_MESSAGE_NOTE,)) if is_message else error


_MESSAGE_NOTE = (
    "note: the message is that of all elements: name an element in the `message` of a condition "
    "of `deny`"
)


# Source of the rules: upstream pkg/validation/policy/background.go

_ABOUT_USERS = (
    "serviceAccountName",
    "serviceAccountNamespace",
    "request.userInfo",
    "request.roles",
    "request.clusterRoles",
)
"""As in upstream: a dot matches any character."""
_FORBIDDEN = rf"(?a)[^.]({'|'.join(_ABOUT_USERS)})\b"
_LAST_WORDS = tuple(one.rpartition(".")[2] for one in _ABOUT_USERS)


def check_user_variables(policy: Policy) -> Iterator[Diagnostic]:
    """A background policy does not depend on the user."""
    if policy.background:
        start = (
            "only select variables are allowed in background mode. Set spec.background=false to"
            " disable background mode for this policy rule: "
        )
        for text, path in user_dependencies(policy):
            yield validation_error(policy, "KV110", f"{start}{text} ", path)


def user_dependencies(policy: Policy) -> Iterator[tuple[str, Path]]:
    """Yield why a policy depends on the user, with the path.

    Variables are allowed if a rule mutates existing resources, match blocks never are.
    """
    for subject in rules_under_check(policy):
        for one in subject.rule.tree.filters:
            fields = (each.field for each in criteria_of(one) if each.without_user)
            if field := next(fields, ""):
                path = (*one.path, field)
                place = path_text(path).replace(".", "/")
                yield f"invalid variable used at path: {place}", path
    mutations = filter(None, (rule.tree.mutate for rule in policy.rules))
    if any(mutation.targets is not None for mutation in mutations):
        return
    if not any(contains_text(data, *_LAST_WORDS) for data in (policy.annotations, policy.spec)):
        return
    for path, variable in variables_of(policy):
        if any(one in variable for one in _LAST_WORDS) and re.search(_FORBIDDEN, variable):
            yield f"variable {variable} is not allowed", path


def variables_of(policy: Policy) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every variable in a policy, without the last applied configuration."""
    last_applied = "kubectl.kubernetes.io/last-applied-configuration"
    for path, text in (
        *marked_texts(policy.annotations, ("metadata", "annotations")),
        *marked_texts(policy.spec, ("spec",)),
    ):
        if "{{" in text and path[-1] != last_applied:
            for found in VARIABLE.finditer(text):
                yield path, found[2]


def check_update_variables(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """If a rule mutates existing resources on updates, no rule depends on the request's user.

    Background policies were checked before.
    upstream: pkg/validation/policy/validate.go, ValidateOnPolicyUpdate
    """
    mutate = subject.rule.tree.mutate
    if mutate is None or "mutate" not in subject.rule.tree.operations:
        return
    on_update = mutate.mutate_existing_on_policy_update
    if on_update is None:
        on_update = subject.policy.tree.mutate_existing_on_policy_update
    if subject.policy.background or not on_update:
        return
    if next(variables_of(subject.policy), None) is None:
        return
    for other in rules_under_check(subject.policy):
        for message, path in invalid_variables(other, background=True):
            text = f"update event, policy contains invalid variables: {message}"
            yield other.error((*other.rule.path, *path), "KV143", text)
    start = (
        "only select variables are allowed in on policy update. Set"
        " spec.mutateExistingOnPolicyUpdate=false to disable update policy mode for this policy"
        " rule: "
    )
    for message, path in user_dependencies(subject.policy):
        yield subject.error(path, "KV143", f"{start}{message} ")
