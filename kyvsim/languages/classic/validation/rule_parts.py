"""Code shared by checks of rules, and the checks of their conditions and context entries.

upstream: pkg/validation/policy/validate.go
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kyvsim.engine.conditions import operators
from kyvsim.jmespath.parse import QuerySyntaxError, parse
from kyvsim.jmespath.query import note_on_syntax
from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import Json, Path, contains_text
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, Severity, change, slips_for
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.release import Release
from kyvsim.model.request import OPERATIONS
from kyvsim.policy.read import CONTEXT_SOURCES
from kyvsim.policy.rule import ForEachMutation, ForEachValidation, RuleNode
from kyvsim.policy.tree import (
    ApiCallEntry,
    Condition,
    Conditions,
    ConfigMapEntry,
    ContextEntry,
    GlobalReferenceEntry,
    ImageRegistryEntry,
    VariableEntry,
)
from kyvsim.policy.visit import written_at
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_one

PolicyCheck: TypeAlias = Callable[[Policy], Iterator[Diagnostic]]


class RuleUnderCheck(NamedTuple):
    """One rule of a policy, and its index."""

    policy: Policy
    rule: Rule
    position: int

    @property
    def text_path(self) -> str:
        """The rule's path as upstream writes it."""
        return f"spec.rules[{self.position}]"

    def error(self, path: Path, code: str, message: str) -> Diagnostic:
        """Return an error at `path` in the document."""
        return validation_error(self.policy, code, message, path)


_MARKS = ("{{", "$(")
"""The beginnings of variables and references."""
_ASKED_LEVELS = 6
"""Maximum depth at which subtrees are first searched for variables and skipped if there are none.

The search reads the whole subtree.
"""
_HOLDERS = frozenset({dict, list})

RuleCheck: TypeAlias = Callable[[RuleUnderCheck], Iterator[Diagnostic]]


def validation_error(policy: Policy, code: str, message: str, path: Path = ()) -> Diagnostic:
    """Return an error at `path` in the policy's document."""
    return Diagnostic(code, Severity.ERROR, message, policy.document.locate(path))


def rules_under_check(policy: Policy) -> Iterator[RuleUnderCheck]:
    """Yield every rule of a policy with its index."""
    for index, rule in enumerate(policy.rules):
        yield RuleUnderCheck(policy, rule, index)


def each_rule(*checks: RuleCheck) -> PolicyCheck:
    """Return a check that runs `checks` on each rule."""

    def check(policy: Policy) -> Iterator[Diagnostic]:
        for subject in rules_under_check(policy):
            for rule_check in checks:
                yield from rule_check(subject)

    return check


