"""One policy in one phase on one request."""

from collections.abc import Mapping

from kyvsim.compile import CompiledRule, Turn
from kyvsim.compile.outcome import Outcome, errored, skipped
from kyvsim.context import JSONContext, request_context, with_variables
from kyvsim.engine.known_objects import split_known
from kyvsim.engine.mocked_request import with_given_operation, with_own_operation
from kyvsim.engine.rule import RuleInput, confined, evaluate_rule, keeps_old_violation
from kyvsim.engine.world import World
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.match import MatchFacts, facts_after_change, match_facts
from kyvsim.model.fault import fault_text
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus

_APPLIED = frozenset({RuleStatus.PASS, RuleStatus.FAIL})
_TOLERATED = skipped("skipping the rule evaluation as pre-existing violations are allowed")
_OLD_OBJECT = "request.oldObject"
_NOBODY = UserInfo(
    "kyverno:kyverno-invalid-controller",
    groups=("kyverno:invalidgroup",),
    roles=("kyverno:invalidrole",),
    cluster_roles=("kyverno:invalidrole",),
)


def run_turn(
    turn: Turn, phase: Phase, given: RuleInput, world: World, *, settled: bool = False
) -> PolicyResponse:
    """Return what a policy's rules of one phase say, and the object as they leave it.

    `settled` says that all of them are known to apply, so that only their bodies are asked.
    """
    policy = turn.policy.policy
    subject = seen = start = given.object if given.object is not None else given.request.subject
    results: list[RuleResult] = []
    silent: list[RuleResult] = []
    given = confined(given, policy)
    for rule in turn.rules:
        if subject is not seen:  # only now, since a changed object is mostly the last rule's
            given, seen = _after_change(given, subject), subject
        outcome = _run_rule(rule, given, world, policy.name, settled=settled)
        if outcome is None:
            continue
        if outcome.silent:
            silent.append(result_of(rule, outcome, given.request.subject, results))
            continue
        if outcome.object is not None:
            subject = outcome.object
        results.append(result_of(rule, outcome, given.request.subject, results))
        if outcome.generated:
            given = _after_making(given, outcome.generated)
        for further in outcome.further:
            results.append(result_of(rule, further, given.request.subject, results))
        if policy.applies_one_rule and any(
            one.status in _APPLIED for one in (outcome, *outcome.further)
        ):
            break
    changed = subject is not start
    return PolicyResponse(
        policy=policy,
        phase=phase,
        object=subject,
        results=tuple(results),
        changed=changed,
        silent=tuple(silent),
    )


def faulted(turn: Turn, phase: Phase, subject: Json, error: Exception) -> PolicyResponse:
    """Return the answer of a policy that could not be asked: each of its rules ends in an error."""
    said = errored(fault_text(error))
    results = tuple(result_of(rule, said, subject, []) for rule in turn.rules)
    return PolicyResponse(turn.policy.policy, phase, subject, results)


def _after_change(given: RuleInput, subject: Json) -> RuleInput:
    return given._replace(
        object=subject,
        scope=given.scope.with_object(subject),
        facts=facts_after_change(given.facts, subject),
        arrived=given.arrived or given.facts,
    )


def _after_making(given: RuleInput, made: tuple[Json, ...]) -> RuleInput:
    outside = given.scope.outside
    outside = outside._replace(made=(*outside.made, *made))
    return given._replace(scope=given.scope.asking(outside))


