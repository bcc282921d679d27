"""Mutate and validate rules have one body of each kind they may have.

upstream: pkg/policy/mutate/validate.go, pkg/policy/validate/validate.go
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck, has, refuse
from kyvsim.languages.classic.rule_type import Remark, RuleType
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

_ONE_PATCH = "only one of `patchStrategicMerge` or `patchesJson6902` is allowed"
_ONE_WITH_LOOPS = "only one of `foreach`, `patchStrategicMerge`, or `patchesJson6902` is allowed"
_NO_CHECK = "one of pattern, anyPattern, deny, foreach, cel must be specified"
CEL_ONLY = "celPrecondition can only be used with validate.cel"


def check_mutate(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A mutate rule has one patch, or loops that have."""
    if not has(subject.data, "mutate"):
        return
    found = _mutate_problem(subject.data)
    if found:
        where, reason, path = found
        text = f"path: {subject.text_path}.mutate.{where}.: {reason}"
        yield subject.refuse("KV137", text, ("mutate", *path))


def _mutate_problem(rule: Json) -> tuple[str, str, Path] | None:
    """Return upstream's path, the reason and the path of the first problem."""
    bodies = _bodies(rule, "mutate")
    loops = any(one.field[-1] == "foreach" for one in bodies)
    if len(bodies) > 1:
        reason = _ONE_WITH_LOOPS if loops else _ONE_PATCH
        return "foreach", reason, ("foreach",) if loops else ()
    for one in bodies:
        for place, reason in one.problems(one.body(rule)):
            path = (*one.field[1:], *place)
            return _text_path(path), reason, path
    return ("", CEL_ONLY, ()) if not loops and _has_foreign_preconditions(rule) else None


def _text_path(path: Path) -> str:
    """Return upstream's name for the place of a loop, which counts up all loops before it."""
    return "".join(
        f"{name}[{number}]"
        for name, index in zip(path[::2], path[1::2], strict=True)
        for number in range(int(index) + 1)
    )


def _bodies(rule: Json, section: str) -> list[RuleType]:
    """Return the types that a rule has a body of, of those that exclude each other."""
    types = (one for one in rule_types_of(rule) if one.section == section)
    return [one for one in types if one.counts(one.body(rule))]


def _has_foreign_preconditions(rule: Json) -> bool:
    """Return whether a rule has preconditions in CEL, and no body that reads them."""
    name = "celPreconditions"
    return name in rule and not any(name in one.fields for one in rule_types_of(rule))


def check_validate(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A validate rule has one body, and so has each of its loops."""
    if not has(subject.data, "validate"):
        return
    for path, reason in _validate_problems(subject.data):
        text = f"path: {subject.text_path}.validate..: {reason}"
        yield subject.refuse("KV138", text, ("validate", *path))


def _validate_problems(rule: Json) -> Iterator[Remark]:
    count = len(_bodies(rule, "validate"))
    if count == 0:
        yield (), _NO_CHECK
    if count > 1:
        yield (), "only one of pattern, anyPattern, deny, foreach, cel can be specified"
    for one in rule_types_of(rule):
        if one.section == "validate":
            for path, reason in one.problems(one.body(rule)):
                yield (*one.field[1:], *path), reason
    if _has_foreign_preconditions(rule):
        yield (), CEL_ONLY


def check_derived_bodies(policy: Policy) -> Iterator[Diagnostic]:
    """An `anyPattern` without patterns is lost where autogen derives rules: they have no body."""
    empty = [
        rule
        for rule in policy.rules
        if (rule.data.get("validate") or {}).get("anyPattern").__class__ is list
        and not rule.data["validate"]["anyPattern"]
    ]
    if not empty:
        return
    computed = compute_rules(policy)
    for rule in empty:
        forms = [one.rule for one in computed.derived if one.rule.path == rule.path]
        if forms:
            text = f"path: spec.rules[{computed.every.index(forms[0])}].validate..: {_NO_CHECK}"
            yield refuse(policy, "KV138", text, (*rule.path, "validate", "anyPattern"))
