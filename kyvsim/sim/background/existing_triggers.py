"""Triggers that were there before their policy.

Source of the rules: upstream pkg/policy (generate.go, mutate.go, policy_controller.go, utils.go).
"""

from collections.abc import Iterator, Mapping

from kyvsim.compile import CompiledPolicy, CompiledRule
from kyvsim.engine import World
from kyvsim.engine.background import check_rule, open_background
from kyvsim.kube.gvk import parse_kind_selector, split_api_version
from kyvsim.kube.labels import compile_selector
from kyvsim.kube.objects import Json, labels, object_key
from kyvsim.kube.wildcard import matches
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import RuleStatus
from kyvsim.sim.background.update_requests import (
    GENERATE,
    MUTATE,
    Work,
    of_mutation,
    reference,
    rule_context,
)
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.match_conditions import concerns
from kyvsim.sim.kyverno.users import BACKGROUND
from kyvsim.sim.server import Store


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
