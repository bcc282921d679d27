"""Match and exclude blocks that tell which part of them said what."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.match.facts import MatchFacts
from kyvsim.match.resources import resource_fields
from kyvsim.match.subjects import user_fields
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.following import following, tell
from kyvsim.model.probe import Probe
from kyvsim.model.request import UserInfo
from kyvsim.model.source import Path

_Predicate: TypeAlias = Callable[[MatchFacts], bool]
_Blocks: TypeAlias = tuple[_Predicate | None, _Predicate, _Predicate | None]

_NOBODY = UserInfo()


def followed_blocks(blocks: _Blocks, policy_namespace: str, probe: Probe) -> _Blocks:
    """Return the parts of a rule's match as ones that tell: its namespace, match and exclude."""
    confined, matches, excludes = blocks
    if confined is not None:
        asked = Step(
            StepKind.MATCH,
            "namespace of the policy",
            wanted=Value(policy_namespace),
            path=("metadata", "namespace"),
            rooted=True,
        )
        confined = following(probe, confined, asked, _in_namespace)
    matches = followed_block(matches, StepKind.MATCH, probe.at("match"))
    if excludes is not None:
        excludes = followed_block(excludes, StepKind.EXCLUDE, probe.at("exclude"))
    return confined, matches, excludes


def followed_block(matches: _Predicate, kind: str, probe: Probe) -> _Predicate:
    """Return a whole block, `match` or `exclude`, as one that tells whether it matched."""
    return following(probe, matches, Step(StepKind(kind), kind), _answered)


def followed_filter(matches: _Predicate, probe: Probe) -> _Predicate:
    """Return a filter as one that tells whether it matched; a block that is its own is told."""
    if not probe.name.endswith("]"):
        return matches
    return following(probe, matches, Step(StepKind.FILTER, probe.name), _answered)


def followed_criteria(
    block: Json, resources: list[_Predicate], user: list[_Predicate], probe: Probe
) -> tuple[list[_Predicate], list[_Predicate]]:
    """Return the criteria of a filter as ones that tell: on the object, and on the user."""
    written = block.get("resources") or {}
    on_object = zip(resource_fields(written), resources, strict=True)
    on_user = zip(user_fields(block), user, strict=True)
    return (
        [_followed(one, name, written, probe.at("resources", name)) for name, one in on_object],
        [_followed(one, name, block, probe.at(name)) for name, one in on_user],
    )


def followed_user(matches: _Predicate, block: Json, probe: Probe, *, absent: bool) -> _Predicate:
    """Return a filter that tells of its criteria on the user where none is given.

    `absent` says that they count as absent then; else the filter matches nothing.
    """

    def told(facts: MatchFacts) -> bool:
        found = matches(facts)
        if facts.user is None:
            for name in user_fields(block):
                note = _without_user(name, facts)
                asked = Step(StepKind.CRITERION, name, wanted=Value(block[name]), note=note)
                tell(probe.at(name), asked._replace(answer=None if absent else False))
        return found

    return told


def _without_user(name: str, facts: MatchFacts) -> str:
    return _GIVES_USER[name] if facts.operation else "there is no request, and no user"


def _followed(holds: _Predicate, name: str, block: Json, probe: Probe) -> _Predicate:
    look, path = _LOOKED_AT[name]
    asked = Step(
        StepKind.CRITERION, name, wanted=Value(block[name]), path=path, rooted=path is not None
    )

    def answered(step: Step, found: bool, facts: MatchFacts) -> Step:
        if facts.user is None and name in _GIVES_USER:
            return step._replace(answer=found, note=_without_user(name, facts))
        return step._replace(answer=found, found=Value(look(facts)))

    return following(probe, holds, asked, answered)


def _answered(step: Step, found: bool, _: MatchFacts) -> Step:
    return step._replace(answer=found)


def _in_namespace(step: Step, found: bool, facts: MatchFacts) -> Step:
    return step._replace(answer=found, found=Value(facts.namespace))


def kind_text(facts: MatchFacts) -> str:
    """Return a request's kind as selectors write it: `apps/v1/Deployment`, `v1/Pod/status`."""
    return "/".join(
        part for part in (facts.group, facts.version, facts.kind, facts.subresource) if part
    )


def _user(facts: MatchFacts) -> Json:
    user = facts.user or _NOBODY
    return {"username": user.username, "groups": list(user.groups)}


_GIVES_USER: Mapping[str, str] = MappingProxyType(
    {
        "roles": "no user is given: --userinfo gives one with roles",
        "clusterRoles": "no user is given: --userinfo gives one with clusterRoles",
        "subjects": "no user is given: --as and --as-group give one, or --userinfo",
    }
)
"""What is said of a criterion on the user where none is given."""

_LOOKED_AT: Mapping[str, tuple[Callable[[MatchFacts], Json], Path | None]] = MappingProxyType(
    {
        "operations": (lambda facts: facts.operation, None),
        "kinds": (kind_text, ("kind",)),
        "name": (lambda facts: facts.name, ("metadata", "name")),
        "names": (lambda facts: facts.name, ("metadata", "name")),
        "namespaces": (lambda facts: facts.namespace_or_own_name, ("metadata", "namespace")),
        "annotations": (lambda facts: dict(facts.annotations), ("metadata", "annotations")),
        "selector": (lambda facts: dict(facts.labels), ("metadata", "labels")),
        "namespaceSelector": (lambda facts: dict(facts.namespace_labels), None),
        "roles": (lambda facts: list((facts.user or _NOBODY).roles), None),
        "clusterRoles": (lambda facts: list((facts.user or _NOBODY).cluster_roles), None),
        "subjects": (_user, None),
    }
)
"""What each criterion looks at, and where that stands in the object, if it does."""
