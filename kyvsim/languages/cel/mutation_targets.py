"""The existing objects that a MutatingPolicy changes on behalf of a trigger.

They are found by an expression, or chosen by constraints, their own or else those of triggers,
whatever the operation, among the objects given as targets. Each has conditions of its own.

Source of the rules: upstream cmd/cli/kubectl-kyverno/processor/policy_processor.go
(discoverCELTargets, targetMatchPredicate), pkg/cel/policies/mpol/compiler/policy.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.cel import Program
from kyvsim.cel.types import ANY, STRING, map_of
from kyvsim.engine.compile.compiled import Evaluation
from kyvsim.engine.match import match_facts
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.languages.cel.expressions import EvaluationError, all_hold, evaluate
from kyvsim.languages.cel.kind import PolicyPart
from kyvsim.languages.cel.values import RequestValues
from kyvsim.languages.constraints import Constraints, compile_constraints
from kyvsim.model.request import AdmissionRequest, Operation

_SPEC = ("spec",)
_FOUND = map_of(STRING, ANY)
_NO_OBJECT = "type conversion error from 'null_type' to 'map[string]interface {}'"


class Targets(NamedTuple):
    """What finds the existing objects of a policy."""

    expression: Program | None
    chosen: Constraints
    conditions: tuple[Program, ...]

    def find(self, values: RequestValues, evaluation: Evaluation) -> Iterator[Json]:
        """Yield them in their order; raises EvaluationError."""
        if self.expression is None:
            for obj in evaluation.scope.outside.targets:
                if self._chooses(obj, evaluation):
                    yield obj
            return
        # What an earlier policy made of a given target counts, and not what the expression read.
        given = {object_key(obj): obj for obj in evaluation.scope.outside.targets}
        try:
            found = self._found(values.of(evaluation))
            if found is None and not given:
                return  # there is nothing to look among
            named = _listed(found)
        except EvaluationError as error:
            raise EvaluationError(f"failed to discover CEL targets: {error}") from None
        for obj in named:
            if isinstance(obj, dict) and obj.get("kind"):
                yield given.get(object_key(obj), obj)

    def named(self, values: list[Json]) -> list[Json]:
        """Return what the expression gives, one object or those of a list.

        Raises EvaluationError.
        """
        return _listed(self._found(values))

    def take(self, values: list[Json]) -> bool:
        """Return whether the conditions of targets hold; raises EvaluationError."""
        return all_hold(self.conditions, values)

    def _found(self, values: list[Json]) -> Json:
        return evaluate(self.expression, values) if self.expression else {}

    def _chooses(self, obj: Json, evaluation: Evaluation) -> bool:
        namespace = object_key(obj).namespace
        labels = evaluation.scope.outside.cluster.namespace_labels(namespace)
        request = AdmissionRequest(Operation.UPDATE, obj, None, namespace)
        facts = match_facts(request, obj, labels)
        return facts is not None and self.chosen.matches(facts)


class TargetKinds(NamedTuple):
    """The kinds of the existing objects that a policy changes in place of its triggers."""

    constraints: Constraints | None
    """None where an expression finds the objects: then they tell."""

    def have(self, trigger: Json, found: Iterable[Json]) -> bool:
        """Return whether a trigger is of one of them; `found` is what an expression gave."""
        if self.constraints is None:
            kind = _group_and_kind(trigger)
            return any(isinstance(one, dict) and _group_and_kind(one) == kind for one in found)
        facts = match_facts(AdmissionRequest(Operation.UPDATE, trigger), trigger, {})
        return facts is not None and self.constraints.matches(facts)


def _group_and_kind(obj: Json) -> tuple[str, str]:
    key = object_key(obj)
    return split_api_version(key.api_version)[0], key.kind


def compile_target_kinds(part: PolicyPart) -> TargetKinds | None:
    """Return the kinds of a policy's targets, None where it names none and changes its triggers.

    upstream: pkg/cel/policies/mpol/engine/predicate.go `NoTargetMatchConstraintPolicy`
    """
    written: Mapping[str, Json] = part.spec.get("targetMatchConstraints") or {}
    if written.get("expression"):
        return TargetKinds(None)
    rules = written.get("resourceRules")
    if not rules:
        return None
    fields = ("apiGroups", "apiVersions", "resources")
    kinds = [{name: rule[name] for name in fields if name in rule} for rule in rules]
    return TargetKinds(
        compile_constraints(
            _for_any_operation({"resourceRules": kinds}), "", part.options.kinds, everything=True
        )
    )


def _listed(found: Json) -> list[Json]:
    if not isinstance(found, dict):
        raise EvaluationError(_NO_OBJECT)
    listed = found.get("items")
    return listed if isinstance(listed, list) else [found]


def compile_targets(part: PolicyPart) -> Targets | None:
    """Return what finds the targets of a policy, None where it changes no existing objects."""
    spec, compiler = part.spec, part.compiler
    written: Mapping[str, Json] = spec.get("targetMatchConstraints") or {}
    text = written.get("expression") or ""
    place = (*_SPEC, "targetMatchConstraints", "expression")
    expression = compiler.compile(text, place, _FOUND) if text else None
    conditions = compiler.conditions(
        spec.get("targetMatchConditions") or (), (*_SPEC, "targetMatchConditions")
    )
    evaluation = spec.get("evaluation") or {}
    if not (evaluation.get("mutateExisting") or {}).get("enabled"):
        return None
    own = written if written.get("resourceRules") else spec.get("matchConstraints")
    chosen = compile_constraints(
        _for_any_operation(own), part.policy.namespace, part.options.kinds, everything=True
    )
    if chosen.fault:
        chosen = Constraints(lambda _: False, frozenset())
    return Targets(expression, chosen, conditions)


def _for_any_operation(constraints: Json) -> Json:
    if not constraints:
        return constraints
    rules = [{**rule, "operations": ["*"]} for rule in constraints.get("resourceRules") or ()]
    return {**constraints, "resourceRules": rules}
