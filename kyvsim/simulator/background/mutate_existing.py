"""One attempt at an UpdateRequest for a mutate rule: its targets are patched and written."""

from collections.abc import Iterable, Iterator, Sequence

from kyvsim.engine.background import open_background
from kyvsim.engine.compile import CompiledPolicy, Turn
from kyvsim.engine.policy import run_turn
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import PatchedTarget, Phase, RuleResult, RuleStatus
from kyvsim.model.simulation import Obstacle, Reason
from kyvsim.simulator.api_server import ApiResponse, Purpose, Store
from kyvsim.simulator.background.triggers import TriggerError, created_trigger, find
from kyvsim.simulator.background.update_requests import (
    Attempt,
    noted,
    obstacle_of,
    request_of,
    within,
)
from kyvsim.simulator.kyverno.configuration import BACKGROUND
from kyvsim.simulator.kyverno.events import Source, background_failed, background_succeeded
from kyvsim.simulator.kyverno.installed import Kyverno

# The cluster as targets of mutate rules are looked for: kinds count of which nothing is there.


class ServedKinds:
    """A `ClusterView` of a store that also tells the kinds that targets of a policy name."""

    has_ints = True

    def __init__(self, store: Store, policy: Policy) -> None:
        self._store = store
        self._named = [pair for pair in _named(policy) if _is_served(pair, store)]

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        return self._store.get(api_version, kind, namespace, name)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        return self._store.list(api_version, kind, namespace)

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, "" where none is known."""
        return self._store.kind_of(api_version, name)

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the name by which paths call a kind, "" where it is not served."""
        return self._store.plural_of(api_version, kind)

    def guesses(self, api_version: str, name: str) -> bool:
        """Return False, as its store does."""
        return self._store.guesses(api_version, name)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of what is there, and of what targets name."""
        return dict.fromkeys([*self._store.kinds(), *self._named])

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind live in namespaces."""
        return self._store.is_namespaced(api_version, kind)

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return the labels of a Namespace, or an empty dict."""
        return self._store.namespace_labels(namespace)


def _named(policy: Policy) -> Iterable[tuple[str, str]]:
    for rule in policy.rules:
        for target in rule.facts.targets:
            yield target.api_version, target.kind.partition("/")[0]


def _is_served(pair: tuple[str, str], store: Store) -> bool:
    group = split_api_version(pair[0])[0]
    return is_builtin(group, pair[1]) or (group, pair[1]) in store.defined


# One attempt at an UpdateRequest for a mutate rule: its targets are patched and written.
#
# Source of the rules and texts: upstream pkg/background/mutate/mutate.go.

_FAILED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR, RuleStatus.WARN})


def attempt_mutation(update_request: Json, kyverno: Kyverno) -> Attempt:
    """Patch the targets of the rule that an UpdateRequest names, and those of its sisters.

    That the trigger is not there ends the work, without another attempt, as upstream has it.
    """
    spec = update_request["spec"]
    policy = kyverno.lister.get(spec["policy"])
    rules = policy.policy.rules if policy else ()
    if policy is None or not any(
        _is_meant(one.name, spec) for one in rules if one.mutates_existing
    ):
        return noted(Reason.RULE_GONE, "the policy has no such rule any more")
    request = request_of(spec.get("context"), kyverno.parts.store)
    try:
        trigger = _trigger(spec.get("resource") or {}, request, kyverno)
    except TriggerError as error:
        return Attempt(notes=tuple(within("failed to get trigger resource: ", [error.obstacle])))
    return Attempt(tuple(_mutate(policy, trigger, request, kyverno)))


def _is_meant(name: str, spec: Json) -> bool:
    return bool(name == spec.get("rule"))


def _trigger(trigger: Json, request: AdmissionRequest | None, kyverno: Kyverno) -> Json:
    store = kyverno.parts.store
    if request is None:
        return find(trigger, None, store)
    if request.operation is Operation.CREATE:
        return created_trigger(trigger, request, store)
    return request.object or request.old_object


def _mutate(
    policy: CompiledPolicy, trigger: Json, request: AdmissionRequest | None, kyverno: Kyverno
) -> Iterator[Obstacle]:
    """Write the targets as all rules of a policy leave them, and give what failed."""
    world = World(ServedKinds(kyverno.parts.store, policy.policy), account=BACKGROUND)
    given = open_background(policy.policy, trigger, request, world)
    rules = tuple(
        one for one in policy.rules if one.phase is Phase.MUTATE and one.rule.mutates_existing
    )
    response = run_turn(Turn(policy, rules), Phase.MUTATE, given, world)
    kyverno.reports.tell(trigger, [response])
    kyverno.reports.tell(trigger, [response])
    for result in response.results:
        if result.status in _FAILED:
            text = (
                f"failed to mutate existing resource, rule {result.rule.name}, "
                f"response {result.status.value}: {result.message}"
            )
            rule = f"{policy.policy.key}/{result.rule.name}"
            yield Obstacle(Reason.RULE_FAILED, text, wanted_by=rule)
        elif result.status is RuleStatus.PASS:
            yield from _write_all(result, policy.policy, kyverno)


def _write_all(result: RuleResult, policy: Policy, kyverno: Kyverno) -> Iterator[Obstacle]:
    """Write the targets of a rule, tell of each, and give what failed."""
    parts, source, rule = kyverno.parts, Source.MUTATE, result.rule.name
    for target in result.targets:
        named = f"{policy.key}/{rule}"
        error = _write(target, named, kyverno).error
        if error is None:
            told = background_succeeded(parts, source, policy, [target.object])
            kyverno.events.record(*told)
            continue
        kyverno.events.record(background_failed(parts, source, policy, error.message, rule=rule))
        yield obstacle_of(error, object_key(target.object))._replace(wanted_by=named)


def _write(target: PatchedTarget, rule: str, kyverno: Kyverno) -> ApiResponse:
    parts = kyverno.parts
    obj, part = target.object, target.subresource
    if part == "scale":
        obj = {**obj, "spec": {"replicas": (obj.get("spec") or {}).get("replicas")}}
    return parts.client(BACKGROUND, Purpose("mutate existing", (rule,))).update(obj, part)
