"""Mutate and validate rules have one body of each kind they may have.

upstream: pkg/policy/mutate/validate.go, pkg/policy/validate/validate.go
"""

from collections.abc import Iterable, Iterator

from kyvsim.compile.autogen import compute_rules
from kyvsim.compile.checks.refusal import RuleUnderCheck, has, refuse
from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

_ONE_PATCH = "only one of `patchStrategicMerge` or `patchesJson6902` is allowed"
_NO_CHECK = "one of pattern, anyPattern, deny, foreach, cel must be specified"
CEL_ONLY = "celPrecondition can only be used with validate.cel"
_NESTED_ONLY = ("context", "preconditions", "patchesJson6902", "patchStrategicMerge")


def check_mutate(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A mutate rule has one patch, or loops that have."""
    if not has(subject.data, "mutate"):
        return
    mutate = subject.data["mutate"]
    found = _mutate_problem(mutate, celled="celPreconditions" in subject.data)
    if found:
        where, reason, path = found
        text = f"path: {subject.text_path}.mutate.{where}.: {reason}"
        yield subject.refuse("KV137", text, ("mutate", *path))


def _mutate_problem(mutate: Json, *, celled: bool) -> tuple[str, str, Path] | None:
    merge, patch = mutate.get("patchStrategicMerge") is not None, mutate.get("patchesJson6902")
    if mutate.get("foreach"):
        if merge or patch:
            text = "only one of `foreach`, `patchStrategicMerge`, or `patchesJson6902` is allowed"
            return "foreach", text, ("foreach",)
        return _loop_problem(mutate["foreach"], "", ("foreach",))
    if merge and patch:
        return "foreach", _ONE_PATCH, ()
    return ("", CEL_ONLY, ()) if celled else None


def _loop_problem(loops: Iterable[Json], tag: str, path: Path) -> tuple[str, str, Path] | None:
    """Return upstream's path, the reason and the path of what is wrong with loops."""
    for index, loop in enumerate(loops):
        tag += f"foreach[{index}]"
        own = (*path, index)
        inner = loop.get("foreach")
        if inner:
            if any(loop.get(name) not in (None, "") for name in _NESTED_ONLY):
                return tag, "a nested foreach cannot contain other declarations", own
            # upstream looks no further than the first nested loop
            return _loop_problem(inner, tag, (*own, "foreach"))
        merge = loop.get("patchStrategicMerge") is not None
        if merge == bool(loop.get("patchesJson6902")):
            return tag, _ONE_PATCH, own
    return None


def check_validate(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A validate rule has one body, and so has each of its loops."""
    if not has(subject.data, "validate"):
        return
    validate = subject.data["validate"]
    for reason, path in _validate_problems(validate, celled="celPreconditions" in subject.data):
        text = f"path: {subject.text_path}.validate..: {reason}"
        yield subject.refuse("KV138", text, ("validate", *path))


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


def _validate_problems(validate: Json, *, celled: bool) -> Iterator[tuple[str, Path]]:
    names = ("pattern", "anyPattern", "deny", "foreach", "podSecurity", "cel")
    count = sum(validate.get(name) is not None for name in names)
    count += bool(validate.get("manifests", {}).get("attestors"))
    if count == 0:
        yield _NO_CHECK, ()
    if count > 1:
        yield "only one of pattern, anyPattern, deny, foreach, cel can be specified", ()
    for index, loop in enumerate(validate.get("foreach", ())):
        reason = _validate_loop_problem(loop)
        if reason:
            yield reason, ("foreach", index)
    if celled and "cel" not in validate:
        yield CEL_ONLY, ()
    for reason in _cel_problems(validate.get("cel", {})):
        yield reason, ("cel",)


def _validate_loop_problem(loop: Json) -> str:
    if not loop.get("list"):
        return "foreach.list is required"
    count = sum(loop.get(name) is not None for name in ("pattern", "anyPattern", "deny"))
    count += bool(loop.get("foreach"))
    if count == 0:
        return "one of pattern, anyPattern, deny, or a nested foreach must be specified"
    if count > 1:
        return "only one of pattern, anyPattern, deny, or a nested foreach can be specified"
    return ""


def _cel_problems(cel: Json) -> Iterator[str]:
    """Yield what is missing in the frame of a CEL rule; its expressions are another matter."""
    if any(not entry.get("expression") for entry in cel.get("expressions", ())):
        yield "cel.expressions.expression is required"
    yield from _parameter_problems(cel)
    for annotation in cel.get("auditAnnotations", ()):
        for name in ("key", "valueExpression"):
            if not annotation.get(name):
                yield f"cel.auditAnnotation.{name} is required"


def _parameter_problems(cel: Json) -> Iterator[str]:
    kind, reference = cel.get("paramKind"), cel.get("paramRef")
    if kind is not None:
        for name in ("apiVersion", "kind"):
            if not kind.get(name):
                yield f"cel.paramKind.{name} is required"
        if reference is None:
            yield "cel.paramRef is required"
    if reference is not None:
        if bool(reference.get("name")) == ("selector" in reference):
            yield "one of cel.paramRef.name or cel.paramRef.selector must be set"
        if "parameterNotFoundAction" not in reference:
            yield "cel.paramRef.parameterNotFoundAction is required"
        if kind is None:
            yield "cel.paramKind is required"
