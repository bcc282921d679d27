"""The rules of a policy in one phase on one request: match, context, exceptions, body."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from kyvsim.engine.compile import CompiledPolicy, CompiledRule, PolicyRules
from kyvsim.engine.compile.compiled import (
    CompiledConditions,
    CompiledException,
    Evaluation,
    MatchedException,
    Outcome,
    errored,
    skipped,
)
from kyvsim.engine.conditions import ConditionError
from kyvsim.engine.context import MISSING_INPUT, JSONContext, request_context, with_variables
from kyvsim.engine.match import MatchFacts, facts_after_change, match_facts
from kyvsim.engine.missing_input import (
    assumed_request,
    error_text,
    may_lack_input,
    missing_defaults,
    missing_inputs,
    remedy_for,
    unmet_subjects,
)
from kyvsim.engine.world import World
from kyvsim.jmespath import QueryError
from kyvsim.kubernetes.discovery import parse_kind_selector, split_api_version
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, object_key, text_field
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.diagnostic import listed
from kyvsim.model.policy import Policy
from kyvsim.model.ports import BudgetError, fault_text
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus

# One rule on one request: match, context, preconditions, exceptions, body.
#
# Source of the rules: upstream pkg/engine/engine.go and, for generate, pkg/engine/background.go.


class RuleInput(NamedTuple):
    """The input of a rule."""

    request: AdmissionRequest
    facts: MatchFacts
    scope: JSONContext
    object: KubernetesObject | None
    """The object after the previous rules; None on DELETE."""
    arrived: MatchFacts | None = None
    """The facts of the original request, if earlier rules have changed the object.

    Exceptions match these: upstream keeps the request's object for them.
    """


def confined(given: RuleInput, policy: Policy) -> RuleInput:
    """Return the input of a policy's rules: a namespaced policy reads only its own namespace."""
    if policy.kind != "Policy":
        return given
    return given._replace(scope=given.scope.confined(policy.namespace or "default"))


def evaluate_rule(rule: CompiledRule, given: RuleInput, *, settled: bool = False) -> Outcome | None:
    """Return the outcome of the rule, or None if it does not apply or has no result.

    With `settled`, the rule is known to apply, and only its body is evaluated.
    """
    meter = rule.meter
    if meter is not None and meter.left != meter.given:
        meter.begin_rule()
    given.scope.begin_rule(rule.release)
    try:
        if settled:
            return rule.body(Evaluation(given.scope, given.request, given.object))
        if not rule.matches(given.facts):
            return rule.unmatched
        if rule.concerns is not None and not rule.concerns(given.object):
            return None
        if rule.phase is Phase.GENERATE:
            return _excepted(rule, given) or _evaluate(rule, given)
        return _evaluate(rule, given)
    except BudgetError as error:
        return errored(str(error))
    except Exception as error:  # noqa: BLE001 — INVARIANT: faults of evaluation become errors here
        return errored(fault_text(error))


def _evaluate(rule: CompiledRule, given: RuleInput) -> Outcome | None:
    if rule.entries:
        given = given._replace(scope=given.scope.layer({}, rule.entries))
    if rule.preconditions is not None:
        unmet = _unmet(rule, given)
        if unmet is not None:
            return unmet
    evaluation = Evaluation(given.scope, given.request, given.object)
    outcome = None
    if rule.exceptions and rule.weighs_exceptions:
        evaluation = evaluation._replace(exceptions=_matched(rule, given))
    elif rule.exceptions and rule.phase is not Phase.GENERATE:
        outcome = _excepted(rule, given)
    if outcome is None:
        outcome = rule.body(evaluation)
    if outcome is None or rule.properties is None:
        return outcome
    template, found = rule.properties
    with suppress(QueryError):
        found = template.render(given.scope)
    written = {name: str(value) for name, value in found.items()}
    return outcome._replace(properties={**written, **outcome.properties})


def _unmet(rule: CompiledRule, given: RuleInput) -> Outcome | None:
    generates = rule.stage.phase is Phase.GENERATE
    try:
        result = rule.preconditions(given.scope) if rule.preconditions else None
    except (ConditionError, QueryError) as error:
        kind = "conditions" if generates else "preconditions"
        return errored(f"failed to evaluate {kind}", error)
    if result is None or result.met:
        return None
    reason = "; ".join(filter(None, ("preconditions not met", result.messages)))
    # upstream has no message for a skipped generate rule: pkg/engine/background.go `filterRule`
    return skipped("")._replace(own=reason) if generates else skipped(reason)


