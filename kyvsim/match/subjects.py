"""User criteria: `subjects`, `roles` and `clusterRoles`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json, text_field
from kyvsim.kube.wildcard import compile_wildcard
from kyvsim.match.facts import MatchFacts
from kyvsim.model.request import UserInfo

Criterion = Callable[[MatchFacts], bool]

_NOBODY = UserInfo()


def user_criteria(block: Json) -> list[Criterion]:
    """Return the criteria that a filter sets on the user; all of them have to hold.

    upstream: pkg/engine/utils/match.go (which combines them with AND), pkg/utils/match/subjects.go
    """
    return [_FIELDS[field](block[field]) for field in user_fields(block)]


def user_fields(block: Json) -> list[str]:
    """Return the fields of a filter that are criteria on the user, in the order they are asked."""
    return [field for field in _FIELDS if block.get(field)]


def names_users(block: Json) -> bool:
    """Return whether a filter says something about the user, though it may be an empty list."""
    return any(block.get(field) is not None for field in _FIELDS)


def _one_in_common(
    wanted: frozenset[str], held: Callable[[UserInfo], tuple[str, ...]]
) -> Criterion:
    return lambda facts: not wanted.isdisjoint(held(facts.user or _NOBODY))


def _one_subject(subjects: Json) -> Criterion:
    checks = [_compile_subject(subject) for subject in subjects]
    return lambda facts: any(check(facts.user or _NOBODY) for check in checks)


def _compile_subject(subject: Json) -> Callable[[UserInfo], bool]:
    kind, name = text_field(subject, "kind"), text_field(subject, "name")
    if kind == "ServiceAccount":
        account = f"system:serviceaccount:{text_field(subject, 'namespace')}:{name}"
        names_account = compile_wildcard(account)
        return lambda user: names_account(user.username)
    names_subject = compile_wildcard(name)
    if kind == "Group":
        return lambda user: any(map(names_subject, user.groups))
    if kind == "User":
        return lambda user: names_subject(user.username)
    return lambda _: False


_FIELDS: Mapping[str, Callable[[Json], Criterion]] = MappingProxyType(
    {
        "roles": lambda wanted: _one_in_common(frozenset(wanted), lambda user: user.roles),
        "clusterRoles": lambda wanted: _one_in_common(
            frozenset(wanted), lambda user: user.cluster_roles
        ),
        "subjects": _one_subject,
    }
)