def marked_texts(data: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every key and text value with a variable or a reference in it.

    A key has its mapping's path. Iterates without recursion: documents may be deep.
    """
    pending: list[tuple[Path, object]] = [(path, data)] if contains_text(data, *_MARKS) else []
    while pending:
        place, value = pending.pop()
        if value.__class__ is str and _is_marked(value):
            yield place, value
        elif value.__class__ is dict:
            yield from [(place, key) for key in value if _is_marked(key)]
            pending += _children(place, value.items())
        elif value.__class__ is list:
            pending += _children(place, enumerate(value))


def _children(place: Path, items: Iterable[tuple[str | int, object]]) -> list[tuple[Path, Json]]:
    """Return the items that are or may contain marked texts, in reverse order."""
    asked = len(place) < _ASKED_LEVELS
    found = [
        ((*place, step), child)
        for step, child in items
        if (_is_marked(child) if child.__class__ is str else child.__class__ in _HOLDERS)
        and (not asked or contains_text(child, *_MARKS))
    ]
    found.reverse()
    return found


def _is_marked(text: str) -> bool:
    return "{{" in text or "$(" in text


def is_open(data: object) -> bool:
    """Return whether there are variables or references in data."""
    return contains_text(data, *_MARKS)


def patch_paths(patch: str) -> list[str]:
    """Return the path of each operation of a JSON patch, "" without one; a broken one has none."""
    return [path for _, path in patch_operations(patch)]


@lru_cache(maxsize=128)
def operations_of(patch: str) -> list[Mapping[str, Json]]:
    """Return the operations of a JSON patch; none if it cannot be read."""
    try:
        operations: object = load_one(patch)
    except YamlError:
        return []
    return [
        operation if isinstance(operation, dict) else {}
        for operation in (operations if isinstance(operations, list) else ())
    ]


def patch_operations(patch: str) -> list[tuple[str, str]]:
    """Return name and path of each operation of a JSON patch, "" for missing ones."""
    fields = [(operation.get("op"), operation.get("path")) for operation in operations_of(patch)]
    return [
        (op if isinstance(op, str) else "", path if isinstance(path, str) else "")
        for op, path in fields
    ]


PLAIN_VARIABLE = re.compile(r"\{\{[^{}]*\}\}")
"""A variable without nested braces, escaped or not."""


def mask_variables(text: str, replacement: str) -> str:
    """Return `text` with every variable replaced."""
    return VARIABLE.sub(lambda found: found[1] + replacement, text) if "{{" in text else text


@lru_cache(maxsize=1024)
def syntax_problem(expression: str) -> str:
    """Return why an expression cannot be parsed, or ""."""
    try:
        parse(expression)
    except QuerySyntaxError as error:
        return error.message
    return ""


# Source of the rules: upstream pkg/validation/policy/validate.go

_MISSING = "entered value of `key`, `value` or `operator` is missing or misspelled"


def check_conditions(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every condition of a rule has key, value and operator, and the operator is known."""
    rule = subject.rule.tree
    found = [
        (f"{name}{text}", path)
        for name, block in _blocks(rule)
        for text, path in _problems(block, _condition_problem)
    ]
    for section, loop in _loops(rule):
        denied = loop.deny and loop.deny.conditions if isinstance(loop, ForEachValidation) else None
        for name, block in (("conditions", loop.preconditions), ("deny.conditions", denied)):
            for text, path in _problems(block, _operator_problem):
                found.append((f"{section}.foreach.{name}{text}", path))
    for index, target in enumerate((rule.mutate and rule.mutate.targets) or ()):
        block = target.preconditions
        if block and block.problem:
            found.append((f"mutate.targets[{index}].preconditions: {block.problem}", block.path))
    for text, path in found:
        error = subject.error(path, "KV133", f"path: {subject.text_path}.{text}")
        written = written_at(rule, path)
        if written.__class__ is not dict:
            yield error
        elif not {"any", "all"}.isdisjoint(written):
            note = "`any` and `all` do not contain each other: write one level, side by side"
            yield error._replace(excerpt=(f"note: {note}",))
        elif "`operator` is invalid" in text and (meant := _operator_meant(written)):
            place, given = (*path, "operator"), str(written["operator"])
            changed = change(subject.policy.document, ChangeKind.VALUE, place, meant)
            # `Contains` of other languages has several meanings.
            fix = None if given.endswith("Contains") else Fix(f"use {meant}", (changed,))
            yield error._replace(excerpt=(f"note: write `{meant}`",), fix=fix)
        else:
            yield error


def _operator_meant(condition: Json) -> str:
    """Return the operator that is meant by an unknown one, or ""."""
    given = str(condition.get("operator"))
    slips = slips_for(given, operators)
    return slips[0] if len(slips) == 1 else _OPERATORS.get(given, "")


_OPERATORS: Mapping[str, str] = {
    "=": "Equals",
    "==": "Equals",
    "!=": "NotEquals",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEquals",
    "<": "LessThan",
    "<=": "LessThanOrEquals",
    "Contains": "AnyIn",
    "NotContains": "AllNotIn",
}
"""Operators of other languages, with those of conditions."""


def _blocks(rule: RuleNode) -> Iterator[tuple[str, Conditions | None]]:
    """Yield upstream's name for the path of a block, and the block."""
    yield "validate.preconditions", rule.preconditions
    if rule.validate and rule.validate.deny:
        yield "validate.deny.conditions", rule.validate.deny.conditions
    for image in rule.verify_images or ():
        if image.validate and image.validate.deny:
            yield "imageVerify.validate.deny.conditions", image.validate.deny.conditions
        for attestation in image.attestations:
            for group in attestation.conditions.groups if attestation.conditions else ():
                if not group.is_bare:
                    block = Conditions(group.path, (group,))
                    yield "verifyImages.attestations.conditions", block


def _loops(rule: RuleNode) -> Iterator[tuple[str, ForEachValidation | ForEachMutation]]:
    """Yield the loops of a rule, nested ones too, with their section."""
    for name, section in (("validate", rule.validate), ("mutate", rule.mutate)):
        yield from ((name, loop) for loop in _nested((section and section.foreach) or ()))


def _nested(
    loops: Iterable[ForEachValidation | ForEachMutation],
) -> Iterator[ForEachValidation | ForEachMutation]:
    """Yield loops, each before its nested loops."""
    for loop in loops:
        yield loop
        yield from _nested(loop.foreach or ())


def _problems(
    block: Conditions | None, problem_of: Callable[[Condition], tuple[str, str]]
) -> Iterator[tuple[str, Path]]:
    """Yield the problems in a block, each as upstream's path with the reason, and our path."""
    if block is None:
        return
    if block.problem:
        yield f": {block.problem}", block.path
        return
    for condition in _listed(block):
        where, reason = problem_of(condition)
        if reason:
            *names, index = condition.path[len(block.path) :]
            place = "".join(f".{name}" for name in names)
            field = where.partition(":")[0].partition("[")[0]
            path = (*condition.path, field) if field else condition.path
            yield f"{place}[{index}].{where}: {reason}", path


def _listed(block: Conditions) -> Iterable[Condition]:
    """Return conditions as upstream checks them: groups in a list are conditions without fields."""
    if not block.is_list:
        return block.conditions
    return (
        group.conditions[0] if group.is_bare else Condition(group.path, None, "", None, "")
        for group in block.groups
    )


def _condition_problem(condition: Condition) -> tuple[str, str]:
    """Return upstream's path below a condition, and its problem; ("", "") if it is valid."""
    key, value = condition.key, condition.value
    if key is None or value is None or not condition.operator:
        return "", _MISSING
    found = ("", "")
    if key.__class__ is str and key.replace(" ", "") == "{{request.operation}}":
        found = _request_problem(value)
    return found if found[1] else _operator_problem(condition)


def _operator_problem(condition: Condition) -> tuple[str, str]:
    if condition.operator in operators:
        return "", ""
    listed = " ".join(map(quote, operators))
    return "", f"entered value of `operator` is invalid. valid values: [{listed}]"


def _request_problem(value: object) -> tuple[str, str]:
    """Return the path and the reason why a value is not an operation of a request."""
    entries: list[tuple[str, object]] = []
    if value.__class__ is list:
        entries = [(f"value[{index}]", entry) for index, entry in enumerate(value)]
    elif value.__class__ is not str:
        text = (
            "'value' field is expected to be either in the form of a string or list, to compare it"
            " with the operation"
        )
        return "value", text
    elif not (value.startswith("{{") and value.endswith("}}")):
        entries = [(f"value: {value}", value)]
    for where, entry in entries:
        if entry.__class__ is not str:
            return where, f"'{where}' is expected to be a string"
        if entry not in OPERATIONS:
            return where, (
                f"unknown value '{entry}' found under the 'value' field. Only the following values"
                " are allowed: [CREATE, UPDATE, DELETE, CONNECT]"
            )
    return "", ""


# upstream: pkg/validation/policy/validate.go, validateRuleContext

_RESERVED = (
    "images",
    "request",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
)
_MASK = "kyvernojmespathvariable"


def context_check(release: Release) -> RuleCheck:
    """Return the check that every context entry of a rule can be loaded; not those of loops."""

    def check_context(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
        is_namespaced = subject.policy.kind == "Policy"
        confined = release.global_context_problem("globalReference", namespaced=is_namespaced)
        return _context_problems(subject, confined)

    return check_context


def _context_problems(subject: RuleUnderCheck, confined: str) -> Iterator[Diagnostic]:
    entries = subject.rule.tree.context
    validate = subject.rule.tree.validate
    if entries and validate and validate.cel and any(validate.cel[1:]):
        text = "context variables are not supported for CEL expressions in validate rules"
        place = (*subject.rule.path, "context")
        yield subject.error(place, "KV135", f"path: {subject.text_path}: {text}")
        return
    for entry in entries:
        reason = _name_problem(entry.name) or _source_problem(entry, confined)
        if reason:
            text = f"path: {subject.text_path}: {reason}"
            path, note = entry.path, ""
            if "SyntaxError" in text:
                written = written_at(subject.rule.tree, entry.path)
                path = (*path, next(one for one in CONTEXT_SOURCES if written.get(one)), "jmesPath")
                note = note_on_syntax(text)
            error = subject.error(path, "KV135", text)
            yield error._replace(excerpt=(note,)) if note else error


def check_image_extractors(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Digests of extracted images are mutated only if no extractor uses JMESPath."""
    tree = subject.rule.tree
    extractors = (one for group in tree.image_extractors or () for one in group.extractors)
    is_computed = any(one.jmes_path for one in extractors)
    if is_computed and any(image.mutate_digest for image in tree.verify_images or ()):
        text = (
            "jmespath may not be used in an image extractor when mutating digests with verify"
            " images"
        )
        place = (*tree.path, "imageExtractors")
        yield subject.error(place, "KV136", f"path: {subject.text_path}: {text}")


def _name_problem(name: str) -> str:
    if not name:
        return "a name is required for context entries"
    taken = (one for one in _RESERVED if name == one or name.startswith(f"{one}."))
    start = f"entry name {name} is invalid as it conflicts with a pre-defined variable"
    return next((f"{start} {one}" for one in taken), "")


def _source_problem(entry: ContextEntry, confined: str) -> str:
    match entry:
        case VariableEntry():
            return _variable_problem(entry)
        case ConfigMapEntry():
            if not entry.config_map_name:
                return "a name is required for configMap context entry"
            if not entry.config_map_namespace:
                return "a namespace is required for configMap context entry"
            return ""
        case ApiCallEntry() if entry.url_path and entry.service is not None:
            return "a URLPath cannot be used for service API calls"
        case GlobalReferenceEntry() if confined:
            return confined
        case GlobalReferenceEntry() if not entry.reference:
            return "a name is required for globalReference context entry"
        case ImageRegistryEntry():
            return _image_problem(entry.reference) or _query_problem(entry.jmes_path)
    return _query_problem(entry.jmes_path)


def _image_problem(reference: str) -> str:
    """Return why an image reference is invalid; one with variables is not checked."""
    if not reference:
        return "a ref is required for imageRegistry context entry"
    if _MASK in mask_variables(reference, _MASK):
        return ""
    try:
        parse_image(reference)
    except ValueError as error:
        return f"bad image: {reference}: {str(error).rpartition(': ')[2]}"
    return ""


def _variable_problem(entry: VariableEntry) -> str:
    problem = _query_problem(entry.jmes_path)
    if problem:
        return problem
    if entry.value is None and not entry.jmes_path:
        return "a variable must define a value or a jmesPath expression"
    if entry.default is not None and not entry.jmes_path:
        return "a variable must define a default value only when a jmesPath expression is defined"
    return ""


def _query_problem(query: str) -> str:
    """Return why an expression cannot be parsed; expressions with variables are not checked."""
    if not query or _MASK in mask_variables(query, _MASK):
        return ""
    syntax = syntax_problem(query)
    return f"failed to parse JMESPath {query}: {syntax}" if syntax else ""