def _excepted(rule: CompiledRule, given: RuleInput) -> Outcome | None:
    keys = tuple(exception.key for exception in _matched(rule, given))
    if not keys:
        return None
    # upstream has two texts, one of them without the blank.
    start = "exception " if rule.phase is Phase.GENERATE else "exceptions"
    return skipped(f"rule is skipped due to policy {start}{', '.join(keys)}", keys)


def _matched(rule: CompiledRule, given: RuleInput) -> tuple[MatchedException, ...]:
    facts = given.arrived or given.facts
    exceptions = rule.find_exceptions(facts) if rule.find_exceptions else rule.exceptions
    return tuple(
        MatchedException(exception.key, exception.controls)
        for exception in exceptions
        if exception.matches(facts) and _holds(exception.conditions, given.scope)
    )


def _holds(conditions: CompiledConditions | None, scope: JSONContext) -> bool:
    if conditions is None:
        return True
    try:
        return conditions(scope).met
    except (ConditionError, QueryError):
        return False


# Requests changed by the given values of their variables.
#
# Source of the rules: upstream cmd/cli/kubectl-kyverno/processor/policy_processor.go, where the
# value of `request.operation` decides the operation of a request.

_OPERATION = "request.operation"


def with_given_operation(
    request: AdmissionRequest, variables: Mapping[str, object]
) -> AdmissionRequest:
    """Return a CREATE request with the operation that the variables specify.

    Upstream's command line does not support CONNECT.
    """
    if request.operation is not Operation.CREATE:
        return request
    operation = variables.get(_OPERATION)
    if operation == Operation.UPDATE.value:
        return request._replace(operation=Operation.UPDATE, old_object=request.object)
    if operation == Operation.DELETE.value:
        # upstream reads the namespace from the object, which a deletion does not have.
        return request._replace(
            operation=Operation.DELETE, object=None, old_object=request.object, namespace=""
        )
    if operation == Operation.CONNECT.value:
        return request._replace(operation=Operation.CONNECT)
    return request


# Generated objects that exist already when a rule generates them.


def split_known(
    generated: tuple[KubernetesObject, ...],
    trigger: KubernetesObject,
    earlier: Iterable[RuleResult],
) -> tuple[tuple[KubernetesObject, ...], list[str]]:
    """Return the new objects, and a sentence for each that exists already.

    The trigger, and objects generated by earlier rules of the policy, exist already. Two objects of
    one policy in CEL with the same identity are both new, as in upstream.
    """
    if not generated:
        return (), []
    known = {object_key(one): result.rule.name for result in earlier for one in result.generated}
    known[object_key(trigger)] = ""
    seen: set[ObjectKey] = set()
    overlaps: list[str] = []
    for one in generated:
        key = object_key(one)
        if known.get(key):
            overlaps.append(f"{key.title} was generated by rule {known[key]} already")
        elif key in seen:
            overlaps.append(f"{key.title} is generated more than once by this rule")
        seen.add(key)
    return tuple(one for one in generated if object_key(one) not in known), overlaps


# One policy in one phase on one request.

_APPLIED = frozenset({RuleStatus.PASS, RuleStatus.FAIL})
_TOLERATED = skipped("skipping the rule evaluation as pre-existing violations are allowed")
_OLD_OBJECT = "request.oldObject"
_NOBODY = UserInfo(
    "kyverno:kyverno-invalid-controller",
    groups=("kyverno:invalidgroup",),
    roles=("kyverno:invalidrole",),
    cluster_roles=("kyverno:invalidrole",),
)