def result_of(
    rule: CompiledRule, outcome: Outcome, subject: Json, earlier: list[RuleResult]
) -> RuleResult:
    """Return the result of a rule on an object, after those `earlier` of the same policy."""
    generated, note = outcome.generated, outcome.note
    if outcome.unchecked:
        note = "; ".join(filter(None, (note, _passed_over(outcome.unchecked))))
    if generated:
        generated, overlaps = split_known(generated, subject, earlier)
        note = "; ".join(filter(None, (note, *overlaps)))
    hindered = bool(note)
    if outcome.hints:
        note = "; ".join(filter(None, (note, *outcome.hints)))
    told = rule.rule._replace(name=outcome.rule_name) if outcome.rule_name else rule.rule
    return RuleResult(
        rule=told,
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


def _passed_over(unchecked: tuple[str, ...]) -> str:
    first, *others = unchecked
    more = f" (and {len(others)} more)" if others else ""
    return f"not checked, and Kyverno does not say so: {first}{more}"


def open_for(policy: Policy, request: AdmissionRequest, world: World) -> RuleInput | None:
    """Return the request as a policy sees it, or None where no object is left."""
    if world.values and not policy.facts.has_rules:
        world = world._replace(values=world.values.without_variables())
    return open_request(request, world, policy.name)


def open_request(request: AdmissionRequest, world: World, policy: str) -> RuleInput | None:
    """Return the request with the values given for it put in, or None where no object is left."""
    key, old = object_key(request.subject), request.old_object
    variables: Mapping[str, Json] = {}
    if world.values:
        variables = with_own_operation(request, world.values.for_resource(policy, key.name))
        request = with_given_operation(request, variables)
    outside = world.outside_before(_stored(request, variables, world, old))
    scope = request_context(request, outside, variables)
    brought = request
    if variables:
        request = _read_back(request, scope)
    subject = request.subject
    facts = match_facts(request, subject, _namespace_labels(world, key.namespace))
    if facts is None:
        return None
    if variables and brought.parent_kind is None:
        facts = _of_kind(facts, brought.subject)
    return RuleInput(request, facts, scope, request.object)


def reopened(given: RuleInput, request: AdmissionRequest, world: World) -> RuleInput | None:
    """Return what a request opens as that has changed its object since it was `given`.

    Most mutations leave what match blocks look at alone.
    """
    before, after = given.request.object, request.object
    if not (
        after.__class__ is dict is before.__class__
        and all(before.get(name) is after.get(name) for name in ("apiVersion", "kind", "metadata"))
    ):
        return open_request(request, world, "")
    scope = request_context(request, given.scope.outside, {})
    return RuleInput(request, given.facts, scope, after)


def within_request(given: RuleInput, begun: AdmissionRequest, world: World) -> RuleInput:
    """Return what a later policy in CEL sees: of the object changes, of the request none.

    One request goes through all of them, with the name and the namespace that it `begun` with.
    upstream: pkg/cel/policies/mpol/engine
    """
    labels = _namespace_labels(world, object_key(begun.subject).namespace)
    arrived = match_facts(begun, begun.subject, labels) or given.facts
    facts = arrived._replace(labels=given.facts.labels, annotations=given.facts.annotations)
    return given._replace(request=given.request._replace(object=begun.object), facts=facts)


def _stored(
    request: AdmissionRequest, variables: Mapping[str, Json], world: World, old: Json | None
) -> Json | None:
    """Return what a cluster has of the object that a request brings while it is admitted.

    At CREATE it has nothing. A subresource is created of an object that is there. At UPDATE it has
    the `old` one that the request came with, or the object itself.
    """
    if world.arriving is None or (
        request.operation is Operation.CREATE and not request.subresource
    ):
        return None
    given = {name: value for name, value in variables.items() if name.startswith(_OLD_OBJECT)}
    if not given:
        return world.arriving if old is None else old
    changed = with_variables({"request": {"oldObject": request.old_object}}, given)
    return changed["request"]["oldObject"]


def _read_back(request: AdmissionRequest, scope: JSONContext) -> AdmissionRequest:
    """Return the request with the objects that its values may have changed.

    What is deleted has no new form, whatever a value says; upstream looks at the old one alone.
    """
    fields = scope.root(frozenset())["request"]
    new = None if request.operation is Operation.DELETE else fields.get("object")
    return request._replace(object=new, old_object=fields.get("oldObject"))


def _namespace_labels(world: World, namespace: str) -> Mapping[str, Json]:
    given = world.values.namespace_labels(namespace) if world.values else None
    if given or not world.answers_calls:
        return given or {}
    return world.cluster.namespace_labels(namespace)


def _run_rule(
    rule: CompiledRule, given: RuleInput, world: World, policy: str, *, settled: bool
) -> Outcome | None:
    hints = given.scope.hints
    hints.clear()
    if world.values:
        variables = world.values.for_rule(policy, rule.rule.name)
        if variables:
            given = given._replace(scope=given.scope.layer({}, variables=variables))
    later = rule.later or (world.spares_triggers and rule.rule.facts.spares_triggers)
    if later and world.arriving is not None:
        now = world.outside._replace(made=given.scope.outside.made)
        given = given._replace(scope=given.scope.asking(now))
    outcome = evaluate_rule(rule, given, settled=settled)
    if outcome is None:
        return None
    if keeps_old_violation(rule, given, outcome) and _failed_before(rule, given, world, policy):
        outcome = _TOLERATED
    if not hints:
        return outcome
    return outcome._replace(hints=tuple(dict.fromkeys((*outcome.hints, *hints))))


def _failed_before(rule: CompiledRule, given: RuleInput, world: World, policy: str) -> bool:
    """Return whether the old object, created by nobody in particular, would fail too."""
    before = _as_created(given.request)
    # The object is there, old as it is.
    old = open_request(before, world._replace(values=None, arriving=None), policy)
    earlier = evaluate_rule(rule, _by_nobody(old)) if old else None
    return earlier is not None and earlier.status is RuleStatus.FAIL


def _by_nobody(old: RuleInput) -> RuleInput:
    """Return the old object's creation as match blocks see it: whole, and by a user of its own.

    upstream: pkg/engine/handlers/validation/utils.go (matchResource)
    """
    facts = _of_kind(old.facts, old.object)
    return old._replace(facts=facts._replace(subresource="", user=_NOBODY))


def _of_kind(facts: MatchFacts, obj: Json) -> MatchFacts:
    """Return the facts with the kind of an object, as which a request brought it."""
    group, version = split_api_version(text_field(obj, "apiVersion"))
    return facts._replace(group=group, version=version, kind=text_field(obj, "kind"))


def _as_created(request: AdmissionRequest) -> AdmissionRequest:
    return request._replace(operation=Operation.CREATE, object=request.old_object, old_object=None)
