"""Bindings of Kubernetes' admission policies that lead to nothing, and policies that none is for.

Outside of a cluster a policy counts without a binding, in a cluster it does nothing.
upstream: k8s.io/kubernetes pkg/apis/admissionregistration/validation/validation.go
"""

from collections.abc import Iterable, Iterator, Mapping

from kyvsim.compile.remark import warn
from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic, listed
from kyvsim.model.policy import Binding, Policy


def idle_bindings(bindings: Iterable[Binding], policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """KV167: a binding for an absent policy.

    To be asked where every policy could be used: one that was refused is no slip of its name.
    """
    every = tuple(policies)
    for binding in bindings:
        if any(binding.binds(one.kind, one.name) for one in every):
            continue
        kind = binding.kind.removesuffix("Binding")
        given = listed(one.name for one in every if one.kind == kind)
        text = f"the binding is for the {kind} `{binding.policy}`, which is not given"
        text = f"{text} (given: {given})" if given else text
        yield warn(binding.document, "KV167", text, ("spec", "policyName"))


def doubtful_bindings(
    bindings: Iterable[Binding], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """Yield what `lint` tells of bindings and policies that are given together.

    A file that holds only the ones or only the others says nothing about what it leads to.
    """
    given, every = tuple(bindings), tuple(policies)
    kinds = {one.kind for one in every}
    together = [one for one in given if one.kind.removesuffix("Binding") in kinds]
    yield from idle_bindings(together, every)
    yield from _unbound(given, every)
    for one in given:
        yield from _contradicting(one)
        for policy in every:
            if one.binds(policy.kind, policy.name):
                yield from _wider(one, policy)


def _unbound(bindings: tuple[Binding, ...], policies: tuple[Policy, ...]) -> Iterator[Diagnostic]:
    """KV265: a policy without a binding, where there are bindings of others."""
    kinds = {one.kind for one in bindings}
    for policy in policies:
        is_bound = any(one.binds(policy.kind, policy.name) for one in bindings)
        if f"{policy.kind}Binding" in kinds and not is_bound:
            text = (
                f"none of the given bindings is for the {policy.kind} `{policy.name}`: without "
                "one a cluster does nothing with it"
            )
            yield warn(policy.document, "KV265", text, ("metadata", "name"))


def _contradicting(binding: Binding) -> Iterator[Diagnostic]:
    """KV266: actions of a binding that a cluster refuses together."""
    actions = binding.document.data["spec"].get("validationActions") or ()
    if {"Deny", "Warn"} <= set(actions):
        text = "a cluster refuses `Deny` beside `Warn`: what is denied is told anyway"
        yield warn(binding.document, "KV266", text, ("spec", "validationActions"))


def _wider(binding: Binding, policy: Policy) -> Iterator[Diagnostic]:
    """KV269: a resource that a binding names and its policy never matches."""
    own = (policy.spec.get("matchConstraints") or {}).get("resourceRules")
    if not own:
        return
    for number, rule in enumerate((binding.match or {}).get("resourceRules") or ()):
        for index, name in enumerate(rule["resources"]):
            if not any(_meet({**rule, "resources": [name]}, one) for one in own):
                text = (
                    f"`{policy.name}` never matches `{name}` as it stands here: in a cluster this "
                    "does nothing, and Kyverno's command line goes by the binding alone"
                )
                path = ("spec", "matchResources", "resourceRules", number, "resources", index)
                yield warn(binding.document, "KV269", text, path)


def _meet(rule: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Return whether some request may fit two resource rules.

    Groups and versions are left out: one rule may be for an equivalent of what the other names.
    """
    return all(
        any(
            _overlap(one, another)
            for one in rule.get(field) or ("*",)
            for another in other.get(field) or ("*",)
        )
        for field in ("operations", "resources")
    )


def _overlap(one: str, other: str) -> bool:
    return "*" in one or "*" in other or one == other