def run_policy_rules(
    policy_rules: PolicyRules,
    phase: Phase,
    given: RuleInput,
    world: World,
    *,
    settled: bool = False,
) -> PolicyResponse:
    """Return the results of a policy's rules of one phase, and the resulting object.

    With `settled`, all of them are known to apply, and only their bodies are evaluated.
    """
    policy = policy_rules.policy.policy
    subject = seen = start = given.object if given.object is not None else given.request.subject
    results: list[RuleResult] = []
    silent: list[RuleResult] = []
    given = confined(given, policy)
    for rule in policy_rules.rules:
        if subject is not seen:  # delayed, since mostly the last rule changes the object
            seen = subject
            given = given._replace(
                object=subject,
                scope=given.scope.with_object(subject),
                facts=facts_after_change(given.facts, subject),
                arrived=given.arrived or given.facts,
            )
        outcome = _run_rule(rule, given, world, policy_rules.policy, settled=settled)
        if outcome is None:
            continue
        if outcome.silent:
            silent.append(result_of(rule, outcome, given.request.subject, results))
            continue
        if outcome.object is not None:
            subject = outcome.object
        results.append(result_of(rule, outcome, given.request.subject, results))
        if outcome.generated:
            external = given.scope.external
            external = external._replace(made=(*external.made, *outcome.generated))
            given = given._replace(scope=given.scope.asking(external))
        for further in outcome.further:
            results.append(result_of(rule, further, given.request.subject, results))
        if policy.applies_one_rule and any(
            one.status in _APPLIED for one in (outcome, *outcome.further)
        ):
            break
    return PolicyResponse(
        policy=policy,
        phase=phase,
        object=subject,
        results=tuple(results),
        changed=subject is not start,
        silent=tuple(silent),
    )


def faulted(
    policy_rules: PolicyRules, phase: Phase, subject: KubernetesObject, error: Exception
) -> PolicyResponse:
    """Return the response of a policy whose evaluation failed: an error for each of its rules."""
    outcome = errored(fault_text(error))
    results = tuple(result_of(rule, outcome, subject, []) for rule in policy_rules.rules)
    return PolicyResponse(policy_rules.policy.policy, phase, subject, results)


def result_of(
    rule: CompiledRule, outcome: Outcome, subject: KubernetesObject, earlier: list[RuleResult]
) -> RuleResult:
    """Return the result of a rule on an object, after the `earlier` results of the same policy."""
    generated, note = outcome.generated, outcome.note
    if outcome.unchecked:
        first, *others = outcome.unchecked
        more = f" (and {len(others)} more)" if others else ""
        text = f"not checked, and not reported by Kyverno: {first}{more}"
        note = "; ".join(filter(None, (note, text, remedy_for(first))))
    if generated:
        generated, overlaps = split_known(generated, subject, earlier)
        note = "; ".join(filter(None, (note, *overlaps)))
    hindered = bool(note)
    if outcome.hints:
        note = "; ".join(filter(None, (note, *outcome.hints)))
    return RuleResult(
        rule=rule.rule._replace(name=outcome.rule_name) if outcome.rule_name else rule.rule,
        phase=outcome.phase or rule.stage.phase,
        status=outcome.status,
        message=outcome.message,
        generated=generated,
        targets=outcome.targets,
        path=outcome.path,
        note=note,
        exceptions=outcome.exceptions,
        properties=outcome.properties,
        unchecked=outcome.unchecked,
        hindered=hindered,
        own=outcome.own,
    )


def open_for(policy: Policy, request: AdmissionRequest, world: World) -> RuleInput | None:
    """Return the input of a policy for the request, or None if there is no object."""
    if world.values and not policy.facts.has_rules:
        world = world._replace(values=world.values.without_variables())
    return open_request(request, world, policy.name)


def open_request(request: AdmissionRequest, world: World, policy: str) -> RuleInput | None:
    """Return the input for the request with its given values, or None if there is no object."""
    key, old = object_key(request.subject), request.old_object
    variables: Mapping[str, object] = {}
    if world.values:
        variables = world.values.for_resource(policy, key.name)
        if request.operation is not Operation.CREATE:
            variables = {**variables, _OPERATION: request.operation.value}
        request = with_given_operation(request, variables)
    external = world.outside_before(_stored(request, variables, world, old))
    scope = request_context(request, external, variables)
    brought = request
    if variables:
        # Variables may have changed the objects of the request.
        # A deletion has no new object, whatever the values are; upstream uses only the old
        # one.
        fields = scope.root(frozenset())["request"]
        new = None if request.operation is Operation.DELETE else fields.get("object")
        request = request._replace(object=new, old_object=fields.get("oldObject"))
    facts = match_facts(request, request.subject, _namespace_labels(world, key.namespace))
    if facts is None:
        return None
    if variables and brought.parent_kind is None:
        facts = _of_kind(facts, brought.subject)
    return RuleInput(request, facts, scope, request.object)


