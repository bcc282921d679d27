"""`mutate.patchStrategicMerge` and `mutate.patchesJson6902`: the request's object is patched.

Source of the rules: upstream pkg/engine/mutate/mutation.go.
"""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, errored, skipped
from kyvsim.engine.compile.tracing import traced_template
from kyvsim.engine.pattern import compile_pattern, compile_scalar
from kyvsim.jmespath import QueryError, compile_template
from kyvsim.kubernetes.objects import Json, KubernetesObject, object_key
from kyvsim.languages.classic.rule_type import RuleContext, RuleType
from kyvsim.languages.classic.rules.unchanged import unchanged_reason
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.ports import Meter
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.tracing import TraceContext, trace_step, untraced
from kyvsim.patch.json_patch import (
    PatchOperation,
    compile_json_patch,
    moved_removals,
    operations_in,
)
from kyvsim.patch.nodes import PatchError, UnreadableObjectError, read_back
from kyvsim.patch.strategic_merge import compile_strategic_merge
from kyvsim.policy.read import pattern_node
from kyvsim.policy.rule import RuleNode
from kyvsim.policy.tree import Pattern


class Patcher(NamedTuple):
    """A patch whose variables are replaced."""

    apply: Callable[[Json], Json]
    """Returns the patched object, or the same object if nothing changes; raises `PatchError`."""
    operations: Sequence[PatchOperation] = ()
    """The operations of a JSON patch."""
    merge: Json = None
    """A strategic merge patch."""


def filled_patcher(block: object, meter: Meter | None = None) -> Patcher:
    """Return the patcher of a block whose variables were just replaced.

    A loop often produces the same block for several objects, so recent patchers are cached by the
    JSON of their blocks, which distinguishes all types of values.
    """
    try:
        return _compiled_block(json.dumps(block, allow_nan=False), meter)
    except (TypeError, ValueError, RecursionError):  # not valid in documents, or nested too deeply
        return compile_patcher(block, meter)


@lru_cache(maxsize=256)
def _compiled_block(written: str, meter: Meter | None) -> Patcher:
    return compile_patcher(json.loads(written), meter)


def compile_patcher(block: Json, meter: Meter | None = None) -> Patcher:
    """Return the patcher of a mutate block, or of one of its loops, after replacing variables."""
    merge, text = block.get("patchStrategicMerge"), block.get("patchesJson6902")
    try:
        patch = (
            compile_json_patch(text, meter)
            if merge is None
            else compile_strategic_merge(merge, partial(_compile_condition, meter))
        )
        operations = operations_in(text) if merge is None else ()
    except PatchError as error:
        problem = error

        def failing(_obj: object) -> Json:
            raise problem

        return Patcher(failing)

    def patched(obj: KubernetesObject) -> Json:
        changed = patch(obj)
        return obj if changed is obj else read_back(changed)

    return Patcher(patched, operations, merge)


def _compile_condition(meter: Meter | None, pattern: object) -> Callable[[Json], bool]:
    if pattern.__class__ is str:
        return _compiled_text(pattern)
    check = compile_pattern(pattern_node(pattern, ()), meter=meter)
    return lambda value: check(value) is None


@lru_cache(maxsize=1024)
def _compiled_text(pattern: str) -> Callable[[Json], bool]:
    """Return a predicate: whether a value matches a string pattern, without the reason.

    A loop compares each element with each item of a list: most do not match.
    """
    matches = compile_scalar(pattern)

    def check(value: object) -> bool:
        return all(map(matches, value)) if value.__class__ is list else bool(matches(value))

    return check


def mutated(obj: KubernetesObject) -> Outcome:
    """Return the pass of a rule with the mutated object."""
    key = object_key(obj)
    place = f" in namespace {key.namespace}" if key.namespace else ""
    return Outcome(RuleStatus.PASS, f"mutated {key.kind}/{key.name}{place}", obj)


_UNREADABLE = errored("failed to unmarshal patched resource", "Object 'Kind' is missing in '{}'")
"""The outcome of a patch on DELETE that changes nothing."""


def object_to_patch(evaluation: Evaluation) -> Json:
    """Return the object that a mutate rule changes; on DELETE, an empty one."""
    return {} if evaluation.object is None else evaluation.object


def apply_patch(patch: Callable[[], Json], obj: KubernetesObject) -> Outcome:
    """Return the outcome of patching `obj`: the new object, a skip if unchanged, or an error."""
    try:
        patched = patch()
    except QueryError as error:
        return errored("variable substitution failed", error)
    except UnreadableObjectError as error:
        return errored("failed to unmarshal patched resource", error)
    except PatchError as error:
        return errored("failed to patch resource", error)
    if patched is not obj:
        return mutated(patched)
    # upstream compares JSON: no object is `null`, and a merge turns it into `{}`.
    return skipped("no patches applied") if obj else _UNREADABLE


def _compile(context: RuleContext) -> CompiledBody:
    patch = compile_rule_patch(context)

    def evaluate(evaluation: Evaluation) -> Outcome:
        obj = object_to_patch(evaluation)
        outcome = apply_rule_patch(patch, evaluation, obj)
        if outcome.status is RuleStatus.SKIP and context.trace.takes_steps:
            _trace_reason(context.trace, patch, evaluation, obj)
        return outcome

    return evaluate


def _trace_reason(
    trace: TraceContext,
    patch: Callable[[Evaluation], Patcher],
    evaluation: Evaluation,
    obj: KubernetesObject,
) -> None:
    """Report why a patch changes nothing; runs that explain no results do not need it."""
    merge = untraced(trace, lambda: patch(evaluation)).merge
    field = "patchesJson6902" if merge is None else "patchStrategicMerge"
    reason = unchanged_reason(merge, obj, _fits)
    place = trace.at("mutate", field, *reason.path)
    trace_step(place, Step(StepKind.CONCERN, reason.text, answer=RuleStatus.SKIP))


def _fits(pattern: Json, value: Json) -> bool:
    return _compile_condition(None, pattern)(value)


def apply_rule_patch(
    patch: Callable[[Evaluation], Patcher], evaluation: Evaluation, obj: KubernetesObject
) -> Outcome:
    """Return the outcome of patching `obj` with the patch of a rule."""

    def patched() -> Json:
        patcher = patch(evaluation)
        changed = patcher.apply(obj)
        evaluation.scope.hints += moved_removals(obj, patcher.operations)
        return changed

    return apply_patch(patched, obj)


def compile_rule_patch(context: RuleContext) -> Callable[[Evaluation], Patcher]:
    """Return a function that renders a rule's patch as a patcher, or raises `QueryError`."""
    # upstream replaces the variables of the whole rule, so that each of them can fail it.
    template = compile_template(dict(context.rule.tree.data), context.system)
    template = traced_template(template, "patch", context.trace.at("mutate"), "mutate")
    meter = context.system.meter
    if template.constant:
        patcher = compile_patcher(template.value["mutate"], meter)
        return lambda _: patcher
    return lambda evaluation: filled_patcher(template.render(evaluation.scope)["mutate"], meter)


def _merge(rule: RuleNode) -> tuple[Pattern, ...]:
    merge = rule.mutate and rule.mutate.patch_strategic_merge
    return () if merge is None else (merge,)


STRATEGIC_MERGE = RuleType(
    ("mutate", "patchStrategicMerge"), Phase.MUTATE, _compile, patterns=_merge
)
JSON_PATCH = RuleType(
    ("mutate", "patchesJson6902"),
    Phase.MUTATE,
    _compile,
    counts=lambda rule: bool(rule.mutate and rule.mutate.patches_json6902),
)
