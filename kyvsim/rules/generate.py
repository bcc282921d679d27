"""`generate`: objects that the background controller would create for a trigger.

Source of the rules: upstream pkg/background/generate/generator.go. A rule that was reached passes;
what hinders its objects (a missing source, a variable without value) is told in its note.
"""

from collections.abc import Callable, Iterator

from kyvsim.conditions import ConditionError
from kyvsim.context import JSONContext
from kyvsim.expr import QueryError, compile_template
from kyvsim.kube.objects import Json
from kyvsim.model.ports import ClusterView
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.rules.downstream import GenerateError, with_owner_labels
from kyvsim.rules.generate_clone import clone_downstreams
from kyvsim.rules.generate_clone_list import clone_list_downstreams
from kyvsim.rules.generate_data import data_downstreams
from kyvsim.rules.generated_names import name_problems
from kyvsim.rules.loops import compile_elements, compile_list, compile_loop_preconditions
from kyvsim.rules.protocol import CompiledBody, Evaluation, Outcome, RuleContext, RuleType

_Downstreams = Callable[[JSONContext], list[Json]]
"""Makes the objects of a pattern; raises `QueryError` or `GenerateError`."""

_FIELDS = ("apiVersion", "kind", "namespace", "name", "data", "clone", "cloneList")


def _compile_pattern(context: RuleContext, spec: Json) -> _Downstreams:
    pattern = {field: spec[field] for field in _FIELDS if spec.get(field) is not None}
    template = compile_template(pattern, context.environment)

    def make(scope: JSONContext) -> list[Json]:
        filled = template.value if template.constant else template.render(scope)
        outside = scope.outside
        own = outside.sources(context.policy.key) if outside.sources else outside.cluster
        return list(_source_of(filled)(filled, own))

    return make


def _source_of(pattern: Json) -> Callable[[Json, ClusterView], Iterator[Json]]:
    if (pattern.get("clone") or {}).get("name"):
        return clone_downstreams
    if (pattern.get("cloneList") or {}).get("kinds"):
        return clone_list_downstreams
    return data_downstreams


def _compile_loop(context: RuleContext, loop: Json) -> _Downstreams:
    list_of = compile_list(loop["list"], context.environment, context.watch)
    elements_of = compile_elements(loop, 0, context.environment)
    preconditions = compile_loop_preconditions(loop, context)
    make = _compile_pattern(context, loop)

    def make_each(scope: JSONContext) -> list[Json]:
        made: list[Json] = []
        for element in elements_of(scope, enumerate(list_of(scope))):
            if preconditions(element.scope).met:
                made += make(element.scope)
        return made

    return make_each


def _compile(context: RuleContext) -> CompiledBody:
    spec = context.rule.data["generate"]
    makers = [
        _compile_loop(context.within("generate", "foreach", index), loop)
        for index, loop in enumerate(spec.get("foreach") or ())
    ]
    makers = makers or [_compile_pattern(context, spec)]

    def evaluate(evaluation: Evaluation) -> Outcome:
        try:
            made = [one for make in makers for one in make(evaluation.scope)]
        except (ConditionError, GenerateError, QueryError) as error:
            return Outcome(RuleStatus.PASS, "", note=f"nothing is generated: {error}")
        trigger = evaluation.request.subject
        owned = tuple(with_owner_labels(one, context.policy, context.rule, trigger) for one in made)
        return Outcome(RuleStatus.PASS, "", generated=owned, note="; ".join(name_problems(owned)))

    return evaluate


RULE_TYPE = RuleType(("generate",), Phase.GENERATE, _compile)
