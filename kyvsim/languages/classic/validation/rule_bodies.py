"""Checks that rules have one body, whose patterns, patches and strings are well formed."""

import re
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.go_text import quote, to_json
from kyvsim.kubernetes.objects import Path
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.rule_type import Problem, RuleType, rule_types_of
from kyvsim.languages.classic.validation.rule_parts import (
    PLAIN_VARIABLE,
    RuleUnderCheck,
    marked_texts,
    mask_variables,
    patch_paths,
    validation_error,
)
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change, listed, respelled
from kyvsim.model.policy import Policy
from kyvsim.model.source import place_in_text
from kyvsim.patch.json_patch import OPERATIONS
from kyvsim.policy.anchors import EXISTENCE, IN_VALIDATION
from kyvsim.policy.rule import RuleNode
from kyvsim.policy.tree import PatternEntry, PatternList, PatternMap, PatternNode
from kyvsim.policy.visit import pattern_at, walk
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_one

if TYPE_CHECKING:
    from kyvsim.policy.rule import JsonPatch

# upstream: pkg/policy/mutate/validate.go, pkg/policy/validate/validate.go
_NO_CHECK = "one of pattern, anyPattern, deny, foreach, cel must be specified"
_NO_ASSERTIONS = (
    "note: Kyverno no longer reads `validate.assert`: write a `pattern` or `deny` conditions, or a "
    "ValidatingPolicy"
)
CEL_ONLY = "celPrecondition can only be used with validate.cel"
_NOT_CEL = "note: write `preconditions` in JMESPath, or a policy of `policies.kyverno.io` in CEL"


