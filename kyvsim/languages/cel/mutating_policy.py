"""MutatingPolicy and NamespacedMutatingPolicy of `policies.kyverno.io`, and their existing targets.

Mutations run in order, each on the result of the previous one; if one of them fails, the object
is unchanged. A policy has one result, whose rule has no name, or `evaluation` for an error.

Source of the rules: upstream pkg/cel/policies/mpol (compiler, engine),
pkg/background/mpol/processor.go, cmd/cli/kubectl-kyverno/processor/policy_processor.go
(discoverCELTargets, targetMatchPredicate).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.cel.types import ANY, STRING, map_of
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, passed, skipped
from kyvsim.engine.context import MISSING_INPUT
from kyvsim.engine.match import match_facts
from kyvsim.engine.missing_input import remedy_for
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, KubernetesObject, object_key
from kyvsim.kubernetes.quantities import with_floats_where_exact, with_whole_numbers
from kyvsim.languages.cel.exceptions import (
    CompiledExceptions,
    Matched,
    compile_exceptions,
    excepted,
    noted,
)
from kyvsim.languages.cel.kind import CelKind, NoEffect, PolicyPart, RequestValues, without_mutation
from kyvsim.languages.cel.validating_policy import annotation_texts
from kyvsim.languages.cel_expressions import CompiledExpression, EvaluationError, all_hold
from kyvsim.languages.constraints import Constraints, are_plain, compile_constraints
from kyvsim.languages.mutations import Mutation, MutationError, compile_mutation
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import PatchedTarget, RuleStatus, Stage
from kyvsim.patch.nodes import same
from kyvsim.policy.cel_autogen import mutation_variants
from kyvsim.policy.cel_policy import CelPolicyNode, MatchConstraints
from kyvsim.schema.merge_types import type_finder

# The existing objects that a MutatingPolicy changes for a trigger.
#
# An expression returns them, or constraints (those of targets, or of triggers) select them from the
# objects given as targets, whatever the operation. Targets have conditions of their own.
#
# Source of the rules: upstream cmd/cli/kubectl-kyverno/processor/policy_processor.go
# (discoverCELTargets, targetMatchPredicate), pkg/cel/policies/mpol/compiler/policy.go.


class Targets(NamedTuple):
    """Finds the existing objects that a policy changes."""

    expression: CompiledExpression | None
    chosen: Constraints
    conditions: tuple[CompiledExpression, ...]

    def find(self, values: RequestValues, evaluation: Evaluation) -> Iterator[KubernetesObject]:
        """Yield the targets in their order; raises EvaluationError."""
        if self.expression is None:
            for obj in evaluation.scope.external.targets:
                namespace = object_key(obj).namespace
                labels = evaluation.scope.external.cluster.namespace_labels(namespace)
                request = AdmissionRequest(Operation.UPDATE, obj, None, namespace)
                facts = match_facts(request, obj, labels)
                if facts is not None and self.chosen.matches(facts):
                    yield obj
            return
        # An object as changed by an earlier policy replaces the one that the expression returns.
        given = {object_key(obj): obj for obj in evaluation.scope.external.targets}
        try:
            found = self._evaluated_targets(values.of(evaluation))
            if found is None and not given:
                return  # there are no targets to find
            named = _target_list(found)
        except EvaluationError as error:
            raise EvaluationError(f"failed to discover CEL targets: {error}") from None
        for obj in named:
            if isinstance(obj, dict) and obj.get("kind"):
                yield given.get(object_key(obj), obj)

    def named(self, values: list[object]) -> list[KubernetesObject]:
        """Return the objects that the expression returns, one or a list; raises EvaluationError."""
        return _target_list(self._evaluated_targets(values))

    def take(self, values: list[object]) -> bool:
        """Return whether the conditions of targets hold; raises EvaluationError."""
        return all_hold(self.conditions, values)

    def _evaluated_targets(self, values: list[object]) -> Json:
        return self.expression.value(values) if self.expression else {}


class TargetKinds(NamedTuple):
    """The kinds of existing objects that a policy changes instead of its triggers."""

    constraints: Constraints | None
    """None if an expression returns the objects: then their kinds count."""

    def have(self, trigger: KubernetesObject | None, found: Iterable[object]) -> bool:
        """Return whether a trigger is of one of the kinds; `found` is the expression's value."""
        if self.constraints is None:
            kind = _group_and_kind(trigger)
            return any(isinstance(one, dict) and _group_and_kind(one) == kind for one in found)
        facts = match_facts(AdmissionRequest(Operation.UPDATE, trigger), trigger, {})
        return facts is not None and self.constraints.matches(facts)