def reopened(given: RuleInput, request: AdmissionRequest, world: World) -> RuleInput | None:
    """Return the input for a request whose object has changed since it was `given`.

    Most mutations do not affect match blocks.
    """
    before, after = given.request.object, request.object
    if not (
        after.__class__ is dict is before.__class__
        and all(before.get(name) is after.get(name) for name in ("apiVersion", "kind", "metadata"))
    ):
        return open_request(request, world, "")
    scope = request_context(request, given.scope.external, {})
    return RuleInput(request, given.facts, scope, after)


def within_request(given: RuleInput, begun: AdmissionRequest, world: World) -> RuleInput:
    """Return the input of a later policy in CEL: with the changed object, but the original request.

    All of them evaluate one request, with the name and the namespace that it `begun` with.
    upstream: pkg/cel/policies/mpol/engine
    """
    labels = _namespace_labels(world, object_key(begun.subject).namespace)
    arrived = match_facts(begun, begun.subject, labels) or given.facts
    facts = arrived._replace(labels=given.facts.labels, annotations=given.facts.annotations)
    return given._replace(request=given.request._replace(object=begun.object), facts=facts)


def _stored(
    request: AdmissionRequest,
    variables: Mapping[str, object],
    world: World,
    old: KubernetesObject | None,
) -> KubernetesObject | None:
    """Return the object of a request as stored in a cluster during admission.

    At CREATE there is none, unless for a subresource, whose object exists. At UPDATE it is the
    request's `old` object, or the object itself.
    """
    if world.arriving is None or (
        request.operation is Operation.CREATE and not request.subresource
    ):
        return None
    given = {name: value for name, value in variables.items() if name.startswith(_OLD_OBJECT)}
    if not given:
        return world.arriving if old is None else old
    changed = with_variables({"request": {"oldObject": request.old_object}}, given)
    stored: KubernetesObject | None = changed["request"]["oldObject"]
    return stored


def _namespace_labels(world: World, namespace: str) -> Mapping[str, str]:
    given = world.values.namespace_labels(namespace) if world.values else None
    if given or not world.answers_calls:
        return given or {}
    return world.cluster.namespace_labels(namespace)


def _run_rule(
    rule: CompiledRule, given: RuleInput, world: World, policy: CompiledPolicy, *, settled: bool
) -> Outcome | None:
    hints = given.scope.hints
    hints.clear()
    if world.values:
        variables = world.values.for_rule(policy.policy.name, rule.rule.name)
        if variables:
            given = given._replace(scope=given.scope.layer({}, variables=variables))
    later = rule.later or (world.spares_triggers and rule.rule.facts.spares_triggers)
    if later and world.arriving is not None:
        now = world.external._replace(made=given.scope.external.made)
        given = given._replace(scope=given.scope.asking(now))
    outcome = evaluate_rule(rule, given, settled=settled)
    if outcome is None:
        return None
    if (
        outcome.status is RuleStatus.FAIL
        and rule.tolerates_violations
        and rule.phase is Phase.VALIDATE
        and given.request.operation is Operation.UPDATE
    ) and _failed_before(rule, given, world, policy.policy.name):
        outcome = _TOLERATED
    if world.reports_missing_input:
        is_open = outcome.status is not RuleStatus.PASS or outcome.note
        more = _hints_for(rule, policy, outcome, given) if is_open else ()
        hints = [*hints, *assumed_request(rule.rule, outcome.status, given.request), *more]
    if not hints:
        return outcome
    return outcome._replace(hints=tuple(dict.fromkeys((*outcome.hints, *hints))))