def check_mutate(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A mutate rule has one patch, or loops with one patch each."""
    rule = subject.rule.tree
    if rule.mutate is None or "mutate" not in rule.operations:
        return
    bodies = _bodies(rule, "mutate")
    loops = any(one.field[-1] == "foreach" for one in bodies)
    problems = (found for one in bodies for found in one.problems(rule))
    where, reason, path = "", "", rule.mutate.path
    if len(bodies) > 1:
        where = "foreach"
        reason = "only one of `patchStrategicMerge` or `patchesJson6902` is allowed"
        if loops:
            path, names = (
                (*path, "foreach"),
                "`foreach`, `patchStrategicMerge`, or `patchesJson6902`",
            )
            reason = f"only one of {names} is allowed"
    elif problem := next(problems, None):
        place, reason = problem
        inside = place[len(path) :]
        path = place
        # upstream's number of a loop continues the count of previous loops
        where = "".join(
            f"{name}[{number}]"
            for name, index in zip(inside[::2], inside[1::2], strict=True)
            for number in range(int(index) + 1)
        )
    elif not loops and _has_foreign_preconditions(rule):
        reason = CEL_ONLY
    if reason:
        error = subject.error(path, "KV137", f"path: {subject.text_path}.mutate.{where}.: {reason}")
        yield error._replace(excerpt=(_NOT_CEL,)) if reason is CEL_ONLY else error


def _bodies(rule: RuleNode, section: str) -> list[RuleType]:
    """Return the mutually exclusive types of which a rule has a body."""
    types = (one for one in rule_types_of(rule) if one.section == section)
    return [one for one in types if one.counts(rule)]


def _has_foreign_preconditions(rule: RuleNode) -> bool:
    """Return whether a rule has preconditions in CEL, but no body that supports them."""
    is_read = any("celPreconditions" in one.fields for one in rule_types_of(rule))
    return rule.cel_preconditions is not None and not is_read


def check_validate(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A validate rule has one body, and so does each of its loops."""
    rule = subject.rule.tree
    if rule.validate is None or "validate" not in rule.operations:
        return
    path = rule.validate.path
    problems: list[Problem] = []
    count = len(_bodies(rule, "validate"))
    if count == 0 and rule.validate.assertion is not None:
        text = f"path: {subject.text_path}.validate..: {_NO_CHECK}"
        yield subject.error(path, "KV138", text)._replace(excerpt=(_NO_ASSERTIONS,))
    elif count == 0:
        problems.append((path, _NO_CHECK))
    if count > 1:
        problems.append(
            (path, "only one of pattern, anyPattern, deny, foreach, cel can be specified")
        )
    for one in rule_types_of(rule):
        if one.section == "validate":
            problems += one.problems(rule)
    if _has_foreign_preconditions(rule):
        problems.append((path, CEL_ONLY))
    for place, reason in problems:
        error = subject.error(place, "KV138", f"path: {subject.text_path}.validate..: {reason}")
        yield error._replace(excerpt=(_NOT_CEL,)) if reason is CEL_ONLY else error


def check_derived_bodies(policy: Policy) -> Iterator[Diagnostic]:
    """An empty `anyPattern` is lost in autogen rules, which then have no body."""
    empty = [
        rule
        for rule in policy.rules
        if rule.tree.validate is not None and rule.tree.validate.any_pattern == ()
    ]
    if not empty:
        return
    computed = compute_rules(policy)
    for rule in empty:
        forms = [one.rule for one in computed.derived if one.rule.path == rule.path]
        if forms:
            text = f"path: spec.rules[{computed.every.index(forms[0])}].validate..: {_NO_CHECK}"
            yield validation_error(policy, "KV138", text, (*rule.path, "validate", "anyPattern"))


# upstream: api/kyverno/v1/rule_types.go, spec_types.go


def check_rule_names(policy: Policy) -> Iterator[Diagnostic]:
    """Rule names are unique."""
    seen = set()
    for index, rule in enumerate(policy.rules):
        if rule.name in seen:
            text = f"spec.rules[{index}].name: Invalid value: Duplicate rule name: '{rule.name}'"
            yield validation_error(policy, "KV120", text, (*rule.path, "name"))
        seen.add(rule.name)


def check_operations(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A rule mutates, validates, generates or verifies images."""
    name = subject.rule.name
    tree, count = subject.rule.tree, len(subject.rule.tree.operations)
    kinds = "mutate,validate,generate,verifyImages"
    if count != 1:
        problem = (
            f"Multiple operations defined in the rule '{name}', only one operation ({kinds}) is "
            "allowed per rule"
            if count
            else f"No operation defined in the rule '{name}'.(supported operations: {kinds})"
        )
        text = f"{subject.text_path}: Invalid value: {problem}"
        yield subject.error(tree.path, "KV121", text)
    if tree.image_extractors is not None and "verifyImages" not in tree.operations:
        text = (
            f"{subject.text_path}.imageExtractors: Invalid value: Invalid rule spec for rule"
            f" '{name}', imageExtractors can only be defined for verifyImages rule"
        )
        yield subject.error((*tree.path, "imageExtractors"), "KV121", text)


# upstream: pkg/policy/common/validate_pattern.go, pkg/policy/validate/validate.go


def check_patterns(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Anchors in `pattern` and `anyPattern` are supported there."""
    validate = subject.rule.tree.validate
    if validate is None:
        return
    place = f"path: {subject.text_path}.validate."
    named = [("pattern", validate.pattern)] if validate.pattern else []
    named += [(f"anyPattern[{index}]", one) for index, one in enumerate(validate.any_pattern or ())]
    for name, pattern in named:
        found = unsupported_anchor(pattern.root, IN_VALIDATION)
        if found:
            text_path, reason, path = found
            text = f"{place}{name}.{text_path}.: {reason}"
            note = _anchor_note(str(path[-1]), reason)
            yield subject.error(path, "KV131", text)._replace(excerpt=(note,))
    if validate.invalid_any_pattern is not None:
        text = f"{place}anyPattern.: failed to deserialize anyPattern, expect array"
        yield subject.error((*validate.path, "anyPattern"), "KV131", text)


def _anchor_note(written: str, reason: str) -> str:
    """Return what to write instead of an anchor that a pattern cannot have."""
    key = written.partition("(")[2].removesuffix(")")
    if reason.startswith("unsupported"):
        return (
            f"note: `+( )` is for patches: write `{key}` for a field that must exist, `=({key})` "
            "for one that may be missing"
        )
    return (
        "note: `^( )` is for lists with one or more elements, of which one has to match: write "
        f"`{key}` for a map that must exist, `=({key})` for one that may be missing"
    )


def unsupported_anchor(pattern: PatternNode, signs: frozenset[str]) -> tuple[str, str, Path] | None:
    """Return upstream's path, the reason and our path of the first unsupported anchor.

    `signs` contains the signs of supported anchors, "" for conditions.
    """
    for node in walk(pattern):
        for entry in node.entries if isinstance(node, PatternMap) else ():
            problem = _anchor_problem(entry, signs)
            if problem:
                steps = entry.path[len(pattern.path) :]
                texts = (f"{one}/" if isinstance(one, int) else f"/{one}" for one in steps)
                return f"/{''.join(texts)}", problem, entry.path
    return None


def _anchor_problem(entry: PatternEntry, signs: frozenset[str]) -> str:
    if entry.anchor is None:
        return ""
    if entry.anchor not in signs:
        return f"unsupported anchor {entry.text}"
    if entry.anchor == EXISTENCE:
        if not isinstance(entry.value, PatternList):
            return "existence anchor should have value of type list"
        if not entry.value.items:
            return "existence anchor: should have at least one value"
    return ""


# upstream: pkg/validation/policy/validate.go, gopkg.in/evanphx/json-patch.v4 as Kyverno uses it


_PATCH_NOTES = (
    ("unsupported operation", f"the operations of JSON patches are {listed(OPERATIONS, 6)}"),
    ("missing value field", "`add`, `replace` and `test` need a `value`"),
)


def check_json_patch(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """The patch of a mutate rule is valid; loops are not checked."""
    patch = _json_patch(subject.rule.tree)
    reason, at = _patch_problem(patch.text) if patch else (None, 0)
    if patch and reason is not None:
        text = f"path must begin with a forward slash: {subject.text_path}: {reason}"
        note = next((note for sign, note in _PATCH_NOTES if sign in reason), "")
        error = subject.error(patch.path, "KV132", text)
        document = subject.policy.document
        error = error._replace(fix=respelled(document, patch.path, (reason, f"/{reason}")))
        if at > 0:
            error = error._replace(location=place_in_text(document, patch.path, patch.text, at))
        yield error._replace(excerpt=(f"note: {note}",)) if note else error


def _json_patch(rule: RuleNode) -> "JsonPatch | None":
    return rule.mutate.patches_json6902 if rule.mutate else None


def _patch_problem(patch: str) -> tuple[str | None, int]:
    """Return why a patch cannot be applied, and where; the reason is a path without slash itself.

    The position is that of the operation's name or path in the text, 0 or less if it is unknown.
    """
    try:
        operations: object = load_one(mask_variables(patch, "kyvernojsonpatchvariable"))
    except YamlError as error:
        return error.go_text, 0
    if operations is None:
        return None, 0
    if not isinstance(operations, list):
        return "a patch must be a list of operations", 0
    for operation in operations:
        problem = _operation_problem(operation)
        if problem is not None:
            name, path = (_text_of(operation, field) for field in ("op", "path"))
            written = re.search(rf"\bop\b\W*:\W*{re.escape(name)}\b", patch) if name else None
            is_name = written and name not in OPERATIONS
            return problem, written.start() if written and is_name else patch.find(path or "\0")
    return None, 0


def _text_of(operation: object, field: str) -> str:
    value = operation.get(field) if isinstance(operation, dict) else None
    return value if isinstance(value, str) else ""


def _operation_problem(operation: object) -> str | None:
    if operation.__class__ is not dict:
        return "an operation must be a mapping"
    shown = f"invalid operation {to_json(operation)}: "
    name, path = operation.get("op"), operation.get("path")
    if name not in OPERATIONS:
        return f"{shown}unsupported operation"
    if path.__class__ is not str:
        return f"{shown}failed to decode 'path': operation missing path field: missing value"
    if name in {"add", "replace", "test"} and "value" not in operation:
        return f"{shown}failed to decode 'value': operation, missing value field: missing value"
    if name in {"move", "copy"} and operation.get("from").__class__ is not str:
        return f"{shown}failed to decode 'from': operation, missing from field: missing value"
    return None if path.startswith("/") else path


# upstream: pkg/validation/policy/validate.go, ruleForbiddenSectionsHaveVariables

_INVALID = "policy contains invalid variables: "


def check_forbidden_sections(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Match blocks, patch paths and image references contain no variables."""
    rule, name = subject.rule.tree, subject.rule.name
    patch = _json_patch(rule)
    if patch and "{{" in patch.text and any(map(VARIABLE.search, patch_paths(patch.text))):
        text = f'rule "{name}" should not have variables in patchesJSON6902 path section'
        yield subject.error(patch.path, "KV111", _INVALID + text)
    for block in ("exclude", "match"):
        for path, value in marked_texts(rule.data.get(block), (*rule.path, block)):
            if "{{" in value and PLAIN_VARIABLE.search(value):
                text = f'rule "{name}" should not have variables in {block} section'
                yield subject.error(path, "KV111", _INVALID + text)
                break
    for image in rule.verify_images or ():
        if any("{{" in value and VARIABLE.search(value) for value in image.image_references):
            text = f'rule "{name}" should not have variables in image reference section'
            yield subject.error(image.path, "KV111", _INVALID + text)


# upstream: pkg/validation/policy/validate.go, isLabelAndAnnotationsString

_TO_REMOVE = (
    "note: null does not remove a label or annotation here: use `patchesJson6902` with `op: remove`"
)

_ONE_KEY = (
    "note: the names of labels and annotations have no levels: write prefix and name as one key, "
    "such as `app.kubernetes.io/name`"
)


def _metadata_notes(value: PatternNode) -> tuple[str, ...]:
    if value.data is None:
        return (_TO_REMOVE,)
    return (_ONE_KEY,) if isinstance(value, PatternMap) else ()


def check_metadata_text(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Labels and annotations are not numbers, booleans or null."""
    for one in rule_types_of(subject.rule.tree):
        for pattern in one.patterns(subject.rule.tree):
            for fields in product(((), ("spec", "template")), ("labels", "annotations")):
                tags = pattern_at(pattern.root, *fields[0], "metadata", fields[1])
                for entry in tags.entries if isinstance(tags, PatternMap) else ():
                    if not isinstance(entry.value.data, str):
                        text = (
                            "labels and annotations supports only string values, "
                            '"use double quotes around the non string values"'
                        )
                        error = subject.error(entry.path, "KV141", text)
                        quoted = change(subject.policy.document, ChangeKind.QUOTE, entry.path)
                        is_word = isinstance(entry.value.data, bool | int | float)
                        fix = Fix("add quotes", (quoted,)) if is_word else None
                        yield error._replace(excerpt=_metadata_notes(entry.value), fix=fix)


# upstream: api/kyverno/v1/rule_types.go, ValidateMutationRuleTargetNamespace


def check_target_namespaces(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Targets of a namespaced policy are in its namespace."""
    if subject.policy.kind != "Policy":
        return
    mutate = subject.rule.tree.mutate
    for index, target in enumerate((mutate and mutate.targets) or ()):
        namespace = target.namespace
        if namespace and namespace != subject.policy.namespace:
            text = (
                f"{subject.text_path}.targets[{index}].namespace: Invalid value:"
                f" {quote(namespace)}: This field can be ignored or should have value of the"
                " namespace where the policy is being created"
            )
            yield subject.error(target.path, "KV144", text)