def _group_and_kind(obj: object) -> tuple[str, str]:
    key = object_key(obj)
    return split_api_version(key.api_version)[0], key.kind


def _compile_targets(part: PolicyPart) -> Targets | None:
    """Return the targets of a policy, or None if it changes no existing objects."""
    spec, compiler = part.spec, part.compiler
    own = spec.target_match_constraints
    expression = None
    if own is not None and own.expression:
        path = (*own.path, "expression")
        expression = compiler.compile(own.expression, path, map_of(STRING, ANY))
    conditions = compiler.conditions(spec.target_match_conditions)
    if not spec.evaluation.mutate_existing:
        return None
    if own is None or not own.resource_rules:
        own = spec.match_constraints
    every = own and own.for_any_operation()
    namespace, kinds = part.policy.namespace, part.options.kinds
    chosen = compile_constraints(every, namespace, kinds, everything=True)
    if chosen.fault:
        chosen = Constraints(lambda _: False, frozenset())
    return Targets(expression, chosen, conditions)


def _target_list(found: object) -> list[KubernetesObject]:
    if not isinstance(found, dict):
        raise EvaluationError("type conversion error from 'null_type' to 'map[string]interface {}'")
    listed = found.get("items")
    return listed if isinstance(listed, list) else [found]


_NO_TARGETS = (
    f"{MISSING_INPUT}no target resource matches `targetMatchConstraints`, so nothing is changed: "
    "pass them with --target-resource, in tests as `targetResources`"
)
_KEPT = ("a cluster does not change this object: the policy has targets of its own",)


class MutatingPolicy(NamedTuple):
    """The programs of a policy, or of one of its variants."""

    values: RequestValues
    conditions: tuple[CompiledExpression, ...]
    mutations: tuple[Mutation, ...]
    annotations: Mapping[str, CompiledExpression]
    exceptions: CompiledExceptions | None
    looks_again: bool
    """Whether an expression reads the object after a mutation."""
    targets: Targets | None
    """The existing objects that it also changes; None if there are none."""
    target_kinds: TargetKinds | None
    """The kinds that it changes instead of its triggers; None if it changes the triggers."""


def compile_mutating_policy(part: PolicyPart) -> MutatingPolicy:
    """Return the programs of a policy, or of one of its variants."""
    spec, compiler = part.spec, part.compiler
    variables = compiler.variables(spec.variables)
    conditions = compiler.conditions(spec.match_conditions)
    if spec.autogen.native_policies["MutatingAdmissionPolicy"]:
        for node, one in zip(spec.match_conditions, conditions, strict=True):
            if "variables" in one.reads:
                reason = (
                    "variables cannot be referenced in matchConditions when "
                    "spec.autogen.mutatingAdmissionPolicy.enabled is true; native "
                    "MutatingAdmissionPolicy evaluates match conditions before variables, so "
                    "inline the expression instead"
                )
                compiler.reject(one.text, (*node.path, "expression"), reason)
    find_type = type_finder(part.options.kinds)
    replaces = bool(spec.evaluation.use_server_side_apply)
    found = (
        compile_mutation(compiler, node, find_type, replaces=replaces) for node in spec.mutations
    )
    mutations = [one for one in found if one is not None]
    annotations = compiler.annotations(spec.audit_annotations)
    targets = _compile_targets(part)
    # upstream: pkg/cel/policies/mpol/engine/predicate.go `NoTargetMatchConstraintPolicy`
    written, kinds = spec.target_match_constraints, None
    if written is not None and spec.has_own_targets:
        rules = tuple(
            rule._replace(operations=("*",), resource_names=(), scope="")
            for rule in written.resource_rules
        )
        chosen = MatchConstraints(written.path, rules)
        kinds = TargetKinds(
            None if written.expression else compile_constraints(chosen, "", part.options.kinds)
        )
    return MutatingPolicy(
        values=RequestValues(part, variables),
        conditions=conditions,
        mutations=tuple(mutations),
        annotations=annotations,
        exceptions=compile_exceptions(part, ignorable=False),
        looks_again=len(mutations) > 1 or bool(annotations),
        targets=targets,
        target_kinds=kinds,
    )


