"""The rights that a rule needs, and the ClusterRoles that give those that are lacking.

Source of the rules: upstream pkg/policy/{generate,mutate,auth}, and for the labels by which roles
of users reach a controller charts/kyverno/templates/*/clusterrole.yaml.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kube.discovery import plural
from kyvsim.kube.gvk import parse_kind_selector, split_api_version
from kyvsim.kube.objects import Json, ObjectKey
from kyvsim.model.facts import GeneratePattern, Target
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import UserInfo
from kyvsim.sim.kyverno.users import ADMISSION, BACKGROUND
from kyvsim.sim.server import Store
from kyvsim.sim.server.authorizer import may
from kyvsim.sim.server.served_kinds import kind_key

_RBAC = "rbac.authorization.k8s.io/v1"
_PREFIX = "system:serviceaccount:kyverno:kyverno-"


class Need(NamedTuple):
    """What a controller is to do with a kind."""

    user: UserInfo
    key: ObjectKey
    """The kind, with the namespace and name where they are fixed."""
    verbs: tuple[str, ...]


def lacking_needs(policy: Policy, store: Store) -> list[Need]:
    """Return what the controllers may not do, or not all of it, that the rules of a policy need."""
    needs = dict.fromkeys(one for rule in policy.rules for one in _needs(rule, store))
    return [one for one in needs if not all(_may(one, verb, store) for verb in one.verbs)]


def roles_for(policy: Policy, lacking: list[Need], store: Store) -> tuple[Json, ...]:
    """Return the ClusterRoles that give the controllers what they lack, one for each of them."""
    users = dict.fromkeys(one.user.username for one in lacking)
    return tuple(_role(policy, user, lacking, store) for user in users)


def _role(policy: Policy, user: str, lacking: list[Need], store: Store) -> Json:
    controller = user.removeprefix(_PREFIX)
    rules: dict[tuple[str, str], tuple[str, ...]] = {}
    for need in lacking:
        if need.user.username == user:
            group = split_api_version(need.key.api_version)[0]
            thing = group, plural(group, need.key.kind, store.defined)
            rules[thing] = tuple(dict.fromkeys((*rules.get(thing, ()), *need.verbs)))
    return {
        "apiVersion": _RBAC,
        "kind": "ClusterRole",
        "metadata": {
            "name": f"kyverno:{policy.name}:{controller}",
            "labels": {f"rbac.kyverno.io/aggregate-to-{controller}": "true"},
        },
        "rules": [
            {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
            for (group, resource), verbs in rules.items()
        ],
    }


def _may(need: Need, verb: str, store: Store) -> bool:
    # As upstream asks: for the name of the account alone.
    return may(need.user._replace(groups=()), verb, need.key, store)


def _needs(rule: Rule, store: Store) -> Iterator[Need]:
    for target in rule.facts.targets:
        for place in _places(target, (), store):
            yield Need(BACKGROUND, place, ("get", "update"))
    generation = rule.facts.generation
    if generation is None:
        return
    wanted: list[tuple[UserInfo, tuple[str, ...]]] = [(BACKGROUND, ("get", "create"))]
    if generation.synchronizes:
        every = ("get", "create", "update", "delete")
        wanted = [(ADMISSION, ("get", "list")), (BACKGROUND, every)]
    for made in generation.patterns:
        for place in _places(made, made.clone_kinds, store):
            yield from (Need(user, place, verbs) for user, verbs in wanted)


def _places(
    target: Target | GeneratePattern, kinds: tuple[str, ...], store: Store
) -> Iterator[ObjectKey]:
    """Yield `kinds`, or else that of a target, with its namespace, where they are fixed."""
    namespace = target.namespace
    for kind in kinds or (f"{target.api_version}/{target.kind}",):
        if "{{" in kind or "*" in kind or parse_kind_selector(kind).subresource:
            continue
        key = kind_key(kind.removeprefix("/"), store)
        if key is not None:
            yield key._replace(namespace="" if "{{" in namespace else namespace)
