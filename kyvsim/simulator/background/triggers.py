"""Triggers of rules that work in the background: existing ones, and each as it is now."""

from collections.abc import Iterator, Mapping, Sequence

from kyvsim.engine.background import check_rule, open_background
from kyvsim.engine.compile import CompiledPolicy, CompiledRule
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import parse_kind_selector, split_api_version
from kyvsim.kubernetes.labels import compile_selector
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import RuleStatus
from kyvsim.model.simulation import Obstacle, Reason
from kyvsim.simulator.api_server import Store, errors
from kyvsim.simulator.api_server.authorizer import denial
from kyvsim.simulator.background.ownership import LABEL
from kyvsim.simulator.background.update_requests import (
    GENERATE,
    MUTATE,
    Work,
    of_mutation,
    reference,
    rule_context,
)
from kyvsim.simulator.kyverno.configuration import BACKGROUND
from kyvsim.simulator.kyverno.installed import Kyverno
from kyvsim.simulator.kyverno.match_conditions import concerns

# The trigger of an UpdateRequest, as it is now in the cluster.
#
# Source of the rules and texts: upstream pkg/background/common/resource.go.

_MISSING = Reason.TRIGGER_MISSING


class TriggerError(Exception):
    """A trigger that is not there, or still is where it should be gone, or cannot be read."""

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(obstacle.message)
        self.obstacle = obstacle


def live_trigger(trigger: Json, request: AdmissionRequest | None, store: Store) -> Json:
    """Return the trigger that a generate rule runs for.

    Raises `TriggerError` where the request that brought it was not stored, or not yet.
    """
    if request is None or request.operation is Operation.UPDATE:
        return find(trigger, request, store)
    if request.operation is Operation.DELETE:
        return _deleted(trigger, request, store)
    if request.operation is Operation.CONNECT:
        return request.object or request.old_object
    return created_trigger(trigger, request, store)


def created_trigger(trigger: Json, request: AdmissionRequest, store: Store) -> Json:
    """Return the trigger of a creation; for a subresource, what was sent to it.

    Raises `TriggerError` where it is not there.
    """
    try:
        return find(trigger, request, store)
    except TriggerError:
        if not request.subresource:
            raise
    return request.object


def find(trigger: Json, request: AdmissionRequest | None, store: Store) -> Json:
    """Return the object that a reference names, by its uid if it has one.

    Raises `TriggerError` where there is none.
    """
    api_version, kind = text_field(trigger, "apiVersion"), text_field(trigger, "kind")
    namespace, name = text_field(trigger, "namespace"), text_field(trigger, "name")
    uid = text_field(trigger, "uid")
    if uid:
        anywhere = ObjectKey(api_version, kind, namespace, "")
        refused = denial(BACKGROUND, "list", anywhere, store)
        if refused is not None:
            text = f"failed to list trigger resources: {refused.message}"
            raise TriggerError(Obstacle(refused.why, text, anywhere))
        for obj in _candidates(trigger, store):
            if metadata(obj).get("uid") == uid:
                return obj
        text = (
            f"trigger resource {api_version}/{kind} {namespace}/{name} with uid {uid} not found "
            "in the cluster, the corresponding admission request may have been rejected by the "
            "API server"
        )
        raise TriggerError(Obstacle(_MISSING, text, anywhere._replace(name=name), uid))
    if name:
        place = "" if kind == "Namespace" else namespace
        found = store.get(api_version, kind, place, name)
        if found is None:
            key = ObjectKey(api_version, kind, place, name)
            missing = errors.not_found(key, store.defined)
            text = f"resource {api_version}/{kind}/{place}/{name}: {missing.message}"
            raise TriggerError(Obstacle(_MISSING, text, key))
        return found
    if request is not None:
        return request.subject
    raise TriggerError(Obstacle(_MISSING, "resource not found"))


def _candidates(trigger: Json, store: Store) -> Sequence[Json]:
    """Return what can have the uid of a reference: one object where the name is told, too."""
    api_version, kind, namespace, name = object_key({**trigger, "metadata": trigger})
    if not name:
        return store.list(api_version, kind, namespace)
    place = "" if kind == "Namespace" else namespace
    found = store.get(api_version, kind, place, name)
    return [found] if found is not None else []


def _deleted(trigger: Json, request: AdmissionRequest, store: Store) -> Json:
    old = request.old_object
    if labels(old).get(f"{LABEL}policy-name"):
        return find(trigger, request, store)
    api_version, kind, namespace, name = object_key(old)
    live = store.get(api_version, kind, namespace, name)
    uid = text_field(metadata(old), "uid")
    same = live is not None and metadata(live).get("uid") == uid
    if same and not metadata(live).get("deletionTimestamp"):
        text = (
            f"trigger resource {api_version}/{kind} {namespace}/{name} with uid {uid} still exists "
            "in the cluster, the delete request may have been rejected by the API server"
        )
        raise TriggerError(Obstacle(Reason.TRIGGER_STAYS, text, object_key(old), uid))
    return old


