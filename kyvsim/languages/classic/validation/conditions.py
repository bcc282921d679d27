"""Preconditions and deny conditions are complete and use operators that exist."""

from collections.abc import Callable, Iterator, Sequence

from kyvsim.engine.conditions import operators
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.languages.classic.validation.rule_parts import RuleUnderCheck
from kyvsim.model.diagnostic import Diagnostic

# Preconditions and deny conditions are complete and use operators that exist.
#
# Source of the rules: upstream pkg/validation/policy/validate.go


_REQUESTS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_MISSING = "entered value of `key`, `value` or `operator` is missing or misspelled"


def check_conditions(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every condition of a rule has key, value and operator, and the operator is known."""
    data = subject.data
    for block, found, path in _condition_blocks(data):
        for text, own in _problems(found, _condition_problem):
            yield _refusal(subject, f"{block}{text}", (*path, *own))
    for loop, path in _loops(data):
        denied = loop.get("deny", {}).get("conditions")
        for name, found in (("conditions", loop.get("preconditions")), ("deny.conditions", denied)):
            for text, _ in _problems(found, _operator_problem):
                yield _refusal(subject, f"{path[0]}.foreach.{name}{text}", path)
    for index, target in enumerate(data.get("mutate", {}).get("targets") or ()):
        problem = shape_problem(target.get("preconditions"))
        if problem:
            path = ("mutate", "targets", index, "preconditions")
            yield _refusal(subject, f"mutate.targets[{index}].preconditions: {problem}", path)


def _refusal(subject: RuleUnderCheck, text: str, path: Path) -> Diagnostic:
    return subject.error("KV133", f"path: {subject.text_path}.{text}", path)


def _condition_blocks(data: Json) -> Iterator[tuple[str, Json, Path]]:
    """Yield upstream's name for the place, the conditions, and their path in the rule."""
    yield "validate.preconditions", data.get("preconditions"), ("preconditions",)
    denied = data.get("validate", {}).get("deny", {}).get("conditions")
    yield "validate.deny.conditions", denied, ("validate", "deny", "conditions")
    for index, image in enumerate(data.get("verifyImages", ())):
        path: Path = ("verifyImages", index, "validate", "deny", "conditions")
        denied = image.get("validate", {}).get("deny", {}).get("conditions")
        yield "imageVerify.validate.deny.conditions", denied, path
        for at, attestation in enumerate(image.get("attestations", ())):
            for number, entry in enumerate(attestation.get("conditions", ())):
                path = ("verifyImages", index, "attestations", at, "conditions", number)
                yield "verifyImages.attestations.conditions", entry, path


def _loops(data: Json) -> Iterator[tuple[Json, Path]]:
    """Yield the loops of a rule, nested ones too, with their path."""
    for name in ("validate", "mutate"):
        path: Path = (name, "foreach")
        pending = [(data.get(name, {}).get("foreach"), path)]
        while pending:
            loops, path = pending.pop()
            for index, loop in enumerate(loops if loops.__class__ is list else ()):
                yield loop, (*path, index)
                pending.append((loop.get("foreach"), (*path, index, "foreach")))


def _problems(
    conditions: Json, problem_of: Callable[[Json], tuple[str, str]]
) -> Iterator[tuple[str, Path]]:
    """Yield where below the block something is wrong and what, and its path."""
    problem = shape_problem(conditions)
    if problem:
        yield f": {problem}", ()
        return
    groups: list[tuple[str, Path, Json]] = [("", (), conditions)]
    if conditions.__class__ is not list:
        named = conditions or {}
        groups = [(f".{name}", (name,), named.get(name)) for name in ("any", "all")]
    for place, path, group in groups:
        for index, condition in enumerate(group or ()):
            where, reason = problem_of(condition)
            if reason:
                yield f"{place}[{index}].{where}: {reason}", (*path, index)


def shape_problem(conditions: Json) -> str:
    """Return why data cannot be conditions at all, or "".

    Upstream drops such a policy while it reads it.
    """
    if conditions is None:
        return ""
    if conditions.__class__ is dict:
        named = [conditions.get(name) for name in ("any", "all")]
        groups: Sequence[Json] = [group for group in named if group is not None]
    else:
        groups = [conditions]
    for group in groups:
        if group.__class__ is not list:
            return "conditions must be a list, or a mapping with lists `any` and `all`"
        if any(condition.__class__ is not dict for condition in group):
            return "a condition must be a mapping"
        for name in ("operator", "message"):
            if any(entry.get(name, "").__class__ not in {str, type(None)} for entry in group):
                return f"`{name}` of a condition must be text"
    return ""


def _condition_problem(condition: Json) -> tuple[str, str]:
    """Return upstream's path below a condition and what is wrong with it; "" twice if nothing."""
    key, value = condition.get("key"), condition.get("value")
    if key is None or value is None or not condition.get("operator"):
        return "", _MISSING
    found = ("", "")
    if key.__class__ is str and key.replace(" ", "") == "{{request.operation}}":
        found = _request_problem(value)
    return found if found[1] else _operator_problem(condition)


def _operator_problem(condition: Json) -> tuple[str, str]:
    if condition.get("operator") in operators:
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
