"""Work that no request made, of rules that ask who made it."""

from types import MappingProxyType

from kyvsim.engine.policy import RuleInput

_SOMEONE = MappingProxyType(
    {
        "userInfo": {"username": "someone", "uid": "someone", "groups": ["someone"]},
        "roles": ["someone"],
        "clusterRoles": ["someone"],
    }
)
_ACCOUNT = MappingProxyType({"serviceAccountName": "someone", "serviceAccountNamespace": "someone"})


def as_by_someone(given: RuleInput) -> RuleInput:
    """Return what a rule is evaluated on as if someone had made a request.

    What cannot be evaluated without that, and can with it, is wanting for its user alone.
    """
    request = {**given.scope.root(frozenset({"request"}))["request"], **_SOMEONE}
    return given._replace(scope=given.scope.layer({"request": request, **_ACCOUNT}))
