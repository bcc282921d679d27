"""`mutate.patchStrategicMerge` and `mutate.patchesJson6902`: the object is patched.

Source of the rules: upstream pkg/engine/mutate/mutation.go.
"""

from collections.abc import Callable, Iterator

from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, errored, skipped
from kyvsim.engine.compile.tracing import traced_template
from kyvsim.jmespath import QueryError, compile_template
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.languages.classic.rule_type import (
    NOTHING_CHANGED,
    Autogen,
    PodTemplate,
    Remark,
    RuleContext,
    RuleType,
    empty,
    nest_in_template,
)
from kyvsim.languages.classic.rules.patches import Patcher, compile_patcher, filled_patcher
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.source import Path
from kyvsim.patch.nodes import PatchError, UnreadableObjectError


def mutated(obj: Json) -> Outcome:
    """Return the pass of a rule that left `obj`."""
    key = object_key(obj)
    place = f" in namespace {key.namespace}" if key.namespace else ""
    return Outcome(RuleStatus.PASS, f"mutated {key.kind}/{key.name}{place}", obj)


_UNREADABLE = errored("failed to unmarshal patched resource", "Object 'Kind' is missing in '{}'")
"""The end of a patch on DELETE that changes nothing."""


def object_to_patch(evaluation: Evaluation) -> Json:
    """Return the object that a mutate rule changes; on DELETE, where none is left, an empty one."""
    return {} if evaluation.object is None else evaluation.object


def apply_patch(patch: Callable[[], Json], obj: Json) -> Outcome:
    """Return the outcome of patching `obj`: its new form, a skip if nothing changed, an error."""
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
    # upstream compares texts: that of no object is `null`, and what a merge leaves of it is `{}`.
    return skipped("no patches applied") if obj else _UNREADABLE


def _compile(context: RuleContext) -> CompiledBody:
    patch = compile_rule_patch(context)

    def evaluate(evaluation: Evaluation) -> Outcome:
        obj = object_to_patch(evaluation)
        return apply_patch(lambda: patch(evaluation)(obj), obj)

    return evaluate


def compile_rule_patch(context: RuleContext) -> Callable[[Evaluation], Patcher]:
    """Return what fills the variables of a rule and gives its patch; it raises `QueryError`."""
    # upstream fills the variables of the whole rule, so one anywhere in it can end it.
    template = compile_template(dict(context.rule.data), context.system)
    if context.trace.tracer is not None:
        template = traced_template(template, "patch", context.trace.at("mutate"), "mutate")
    meter = context.system.meter
    if template.constant:
        patcher = compile_patcher(template.value["mutate"], meter)
        return lambda _: patcher
    return lambda evaluation: filled_patcher(template.render(evaluation.scope)["mutate"], meter)


BY_JSON_PATCH = "it has a JSON patch"
"""Why autogen derives nothing: the paths of such a patch are nobody's to change."""


def _carried(section: Json, template: PodTemplate) -> Json:
    return {"patchStrategicMerge": nest_in_template(section["patchStrategicMerge"], template)}


def _merges(merge: Json) -> Iterator[tuple[Path, Json]]:
    yield (), merge


def _without_operations(patch: Json) -> Iterator[Remark]:
    if str(patch).strip() == "[]":
        yield (), f"it has no operations, so {NOTHING_CHANGED}"


STRATEGIC_MERGE = RuleType(
    ("mutate", "patchStrategicMerge"),
    Phase.MUTATE,
    _compile,
    Autogen(_carried),
    no_effect=empty({}, "patchStrategicMerge", NOTHING_CHANGED),
    patterns=_merges,
)
JSON_PATCH = RuleType(
    ("mutate", "patchesJson6902"),
    Phase.MUTATE,
    _compile,
    Autogen(
        lambda _section, _template: None,
        lambda section: BY_JSON_PATCH if section["patchesJson6902"] else "",
    ),
    counts=bool,
    no_effect=_without_operations,
)