def _hints_for(
    rule: CompiledRule, policy: CompiledPolicy, outcome: Outcome, given: RuleInput
) -> list[str]:
    """Return why a rule did not pass, or did not do its work, besides what its lookups report."""
    hints: list[str] = []
    if may_lack_input(rule.rule, outcome.status, given.object):
        hints += _missing_inputs(rule, policy, outcome, given)
    if outcome.status in _NOT_FULFILLED:
        hints += unmet_subjects(rule.rule, given.request)
        hints += _ignored_exceptions(policy.untraced(rule), given)
    if not (hints or given.scope.hints or outcome.hints):
        remedy = remedy_for(error_text(outcome))
        hints += [remedy] if remedy else []
    return hints


_NOT_FULFILLED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


def _ignored_exceptions(rule: CompiledRule, given: RuleInput) -> Iterator[str]:
    """Yield the exceptions that would apply with a user, or if their conditions had no errors."""
    scope = given.scope.layer({}, rule.entries) if rule.entries else given.scope
    facts = given.arrived or given.facts
    lacks_user = not (given.request.user or given.request.details)
    for exception in rule.find_exceptions(facts) if rule.find_exceptions else rule.exceptions:
        if not exception.matches(facts):
            yield from _other_namespaces(exception, object_key(given.request.subject))
            if lacks_user and any(one.names_users for one in exception.written.filters):
                yield (
                    f"{MISSING_INPUT}no user is given, so exception {exception.key}, which is for "
                    "some users, does not match: pass --as USER or --userinfo FILE, in tests "
                    "`userinfo: FILE`"
                )
        elif exception.conditions:
            try:
                exception.conditions(scope)
            except (ConditionError, QueryError) as error:
                why = "; ".join(filter(None, (str(error), remedy_for(str(error)))))
                yield f"exception {exception.key} is ignored, since its conditions fail: {why}"


def _other_namespaces(exception: CompiledException, key: ObjectKey) -> Iterator[str]:
    """Yield that an exception names an object, in other namespaces."""
    for one in exception.written.filters:
        kinds = {parse_kind_selector(text).kind for text in one.kinds}
        names = [name for name in one.all_names if name.strip("*?") and matches(name, key.name)]
        fits = any(matches(namespace, key.namespace) for namespace in one.namespaces)
        if names and key.kind in kinds and one.namespaces and not fits:
            yield (
                f"exception {exception.key} is for `{names[0]}` in {listed(one.namespaces)}, and "
                f"not in `{key.namespace}`"
            )


def _missing_inputs(
    rule: CompiledRule, policy: CompiledPolicy, outcome: Outcome, given: RuleInput
) -> Iterator[str]:
    """Yield the inputs that were not given, and on which the outcome of a rule may depend."""
    references = policy.references(rule.rule)
    conditions = rule.rule.data.get("matchConditions")
    yield from missing_inputs(references, outcome, given.request, given.scope, conditions)
    if outcome.status not in _NOT_FULFILLED or given.object is None:
        return

    def again(obj: KubernetesObject) -> RuleStatus | None:
        request = given.request._replace(object=obj)
        scope = given.scope.with_object(obj)
        found = evaluate_rule(
            policy.untraced(rule), given._replace(request=request, object=obj, scope=scope)
        )
        if found is None or found.status is not outcome.status:
            return found and found.status
        is_other = found.status is RuleStatus.ERROR and found.message != outcome.message
        return found.status if is_other else None

    yield from missing_defaults(references, given.object, again)


def _failed_before(rule: CompiledRule, given: RuleInput, world: World, policy: str) -> bool:
    before = given.request._replace(
        operation=Operation.CREATE, object=given.request.old_object, old_object=None
    )
    # The old object exists.
    old = open_request(before, world._replace(values=None, arriving=None), policy)
    if old is None:
        return False
    # Match blocks use the whole object, and a separate user, as in upstream's matchResource in
    # pkg/engine/handlers/validation/utils.go.
    facts = _of_kind(old.facts, old.object)._replace(subresource="", user=_NOBODY)
    earlier = evaluate_rule(rule, old._replace(facts=facts))
    return earlier is not None and earlier.status is RuleStatus.FAIL


def _of_kind(facts: MatchFacts, obj: KubernetesObject | None) -> MatchFacts:
    group, version = split_api_version(text_field(obj, "apiVersion"))
    return facts._replace(group=group, version=version, kind=text_field(obj, "kind"))
