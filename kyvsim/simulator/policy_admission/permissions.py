"""The rights that rules need, and whether Kyverno's controllers have them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.kubernetes.discovery import parse_kind_selector, plural, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.model.policy import Filter, GeneratePattern, Generation, Policy, Rule, Target
from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server import Store
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.api_server.store import kind_key
from kyvsim.simulator.kyverno.configuration import ADMISSION, BACKGROUND, REPORTS

# The rights that a rule needs, and the ClusterRoles that give those that are lacking.
#
# Source of the rules: upstream pkg/policy/{generate,mutate,auth}, and for the labels by which
# roles
# of users reach a controller charts/kyverno/templates/*/clusterrole.yaml.

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


# Whether Kyverno's controllers may do what a policy wants of them.
#
# Source of the rules and texts: upstream pkg/policy/{auth,generate,mutate,validate}.

_READING = ("get", "list", "watch")


class _Wanted(NamedTuple):
    """What a controller would work on."""

    kind: str
    """As `kind` or `apiVersion/kind`."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def missing_rights(rule: Rule, position: int, store: Store) -> str:
    """Return what the controllers may not do that a rule needs, "" where they may do it all."""
    place = f"path: spec.rules[{position}]"
    if rule.facts.targets and not rule.facts.patches_elements:
        problem = _cannot_mutate(rule.facts.targets, store)
        if problem:
            return f"{place}.mutate.{problem}"
    generation = rule.facts.generation
    if generation:
        problem = _cannot_generate(generation, store)
        if problem:
            return f"{place}.generate.{problem}"
    return ""


def unreported(rule: Rule, store: Store) -> Iterator[str]:
    """Yield what the reports controller cannot read of what a rule matches."""
    if rule.facts.patches_elements:
        return
    generation = rule.facts.generation
    kinds = [kind for entry in _own_filters(rule) for kind in entry.kinds]
    times = 2 if generation and generation.synchronizes else 1
    told = list(_unread(kinds, store))
    yield from (told[:1] if rule.facts.section == "validate" else told * times)


def _own_filters(rule: Rule) -> list[Filter]:
    """Return the filters of the match block, the legacy form first as upstream lists kinds."""
    found = rule.facts.match
    return [*found[-1:], *found[:-1]]


def _unread(kinds: Iterable[str], store: Store) -> Iterator[str]:
    for kind in kinds:
        if has_wildcard(kind):
            return
        refusal = _refusal(REPORTS, _READING, _Wanted(kind), store)
        if refusal:
            yield refusal


def _cannot_mutate(targets: Iterable[Target], store: Store) -> str:
    problems = []
    for target in targets:
        if "{{" in target.kind:
            continue
        kind, subresource = parse_kind_selector(target.kind)[2:]
        gvk = f"{target.api_version}/{kind}"
        wanted = _Wanted(gvk, target.namespace, target.name, subresource)
        problems.append(_refusal(BACKGROUND, ("get", "update"), wanted, store))
    told = "; ".join(filter(None, problems))
    if not told:
        return ""
    user = BACKGROUND.username
    why = f"auth check fails, additional privileges are required for the service account '{user}'"
    return f"targets.: {why}: {told}"


def _cannot_generate(generation: Generation, store: Store) -> str:
    wanted: list[tuple[UserInfo, tuple[str, ...]]] = [(BACKGROUND, ("get", "create"))]
    if generation.synchronizes:
        every = ("get", "create", "update", "delete")
        wanted = [(ADMISSION, ("list", "get")), (BACKGROUND, every)]
    loops = generation.loops
    path = "foreach" if loops is not None else ""
    for user, verbs in wanted:
        for target in loops if loops is not None else (generation.whole,):
            problem = _cannot_make(target, user, verbs, store)
            if problem:
                return f"{path}.: {problem}"
    return ""


def _cannot_make(
    target: GeneratePattern, user: UserInfo, verbs: tuple[str, ...], store: Store
) -> str:
    kinds = target.clone_kinds
    # Of a list of kinds, upstream looks at the first.
    gvk = kinds[0] if kinds else f"{target.api_version}/{target.kind}"
    if "{{" in gvk:
        return ""
    return _refusal(user, verbs, _Wanted(gvk, target.namespace), store)


def _refusal(user: UserInfo, verbs: Iterable[str], wanted: _Wanted, store: Store) -> str:
    """Return which verbs a user may not use on a kind, "" where all are granted."""
    kind, namespace, name, subresource = wanted
    key = kind_key(kind.removeprefix("/"), store)
    if key is None:
        return f"failed to get GVR for kind {kind}"
    # Upstream asks for the name alone; what the groups of service accounts may do is left out.
    asked = user._replace(groups=())
    place = key._replace(namespace=namespace, name=name)
    lacking = [
        verb for verb in verbs if not may(asked, verb, place, store, subresource=subresource)
    ]
    if not lacking:
        return ""
    shown = f"{kind}/{subresource}" if subresource else kind
    text = f"{user.username} requires permissions {','.join(lacking)} for resource {shown}"
    return f"{text} in namespace {namespace}" if namespace else text