# Triggers that were there before their policy.
#
# Source of the rules: upstream pkg/policy (generate.go, mutate.go, policy_controller.go,
# utils.go).


def existing_generation(policy: CompiledPolicy, kyverno: Kyverno) -> Work:
    """Return the work of generate rules for triggers that are there already."""
    own = policy.policy
    contexts: list[Json] = []
    for rule in own.rules:
        generation = rule.facts.generation
        if generation is not None and not generation.looks_back:
            _tell_left(policy, rule, kyverno)
        if generation is None or not generation.looks_back:
            continue
        contexts += (
            rule_context(rule.name, reference(trigger))
            for trigger in _triggers(own, rule, kyverno.parts.store)
            # upstream asks whether any rule of the policy says anything at all.
            if any(_verdict(policy, one, trigger, kyverno) for one in policy.rules)
        )
    return Work(GENERATE, own.key, tuple(contexts))


def _tell_left(policy: CompiledPolicy, rule: Rule, kyverno: Kyverno) -> None:
    """Tell whoever wants to know of objects that a rule does not look at, being older than it."""
    inquirer = kyverno.parts.inquirer
    if inquirer is None:
        return
    rules = [one for one in policy.rules if one.rule is rule]
    why = "the object is older than the policy, and `generateExisting` is not true"
    for trigger in _triggers(policy.policy, rule, kyverno.parts.store):
        inquirer.pass_by(policy.policy, rules, object_key(trigger), why)


def existing_mutations(policy: CompiledPolicy, kyverno: Kyverno) -> Iterator[Work]:
    """Give the work of mutate rules on existing objects for triggers that are there already."""
    own = policy.policy
    for compiled in policy.rules:
        rule = compiled.rule
        wanted = rule.facts.runs_on_policy_update
        if not wanted or rule not in own.rules or not rule.mutates_existing:
            continue
        for trigger in _triggers(own, rule, kyverno.parts.store):
            named = reference(trigger)
            if of_mutation(kyverno.parts, own.name, named):
                continue
            if _verdict(policy, compiled, trigger, kyverno) is RuleStatus.PASS:
                yield Work(MUTATE, own.key, rule=rule.name, trigger=named)


def _verdict(
    policy: CompiledPolicy, rule: CompiledRule, trigger: Json, kyverno: Kyverno
) -> RuleStatus | None:
    """Return what a background rule says of a trigger without any request."""
    if not rule.rule.generates and not rule.rule.mutates_existing:
        return None
    world = World(kyverno.parts.store, account=BACKGROUND)
    given = open_background(policy.policy, trigger, None, world)
    if not concerns(policy.policy, given.request, world.outside):
        return None
    outcome = check_rule(rule, given, None)
    return outcome.status if outcome else None


def _triggers(policy: Policy, rule: Rule, store: Store) -> Iterator[Json]:
    """Give the objects that the match block of a rule names by kind, name and labels."""
    for one in rule.facts.match:
        yield from _described(one.resources, policy, store)


def _described(resources: Mapping[str, Json], policy: Policy, store: Store) -> Iterator[Json]:
    selects = compile_selector(resources.get("selector") or {})
    place = policy.namespace if policy.kind == "Policy" else ""
    kinds = [pair for text in resources.get("kinds") or () for pair in _kinds(text, store)]
    for obj in (one for pair in kinds for one in store.list(*pair, place)):
        if selects(labels(obj)) and _is_named(obj, resources, confined=bool(place)):
            yield obj


def _kinds(text: str, store: Store) -> Iterator[tuple[str, str]]:
    wanted = parse_kind_selector(text)
    for api_version, kind in store.kinds():
        group, version = split_api_version(api_version)
        pairs = ((wanted.group, group), (wanted.version, version), (wanted.kind, kind))
        if all(matches(pattern, value) for pattern, value in pairs):
            yield api_version, kind


def _is_named(obj: Json, resources: Mapping[str, Json], *, confined: bool) -> bool:
    key = object_key(obj)
    name, names = resources.get("name"), resources.get("names")
    namespaces = resources.get("namespaces")
    if name and not matches(name, key.name):
        return False
    if names and not any(matches(one, key.name) for one in names):
        return False
    if confined or not namespaces:
        return True
    return any(matches(one, key.namespace) for one in namespaces)