def _compile(part: PolicyPart) -> CompiledBody:
    policy = compile_mutating_policy(part)

    def run(evaluation: Evaluation) -> Outcome:
        try:
            matched = policy.exceptions.matching(evaluation) if policy.exceptions else Matched()
        except EvaluationError as error:
            return MUTATING.unevaluated(error)
        excused = excepted(matched) if matched.is_full else None
        if excused is not None and policy.targets is None:
            return excused
        outcome = _run(policy, evaluation._replace(exceptions=matched.partial), excused)
        return noted(outcome, matched) or outcome

    return run


def _no_effect(spec: CelPolicyNode) -> Iterator[NoEffect]:
    if not spec.mutations:
        yield spec.path, "`mutations` is empty"
    for one in spec.mutations:
        if one.field is None:
            yield (*one.path, "patchType"), f"`{one.patch_type}` is not a patch type"
        elif one.expression is None:
            yield one.path, f"`{one.field}` is missing"


def _run(policy: MutatingPolicy, evaluation: Evaluation, excused: Outcome | None) -> Outcome:
    """Return the result for a trigger; `excused` is the result of an exempt trigger.

    Only conditions decide whether existing objects are changed.
    """
    values = policy.values.of(evaluation)
    try:
        if not all_hold(policy.conditions, values):
            return excused or skipped("skip")
    except EvaluationError as error:
        return excused or MUTATING.unevaluated(error)
    found: list[KubernetesObject] = []
    fault = None
    try:
        # In a cluster, another controller changes existing objects later.
        if policy.targets is not None and evaluation.scope.external.account is None:
            found = list(policy.targets.find(policy.values, evaluation))
    except EvaluationError as error:
        fault = error
    # In a cluster, the trigger of a policy with targets is not changed. The command line does; this
    # is reproduced only for targets of the trigger's kind, since mutations for another kind
    # fail or do harm.
    kinds, spares = policy.target_kinds, evaluation.scope.external.spares_triggers
    if excused is None and (kinds is None or (not spares and kinds.have(evaluation.object, found))):
        outcome = mutation_outcome(policy, values, evaluation.object)
    else:
        outcome = excused or passed("success")
    if fault is not None:
        return outcome._replace(further=(MUTATING.unevaluated(fault),))
    if policy.targets is None or not found:
        lacks = kinds is not None and fault is None and evaluation.scope.external.account is None
        is_idle = lacks and outcome.object is None and outcome.status is RuleStatus.PASS
        return outcome._replace(hints=(*outcome.hints, _NO_TARGETS)) if is_idle else outcome
    changed, faults = _changed_targets(policy, policy.targets, found, evaluation)
    return outcome._replace(targets=tuple(changed), further=tuple(faults))


def _changed_targets(
    policy: MutatingPolicy, targets: Targets, found: list[KubernetesObject], evaluation: Evaluation
) -> tuple[list[PatchedTarget], list[Outcome]]:
    """Return changed objects, and a further result for each that cannot be changed."""
    changed: list[PatchedTarget] = []
    faults: list[Outcome] = []
    for target in found:
        try:
            seen = evaluation._replace(object=target)
            matched = policy.exceptions.matching(seen) if policy.exceptions else None
            if matched and matched.is_full:
                continue
            if matched:
                seen = seen._replace(exceptions=matched.partial)
            own = values_on_existing(policy, seen)
            if targets.take(own):
                after = _mutated(policy, own, target, evaluation.scope.hints)
                changed.append(PatchedTarget(after, not same(after, target), target))
        except (EvaluationError, MutationError) as error:
            key = object_key(target)
            named = "/".join(filter(None, (key.namespace, key.kind, key.name)))
            place = f"on the existing object `{named}`, which is `object` there"
            note = "; ".join(filter(None, (place, remedy_for(str(error)))))
            faults.append(MUTATING.unevaluated(error)._replace(note=note))
    return changed, faults


