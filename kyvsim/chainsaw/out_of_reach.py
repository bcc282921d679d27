"""What a test came upon that no simulation can answer, whatever it expected.

Policies ask registries, services and key stores; Kubernetes' own admission asks quotas and limits.
"""

import re
from collections.abc import Callable, Iterable

from kyvsim.kube.objects import Json, ObjectKey, labels, object_key
from kyvsim.model.request import Operation
from kyvsim.model.result import PolicyResponse
from kyvsim.sim.kyverno.cel_limits import not_done
from kyvsim.sim.server import ApiRequest, ApiResponse, Store

_OWN_WORDS = re.compile(
    r"\bkyvsim (?:answers|asks|calls|does not know|verifies|works offline)\b"
    r"|\bthe budget of [0-9,]+ steps for a \w+ is spent\b"
)
"""What kyvsim itself says in results of rules: Kyverno would have asked someone, or gone on."""

_SECURITY = "pod-security.kubernetes.io/enforce"
_LAX = frozenset({"", "privileged"})


def out_of_reach(message: str) -> bool:
    """Return whether the message of a rule's result says that something could not be asked."""
    return _OWN_WORDS.search(message) is not None


def watch_responses(found: list[str]) -> Callable[[Iterable[PolicyResponse]], None]:
    """Return a listener of what policies say that adds what could not be asked to `found`."""

    def listen(responses: Iterable[PolicyResponse]) -> None:
        found.extend(
            f"{response.policy.name}/{result.rule.name}: {result.message}"
            for response in responses
            for result in response.results
            if out_of_reach(result.message)
        )

    return listen


def watch_policies(found: list[str]) -> Callable[[ApiRequest, ApiResponse, Json], None]:
    """Return an observer of requests that adds to `found` what of a new policy is not simulated."""

    def observe(request: ApiRequest, response: ApiResponse, _old: Json) -> None:
        written = request.operation is not Operation.DELETE and not request.subresource
        if written and response.ok and response.object is not None:
            what = f"{request.key.kind} `{object_key(response.object).name}`"
            found.extend(f"{what}: {one} is not simulated" for one in not_done(response.object))

    return observe


def watch_pods(store: Store, found: list[str]) -> Callable[[ApiRequest, ApiResponse, Json], None]:
    """Return an observer of requests that adds to `found` why a new Pod would fare otherwise."""

    def observe(request: ApiRequest, response: ApiResponse, _old: Json) -> None:
        key = request.key
        created = request.operation is Operation.CREATE and not request.subresource
        if not created or (key.api_version, key.kind) != ("v1", "Pod"):
            return
        where = f"of the namespace `{key.namespace}`, which is not heeded here"
        # Limits change a Pod before anybody looks at it; the others have the last word.
        found.extend(f"LimitRange `{name}` {where}" for name in names("LimitRange", key))
        if response.error is not None:
            return
        found.extend(f"ResourceQuota `{name}` {where}" for name in names("ResourceQuota", key))
        level = labels(store.get("v1", "Namespace", "", key.namespace) or {}).get(_SECURITY, "")
        if level not in _LAX:
            found.append(f"the label `{_SECURITY}: {level}` {where}")

    def names(kind: str, key: ObjectKey) -> list[str]:
        return [object_key(one).name for one in store.list("v1", kind, key.namespace)]

    return observe
