"""Whether Kyverno's controllers may do what a policy wants of them.

Source of the rules and texts: upstream pkg/policy/{auth,generate,mutate,validate}.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.kube.gvk import parse_kind_selector
from kyvsim.kube.wildcard import has_wildcard
from kyvsim.model.facts import Filter, GeneratePattern, Generation, Target
from kyvsim.model.policy import Rule
from kyvsim.model.request import UserInfo
from kyvsim.sim.kyverno.users import ADMISSION, BACKGROUND, REPORTS
from kyvsim.sim.server import Store
from kyvsim.sim.server.authorizer import may
from kyvsim.sim.server.served_kinds import kind_key

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