def mutation_outcome(
    policy: MutatingPolicy, values: list[object], obj: KubernetesObject | None
) -> Outcome:
    """Return the result for an object whose conditions hold, with the mutated object."""
    hints: list[str] = []
    try:
        after = _mutated(policy, values, {} if obj is None else obj, hints)
        properties = annotation_texts(policy.annotations, values, '"')
    except (EvaluationError, MutationError) as error:
        return MUTATING.unevaluated(error)
    done = passed("success")._replace(properties=properties, hints=tuple(hints))
    if same(after, obj):
        return done
    return done._replace(object=after, hints=(*hints, *(_KEPT if policy.target_kinds else ())))


def _mutated(
    policy: MutatingPolicy, values: list[object], obj: KubernetesObject, hints: list[str]
) -> Json:
    """Return the mutated object, and add hints; raises EvaluationError or MutationError.

    Numbers of the object are doubles until the first mutation; after that whole numbers are ints in
    the expressions that follow.
    """
    place = policy.values.place("object")
    patched = obj
    for mutation in policy.mutations:
        patched = mutation(values, patched, hints)
        if policy.looks_again:
            values[place] = patched = with_whole_numbers(patched)
    return with_floats_where_exact(patched)


def values_on_existing(policy: MutatingPolicy, seen: Evaluation) -> list[object]:
    """Return the values of expressions for an existing object, without old object and namespace."""
    return policy.values.of(seen, object=seen.object, oldObject=None, namespaceObject=None)


MUTATING = CelKind(
    "MutatingPolicy",
    Stage.CEL_MUTATE,
    _compile,
    no_effect=_no_effect,
    variants=mutation_variants,
    on_templates=lambda *_: without_mutation(
        "", "extraction mode: mutation for custom workload CRDs is not yet supported"
    ),
    names_rules=False,
    match_rule="match",
    without_constraints=True,
    weighs_exceptions=True,
    answers_always=lambda spec: not are_plain(spec.match_constraints),
)

# How a MutatingPolicy changes the existing objects of a cluster.
#
# Requests that it matches trigger this. Then each variant of the policy changes each target, one
# after the other, for whatever kind the variant was derived: in the background nothing is
# matched.
#
# Source of the rules: upstream pkg/background/mpol/processor.go, pkg/cel/policies/mpol (engine,
# compiler/policy.go).


class TargetError(Exception):
    """The expression returns invalid targets; the text is upstream's."""


class ExistingChange(NamedTuple):
    """The change of existing objects by one variant of a policy."""

    policy: MutatingPolicy
    targets: Targets

    def wants(self, evaluation: Evaluation) -> bool:
        """Return whether the conditions for triggers hold; a condition that fails does not hold."""
        try:
            return all_hold(self.policy.conditions, self.policy.values.of(evaluation))
        except EvaluationError:
            return False

    def find(self, evaluation: Evaluation) -> Sequence[KubernetesObject]:
        """Return the targets that the expression returns for a trigger; raises TargetError."""
        values = values_on_existing(self.policy, evaluation)
        try:
            if not all_hold(self.policy.conditions, values):
                return ()
        except EvaluationError:
            return ()
        try:
            found = self.targets.named(values)
        except EvaluationError as error:
            raise TargetError(str(error)) from None
        for one in found:
            if one.__class__ is not dict:
                raise TargetError(f"item is not a valid Kubernetes object: {one}")
        return found

    def change(self, evaluation: Evaluation) -> Outcome:
        """Return the result for a target, with the object that the variant mutated."""
        exceptions = self.policy.exceptions
        try:
            matched = exceptions.matching(evaluation) if exceptions else Matched()
            if matched.is_full:
                return excepted(matched)
            seen = evaluation._replace(exceptions=matched.partial)
            values = values_on_existing(self.policy, seen)
            if not self.targets.take(values):
                return skipped("skip")
        except EvaluationError as error:
            return MUTATING.unevaluated(error)
        return mutation_outcome(self.policy, values, seen.object)
