"""Preconditions and deny conditions are complete and use operators that exist."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from kyvsim.engine.conditions import operators
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.languages.classic.validation.rule_parts import RuleUnderCheck
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.policy.rule import ForEachValidation, RuleNode
from kyvsim.policy.tree import Condition, Conditions

if TYPE_CHECKING:
    from kyvsim.policy.rule import ForEachMutation

# Preconditions and deny conditions are complete and use operators that exist.
#
# Source of the rules: upstream pkg/validation/policy/validate.go


_REQUESTS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
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
            for text, _ in _problems(block, _operator_problem):
                found.append((f"{section}.foreach.{name}{text}", loop.path))
    for index, target in enumerate((rule.mutate and rule.mutate.targets) or ()):
        block = target.preconditions
        if block and block.problem:
            found.append((f"mutate.targets[{index}].preconditions: {block.problem}", block.path))
    for text, path in found:
        message = f"path: {subject.text_path}.{text}"
        yield subject.error(path, "KV133", message)


def _blocks(rule: RuleNode) -> Iterator[tuple[str, Conditions | None]]:
    """Yield upstream's name for the place of a block, and the block."""
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


def _loops(rule: RuleNode) -> Iterator[tuple[str, "ForEachValidation | ForEachMutation"]]:
    """Yield the loops of a rule, nested ones too, with the section that they are in."""
    for name, section in (("validate", rule.validate), ("mutate", rule.mutate)):
        yield from ((name, loop) for loop in _nested((section and section.foreach) or ()))


def _nested(
    loops: "Iterable[ForEachValidation | ForEachMutation]",
) -> "Iterator[ForEachValidation | ForEachMutation]":
    """Yield loops, each before those within it."""
    for loop in loops:
        yield loop
        yield from _nested(loop.foreach or ())


def _problems(
    block: Conditions | None, problem_of: Callable[[Condition], tuple[str, str]]
) -> Iterator[tuple[str, Path]]:
    """Yield where below the block something is wrong and what, and its path."""
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
            yield f"{place}[{index}].{where}: {reason}", condition.path


def _listed(block: Conditions) -> Iterable[Condition]:
    """Return conditions as upstream checks them: a group in a list is one that lacks everything."""
    if not block.is_list:
        return block.conditions
    return (
        group.conditions[0] if group.is_bare else Condition(group.path, None, "", None, "")
        for group in block.groups
    )


def _condition_problem(condition: Condition) -> tuple[str, str]:
    """Return upstream's path below a condition and what is wrong with it; "" twice if nothing."""
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


def _request_problem(value: Json) -> tuple[str, str]:
    """Return where and why a value is not an operation of a request."""
    entries: list[tuple[str, Json]] = []
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
        if entry not in _REQUESTS:
            return where, (
                f"unknown value '{entry}' found under the 'value' field. Only the following values"
                " are allowed: [CREATE, UPDATE, DELETE, CONNECT]"
            )
    return "", ""
